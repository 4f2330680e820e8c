//! Where a rule came from, so that every answer can name the file and the words that decided it.

use crate::Printable;
use crate::printable::Quoted;
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

impl Layer {
    /// Whether a repository's author may have written the layer's files. He can commit a local file, too.
    pub fn is_of_repository(self) -> bool {
        matches!(self, Layer::Project | Layer::Local)
    }
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

/// `denyRead "~/.ssh" in /home/u/.claude/settings.json:12`, `--deny-read "x"`, `built-in rule "…"`. The
/// rule's text and the file's name are escaped: both may have come with a repository.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, text, file) = (Printable(&self.key), Quoted(&self.text), Printable(&self.file));
        match (self.layer, self.file.as_ref() == self.key.as_ref()) {
            (Layer::Builtin, _) => write!(f, "built-in {key} {text}"),
            (_, true) => write!(f, "{key} {text}"),
            (_, false) => {
                write!(f, "{key} {text} in {file}")?;
                self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_for_people() {
        let in_file = |file: &str, text: &str| Origin {
            layer: Layer::Project,
            file: file.into(),
            line: Some(12),
            ..Origin::flag("denyRead", text)
        };
        for (origin, shown) in [
            (Origin::builtin("denyWrite", ".git"), r#"built-in denyWrite ".git""#),
            (Origin::flag("--deny-read", "~/x"), r#"--deny-read "~/x""#),
            (in_file("/p/s.json", "~/.ssh"), r#"denyRead "~/.ssh" in /p/s.json:12"#),
            // Neither the text nor the file's name can pass for what follows, or start a line.
            (
                in_file("/p/s.json", r#"x" in /etc/m.json"#),
                r#"denyRead "x\" in /etc/m.json" in /p/s.json:12"#,
            ),
            (
                in_file("/p\n\u{202e}\u{200b}/s", "a\u{2028}é\\"),
                r#"denyRead "a\u{2028}é\\" in /p\n\u{202e}\u{200b}/s:12"#,
            ),
        ] {
            assert_eq!(origin.to_string(), shown);
        }
    }
}
