//! Where a rule came from, so that every answer can name the file and the words that decided it.

use std::fmt;
use std::sync::Arc;

/// The rank of one set of settings. Layers ascend, so `max` is the winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Built into Palisade.
    Builtin,
    /// The user's own files (`~/.claude/settings.json`).
    User,
    /// The project's shared files (`.claude/settings.json`): a repository's author writes them.
    Project,
    /// The project's personal files (`.claude/settings.local.json`).
    Local,
    /// Given for this run: the options of a command line, or of the program that calls the library.
    Flag,
    /// An administrator's files.
    Managed,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Builtin => "built-in",
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Local => "local",
            Layer::Flag => "command line",
            Layer::Managed => "managed",
        })
    }
}

/// The layer, file and text of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The rank of the settings that hold the rule.
    pub layer: Layer,
    /// The file's path, or the option's name, as a person would recognise it; empty for built-in rules.
    pub file: Arc<str>,
    /// The line in that file, counted from 1, where it is known.
    pub line: Option<u32>,
    /// The setting that holds the rule, such as `sandbox.filesystem.denyRead`.
    pub key: Arc<str>,
    /// The rule as written.
    pub text: Arc<str>,
}

impl Origin {
    /// A rule that Palisade has of itself.
    pub fn builtin(key: &str, text: &str) -> Self {
        Origin { layer: Layer::Builtin, file: "".into(), line: None, key: key.into(), text: text.into() }
    }

    /// A rule given as an option, such as `--deny-read`.
    pub fn flag(option: &str, text: &str) -> Self {
        Origin { layer: Layer::Flag, file: option.into(), line: None, key: option.into(), text: text.into() }
    }
}

/// `denyRead "~/.ssh" in /home/u/.claude/settings.json:12`, `--deny-read "x"`, `built-in rule "…"`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.layer, self.file.as_ref() == self.key.as_ref()) {
            (Layer::Builtin, _) => write!(f, "built-in {} {:?}", self.key, self.text),
            (_, true) => write!(f, "{} {:?}", self.key, self.text),
            (_, false) => {
                write!(f, "{} {:?} in {}", self.key, self.text, self.file)?;
                self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
            }
        }
    }
}
