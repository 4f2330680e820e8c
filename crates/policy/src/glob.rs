//! The wildcards of a path pattern: read by the grammar of [`path_pattern`](crate::path_pattern), matched by
//! `globset`.
//!
//! A text that two readers take differently is a hole in a deny. So the text is read here, in full or not
//! at all, and `globset` is handed another one that leaves it nothing to interpret: every wildcard in one
//! spelling, every other character escaped. What stands before the first wildcard never reaches it; it is
//! compared byte by byte.
//!
//! `globset` matches bytes, while `?` and sets mean characters, of which many take several bytes. Therefore
//! a NUL byte, which no path can hold, is put before each character beyond ASCII, in the path and in the
//! pattern alike. A wildcard for one character can then take such a character as a whole or not at all.

mod component;

use crate::{AbsPath, PathPatternError};
pub(crate) use component::Component;
use globset::{Candidate, GlobBuilder, GlobMatcher};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// The most wildcards that one pattern may have, where each character beyond ASCII in a set counts as one.
/// Patterns come with repositories, and the time that matching takes grows with this number.
pub(crate) const MOST_WILDCARDS: usize = 100;

/// What one of the names of every match below the fixed directory starts or ends with, the longest such text; it may
/// be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clue {
    Start(Box<[u8]>),
    End(Box<[u8]>),
}

impl Clue {
    fn of(components: &[Component]) -> Self {
        let clues = components.iter().flat_map(|component| {
            let (start, end) = (component.start(), component.end());
            [Clue::Start(start.into_bytes().into()), Clue::End(end.into_bytes().into())]
        });
        clues.max_by_key(Clue::length).unwrap_or(Clue::End(Box::default()))
    }

    fn length(&self) -> usize {
        let (Clue::Start(text) | Clue::End(text)) = self;
        text.len()
    }
}

/// Components with wildcards below a directory without.
pub(crate) struct Glob {
    /// The deepest directory that every match lies in.
    pub(crate) fixed: AbsPath,
    glob: globset::Glob,
    /// Made when a path is first compared: that costs more than all else of a pattern, and few are ever compared.
    matcher: OnceLock<GlobMatcher>,
    components: Box<[Component]>,
    /// The first component alone, the first two, and so on, as far as each is one name and not the last. Made when a
    /// directory is first compared.
    above: OnceLock<Vec<GlobMatcher>>,
    /// How many components below `fixed` a match has, at least: one or more.
    names: usize,
    /// Whether it may have more.
    is_any_depth: bool,
    pub(crate) clue: Clue,
}

impl Glob {
    /// Compiles `components`, the first of which has wildcards and the last of which is a name.
    pub(crate) fn new(fixed: AbsPath, components: &[Component]) -> Result<Self, PathPatternError> {
        if components.iter().map(Component::wildcards).sum::<usize>() > MOST_WILDCARDS {
            return Err(PathPatternError::TooManyWildcards);
        }
        let glob =
            compile(components).map_err(|error| PathPatternError::Wildcard(error.kind().to_string()))?;
        Ok(Glob {
            clue: Clue::of(components),
            fixed,
            glob,
            matcher: OnceLock::new(),
            components: components.into(),
            above: OnceLock::new(),
            names: components.iter().filter(|component| **component != Component::AnyDepth).count(),
            is_any_depth: components.contains(&Component::AnyDepth),
        })
    }

    /// Whether the pattern names exactly `path`.
    pub(crate) fn names(&self, path: &AbsPath) -> bool {
        self.below_fixed(path).is_some_and(|below| self.matches(below))
    }

    /// The length of the longest path that the pattern names, `path` itself or a directory above it.
    pub(crate) fn narrowest(&self, path: &AbsPath) -> Option<usize> {
        let below = self.below_fixed(path)?;
        let fixed = path.as_bytes().len() - below.len();
        let ends = (1..=below.len()).filter(|&end| matches!(below.get(end), None | Some(b'/')));
        let long_enough = ends.skip(self.names - 1);
        let ends: Vec<usize> = long_enough.take(if self.is_any_depth { usize::MAX } else { 1 }).collect();
        ends.into_iter().rev().find(|end| self.matches(&below[..*end])).map(|end| fixed + end)
    }

