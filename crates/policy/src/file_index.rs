//! File lists prepared for many questions: the same answers as [`FileSets::judge`] gives, in a time that
//! hardly grows with the lists.
//!
//! - What rules name letter by letter is found by one binary search ([`PathTree`]).
//! - Wildcards are kept by the directory that all their matches lie in, and there by a text that one of the
//!   names of every match ends or starts with: `*.pem` by `.pem`, `.env.*` by `.env.`, `*/target/x` by
//!   `target`. Only those that fit one of the names of the path are matched.
//!
//! The worst lists are thousands of wildcards in one directory whose longest such text is one and the same
//! (`*/a1/name`, `*/a2/name`, …) or empty (`*`): for a path that fits, these are matched one by one, as the
//! specification does. The worst path has two thousand names.
//!
//! It states no precedence: which list wins is written down once, for both.

use crate::files::{FileLists, FileRules};
use crate::glob::Clue;
use crate::path_tree::{PathTree, Placed};
use crate::{AbsPath, Access, FileRule, FileSets, FileVerdict};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// [`FileSets`] that are asked about many paths.
#[derive(Debug, Clone)]
pub struct FileIndex<'a>(FileLists<ListIndex<'a>>);

impl<'a> FileIndex<'a> {
    /// Prepares `sets`, in a time that grows with their lists.
    pub fn new(sets: &'a FileSets) -> Self {
        FileIndex(FileLists {
            allow_write: ListIndex::new(&sets.allow_write),
            deny_write: ListIndex::new(&sets.deny_write),
            deny_read: ListIndex::new(&sets.deny_read),
            allow_read: ListIndex::new(&sets.allow_read),
        })
    }

    /// What [`FileSets::judge`] says.
    pub fn judge(&self, access: Access, path: &AbsPath) -> FileVerdict<'a> {
        self.0.judge(access, path)
    }
}

/// Where the rules of one list stand, by what they name. Of rules that cover a path equally narrowly the last
/// counts.
#[derive(Debug, Clone)]
struct ListIndex<'a> {
    rules: &'a [FileRule],
    /// What rules name letter by letter, with the place of the last rule that does.
    literals: PathTree<At<'a, usize>>,
    /// The rules with wildcards, by the directory that every match lies in.
    wildcards: PathTree<At<'a, Clues>>,
}

#[derive(Debug, Clone)]
struct At<'a, T> {
    path: &'a AbsPath,
    value: T,
}

impl<T> Placed for At<'_, T> {
    fn path(&self) -> &AbsPath {
        self.path
    }
}

impl<'a> ListIndex<'a> {
    fn new(rules: &'a [FileRule]) -> Self {
        let mut literals = BTreeMap::new();
        let mut wildcards: BTreeMap<&AbsPath, Clues> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            literals.insert(rule.pattern.as_literal(), place);
            if let Some(glob) = rule.pattern.glob() {
                wildcards.entry(&glob.fixed).or_default().insert(&glob.clue, place);
            }
        }
        ListIndex { rules, literals: tree(literals), wildcards: tree(wildcards) }
    }
}

fn tree<T>(by_path: BTreeMap<&AbsPath, T>) -> PathTree<At<'_, T>> {
    PathTree::new(by_path.into_iter().map(|(path, value)| At { path, value }).collect())
}

impl<'a> FileRules<'a> for ListIndex<'a> {
    fn narrowest(&self, path: &AbsPath) -> Option<(usize, &'a FileRule)> {
        let literal = self.literals.covering(path).next().map(|at| (at.path.as_bytes().len(), at.value));
        let wildcards = self
            .wildcards
            .covering(path)
            .flat_map(|at| at.value.fitting(names_below(at.path, path)))
            .filter_map(|place| Some((self.rules[place].pattern.covers(path)?, place)));
        wildcards.chain(literal).max().map(|(narrow, place)| (narrow, &self.rules[place]))
    }
}

/// The names of `path` below `directory`, which covers it.
fn names_below<'p>(directory: &AbsPath, path: &'p AbsPath) -> impl Iterator<Item = &'p [u8]> + Clone {
    let names = path.as_bytes()[directory.as_bytes().len()..].split(|byte| *byte == b'/');
    names.filter(|name| !name.is_empty())
}

/// Wildcards in one directory by what a name of their matches starts or ends with.
#[derive(Debug, Clone, Default)]
struct Clues {
    by_end: ByText,
    by_start: ByText,
    /// Those of which neither is known.
    unknown: Vec<usize>,
}

impl Clues {
    fn insert(&mut self, clue: &Clue, place: usize) {
        match clue {
            Clue::End(end) if !end.is_empty() => self.by_end.insert(end[end.len() - 1], end, place),
            Clue::Start(start) if !start.is_empty() => self.by_start.insert(start[0], start, place),
            Clue::End(_) | Clue::Start(_) => self.unknown.push(place),
        }
    }

    /// The places of rules that may match a path with these names, each once.
    fn fitting<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> BTreeSet<usize> {
        let mut places: BTreeSet<usize> = self.unknown.iter().copied().collect();
        for name in names {
            let ends =
                self.by_end.lengths(name.last(), name.len()).map(|length| &name[name.len() - length..]);
            places.extend(ends.flat_map(|end| self.by_end.places(end)));
            let starts = self.by_start.lengths(name.first(), name.len()).map(|length| &name[..length]);
            places.extend(starts.flat_map(|start| self.by_start.places(start)));
        }
        places
    }
}

/// Places of rules by a text that is the end, or the start, of a name.
#[derive(Debug, Clone, Default)]
struct ByText {
    /// Which lengths there are, by the outermost byte, which most names do not have.
    lengths: BTreeMap<u8, BTreeSet<usize>>,
    places: HashMap<Box<[u8]>, Vec<usize>>,
}

impl ByText {
    fn insert(&mut self, outermost: u8, text: &[u8], place: usize) {
        self.lengths.entry(outermost).or_default().insert(text.len());
        self.places.entry(text.into()).or_default().push(place);
    }

    /// The lengths, up to `most`, of texts with this outermost byte.
    fn lengths(&self, outermost: Option<&u8>, most: usize) -> impl Iterator<Item = usize> {
        let lengths = outermost.and_then(|outermost| self.lengths.get(outermost));
        lengths.into_iter().flat_map(move |lengths| lengths.range(..=most).copied())
    }

    fn places(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        self.places.get(text).into_iter().flatten().copied()
    }
}
