//! Path patterns: one line of `filesystem.denyRead` and its like.
//!
//! # Grammar
//!
//! | text | means |
//! |---|---|
//! | `/abs`, `//abs` | that path and everything below it |
//! | `~`, `~/x` | the home directory, or below it |
//! | `.`, `./x`, `x`, `../x` | below the directory that the text is anchored to ([`Anchor::base`]) |
//! | a trailing `/` or `/**`, also several | the same as without it; `**` alone is `.` |
//! | `*` | any run of characters, none included, but never a `/` |
//! | `?` | one character, but never a `/` |
//! | `**` as a whole component | any number of components, none included |
//! | `[abc]`, `[a-z]` | one character of the set; a `]` in first place and a `-` in first or last stand for themselves |
//! | `[!abc]`, `[^abc]` | one character outside the set |
//! | `[z-a]` | of a range that runs backwards, its first character; `[!z-a]` leaves out nothing for it |
//! | `\*` `\?` `\[` `\]` `\{` `\}` `\\` `\!` `\^` `\-` | in a text with any of `*`, `?`, `[`: that character itself, in sets too |
//!
//! - A pattern covers what it names *and everything below*.
//! - A text with none of `*`, `?` and `[` is a path letter by letter; a backslash in it is a backslash.
//! - A text whose every `*`, `?` and `[` has a backslash in front (`a\*b`) names that one path.
//! - In any other text a name that is just what is written is covered too: `*` and `?` match themselves, and a component
//!   with a set also matches its own text, so `app/[id]/*.key` covers what is in a directory `[id]`, and `file[1]` a file of
//!   that name. For an allow this widens by what the text names letter by letter.
//! - A character is a Unicode code point, or a byte that is part of none. Case counts, and so does how an
//!   accented letter is composed: `é` and `e` with an accent are different names, as they are to the kernel.
//! - Braces are ordinary characters.
//!
//! Refused, since a deny that is read in another way than it was meant leaves a file open:
//!
//! - `**` with anything else in its component (`**.env`): elsewhere this means "at any depth", or `*`;
//! - a `[` without its `]`, so also `[]` and `[!]`; a named class (`[[:alpha:]]`, `[[.a.]]`, `[[=a=]]`); a `/` between
//!   brackets;
//! - a range that ends beyond ASCII, and a character beyond ASCII in a set that starts with `!` or `^`;
//! - in a text with wildcards, a backslash before any other character, also at the end of a component
//!   (`*\/x`), and a component that is `..` or is spelled to mean `.` or `..` (`[.][.]`), which no path
//!   holds;
//! - `~user`: whose home that is depends on a database this crate does not read;
//! - white space at either end, and a `$` or a `!` in front ([`PathPattern::check_spelling`]): a slip of the pen, a
//!   shell's variable, gitignore's exception. As a path it would be a dead one below the anchor. A name that really
//!   starts so is written behind `./`, one that ends so in front of a `/`;
//! - a text of more than 4096 bytes, the longest path that Linux takes, or with more than 100 wildcards,
//!   where each character beyond ASCII in a set counts as one.
//!
//! The page `docs/spec/paths.md` has examples of each, all of which are tests.

use crate::glob::{Component, Glob, MOST_WILDCARDS};
use crate::{AbsPath, PathError};
use std::fmt;
use std::sync::Arc;

/// The longest text of a pattern, in bytes.
const LONGEST_TEXT: usize = 4096;

/// Where the relative parts of a pattern's text start.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// Where `x` and `./x` start.
    pub base: AbsPath,
    /// What `~` means; `None` where there is no home directory, and then `~` is an error.
    pub home: Option<AbsPath>,
}

/// A compiled path pattern. See the module's documentation for the grammar.
///
/// Two patterns are equal when they cover the same paths for the same reasons: the literal path, what was compiled
/// from the wildcards, and the directories that a `..` steps out of are equal, whatever text and anchor they came
/// from.
#[derive(Clone, PartialEq, Hash)]
pub struct PathPattern {
    literal: AbsPath,
    glob: Option<Arc<Glob>>,
    stepped_out_of: Option<Arc<[AbsPath]>>,
}

impl Eq for PathPattern {}

