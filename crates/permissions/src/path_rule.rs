//! The paths of a rule: what stands in the parentheses of `Read(…)` and `Edit(…)`.
//!
//! # Grammar
//!
//! | text | starts at |
//! |---|---|
//! | `//abs/x` | the file system's root |
//! | `~`, `~/x` | the home directory |
//! | `/x` | the directory of the rule's source: the project's root for a project's file, `~/.claude` for a user's; an administrator's has none |
//! | `./x`, `a/b` | the directory that the session was started in |
//! | `x`, `x/`, `*.pem` | the same, and any depth below it: the text has no slash but at its end |
//! | `src/**` | for an allow that one directory; for a deny or an ask a directory of that name at any depth |
//!
//! - What follows the start is a [`PathPattern`] and covers what it names *and everything below*. What that
//!   grammar refuses (`**.env`, `[`) is refused here too.
//! - A backslash takes the meaning from the character behind it, as in gitignore. A deny or an ask that holds
//!   one covers its other reading, too: the path in which the backslash is a character.
//! - `!x` would take something out of another rule. No rule takes anything out of another here, so it is
//!   refused. So are white space at either end and a `$` in front, and what looks like two rules or two paths
//!   in one (`//a,//b`): each would be a path that nothing has.
//!
//! The text may be a repository's: it names what it likes, and a deny that reads otherwise than it was meant
//! leaves a file open. So every text has one reading, two for a deny, or none and a reason. This module
//! follows no link; the judge is told where links lead.

use crate::List;
use palisade_policy::{AbsPath, Anchor, PathPattern, PathPatternError};
use std::fmt;

/// Where the paths of a rule start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleAnchor {
    /// Where `x` and `./x` start: the directory that the session was started in.
    pub working_directory: AbsPath,
    /// Where `/x` starts; `None` for an administrator's files, where a single slash is an error.
    pub source: Option<AbsPath>,
    /// What `~` means; `None` where there is no home directory.
    pub home: Option<AbsPath>,
    /// Another home directory: what a deny or an ask says of `~`, it says of both. A user chooses the first one for each
    /// command, and an administrator's denial is to hold whatever that is.
    pub other_home: Option<AbsPath>,
    /// Whether names that differ in case are one file: the file systems of macOS.
    pub folds_case: bool,
}

/// The paths that one rule covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathRule {
    text: Box<str>,
    /// A name that every path covered holds; empty where there is none. Most paths are told apart by it.
    name: Box<str>,
    patterns: Box<[PathPattern]>,
    /// The same in lower case; none where case counts, and for an allow, which covers what is written.
    folded: Box<[PathPattern]>,
}

/// Why a text names no paths. Completes "`text`: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRuleError {
    /// `/x` where it is not known what that starts at.
    #[error(
        "starts with a single slash, which no rule of this file has a meaning for; write // for the file system's root"
    )]
    NoSource,
    /// `!x`.
    #[error("starts with \"!\", but no rule can take paths out of another")]
    Negation,
    /// `//a,//b`.
    #[error("looks like several paths; write one rule for each")]
    Several,
    /// See [`PathPatternError`].
    #[error(transparent)]
    Pattern(#[from] PathPatternError),
}

impl PathRule {
    /// Reads the paths `text` of a rule in `list`.
    pub fn parse(text: &str, list: List, anchor: &RuleAnchor) -> Result<Self, PathRuleError> {
        let patterns = compile(text, list, anchor)?;
        let folded = match list {
            List::Deny | List::Ask if anchor.folds_case => {
                compile(&text.to_lowercase(), list, &anchor.folded())?
            }
            _ => Vec::new(),
        };
        Ok(PathRule {
            text: text.into(),
            name: fixed_name(text).into(),
            patterns: patterns.into(),
            folded: folded.into(),
        })
    }

    /// The paths as patterns of the sandbox's file lists.
    pub fn patterns(&self) -> &[PathPattern] {
        &self.patterns
    }

    /// Whether the rule covers `path`, letter by letter.
    pub fn covers(&self, path: &AbsPath) -> bool {
        self.name.as_bytes().first().is_none_or(|first| {
            let name = self.name.as_bytes();
            path.as_bytes().windows(name.len()).any(|part| part[0] == *first && part == name)
        }) && self.patterns.iter().any(|pattern| pattern.covers(path).is_some())
    }

    /// Whether the rule covers `path`, whose letters were made small, where case makes no difference.
    pub(crate) fn covers_folded(&self, path: &AbsPath) -> bool {
        self.folded.iter().any(|pattern| pattern.covers(path).is_some())
    }
}

