//! What a line may have changed about which names the shell's wildcards find.
//!
//! Whatever names one of the settings counts as having changed it, wherever it stands and for all of the line: an option
//! of the shell, its variable or one that a program sets for it.

use super::Program;
use crate::shell::{Line, Word};

/// How wildcards may find names, as opposed to how they do in a new shell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Globs {
    /// Names that start with a dot are found.
    pub(crate) dots: bool,
    /// Upper and lower case count as the same.
    pub(crate) folds_case: bool,
}

/// What shows names that start with a dot, without case and underscores.
const DOTS: &[&str] = &["dotglob", "globdots", "globignore", "bashopts"];
/// What folds case.
const CASES: &[&str] = &["nocaseglob", "bashopts", "caseglob"];

impl Globs {
    pub(crate) fn or(self, other: Self) -> Self {
        Globs { dots: self.dots || other.dots, folds_case: self.folds_case || other.folds_case }
    }

    /// What the text of a line, or what its words come to, names.
    pub(super) fn of_line(text: &str, line: &Line) -> Self {
        let words = line.commands.iter().flat_map(|command| &command.words);
        let is_other = |word: &&Word| word.flags.expanded || word.value.as_deref() != Some(&*word.raw);
        let values = words.filter(is_other).filter_map(|word| word.value.as_deref());
        values.map(Self::of_text).fold(Self::of_text(text), Self::or)
    }

    fn of_text(text: &str) -> Self {
        let kept = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\' | '_' | '\n'));
        let plain: String = kept.map(|c| c.to_ascii_lowercase()).collect();
        let names = |list: &[&str]| list.iter().any(|name| plain.contains(name));
        Globs { dots: names(DOTS), folds_case: names(CASES) }
    }

    /// What a command does that sets an option or a variable whose name is only known once it runs.
    pub(super) fn of_program(program: &Program) -> Self {
        let words = || program.words.iter().skip(1);
        let is_open = |word: &Word| word.value.is_none();
        let is_set = match program.name.as_deref() {
            Some("shopt" | "setopt" | "set" | "bash" | "zsh") => words().any(is_open),
            Some("declare" | "typeset" | "local" | "export" | "readonly") => {
                let refers = words().any(|word| matches!(&word.value, Some(text) if is_reference(text)));
                words().any(|word| is_open(word) && (refers || is_open_name(&word.raw)))
            }
            Some("read" | "printf" | "mapfile" | "readarray" | "getopts" | "let") => {
                words().any(|word| is_open(word) && is_open_name(&word.raw))
            }
            _ => false,
        };
        Globs { dots: is_set, folds_case: is_set }
    }
}

/// `declare -n`.
fn is_reference(text: &str) -> bool {
    text.starts_with('-') && text.contains('n')
}

/// Whether what stands in front of a `=` is put together while the line runs.
fn is_open_name(raw: &str) -> bool {
    raw.split('=').next().is_some_and(|name| name.contains(['$', '`', '{', '*', '?', '[']))
}
