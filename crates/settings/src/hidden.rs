//! What some layers hide, and whether a path of another layer would open any of it.
//!
//! The attacker writes the path, and may have put symbolic links on its way. So a path is compared as written and as it
//! really is, with what is hidden as written and as it really is. He may also change a link afterwards, and what wildcards
//! match cannot be known now, be they his or those of others: the resolver of each command compares all once more, by
//! what is there then. So this is no boundary: it tells early, and where one looks, what will not count. A path with
//! wildcards is left out where all that it could match is hidden.
//!
//! He may write thousands of paths where others hide thousands: nothing is compared one by one.

use crate::dropped::Reason;
use palisade_policy::{AbsPath, Access, FileIndex, FileRule, FileSets, PathPattern};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Where a path really leads; `None` where that cannot be found out.
pub(crate) type Real<'a> = dyn Fn(&AbsPath) -> Option<AbsPath> + 'a;

/// What some rules hide.
pub(crate) struct Hidden<'a> {
    rules: Vec<FileRule>,
    real: &'a Real<'a>,
    /// Made when something is first compared with it: most repositories open nothing.
    regions: OnceCell<Regions>,
}

#[derive(Default)]
struct Regions {
    /// The hidden paths that have names, as written and as they are, each with its rule.
    named: BTreeMap<AbsPath, FileRule>,
    /// The rules with wildcards.
    wild: FileSets,
    /// Where the directory of a rule with wildcards really is, with how rules write it, if that is otherwise.
    written: BTreeMap<AbsPath, BTreeSet<AbsPath>>,
}

/// Hidden regions that are asked about many paths.
pub(crate) struct Look<'a> {
    hidden: &'a Hidden<'a>,
    wild: OnceCell<FileIndex<'a>>,
}

impl<'a> Hidden<'a> {
    /// What `rules` hide.
    pub(crate) fn by<'r>(rules: impl Iterator<Item = &'r FileRule>, real: &'a Real<'a>) -> Self {
        Hidden { rules: rules.cloned().collect(), real, regions: OnceCell::new() }
    }

    /// To ask about the paths of a list.
    pub(crate) fn look(&self) -> Look<'_> {
        Look { hidden: self, wild: OnceCell::new() }
    }

    fn regions(&self) -> &Regions {
        self.regions.get_or_init(|| Regions::of(&self.rules, self.real))
    }
}

impl Regions {
    fn of(rules: &[FileRule], real: &Real<'_>) -> Self {
        let mut regions = Regions::default();
        for rule in rules {
            let root = rule.pattern.search_root().unwrap_or_else(|| rule.pattern.as_literal());
            // What cannot be looked at is where it is written, for all that is known.
            let real_root = real(root).unwrap_or_else(|| root.clone());
            if !rule.pattern.has_wildcards() {
                for path in [root, &real_root] {
                    regions.named.entry(fold(path)).or_insert_with(|| rule.clone());
                }
                continue;
            }
            if real_root != *root {
                regions.written.entry(real_root).or_default().insert(root.clone());
            }
            regions.wild.deny_read.push(rule.clone());
        }
        regions
    }

    /// `path`, also as if it lay where rules write the directory that it really lies in.
    fn spellings(&self, path: &AbsPath) -> Vec<AbsPath> {
        let written = path.ancestors().filter_map(|above| self.written.get_key_value(&above));
        let moved = written.flat_map(|(real_root, roots)| {
            let below = &path.as_bytes()[real_root.as_bytes().len()..];
            roots.iter().filter_map(move |root| AbsPath::new([root.as_bytes(), b"/", below].concat()).ok())
        });
        std::iter::once(path.clone()).chain(moved).collect()
    }
}

impl Look<'_> {
    /// Why `pattern` must not open anything, if so.
    pub(crate) fn opened_by(&self, pattern: &PathPattern) -> Option<Reason> {
        if self.hidden.rules.is_empty() {
            return None;
        }
        let written = pattern.search_root().unwrap_or_else(|| pattern.as_literal());
        let Some(real) = (self.hidden.real)(written) else { return Some(Reason::Unknown) };
        let rule = self.covering(written).or_else(|| self.covering(&real))?;
        Some(Reason::Hidden { by: rule.origin.clone(), path: real })
    }

    /// The rule that hides `path`.
    fn covering(&self, path: &AbsPath) -> Option<&FileRule> {
        let regions = self.hidden.regions();
        let named = fold(path).ancestors().find_map(|above| regions.named.get(&above));
        let wild = self.wild.get_or_init(|| FileIndex::new(&regions.wild));
        let by_wild = || regions.spellings(path).iter().find_map(|path| wild.judge(Access::Read, path).rule);
        named.or_else(by_wild)
    }
}

/// `path` in small letters where those and capital ones are the same to the file system: on macOS.
fn fold(path: &AbsPath) -> AbsPath {
    if !cfg!(target_os = "macos") {
        return path.clone();
    }
    let text = String::from_utf8_lossy(path.as_bytes()).to_lowercase();
    AbsPath::new(text).unwrap_or_else(|_| path.clone())
}