/// Why a text is not a path pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    /// An empty text names nothing.
    #[error("is empty; write \".\" for the directory itself")]
    Empty,
    /// Longer than any path.
    #[error("is longer than {LONGEST_TEXT} bytes")]
    TooLong,
    /// See [`PathError`].
    #[error(transparent)]
    Path(#[from] PathError),
    /// `~` where there is no home directory.
    #[error("starts with ~, but there is no home directory (HOME is not set)")]
    NoHome,
    /// `~user`.
    #[error("names another user's home directory; write the directory's full path instead")]
    OtherHome,
    /// White space at an end.
    #[error("starts or ends with white space; take it away (a name that is so is written \"./ x\", \"x /\")")]
    WhiteSpace,
    /// `$HOME/x`.
    #[error(
        "starts with a \"$\", but variables are not looked up here; write \"~/\" for the home directory, else the full path (a name that starts so is written \"./$x\")"
    )]
    Variable,
    /// `!x`.
    #[error(
        "starts with \"!\", but no entry takes paths out of another (a name that starts so is written \"./!x\")"
    )]
    Negation,
    /// A wildcard that is not well-formed.
    #[error("is not a valid pattern: {0}")]
    Wildcard(String),
    /// Each wildcard makes matching slower.
    #[error("has more than {MOST_WILDCARDS} wildcards")]
    TooManyWildcards,
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
        if text.len() > LONGEST_TEXT {
            return Err(PathPatternError::TooLong);
        }
        Self::check_spelling(text)?;
        let (base, rest) = anchor.split(text)?;
        let components = components(rest);
        // Also where wildcards are: this finds a NUL.
        let literal = base.join(components.join(&b'/'))?;
        if components.iter().any(|component| component.iter().any(|byte| b"*?[".contains(byte))) {
            Self::with_wildcards(&base, &components, literal)
        } else {
            let stepped_out_of = stepped_out_of(&base, &components)?;
            Ok(PathPattern { stepped_out_of, ..PathPattern::literal(literal) })
        }
    }

    /// Refuses a text that is plainly meant for another path than the one of its letters.
    pub fn check_spelling(text: &[u8]) -> Result<(), PathPatternError> {
        let is_blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
        let chunks = || text.utf8_chunks();
        let first = chunks().next().and_then(|chunk| chunk.valid().chars().next());
        let last = chunks().last().filter(|chunk| chunk.invalid().is_empty());
        match first {
            _ if is_blank(first) || is_blank(last.and_then(|chunk| chunk.valid().chars().next_back())) => {
                Err(PathPatternError::WhiteSpace)
            }
            Some('$') => Err(PathPatternError::Variable),
            Some('!') => Err(PathPatternError::Negation),
            _ => Ok(()),
        }
    }

    fn with_wildcards(base: &AbsPath, texts: &[&[u8]], literal: AbsPath) -> Result<Self, PathPatternError> {
        let read =
            |text: &&[u8]| Component::read(std::str::from_utf8(text).map_err(|_| PathPatternError::NotUtf8)?);
        let components: Vec<Component> = texts.iter().map(read).collect::<Result<_, _>>()?;
        let names: Vec<String> = components.iter().map_while(Component::as_name).collect();
        let fixed = base.join(names.join("/"))?;
        match &components[names.len()..] {
            [] => Ok(PathPattern::literal(fixed)),
            wild => {
                let glob = Some(Arc::new(Glob::new(fixed, wild)?));
                Ok(PathPattern { glob, ..PathPattern::literal(literal) })
            }
        }
    }

    /// The pattern that covers `path` and everything below it, whatever characters its name holds.
    pub fn literal(path: AbsPath) -> Self {
        PathPattern { literal: path, glob: None, stepped_out_of: None }
    }

    /// The text by which a rule names `path` and no other, whatever its name holds. `None` where no text does: wildcards
    /// can be escaped in UTF-8 only, and a text has its [limits](PathPatternError).
    pub fn text_for(path: &AbsPath) -> Option<Vec<u8>> {
        let mut text = path.as_bytes().to_vec();
        if text.iter().any(|byte| b"*?[".contains(byte)) {
            let escaped = |byte: u8| if b"*?[\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] };
            text = text.into_iter().flat_map(escaped).collect();
        }
        if Self::check_spelling(&text) == Err(PathPatternError::WhiteSpace) {
            text.push(b'/');
        }
        let anchor = Anchor { base: AbsPath::root(), home: None };
        let read = Self::parse(&text, &anchor);
        read.is_ok_and(|read| read == Self::literal(path.clone())).then_some(text)
    }

    /// The path that the text names when every character stands for itself; without wildcards, the one that
    /// the pattern names.
    pub fn as_literal(&self) -> &AbsPath {
        &self.literal
    }

    /// The directories that the text names and that a `..` of it steps out of again, in order. Where one of them is a
    /// symbolic link the kernel, which follows it first, ends up elsewhere than the pattern.
    pub fn stepped_out_of(&self) -> &[AbsPath] {
        self.stepped_out_of.as_deref().unwrap_or_default()
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

    pub(crate) fn glob(&self) -> Option<&Glob> {
        self.glob.as_deref()
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

    /// Whether the pattern may name something below `directory`, at any depth: whether to look there for what exists.
    pub fn may_name_below(&self, directory: &AbsPath) -> bool {
        let is_above_literal = directory.covers(&self.literal) && *directory != self.literal;
        is_above_literal || self.glob.as_ref().is_some_and(|glob| glob.may_name_below(directory))
    }

    /// Whether the pattern names exactly this path, not only a directory above it.
    pub fn names(&self, path: &AbsPath) -> bool {
        self.literal == *path || self.glob.as_ref().is_some_and(|glob| glob.names(path))
    }
}

impl Anchor {
    /// Where `text` starts, and what of it follows.
    fn split<'a>(&self, text: &'a [u8]) -> Result<(AbsPath, &'a [u8]), PathPatternError> {
        match text {
            [b'~'] | [b'~', b'/', ..] => {
                let home = self.home.clone().ok_or(PathPatternError::NoHome)?;
                Ok((home, &text[1..]))
            }
            [b'~', ..] => Err(PathPatternError::OtherHome),
            [b'/', ..] => Ok((AbsPath::root(), text)),
            _ => Ok((self.base.clone(), text)),
        }
    }
}