    /// Whether the pattern may name something below `directory`, at any depth.
    pub(crate) fn may_name_below(&self, directory: &AbsPath) -> bool {
        if directory.covers(&self.fixed) {
            return true;
        }
        let Some(below) = self.below_fixed(directory) else { return false };
        let above = self.above.get_or_init(|| self.compile_above());
        let mut ends = (1..=below.len()).filter(|&end| matches!(below.get(end), None | Some(b'/')));
        let compared: Vec<usize> = ends.by_ref().take(above.len()).collect();
        let is_too_deep = !self.is_any_depth && ends.next().is_some();
        let begins_well = match compared.last() {
            Some(&end) => is_match(&above[compared.len() - 1], &below[..end]),
            None => true,
        };
        begins_well && !is_too_deep
    }

    fn compile_above(&self) -> Vec<GlobMatcher> {
        let single = |component: &&Component| **component != Component::AnyDepth;
        let singles = self.components.iter().take_while(single).count().min(self.components.len() - 1);
        // What compiles as a whole does in parts.
        (1..=singles)
            .map_while(|count| Some(compile(&self.components[..count]).ok()?.compile_matcher()))
            .collect()
    }

    /// What follows the fixed directory, from its slash on; empty for that directory itself.
    fn below_fixed<'a>(&self, path: &'a AbsPath) -> Option<&'a [u8]> {
        let fixed = if self.fixed.is_root() && !path.is_root() { 0 } else { self.fixed.as_bytes().len() };
        self.fixed.covers(path).then(|| &path.as_bytes()[fixed..])
    }

    fn matches(&self, below: &[u8]) -> bool {
        is_match(self.matcher.get_or_init(|| self.glob.compile_matcher()), below)
    }
}

fn compile(components: &[Component]) -> Result<globset::Glob, globset::Error> {
    let mut text = String::new();
    for component in components {
        text.push('/');
        component.spell(&mut text);
    }
    GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).empty_alternates(true).build()
}

fn is_match(matcher: &GlobMatcher, below: &[u8]) -> bool {
    matcher.is_match_candidate(&Candidate::from_bytes(&*mark_characters(below)))
}

/// Two globs are equal when the same was compiled.
impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.fixed == other.fixed && self.glob == other.glob
    }
}

impl Hash for Glob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fixed.hash(state);
        self.glob.hash(state);
    }
}