/// The text of a rule for `path` and everything below it, such as `//srv/app/**`, with what would be a
/// wildcard escaped; `None` for a name that is no text.
pub fn spell_path(path: &AbsPath) -> Option<String> {
    let mut out = String::from("/");
    for c in std::str::from_utf8(path.as_bytes()).ok()?.chars() {
        if "*?[]\\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out.push_str(if path.is_root() { "**" } else { "/**" });
    Some(out)
}

impl RuleAnchor {
    fn folded(&self) -> Self {
        RuleAnchor {
            working_directory: fold(&self.working_directory),
            source: self.source.as_ref().map(fold),
            home: self.home.as_ref().map(fold),
            other_home: self.other_home.as_ref().map(fold),
            folds_case: true,
        }
    }

    fn at(&self, base: &AbsPath) -> Anchor {
        Anchor { base: base.clone(), home: self.home.clone() }
    }
}

/// `path` with small letters; one that is no text stays as it is but for ASCII.
pub(crate) fn fold(path: &AbsPath) -> AbsPath {
    let folded = match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => path.as_bytes().to_ascii_lowercase(),
    };
    AbsPath::new(folded).unwrap_or_else(|_| path.clone())
}

fn compile(text: &str, list: List, anchor: &RuleAnchor) -> Result<Vec<PathPattern>, PathRuleError> {
    let here = &anchor.working_directory;
    if text.starts_with('!') {
        return Err(PathRuleError::Negation);
    }
    PathPattern::check_spelling(text.as_bytes())?;
    if is_several(text) {
        return Err(PathRuleError::Several);
    }
    if text.starts_with('~') {
        return below_homes(text, list, anchor);
    }
    if let Some(absolute) = text.strip_prefix('/').filter(|rest| rest.starts_with('/')) {
        return below(absolute, list, &anchor.at(here));
    }
    if let Some(rest) = text.strip_prefix('/') {
        let source = anchor.source.as_ref().ok_or(PathRuleError::NoSource)?;
        return below(&format!("./{rest}"), list, &anchor.at(source));
    }
    let has_any_depth = has_any_depth(text, list);
    let spelled = if has_any_depth { format!("**/{text}") } else { text.to_owned() };
    below(&spelled, list, &anchor.at(here))
}

/// `~/x` below the home directory; for a deny or an ask, below each.
fn below_homes(text: &str, list: List, anchor: &RuleAnchor) -> Result<Vec<PathPattern>, PathRuleError> {
    let other = anchor.other_home.as_ref().filter(|_| list != List::Allow);
    let own = anchor.home.as_ref().filter(|own| Some(*own) != other);
    let homes: Vec<Option<&AbsPath>> = match (own, other) {
        (None, None) => vec![None],
        (own, other) => own.into_iter().chain(other).map(Some).collect(),
    };
    let mut patterns = Vec::new();
    for home in homes {
        let at = Anchor { base: anchor.working_directory.clone(), home: home.cloned() };
        patterns.extend(below(text, list, &at)?);
    }
    Ok(patterns)
}

/// Whether a comma is followed by what starts a path anew.
fn is_several(text: &str) -> bool {
    text.split(',').skip(1).any(|rest| {
        let next = rest.trim_start();
        next.starts_with("//")
            || next.starts_with("~/")
            || (next.len() < rest.len() && next.starts_with(['/', '.']))
    })
}

/// Whether a text that starts at the working directory is meant at any depth below it.
fn has_any_depth(text: &str, list: List) -> bool {
    let name = text.trim_end_matches('/');
    let directory = name.strip_suffix("/**").map(|name| name.trim_end_matches('/'));
    let is_name = |name: &str| !name.contains('/') && !matches!(name, "" | "." | ".." | "**");
    match directory {
        Some(directory) => list != List::Allow && is_name(directory),
        None if name != text => list != List::Allow && is_name(name),
        None => is_name(name),
    }
}

fn below(text: &str, list: List, anchor: &Anchor) -> Result<Vec<PathPattern>, PathRuleError> {
    let text = without_below(text);
    let mut patterns = vec![PathPattern::parse(unescape(text), anchor)?];
    if text.contains('\\') && list != List::Allow {
        let kept = if has_wildcards(text) { text.replace('\\', r"\\") } else { text.to_owned() };
        patterns.extend(PathPattern::parse(kept, anchor));
    }
    Ok(patterns)
}

/// The text without a `/**` at its end, which makes no difference but would count as a wildcard.
fn without_below(mut text: &str) -> &str {
    while let Some(shorter) = text.strip_suffix("/**").or_else(|| text.strip_suffix('/')) {
        match shorter {
            "" => return "/",
            // The slash says that the blank is meant.
            _ if shorter.ends_with(char::is_whitespace) => return &text[..=shorter.len()],
            _ => text = shorter,
        }
    }
    text
}

/// The longest name in the text that stands for itself.
fn fixed_name(text: &str) -> &str {
    let names = text.split('/').filter(|name| {
        !name.starts_with('~') && !name.contains(['*', '?', '[', '\\']) && !matches!(*name, "" | "." | "..")
    });
    // A step up takes the name before it out again.
    if text.contains("..") { "" } else { names.max_by_key(|name| name.len()).unwrap_or_default() }
}

fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Drops each backslash that the grammar of path patterns would take for a character, or would refuse.
fn unescape(text: &str) -> String {
    let has_wildcards = has_wildcards(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let escaped = if c == '\\' { rest.next() } else { None };
        match escaped {
            None => out.push(c),
            Some(escaped) => {
                if has_wildcards && r"*?[]{}\!^-".contains(escaped) {
                    out.push('\\');
                }
                out.push(escaped);
            }
        }
    }
    out
}

impl fmt::Display for PathRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use List::{Allow, Ask, Deny};

    fn anchor() -> RuleAnchor {
        let path = |text: &str| AbsPath::new(text).expect("a path of a test");
        RuleAnchor {
            working_directory: path("/w/proj"),
            source: Some(path("/w")),
            home: Some(path("/home/u")),
            other_home: None,
            folds_case: false,
        }
    }

    fn is_covered(text: &str, list: List, path: &str) -> bool {
        let rule = PathRule::parse(text, list, &anchor()).expect("a rule of a test");
        rule.covers(&AbsPath::new(path).expect("a path of a test"))
    }

    fn check(text: &str, covered: &[&str], others: &[&str]) {
        for list in [Deny, Ask, Allow] {
            check_in(list, text, covered, others);
        }
    }

    fn check_in(list: List, text: &str, covered: &[&str], others: &[&str]) {
        for path in covered {
            assert!(is_covered(text, list, path), "{text} in {list:?} covers {path}");
        }
        for path in others {
            assert!(!is_covered(text, list, path), "{text} in {list:?} does not cover {path}");
        }
    }

    #[test]
    fn starts() {
        check("//etc/passwd", &["/etc/passwd"], &["/w/etc/passwd", "/w/proj/etc/passwd"]);
        check("//**/.env", &["/.env", "/a/b/.env", "/w/proj/.env"], &["/a/.envrc"]);
        check("~/.ssh/**", &["/home/u/.ssh", "/home/u/.ssh/a/b"], &["/home/u/.sshx", "/root/.ssh/a"]);
        check("~", &["/home/u", "/home/u/x"], &["/home/user"]);
        check("/docs/**", &["/w/docs/x"], &["/docs/x", "/w/proj/docs/x"]);
        check("/*.md", &["/w/a.md"], &["/w/proj/a.md", "/a.md"]);
        check("./.env", &["/w/proj/.env"], &["/w/proj/sub/.env", "/w/.env"]);
        check("sub/.env", &["/w/proj/sub/.env"], &["/w/proj/a/sub/.env"]);
        check("../x", &["/w/x"], &["/w/proj/x"]);
        check("a/b/**", &["/w/proj/a/b/c"], &["/w/proj/x/a/b/c"]);
        check(".", &["/w/proj", "/w/proj/x"], &["/w"]);
        check("**", &["/w/proj", "/w/proj/x"], &["/w/x"]);
        check("*", &["/w/proj/x"], &["/w/x"]);
    }

    #[test]
    fn a_name_alone_is_meant_at_any_depth() {
        check(".env", &["/w/proj/.env", "/w/proj/a/b/.env", "/w/proj/.env/x"], &["/w/.env", "/w/proj/x.env"]);
        check("*.pem", &["/w/proj/k.pem", "/w/proj/a/k.pem"], &["/w/k.pem"]);
        check("[ab].txt", &["/w/proj/x/b.txt"], &["/w/proj/c.txt"]);
    }

    #[test]
    fn a_directory_alone_is_meant_at_any_depth_by_a_deny() {
        for text in ["src/**", "src/", "src//**"] {
            for list in [Deny, Ask] {
                check_in(list, text, &["/w/proj/src/a", "/w/proj/vendor/p/src/l.js"], &["/w/src/a"]);
            }
            check_in(Allow, text, &["/w/proj/src/a"], &["/w/proj/vendor/p/src/l.js", "/w/src/a"]);
        }
    }

    #[test]
    fn a_backslash_takes_a_meaning_away() {
        check(r"a\*b", &["/w/proj/a*b"], &["/w/proj/axb"]);
        check(r"d/a\*b", &["/w/proj/d/a*b"], &["/w/proj/d/axb"]);
        check(r"with\ blank", &["/w/proj/with blank"], &[]);
        check(r"//x/a\[b", &["/x/a[b"], &["/x/a\\[b"]);
        check_in(Deny, r"//x/a\b", &["/x/ab", r"/x/a\b"], &[]);
        check_in(Allow, r"//x/a\b", &["/x/ab"], &[r"/x/a\b"]);
        check(r"\!x", &["/w/proj/!x"], &[]);
    }

    #[test]
    fn refusals() {
        use PathRuleError::{Negation, NoSource, Pattern};
        let managed = RuleAnchor { source: None, home: None, ..anchor() };
        assert_eq!(PathRule::parse("/etc/x", Deny, &managed), Err(NoSource));
        assert_eq!(PathRule::parse("~/x", Deny, &managed), Err(Pattern(PathPatternError::NoHome)));
        assert_eq!(PathRule::parse("!x", Deny, &anchor()), Err(Negation));
        for text in ["//x,//y", "//x, //y", "src/**,~/y", "a, ./b"] {
            assert_eq!(PathRule::parse(text, Deny, &anchor()), Err(PathRuleError::Several), "{text}");
        }
        for (text, reason) in [
            (" //x", PathPatternError::WhiteSpace),
            ("//x ", PathPatternError::WhiteSpace),
            ("\t//x", PathPatternError::WhiteSpace),
            ("x\u{a0}", PathPatternError::WhiteSpace),
            ("$HOME/x", PathPatternError::Variable),
            ("${HOME}/x", PathPatternError::Variable),
        ] {
            assert_eq!(PathRule::parse(text, Deny, &anchor()), Err(Pattern(reason)), "{text:?}");
        }
        for text in ["./ x", "//x /", "./$HOME", "//a,b", "{a,b}/c", "a, b"] {
            assert!(PathRule::parse(text, Deny, &anchor()).is_ok(), "{text:?}");
        }
        assert_eq!(PathRule::parse("~bob/x", Deny, &anchor()), Err(Pattern(PathPatternError::OtherHome)));
        for text in ["**.env", "[a", "a/**b"] {
            let refused = PathRule::parse(text, Deny, &anchor());
            assert!(matches!(refused, Err(Pattern(PathPatternError::Wildcard(_)))), "{text}: {refused:?}");
        }
    }

    #[test]
    fn a_denial_below_home_holds_below_each_home() {
        let other = AbsPath::new("/home/account").expect("a path");
        let anchor = RuleAnchor { other_home: Some(other), ..anchor() };
        let covers = |list, path| {
            let rule = PathRule::parse("~/.ssh/**", list, &anchor).expect("a rule");
            rule.covers(&AbsPath::new(path).expect("a path"))
        };
        for list in [Deny, Ask] {
            assert!(covers(list, "/home/u/.ssh/id") && covers(list, "/home/account/.ssh/id"), "{list:?}");
        }
        assert!(covers(Allow, "/home/u/.ssh/id") && !covers(Allow, "/home/account/.ssh/id"));
        let homeless = RuleAnchor { home: None, ..anchor.clone() };
        let rule = PathRule::parse("~/x", Deny, &homeless).expect("a rule");
        assert!(rule.covers(&AbsPath::new("/home/account/x").expect("a path")));
        assert!(PathRule::parse("~/x", Allow, &homeless).is_err());
    }

    #[test]
    fn where_case_makes_no_difference_a_deny_has_a_second_spelling() {
        let anchor = RuleAnchor { folds_case: true, ..anchor() };
        let covers = |list| PathRule::parse("/Secrets/*.PEM", list, &anchor).expect("a rule").folded.len();
        assert_eq!([covers(Deny), covers(Ask), covers(Allow)], [1, 1, 0]);
        let deny = PathRule::parse("/Secrets/*.PEM", Deny, &anchor).expect("a rule");
        let path = AbsPath::new("/w/secrets/a.pem").expect("a path");
        assert!(deny.folded[0].covers(&path).is_some() && !deny.covers(&path));
    }

    #[test]
    fn a_path_is_spelled_so_that_it_is_read_again() {
        for path in ["/", "/a/b", "/a*b/[c]", r"/a\b", "/!x/~y", "/a b(c)"] {
            let path = AbsPath::new(path).expect("a path");
            let text = spell_path(&path).expect("text");
            let rule = PathRule::parse(&text, Allow, &anchor()).expect("a rule");
            assert_eq!(rule.patterns(), [PathPattern::literal(path)], "{text}");
        }
        assert_eq!(spell_path(&AbsPath::new(b"/a\xff").expect("a path")), None);
    }
}
