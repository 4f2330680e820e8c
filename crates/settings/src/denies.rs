//! Denies of what does not exist: often a slip of the pen, often a precaution. So they are told to whoever checks a
//! file, and not at every command.

use crate::{Options, Place, Position, Warning, WarningKind};
use palisade_policy::FileRule;

impl Options {
    /// A word about each deny without wildcards whose path does not exist.
    pub(crate) fn denies_of_nothing(&self) -> Vec<Warning> {
        let denies = self.filesystem.deny_write.iter().chain(self.hides());
        denies.filter(|rule| names_nothing(rule)).map(warning).collect()
    }
}

fn names_nothing(rule: &FileRule) -> bool {
    let path = rule.pattern.as_literal().as_path();
    !rule.pattern.has_wildcards() && path.symlink_metadata().is_err()
}

fn warning(rule: &FileRule) -> Warning {
    let position = Position { line: rule.origin.line.unwrap_or(1), column: 1 };
    Warning {
        place: Place { file: rule.origin.file.clone(), position },
        key: (*rule.origin.key).into(),
        kind: WarningKind::NothingThere { path: rule.pattern.as_literal().clone() },
    }
}