/// Puts a NUL before each character beyond ASCII, and before each byte that is no character.
fn mark_characters(path: &[u8]) -> Cow<'_, [u8]> {
    if path.is_ascii() {
        return Cow::Borrowed(path);
    }
    let mut out = Vec::with_capacity(path.len() * 2);
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !c.is_ascii() {
                out.push(0);
            }
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        out.extend(chunk.invalid().iter().flat_map(|byte| [0, *byte]));
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::component::Part;
    use super::*;
    use crate::{Anchor, PathPattern};
    use proptest::prelude::*;

    fn anchor() -> Anchor {
        Anchor { base: AbsPath::root(), home: None }
    }

    /// The characters of a name; a byte that is part of none is one by itself.
    fn characters(name: &[u8]) -> Vec<Result<char, u8>> {
        let of_chunk = |chunk: std::str::Utf8Chunk<'_>| {
            let valid: Vec<_> = chunk.valid().chars().map(Ok).collect();
            [valid, chunk.invalid().iter().copied().map(Err).collect()].concat()
        };
        name.utf8_chunks().flat_map(of_chunk).collect()
    }

    fn part_matches(part: &Part, c: Result<char, u8>) -> bool {
        match part {
            Part::Literal(literal) => c == Ok(*literal),
            Part::One => true,
            Part::Run => unreachable!("runs are for the name to match"),
            Part::OneOf(members) => c.is_ok_and(|c| members.contains(&c)),
            Part::NoneOf(members) => !c.is_ok_and(|c| members.contains(&c)),
        }
    }

    fn name_matches(parts: &[Part], name: &[Result<char, u8>]) -> bool {
        match (parts, name) {
            ([], name) => name.is_empty(),
            ([Part::Run, rest @ ..], _) => (0..=name.len()).any(|taken| name_matches(rest, &name[taken..])),
            ([part, rest @ ..], [c, name @ ..]) => part_matches(part, *c) && name_matches(rest, name),
            _ => false,
        }
    }

    /// The grammar said once more, word by word, and with no thought of speed.
    fn path_matches(components: &[Component], names: &[&[u8]]) -> bool {
        match (components, names) {
            ([], names) => names.is_empty(),
            ([Component::AnyDepth, rest @ ..], _) => {
                (0..=names.len()).any(|taken| path_matches(rest, &names[taken..]))
            }
            ([Component::Name(parts), rest @ ..], [name, names @ ..]) => {
                name_matches(parts, &characters(name)) && path_matches(rest, names)
            }
            ([Component::NameOrText(parts, text), rest @ ..], [name, names @ ..]) => {
                let is_name = text.as_bytes() == *name || name_matches(parts, &characters(name));
                is_name && path_matches(rest, names)
            }
            _ => false,
        }
    }

    fn expected(text: &str, path: &AbsPath) -> Result<Option<usize>, PathPatternError> {
        let mut texts: Vec<&str> = text.split('/').filter(|c| !c.is_empty()).collect();
        // What a pattern covers goes below it anyhow, also in its literal reading.
        while texts.pop_if(|last| *last == "**").is_some() {}
        let components = texts.iter().copied().map(Component::read).collect::<Result<Vec<_>, _>>()?;
        let named = |above: &AbsPath| path_matches(&components, &above.components().collect::<Vec<_>>());
        let glob = path.ancestors().find(named);
        let literal =
            AbsPath::new(format!("/{}", texts.join("/"))).ok().filter(|literal| literal.covers(path));
        Ok(glob.into_iter().chain(literal).map(|above| above.as_bytes().len()).max())
    }

    fn pattern_text() -> impl Strategy<Value = String> {
        let pieces = [
            "a", "b", "é", "漢", "-", "\u{1}", "*", "*", "?", "?", "/", "/", "/**/", "[ab]", "[!a]",
            "[^b-d]", "[é漢]", "[a-cé]", "[]a]", "[b-a]", "[!b-a]", "[[.a]", "\\*", "\\\\", "{", ",", "}",
        ];
        let wildcard = proptest::sample::select(vec!["?", "*"]);
        (proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..7), wildcard)
            .prop_map(|(pieces, last)| format!("/{}{last}", pieces.concat()))
    }

    fn path() -> impl Strategy<Value = AbsPath> {
        let pieces: [&[u8]; 14] = [
            b"a",
            b"b",
            b"c",
            b"-",
            b"*",
            b"\\",
            b"\n",
            b"\x01",
            b"/",
            b"/",
            "é".as_bytes(),
            "漢".as_bytes(),
            b"\xff",
            "é".as_bytes().split_at(1).0,
        ];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 1..9)
            .prop_map(|pieces| AbsPath::new([b"/", &pieces.concat()[..]].concat()).expect("absolute"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn covers_as_the_grammar_says(text in pattern_text(), paths in proptest::collection::vec(path(), 1..12)) {
            let compiled = PathPattern::parse(&text, &anchor());
            for path in &paths {
                match (&compiled, expected(&text, path)) {
                    (Ok(pattern), Ok(expected)) => prop_assert_eq!(pattern.covers(path), expected, "{} {}", text, path),
                    (Err(error), Err(expected)) => prop_assert_eq!(error, &expected),
                    (compiled, expected) => prop_assert!(false, "{}: {:?}, not {:?}", text, compiled, expected),
                }
            }
        }

        /// Whatever stands in the base stands for itself.
        #[test]
        fn a_base_has_no_wildcards(base in path(), text in pattern_text(), below in path()) {
            let at_base = Anchor { base: base.clone(), home: None };
            let path = base.join(&below.as_bytes()[1..]).expect("no NUL");
            let relative = PathPattern::parse(&text[1..], &at_base);
            let absolute = PathPattern::parse(&text, &anchor());
            if text[1..].starts_with('/') {
                return Ok(());
            }
            let glob = |pattern: &PathPattern, path: &AbsPath| pattern.covers(path).is_some();
            match (relative, absolute) {
                (Ok(relative), Ok(absolute)) => {
                    prop_assert_eq!(glob(&relative, &path), glob(&absolute, &below), "{} {}", base, below);
                }
                (relative, absolute) => prop_assert_eq!(relative.err(), absolute.err()),
            }
        }

        /// Whoever looks for what a pattern names finds it, and looks nowhere where no name leads on.
        #[test]
        fn may_name_below_whatever_holds_a_match(text in pattern_text(), path in path(), next in path()) {
            let Ok(pattern) = PathPattern::parse(&text, &anchor()) else { return Ok(()) };
            if pattern.names(&path) {
                let above = path.ancestors().skip(1);
                prop_assert!(above.into_iter().all(|above| pattern.may_name_below(&above)), "{text} {path}");
            }
            let longer = path.join(&next.as_bytes()[1..]).expect("no NUL");
            if longer != path && pattern.names(&longer) {
                prop_assert!(pattern.may_name_below(&path), "{text} {path}");
            }
        }

        #[test]
        fn reading_is_total(text in "([*?\\[\\]!^\\\\{},/.a-c~-]|\\*\\*/|é|\\PC){0,60}") {
            let path = AbsPath::new("/a/b/é/[a]").expect("absolute");
            let _ = PathPattern::parse(&text, &anchor()).map(|pattern| pattern.covers(&path));
        }
    }

    #[test]
    fn where_matches_may_lie() {
        for (text, inside, outside) in [
            ("/h/*.pem", &["/", "/h"][..], &["/h/x", "/h/x.pem", "/x"][..]),
            ("/h/*/b/*.c", &["/h", "/h/a", "/h/a/b"], &["/h/a/x", "/h/a/b/x", "/h/a/b/x/y", "/hh"]),
            ("/a*/x/**/y", &["/", "/ab", "/ab/x", "/ab/x/p/q"], &["/b", "/ab/z", "/ab/z/x"]),
            ("/**/y", &["/", "/a", "/a/b/y"], &[]),
            ("/*", &["/"], &["/a"]),
            // The name that is just the text.
            ("/a/[xy]/z", &["/a", "/a/x", "/a/[xy]"], &["/a/z", "/a/[xy]/z", "/a/x/y"]),
            ("/é?/z", &["/éé"], &["/é", "/éx/z"]),
        ] {
            let pattern = PathPattern::parse(text, &anchor()).expect(text);
            let may = |path: &&&str| pattern.may_name_below(&AbsPath::new(*path).expect("absolute"));
            assert_eq!(
                inside.iter().filter(|path| !may(path)).collect::<Vec<_>>(),
                [] as [&&str; 0],
                "{text}"
            );
            assert_eq!(outside.iter().filter(may).collect::<Vec<_>>(), [] as [&&str; 0], "{text}");
        }
    }

    /// The largest patterns that the limits let through compile, and say no to a path that is as long as
    /// paths can be and made to keep every possibility open.
    #[test]
    fn the_largest_patterns_work() {
        let deep = AbsPath::new("/a".repeat(2047)).expect("absolute");
        let deep_and_wide = AbsPath::new("/é".repeat(1365)).expect("absolute");
        let long = AbsPath::new(format!("/{}", "a".repeat(4095))).expect("absolute");
        let sets = |set: &str, count: usize| set.repeat(count);
        for text in [
            format!("/**/a/{}z", "?/".repeat(97)),
            format!("/**/a/{}z", "[!b]/".repeat(97)),
            format!("/**/a/{}z", "[aé漢]/".repeat(49)),
            format!("/{}z", "**/*a/".repeat(50)),
            format!("/*a{}z", "?".repeat(99)),
            format!("/*a{}z", sets("[!b]", 99)),
            format!("/{}z", sets("*?", 50)),
            format!("/*a[{}z", sets("[.", 2044) + "x]"),
            format!("/*{}", "a".repeat(4093) + "z"),
            format!("/{}z", sets(&format!("[{}]", ('\u{20}'..'*').chain('0'..'[').collect::<String>()), 70)),
        ] {
            let shown: String = text.chars().take(30).collect();
            let pattern = PathPattern::parse(&text, &anchor()).expect(&shown);
            for path in [&deep, &deep_and_wide, &long] {
                assert_eq!(pattern.covers(path), None, "{shown}");
            }
        }
    }
}
