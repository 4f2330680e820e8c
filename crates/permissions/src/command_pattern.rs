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
//! A pattern is compared with the text of one command, blanks between its words made single. Which texts a
//! command has is for the judge: this module reads no shell.

use std::fmt;

/// In a text to compare with: a place where anything may stand. No readable line holds this character.
pub(crate) const HOLE: char = '\0';
/// [`HOLE`] as a text.
pub(crate) const HOLE_TEXT: &str = "\0";

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

    /// Whether the pattern covers the command `text`.
    pub fn covers(&self, text: &str) -> bool {
        match self {
            CommandPattern::Any => true,
            CommandPattern::Exact(words) => **words == *text,
            CommandPattern::Prefix(words) => {
                text.strip_prefix(&**words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            CommandPattern::Wildcard(pattern) => {
                covers_wildcard(pattern, text)
                    || pattern.strip_suffix(" *").is_some_and(|pattern| covers_wildcard(pattern, text))
            }
        }
    }

    /// Whether the pattern may cover `text`, in which any text may stand in the place of each [`HOLE`].
    pub(crate) fn may_cover(&self, text: &str) -> bool {
        match self {
            CommandPattern::Any => true,
            CommandPattern::Exact(words) => may_meet(words, text),
            CommandPattern::Prefix(words) => may_meet(words, text) || may_meet(&format!("{words} *"), text),
            CommandPattern::Wildcard(pattern) => {
                may_meet(pattern, text)
                    || pattern.strip_suffix(" *").is_some_and(|pattern| may_meet(pattern, text))
            }
        }
    }

    /// What every text that the pattern covers starts with.
    pub(crate) fn fixed_start(&self) -> &str {
        match self {
            CommandPattern::Any => "",
            CommandPattern::Exact(words) | CommandPattern::Prefix(words) => words,
            CommandPattern::Wildcard(pattern) => pattern.split('*').next().unwrap_or_default(),
        }
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

/// Whether `pattern`, in which each `*` is any run of characters, is the whole of `text`. Linear in `text`
/// for each `*`.
pub(crate) fn covers_wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Whether some text is covered by `pattern` and has the shape of `text`.
pub(crate) fn may_meet(pattern: &str, text: &str) -> bool {
    if !text.contains(HOLE) {
        return covers_wildcard(pattern, text);
    }
    // Most texts are told apart by how they start.
    let starts = pattern.split('*').next().unwrap_or_default().bytes();
    if starts.zip(text.split(HOLE).next().unwrap_or_default().bytes()).any(|(a, b)| a != b) {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    pass_stars(&pattern, &mut reached);
    for c in text.chars() {
        if c == HOLE {
            let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        for at in (0..pattern.len()).rev() {
            let is_reached = std::mem::take(&mut reached[at + 1]) && pattern.get(at + 1) == Some(&'*');
            reached[at + 1] =
                is_reached || (reached[at] && matches!(pattern[at], here if here == c || here == '*'));
        }
        reached[0] &= pattern.first() == Some(&'*');
        pass_stars(&pattern, &mut reached);
    }
    reached[pattern.len()]
}

/// A `*` may stand for nothing.
fn pass_stars(pattern: &[char], reached: &mut [bool]) {
    for (at, c) in pattern.iter().enumerate() {
        reached[at + 1] |= reached[at] && *c == '*';
    }
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

    #[test]
    fn coverage() {
        let covers =
            |pattern, text| CommandPattern::parse(pattern).expect("a pattern of a test").covers(text);
        for (pattern, covered, others) in [
            ("ls *", &["ls", "ls -la", "ls a b"][..], &["lsof", "lsof -i", "als"][..]),
            ("ls*", &["ls", "ls -la", "lsof"], &["als"]),
            ("ls:*", &["ls", "ls x"], &["lsof"]),
            ("* --version", &["node --version"], &["--version", "node --version x"]),
            ("npm run test *", &["npm run test", "npm run test x"], &["npm run tests"]),
            ("git * main", &["git push origin main", "git log main"], &["git main", "git push origin mains"]),
            ("ssh * uptime *", &["ssh h uptime", "ssh h uptime -p"], &["ssh h uptimes", "ssh uptime"]),
            ("npm run build", &["npm run build"], &["npm run build --watch", "npm run"]),
            ("git diff *", &["git diff", "git diff x"], &["git diff-index", "git difftool -x y"]),
            ("git diff*", &["git diff", "git diff-index"], &[]),
            ("*", &["", "x"], &[]),
            ("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "abcd"]),
            ("a*a", &["aa", "aba"], &["a"]),
        ] {
            for text in covered {
                assert!(covers(pattern, text), "{pattern:?} covers {text:?}");
            }
            for text in others {
                assert!(!covers(pattern, text), "{pattern:?} does not cover {text:?}");
            }
        }
    }

    #[test]
    fn holes() {
        let may =
            |pattern, text| CommandPattern::parse(pattern).expect("a pattern of a test").may_cover(text);
        for (pattern, text, expected) in [
            ("git push *", "git \0", true),
            ("git push *", "git \0 push", true),
            ("git push *", "\0 push x", true),
            ("git push *", "echo \0", false),
            ("git push *", "git log \0", false),
            ("rm *", "r\0 x", true),
            ("rm *", "rx\0", false),
            ("* --force", "git push \0", true),
            ("* --force", "git push \0 x", false),
            ("npm test", "npm t\0t", true),
            ("npm test", "npm t\0 x", false),
            ("a*c", "ab\0", true),
            ("a*c", "\0", true),
        ] {
            assert_eq!(may(pattern, text), expected, "{pattern:?} and {text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_a_hole_is_filled_with_makes_a_text_that_may_be_covered(
            pattern in "[ab* ]{1,8}", before in "[ab ]{0,4}", filled in "[ab ]{0,4}", after in "[ab ]{0,4}",
        ) {
            if let Ok(pattern) = CommandPattern::parse(&pattern) {
                let whole = format!("{before}{filled}{after}");
                let is_covered = pattern.covers(&whole);
                let open = format!("{before}\0{after}");
                prop_assert!(!is_covered || pattern.may_cover(&open), "{}", pattern);
                prop_assert_eq!(is_covered, pattern.may_cover(&whole));
            }
        }

        #[test]
        fn a_pattern_shown_is_the_same_pattern(text in "[ab*: ]{0,12}|\\PC{0,20}") {
            if let Ok(pattern) = CommandPattern::parse(&text) {
                prop_assert_eq!(CommandPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }
    }
}
