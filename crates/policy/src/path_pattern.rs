//! Path patterns: one line of `filesystem.denyRead` and its like.
//!
//! # Grammar
//!
//! | text | means |
//! |---|---|
//! | `/abs`, `//abs` | that path and everything below it |
//! | `~`, `~/x` | the home directory, or below it |
//! | `.`, `./x`, `x`, `../x` | below the directory that the text is anchored to ([`Anchor::base`]) |
//! | a trailing `/` or `/**` | the same as without it |
//! | `*`, `?` | any run of bytes, any one byte, but never a `/` |
//! | `**` as a whole component | any number of components, none included |
//! | `[abc]`, `[a-z]`, `[!abc]` | one byte of the set, or outside it |
//! | `\x` | the character x itself, in a pattern with wildcards |
//!
//! - A pattern covers what it names *and everything below*.
//! - A text with wildcards also has its **literal reading**: a file whose name is just that text is covered
//!   too. For an allow this widens by one file that the text names letter by letter.
//! - Braces are ordinary characters.
//! - `~user` is refused: whose home that is depends on a database this crate does not read, and a guess
//!   would leave a denied file open.

use crate::{AbsPath, PathError};
use globset::{Candidate, GlobBuilder, GlobMatcher};
use std::fmt;
use std::sync::Arc;

/// Where the relative parts of a pattern's text start.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// Where `x` and `./x` start.
    pub base: AbsPath,
    /// What `~` means; `None` where there is no home directory, and then `~` is an error.
    pub home: Option<AbsPath>,
}

/// A compiled path pattern. See the module's documentation for the grammar.
#[derive(Clone)]
pub struct PathPattern {
    literal: AbsPath,
    glob: Option<Arc<Glob>>,
}

struct Glob {
    matcher: GlobMatcher,
    /// The deepest directory that every match lies in.
    fixed: AbsPath,
}

/// Why a text is not a path pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    /// An empty text names nothing.
    #[error("is empty; write \".\" for the directory itself")]
    Empty,
    /// See [`PathError`].
    #[error(transparent)]
    Path(#[from] PathError),
    /// `~` where there is no home directory.
    #[error("starts with ~, but there is no home directory (HOME is not set)")]
    NoHome,
    /// `~user`.
    #[error("names another user's home directory; write the directory's full path instead")]
    OtherHome,
    /// A wildcard that is not well-formed.
    #[error("is not a valid pattern: {0}")]
    Wildcard(String),
    /// Wildcards work on UTF-8 text only.
    #[error("has wildcards and bytes that are not UTF-8; name the paths one by one instead")]
    NotUtf8,
}

impl PathPattern {
    /// Compiles the pattern `text`.
    pub fn parse(text: impl AsRef<[u8]>, anchor: &Anchor) -> Result<Self, PathPatternError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(PathPatternError::Empty);
        }
        let text = strip_everything_below(text);
        let (base, rest) = match text {
            [b'~'] | [b'~', b'/', ..] => {
                let home = anchor.home.as_ref().ok_or(PathPatternError::NoHome)?;
                (home.clone(), text.get(2..).unwrap_or_default())
            }
            [b'~', ..] => return Err(PathPatternError::OtherHome),
            [b'/', ..] => (AbsPath::root(), text),
            _ => (anchor.base.clone(), text),
        };
        // An absolute `rest` may start with several slashes; below a base it must not replace the base.
        let rest = rest.strip_prefix(b"/").map_or(rest, |rest| rest.trim_ascii_start_slashes());
        let literal = base.join(rest)?;
        let glob = if rest.iter().any(|b| b"*?[".contains(b)) {
            Some(Arc::new(Glob::new(&base, rest)?))
        } else {
            None
        };
        Ok(PathPattern { literal, glob })
    }

    /// The pattern that covers `path` and everything below it, whatever characters its name holds.
    pub fn literal(path: AbsPath) -> Self {
        PathPattern { literal: path, glob: None }
    }

    /// The path that the text names when every character stands for itself.
    pub fn as_literal(&self) -> &AbsPath {
        &self.literal
    }

    /// Whether the text has wildcards, so that it may cover paths besides the literal one.
    pub fn has_wildcards(&self) -> bool {
        self.glob.is_some()
    }

    /// For a pattern with wildcards, the deepest directory that every match lies in: where to look for what
    /// exists.
    pub fn search_root(&self) -> Option<&AbsPath> {
        self.glob.as_ref().map(|glob| &glob.fixed)
    }

    /// How narrowly the pattern covers `path`: the length in bytes of the longest path, `path` itself or a
    /// directory above it, that the pattern names. `None` when it does not cover `path`.
    ///
    /// A wildcard is as narrow as the path it matched.
    pub fn covers(&self, path: &AbsPath) -> Option<usize> {
        let literal = self.literal.covers(path).then(|| self.literal.as_bytes().len());
        let glob = self.glob.as_ref().and_then(|glob| glob.narrowest(path));
        literal.max(glob)
    }

    /// Whether the pattern names exactly this path, not only a directory above it.
    pub fn names(&self, path: &AbsPath) -> bool {
        self.literal == *path || self.glob.as_ref().is_some_and(|glob| glob.names(path))
    }
}

