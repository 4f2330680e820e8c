//! Violations that somebody expects and does not want to read about.
//!
//! Only the report is silenced: nothing here changes what is stopped. A text of a rule is looked for as it is written,
//! letter case included; `*` in place of a command stands for every command, and nothing else is a wildcard. An empty
//! text, which every other text holds, is found in none: a rule that somebody forgot to fill in silences nothing.
//!
//! The command writes part of what is compared (host names, paths, its own errors). So it can get a violation of its own
//! ignored where such rules are; what it cannot do is to get through.

use crate::request::Command;
use memchr::memmem;
use palisade_policy::{IgnoredViolation, Violation};
use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// The violations of one command that are not reported: those that hold one of these texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ignored(Vec<Box<str>>);

impl Ignored {
    /// What `rules` say of `command`: of its line, or of its words with a space between them.
    pub(crate) fn of(rules: &[IgnoredViolation], command: &Command) -> Self {
        if rules.is_empty() {
            return Ignored::default();
        }
        let text = match command {
            Command::Shell(line) => Cow::Borrowed(line.as_bytes()),
            Command::Argv(words) => Cow::Owned(joined(words)),
        };
        let covers = |rule: &&IgnoredViolation| match &*rule.command {
            "*" => true,
            part => !part.is_empty() && memmem::find(&text, part.as_bytes()).is_some(),
        };
        let rules = rules.iter().filter(|rule| !rule.violation.is_empty());
        Ignored(rules.filter(covers).map(|rule| rule.violation.clone()).collect())
    }

    /// Whether `violation` is not reported: whether what is shown of it holds one of the texts.
    pub(crate) fn holds(&self, violation: &Violation) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let shown = violation.to_string();
        self.0.iter().any(|text| shown.contains(&**text))
    }
}

fn joined(words: &[OsString]) -> Vec<u8> {
    words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>().join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{AbsPath, Origin};

    fn ignored(rules: &[(&str, &str)], command: &Command) -> Ignored {
        let rule = |(command, violation): &(&str, &str)| IgnoredViolation {
            command: (*command).into(),
            violation: (*violation).into(),
            origin: Origin::flag("ignoreViolations", command),
        };
        Ignored::of(&rules.iter().map(rule).collect::<Vec<_>>(), command)
    }

    #[test]
    fn a_rule_needs_its_part_of_the_command_and_its_part_of_the_violation() {
        let line = Command::Shell("npm test && git push".into());
        let words = Command::Argv(["npm", "test"].map(OsString::from).into());
        let path = AbsPath::new("/etc/x").expect("absolute");
        // It is shown as `deny file-access /etc/x (touch: /etc/x: Read-only file system)`.
        let violation = Violation::file(&path, "touch: /etc/x: Read-only file system", None);
        for (command, text, by_line, by_words) in [
            ("*", "/etc/x", true, true),
            ("*", "file-access /etc", true, true),
            ("*", "touch: ", true, true),
            ("*", "/etc/y", false, false),
            ("*", "/ETC/x", false, false),
            ("*", "*", false, false),
            ("*", "", false, false),
            ("", "/etc/x", false, false),
            ("npm test", "/etc/x", true, true),
            ("git push", "/etc/x", true, false),
            ("NPM", "/etc/x", false, false),
            ("npm *", "/etc/x", false, false),
        ] {
            let rules = [("cargo", "/etc/x"), (command, text)];
            assert_eq!(ignored(&rules, &line).holds(&violation), by_line, "{command:?} {text:?}");
            assert_eq!(ignored(&rules, &words).holds(&violation), by_words, "{command:?} {text:?}");
        }
    }
}