/// The components that mean something: none that is empty or `.`, no `**` at the end, since a pattern covers
/// what is below anyhow.
fn components(text: &[u8]) -> Vec<&[u8]> {
    let mut components: Vec<_> =
        text.split(|byte| *byte == b'/').filter(|component| !matches!(*component, b"" | b".")).collect();
    while components.pop_if(|last| *last == b"**").is_some() {}
    components
}

/// See [`PathPattern::stepped_out_of`]. A `..` that comes first steps out of no directory that the text names.
fn stepped_out_of(base: &AbsPath, components: &[&[u8]]) -> Result<Option<Arc<[AbsPath]>>, PathError> {
    let mut directories = Vec::new();
    let (mut at, mut named) = (base.clone(), 0_usize);
    for component in components {
        if *component == b".." {
            if named > 0 {
                directories.push(at.clone());
            }
            named = named.saturating_sub(1);
        } else {
            named += 1;
        }
        at = at.join(component)?;
    }
    Ok((!directories.is_empty()).then(|| directories.into()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor() -> Anchor {
        Anchor { base: AbsPath::new("/p").expect("absolute"), home: AbsPath::new("/home/u").ok() }
    }

    #[test]
    fn which_directories_a_text_steps_out_of() {
        for (text, directories) in [
            ("a/../b", &["/p/a"][..]),
            ("/a/b/../../c/..", &["/a/b", "/a", "/c"]),
            ("~/x/../y", &["/home/u/x"]),
            ("../x", &[]),
            ("../../x/..", &["/x"]),
            ("x/../**", &["/p/x"]),
            ("a/b", &[]),
        ] {
            let pattern = PathPattern::parse(text, &anchor()).expect(text);
            let found: Vec<String> = pattern.stepped_out_of().iter().map(ToString::to_string).collect();
            assert_eq!(found, directories, "{text}");
        }
    }

    /// What can be said in Markdown is refused on the page of the specification.
    #[test]
    fn refusals_that_depend_on_more_than_the_text() {
        let homeless = Anchor { home: None, ..anchor() };
        assert_eq!(PathPattern::parse("", &anchor()), Err(PathPatternError::Empty));
        assert_eq!(PathPattern::parse("~/x", &homeless), Err(PathPatternError::NoHome));
        assert_eq!(PathPattern::parse(b"\xff*", &anchor()), Err(PathPatternError::NotUtf8));
        assert!(PathPattern::parse(b"\xff", &anchor()).is_ok(), "without wildcards any byte will do");
    }

    #[test]
    fn every_path_has_a_text_that_names_it_alone() {
        for (path, text) in [
            (&b"/a b"[..], Some(&b"/a b"[..])),
            (b"/x[1", Some(br"/x\[1")),
            (br"/b\s*", Some(br"/b\\s\*")),
            (br"/b\s", Some(br"/b\s")),
            (b"/tail ", Some(b"/tail /")),
            (b"/**", Some(br"/\*\*")),
            (b"/\xff", Some(b"/\xff")),
            (b"/\xff*", None),
            (b"/", Some(b"/")),
        ] {
            let path = AbsPath::new(path).expect("absolute");
            assert_eq!(PathPattern::text_for(&path).as_deref(), text, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_text_for_a_path_names_just_that(name in r"/([a*?\[\]{}!^\\ \t\n-]|\PC){1,12}") {
            let path = AbsPath::new(&name).expect("absolute");
            let text = PathPattern::text_for(&path).expect("UTF-8 has one");
            let anchor = anchor();
            proptest::prop_assert_eq!(PathPattern::parse(&text, &anchor), Ok(PathPattern::literal(path)));
        }
    }

    #[test]
    fn a_limit_that_is_hit_has_a_name() {
        let parse = |text: &str| PathPattern::parse(text, &anchor()).map(drop);
        assert_eq!(parse(&"a".repeat(4096)), Ok(()));
        assert_eq!(parse(&"a".repeat(4097)), Err(PathPatternError::TooLong));
        assert_eq!(parse(&"?".repeat(150_000)), Err(PathPatternError::TooLong));
        assert_eq!(parse(&"?".repeat(100)), Ok(()));
        assert_eq!(parse(&"?".repeat(101)), Err(PathPatternError::TooManyWildcards));
        assert_eq!(parse(&"[é漢]".repeat(50)), Ok(()));
        assert_eq!(parse(&"[é漢]".repeat(51)), Err(PathPatternError::TooManyWildcards));
        assert_eq!(parse(&format!("{}x", "**/".repeat(101))), Err(PathPatternError::TooManyWildcards));
    }

    /// A base comes from the machine, and any byte can stand in it.
    #[test]
    fn a_base_stands_for_itself() {
        for base in [&b"/we\\ird"[..], b"/q*", b"/[a]", b"/{a,b}", b"/!\xff", "/é".as_bytes(), b"/a\nb", b"/"]
        {
            let anchor = Anchor { base: AbsPath::new(base).expect("absolute"), home: None };
            let pattern = PathPattern::parse("*.env", &anchor).expect("valid");
            let named = anchor.base.join("a.env").expect("no NUL");
            assert_eq!(pattern.covers(&named), Some(named.as_bytes().len()), "{named}");
            assert!(pattern.names(&named), "{named}");
            assert_eq!(pattern.search_root(), Some(&anchor.base), "{named}");
            for other in ["/weird/a.env", "/qx/a.env", "/a/a.env", "/b/a.env"] {
                let other = AbsPath::new(other).expect("absolute");
                assert_eq!(pattern.covers(&other), None, "{} {other}", anchor.base);
            }
        }
    }

    #[test]
    fn patterns_are_equal_when_they_cover_the_same_for_the_same_reasons() {
        let parse = |base: &str, text: &str| {
            let anchor = Anchor { base: AbsPath::new(base).expect("absolute"), home: None };
            PathPattern::parse(text, &anchor).expect(text)
        };
        assert_eq!(parse("/p", "x/**"), parse("/", "/p/x/"));
        assert_eq!(parse("/p", "x*"), parse("/", "p/x*"));
        assert_eq!(parse("/", r"/a\*b"), PathPattern::literal(AbsPath::new("/a*b").expect("absolute")));
        assert_ne!(parse("/q*", "x*"), parse("/", "/q*/x*"), "one base is a name, the other a wildcard");
        assert_ne!(parse("/", "x*"), PathPattern::literal(AbsPath::new("/x*").expect("absolute")));
    }

    #[test]
    fn where_to_look_for_what_exists() {
        for (text, root) in [
            ("a/b/*.env", "/p/a/b"),
            (r"a\*/*.env", "/p/a*"),
            ("a/[*]/*", "/p/a"),
            (r"a/\[x\]/*", "/p/a/[x]"),
            ("**/.env", "/p"),
            ("~/*", "/home/u"),
            ("/*/x", "/"),
        ] {
            let pattern = PathPattern::parse(text, &anchor()).expect(text);
            assert_eq!(pattern.search_root(), AbsPath::new(root).ok().as_ref(), "{text}");
        }
        assert_eq!(PathPattern::parse(r"a\*", &anchor()).expect("valid").search_root(), None);
    }

    #[test]
    fn a_wildcard_is_as_narrow_as_what_it_matched() {
        for (text, path, narrow) in [
            ("~/**/.env", "/home/u/a/.env/deeper", "/home/u/a/.env"),
            ("**/x", "/p/x/x/y", "/p/x/x"),
            ("*/*", "/p/a/b/c/d", "/p/a/b"),
            ("?", "/p/é/b", "/p/é"),
        ] {
            let pattern = PathPattern::parse(text, &anchor()).expect(text);
            let path = AbsPath::new(path).expect("absolute");
            assert_eq!(pattern.covers(&path), Some(narrow.len()), "{text}");
        }
    }
}
