//! Command patterns: what stands in the parentheses of `Bash(…)`, and one line of `excludedCommands`.
//!
//! # Grammar
//!
//! | text | covers |
//! |---|---|
//! | `npm run build` | that command, with just these words |
//! | `docker *`, `docker:*` | `docker` and `docker` with any words after it, not `dockerd` |
//! | `git * main`, `ls*` | any run of characters, blanks included, in the place of each `*` |
//! | `*` | every command |
//!
//! - How many blanks stand between two words makes no difference.
//! - Refused with a reason: an empty text, blanks around it, a control character (a line break would make it
//!   two commands), a `:*` with nothing before it or with something behind it: such a pattern looks like a
//!   prefix and would match nothing.
//!
//! This module does not match anything; see the crate's documentation.

use std::fmt;

/// A command pattern in its one normal spelling: single blanks, ` *` for `:*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandPattern {
    /// `*`: every command.
    Any,
    /// The words of one command.
    Exact(Box<str>),
    /// The first words of a command, any others may follow.
    Prefix(Box<str>),
    /// A text with a `*` elsewhere than as its last word, kept as written but for blanks.
    Wildcard(Box<str>),
}

/// Why a text is not a command pattern. Completes "`text`: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandPatternError {
    /// Nothing at all, or nothing before a `:*`.
    #[error("is empty; write \"*\" for every command")]
    Empty,
    /// White space at the start or the end.
    #[error("has blanks around it")]
    Blanks,
    /// A line break, a NUL byte or the like.
    #[error("holds the control character {0:?}")]
    Control(char),
    /// `npm:* publish`.
    #[error("has \":*\" elsewhere than at its end, where it would match nothing; write \" *\"")]
    ColonStar,
}

impl CommandPattern {
    /// Reads the pattern `text`.
    pub fn parse(text: &str) -> Result<Self, CommandPatternError> {
        check_characters(text)?;
        let spelled = match text.strip_suffix(":*") {
            Some("") => return Err(CommandPatternError::Empty),
            Some(prefix) => format!("{prefix} *"),
            None => text.to_owned(),
        };
        if spelled.contains(":*") {
            return Err(CommandPatternError::ColonStar);
        }
        let words: Vec<&str> = spelled.split(' ').filter(|word| !word.is_empty()).collect();
        Ok(Self::from_words(&words))
    }

    fn from_words(words: &[&str]) -> Self {
        let has_star = |words: &[&str]| words.iter().any(|word| word.contains('*'));
        match words {
            ["*"] => CommandPattern::Any,
            [first @ .., "*"] if !has_star(first) => CommandPattern::Prefix(first.join(" ").into()),
            _ if has_star(words) => CommandPattern::Wildcard(words.join(" ").into()),
            _ => CommandPattern::Exact(words.join(" ").into()),
        }
    }
}

fn check_characters(text: &str) -> Result<(), CommandPatternError> {
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        return Err(CommandPatternError::Control(control));
    }
    if text.trim().is_empty() {
        return Err(CommandPatternError::Empty);
    }
    if text.trim() != text {
        return Err(CommandPatternError::Blanks);
    }
    Ok(())
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandPattern::Any => f.write_str("*"),
            CommandPattern::Prefix(words) => write!(f, "{words} *"),
            CommandPattern::Exact(words) | CommandPattern::Wildcard(words) => f.write_str(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, kind: fn(Box<str>) -> CommandPattern, words: &str) {
        assert_eq!(CommandPattern::parse(text), Ok(kind(words.into())), "{text:?}");
    }

    #[test]
    fn grammar() {
        use CommandPattern::{Exact, Prefix, Wildcard};
        check("npm run build", Exact, "npm run build");
        check("npm  run   build", Exact, "npm run build");
        check("docker", Exact, "docker");
        check("docker *", Prefix, "docker");
        check("docker:*", Prefix, "docker");
        check("docker  *", Prefix, "docker");
        check("npm run test:*", Prefix, "npm run test");
        check("npm run test:watch *", Prefix, "npm run test:watch");
        check("ls*", Wildcard, "ls*");
        check("* --version", Wildcard, "* --version");
        check("git * main", Wildcard, "git * main");
        check("git * main:*", Wildcard, "git * main *");
        check("a:b", Exact, "a:b");
        check("echo (x)", Exact, "echo (x)");
        assert_eq!(CommandPattern::parse("*"), Ok(CommandPattern::Any));
    }

    #[test]
    fn refusals() {
        use CommandPatternError::*;
        for (text, error) in [
            ("", Empty),
            ("  ", Empty),
            (":*", Empty),
            (" docker *", Blanks),
            ("docker * ", Blanks),
            ("a\nb", Control('\n')),
            ("a\0b", Control('\0')),
            ("npm:* publish", ColonStar),
            ("a:*b", ColonStar),
            ("a:*:*", ColonStar),
        ] {
            assert_eq!(CommandPattern::parse(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_shown_is_the_same_pattern(text in "[ab*: ]{0,12}|\\PC{0,20}") {
            if let Ok(pattern) = CommandPattern::parse(&text) {
                prop_assert_eq!(CommandPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }
    }
}
