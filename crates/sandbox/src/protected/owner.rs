//! Whose start-up files and configuration are protected besides those in a root: the home directory, and the places
//! that the variables of this process name, since whatever the user starts next to it has the same ones.
//!
//! A relative path counts from where this process is. What start-up files load themselves is not looked at, nor which
//! programs variables name: both are as much the user's to mind as the programs in his `PATH`.

use super::git;
use crate::cover::StandIn;
use crate::error::Error;
use crate::resolve::Way;
use palisade_policy::AbsPath;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// What a variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The directory of zsh's files.
    Zsh,
    /// What is there instead of `.config`.
    Config,
    /// What is there instead of `.local/share`, or besides it for all users.
    Data,
    /// What is there instead of `.cache`.
    Cache,
    /// A file that is run or read.
    File,
    /// A directory of such files.
    Directory,
}

/// How a variable names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Its value is the path.
    Path,
    /// Paths with colons in between.
    List,
    /// A word in which shells expand the home directory and variables.
    Word,
}

/// A variable that names places.
#[derive(Debug)]
struct Variable {
    name: &'static str,
    value: Value,
    place: Place,
    /// What is done with it. It is here for whoever reads the table, and in no message.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the table; a test holds that it is there")
    )]
    why: &'static str,
}

const fn one(name: &'static str, place: Place, why: &'static str) -> Variable {
    Variable { name, value: Value::Path, place, why }
}

const fn list(name: &'static str, place: Place, why: &'static str) -> Variable {
    Variable { name, value: Value::List, place, why }
}

const fn word(name: &'static str, why: &'static str) -> Variable {
    Variable { name, value: Value::Word, place: Place::File, why }
}

const VARIABLES: &[Variable] = &[
    one("ZDOTDIR", Place::Zsh, "zsh's files are there instead of in the home directory"),
    one("ZSH_COMPDUMP", Place::File, "what frameworks have zsh's completion system keep and run"),
    one("XDG_CONFIG_HOME", Place::Config, "fish, git and bash's completion look there"),
    one("XDG_DATA_HOME", Place::Data, "fish and bash's completion run what is there"),
    list("XDG_DATA_DIRS", Place::Data, "likewise"),
    one("XDG_CACHE_HOME", Place::Cache, "fish runs completions from there"),
    word(ENV, "run by interactive sh, dash, ksh, mksh, and by bash where it is sh"),
    word("BASH_ENV", "run by every bash that runs a script"),
    word("INPUTRC", "what keys type in interactive bash, and in all else with readline"),
    one("EDITRC", Place::File, "likewise, where a shell uses libedit"),
    one("BASH_COMPLETION_USER_FILE", Place::File, "run by interactive bash, where completions are installed"),
    list("BASH_COMPLETION_USER_DIR", Place::Directory, "completions, run by interactive bash"),
    list("BASH_COMPLETION_COMPAT_DIR", Place::Directory, "likewise, all at its start"),
    list("FPATH", Place::Directory, "functions that zsh, ksh and mksh load by their names"),
    list("fish_function_path", Place::Directory, "functions that fish loads by their names"),
    list("fish_complete_path", Place::Directory, "completions, run by interactive fish"),
    one(
        "RIPGREP_CONFIG_PATH",
        Place::File,
        "options of a search tool, among them a program to run on each file",
    ),
    one("GIT_CONFIG_GLOBAL", Place::File, "git's configuration of the user"),
    one("GIT_CONFIG_SYSTEM", Place::File, "git's configuration of the machine"),
    one(
        "GIT_TEMPLATE_DIR",
        Place::Directory,
        "hooks and configuration that git puts into each new repository",
    ),
    one("GIT_EXEC_PATH", Place::Directory, "git's own programs"),
];

/// It names a file to shells. To many other programs it says by one word what it is that they run in, `production` perhaps.
const ENV: &str = "ENV";

/// What the user's own settings lie in, besides the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner {
    /// The home directory, really.
    pub(crate) home: Option<AbsPath>,
    /// The same as it is named.
    pub(super) named_home: Option<Way>,
    /// Directories of settings elsewhere (`CLAUDE_CONFIG_DIR`).
    pub(super) settings: Vec<Way>,
    /// What variables name.
    pub(super) places: Vec<(Way, Place)>,
    /// What they say to git.
    pub(super) git: git::Variables,
}

impl Owner {
    /// The owner of this process, with the directories of settings that he has besides his home directory.
    pub(crate) fn of_process(settings: &[PathBuf]) -> Result<Self, Error> {
        let environment = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let named_home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let named_home = named_home.map(|home| way(home.as_os_str())).transpose()?;
        let home = named_home.as_ref().map(|way| way.walk().end);
        Ok(Owner {
            settings: settings.iter().map(|path| way(path.as_os_str())).collect::<Result<_, _>>()?,
            places: places(&environment, home.as_ref())?,
            git: git::Variables::of(&environment)?,
            named_home,
            home,
        })
    }

    /// The paths that programs follow to all this.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &Way> {
        let places = self.places.iter().map(|(way, _)| way);
        self.named_home.iter().chain(&self.settings).chain(places)
    }

    /// Whether this is really the home directory.
    pub(super) fn is_home(&self, directory: &AbsPath) -> bool {
        self.home.as_ref() == Some(directory)
    }

    /// In the home directory programs read these paths at every start, and fail where one refuses to be read.
    pub(super) fn stand_in(&self, directory: &AbsPath) -> StandIn {
        if self.is_home(directory) { StandIn::File } else { StandIn::Socket }
    }
}