impl Glob {
    fn new(base: &AbsPath, rest: &[u8]) -> Result<Self, PathPatternError> {
        let rest = std::str::from_utf8(rest).map_err(|_| PathPatternError::NotUtf8)?;
        let base_text = std::str::from_utf8(base.as_bytes()).map_err(|_| PathPatternError::NotUtf8)?;
        let mut text = globset::escape(base_text.trim_end_matches('/'));
        let mut fixed = base.clone();
        let mut is_fixed = true;
        for component in rest.split('/').filter(|c| !c.is_empty() && *c != ".") {
            if component == ".." {
                return Err(PathPatternError::Wildcard("\"..\" together with wildcards".into()));
            }
            is_fixed &= !component.contains(['*', '?', '[', '\\']);
            if is_fixed {
                fixed = fixed.join(component)?;
            }
            text.push('/');
            text.push_str(&escape_braces(component));
        }
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| PathPatternError::Wildcard(error.kind().to_string()))?;
        Ok(Glob { matcher: glob.compile_matcher(), fixed })
    }

    fn names(&self, path: &AbsPath) -> bool {
        self.matcher.is_match_candidate(&Candidate::from_bytes(path.as_bytes()))
    }

    fn narrowest(&self, path: &AbsPath) -> Option<usize> {
        path.ancestors()
            .take_while(|above| self.fixed.covers(above))
            .find(|above| self.names(above))
            .map(|above| above.as_bytes().len())
    }
}

/// `/x/**` and `/x/` cover what `/x` covers.
fn strip_everything_below(text: &[u8]) -> &[u8] {
    let mut text = text;
    loop {
        let shorter = text.strip_suffix(b"/**").or_else(|| text.strip_suffix(b"/"));
        match shorter {
            Some(b"") => return b"/",
            Some(shorter) => text = shorter,
            None => return text,
        }
    }
}

/// Braces mean alternatives to the library and nothing to this grammar.
fn escape_braces(component: &str) -> String {
    let mut out = String::with_capacity(component.len());
    let mut escaped = false;
    for c in component.chars() {
        if "{}".contains(c) && !escaped {
            out.push('\\');
        }
        out.push(c);
        escaped = c == '\\' && !escaped;
    }
    out
}

trait TrimSlashes {
    fn trim_ascii_start_slashes(&self) -> &[u8];
}

impl TrimSlashes for [u8] {
    fn trim_ascii_start_slashes(&self) -> &[u8] {
        let slashes = self.iter().take_while(|&&b| b == b'/').count();
        &self[slashes..]
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.literal.fmt(f)
    }
}

impl fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.literal)?;
        if self.glob.is_some() { f.write_str(" (wildcards)") } else { Ok(()) }
    }
}

/// Two patterns are equal when their texts name the same thing.
impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.literal == other.literal && self.glob.is_some() == other.glob.is_some()
    }
}

impl Eq for PathPattern {}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor() -> Anchor {
        Anchor { base: AbsPath::new("/p").expect("absolute"), home: AbsPath::new("/home/u").ok() }
    }

    fn covers(text: &str, path: &str) -> bool {
        let pattern = PathPattern::parse(text, &anchor()).expect(text);
        pattern.covers(&AbsPath::new(path).expect("absolute")).is_some()
    }

    #[test]
    fn grammar() {
        for (text, yes, no) in [
            ("/abs", "/abs/x", "/absx"),
            ("//abs", "/abs", "/p/abs"),
            ("~", "/home/u/x", "/home/v"),
            ("~/", "/home/u", "/home"),
            ("~/x", "/home/u/x", "/home/u/xy"),
            (".", "/p/a", "/q"),
            ("./x", "/p/x", "/x"),
            ("x", "/p/x/y", "/x"),
            ("../q", "/q", "/p/q"),
            ("x/", "/p/x", "/p"),
            ("x/**", "/p/x", "/p"),
            ("x/**/", "/p/x/y", "/p/xy"),
            ("/", "/anything", ""),
            ("/**", "/anything", ""),
            ("*.env", "/p/a.env", "/p/d/a.env"),
            ("*.env", "/p/a.env/below", "/p/a.envx"),
            ("**/.env", "/p/.env", "/q/.env"),
            ("~/**/.env", "/home/u/a/b/.env", "/home/u/a/b/env"),
            ("a/**/b", "/p/a/b", "/p/b"),
            ("a/**/b", "/p/a/x/y/b", "/p/a/x/y"),
            ("a?c", "/p/abc", "/p/a/c"),
            ("[ab]x", "/p/ax", "/p/cx"),
            ("[!ab]x", "/p/cx", "/p/ax"),
            ("./[WIP] project", "/p/[WIP] project/f", "/p/project"),
            ("{a,b}*", "/p/{a,b}c", "/p/a"),
            (r"a\*b*", "/p/a*bc", "/p/axb"),
        ] {
            assert!(covers(text, yes), "{text} should cover {yes}");
            assert!(no.is_empty() || !covers(text, no), "{text} should not cover {no}");
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, reason) in [
            ("", "is empty"),
            ("~root/x", "another user"),
            ("a\0b", "NUL"),
            ("a[b", "unclosed character class"),
            ("../*", "\"..\" together with wildcards"),
        ] {
            let error = PathPattern::parse(text, &anchor()).expect_err(text).to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
        let homeless = Anchor { home: None, ..anchor() };
        assert_eq!(PathPattern::parse("~/x", &homeless), Err(PathPatternError::NoHome));
        assert_eq!(PathPattern::parse(b"\xff*", &anchor()), Err(PathPatternError::NotUtf8));
        assert!(PathPattern::parse(b"\xff", &anchor()).is_ok(), "without wildcards any byte will do");
    }

    #[test]
    fn a_wildcard_is_as_narrow_as_what_it_matched() {
        let pattern = PathPattern::parse("~/**/.env", &anchor()).expect("valid");
        let path = AbsPath::new("/home/u/a/.env/deeper").expect("absolute");
        assert_eq!(pattern.covers(&path), Some("/home/u/a/.env".len()));
    }
}