/// A path from where this process is, as a program started here takes it.
pub(super) fn way(path: &OsStr) -> Result<Way, Error> {
    let fault = |error| Error::System { doing: "reading a path of the environment", error };
    let path = std::path::absolute(path).map_err(fault)?;
    Ok(Way::from(&AbsPath::root(), path.as_os_str().as_bytes()))
}

fn places(
    environment: &dyn Fn(&str) -> Option<OsString>,
    home: Option<&AbsPath>,
) -> Result<Vec<(Way, Place)>, Error> {
    let mut places = Vec::new();
    for variable in VARIABLES {
        let Some(value) = environment(variable.name).map(OsStringExt::into_vec) else { continue };
        let is_between = |&byte: &u8| variable.value == Value::List && byte == b':';
        let values = value.split(is_between).filter(|value| !value.is_empty());
        for value in values.filter(|value| variable.name != ENV || is_path(value)) {
            let expanded = match variable.value {
                Value::Word => expand(value, environment, home),
                Value::Path | Value::List => Some(value.to_vec()),
            };
            let Some(value) = expanded else { continue };
            let there = way(OsStr::from_bytes(&value))?;
            if there.by_letter().is_too_long() {
                // Nothing can be there.
                continue;
            }
            places.push((there, variable.place));
            if variable.name == "FPATH" {
                // All of a directory's functions in one, which zsh takes where it is newer.
                places.push((way(OsStr::from_bytes(&[&value, &b".zwc"[..]].concat()))?, Place::File));
            }
        }
    }
    Ok(places)
}

/// Whether a value is meant as a path.
fn is_path(value: &[u8]) -> bool {
    value.contains(&b'/') || value.starts_with(b".") || value.starts_with(b"$")
}

/// A value with what shells expand in it: the home directory, variables. `None` where there is more to it, such as a
/// command to run: what that names is not known.
fn expand(
    value: &[u8],
    environment: &dyn Fn(&str) -> Option<OsString>,
    home: Option<&AbsPath>,
) -> Option<Vec<u8>> {
    let (mut expanded, mut rest) = match (value.strip_prefix(b"~/"), home) {
        (Some(rest), Some(home)) => ([home.as_bytes(), b"/"].concat(), rest),
        _ => (Vec::new(), value),
    };
    while let Some((&byte, mut after)) = rest.split_first() {
        match byte {
            b'`' => return None,
            b'$' => {
                let (name, behind) = name(after)?;
                expanded.extend(environment(name).unwrap_or_default().as_bytes());
                after = behind;
            }
            byte => expanded.push(byte),
        }
        rest = after;
    }
    Some(expanded)
}

/// The name of a variable behind its `$`, in braces or not, and what follows.
fn name(text: &[u8]) -> Option<(&str, &[u8])> {
    let inner = text.strip_prefix(b"{").unwrap_or(text);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, after) = inner.split_at(inner.iter().position(|byte| !is_part(byte)).unwrap_or(inner.len()));
    let after = if inner.len() < text.len() { after.strip_prefix(b"}")? } else { after };
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    Some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_by(variables: &[(&str, &str)]) -> Vec<(String, Place)> {
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let home = AbsPath::new("/home/u").expect("absolute");
        let places = places(&environment, Some(&home)).expect("a working directory");
        places.into_iter().map(|(way, place)| (way.by_letter().to_string(), place)).collect()
    }

    #[test]
    fn every_variable_has_a_reason() {
        for (at, variable) in VARIABLES.iter().enumerate() {
            assert!(!variable.why.is_empty(), "{variable:?}");
            assert!(VARIABLES[..at].iter().all(|other| other.name != variable.name), "{variable:?}");
        }
    }

    #[test]
    fn variables_name_places_as_shells_take_them() {
        let here = std::env::current_dir().expect("there").display().to_string();
        let below = |path: &str| format!("{here}/{path}");
        for (name, value, expected) in [
            ("ZDOTDIR", "/z:y", vec![("/z:y".to_string(), Place::Zsh)]),
            ("XDG_CONFIG_HOME", "c", vec![(below("c"), Place::Config)]),
            ("XDG_DATA_DIRS", "/a::b", vec![("/a".into(), Place::Data), (below("b"), Place::Data)]),
            ("FPATH", "/f", vec![("/f".into(), Place::Directory), ("/f.zwc".into(), Place::File)]),
            ("ENV", "production", vec![]),
            ("ENV", "./production", vec![(below("production"), Place::File)]),
            ("ENV", ".shrc", vec![(below(".shrc"), Place::File)]),
            ("ENV", "$HOME/rc", vec![("/h/rc".into(), Place::File)]),
            ("BASH_ENV", "${HOME}/b$HOMES", vec![("/h/b".into(), Place::File)]),
            ("BASH_ENV", "/x/$(y)", vec![]),
            ("BASH_ENV", "/x/`y`", vec![]),
            ("ENV", "${X:-/y}", vec![]),
            ("INPUTRC", "~/i", vec![("/home/u/i".into(), Place::File)]),
            ("INPUTRC", "~u/i", vec![(below("~u/i"), Place::File)]),
            ("GIT_CONFIG_GLOBAL", "~/$HOME", vec![(below("~/$HOME"), Place::File)]),
            ("NODE_ENV", "/x", vec![]),
        ] {
            assert_eq!(named_by(&[(name, value), ("HOME", "/h")]), expected, "{name}={value}");
        }
    }
}
