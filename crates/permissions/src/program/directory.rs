//! Where a program runs: the directories that a line's `cd`s may have led to.
//!
//! Links are not followed: `cd link/..` is taken by its letters, as the shell's own `cd` takes it. A path that a
//! *program* follows out of a linked directory (`cd link && rm ../x`) is another one than its letters say; whoever
//! has to know asks the file system. It is taken for granted that `CDPATH` is not set when the line starts.

use palisade_policy::AbsPath;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The directories that a program may run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    /// One of these: sorted, at most [`Directory::MOST`].
    Among(Arc<[AbsPath]>),
    /// It depends on something that the line does not show.
    Unknown,
}

impl Directory {
    /// More possible directories than these are as good as unknown; so are those whose paths have more names together
    /// than any that people make, or more bytes than a path can have.
    pub const MOST: usize = 8;

    /// Certainly that one.
    pub fn of(path: &AbsPath) -> Self {
        Directory::Among(Arc::from([path.clone()]))
    }

    /// The possible directories; `None` when they are not known.
    pub fn known(&self) -> Option<&[AbsPath]> {
        match self {
            Directory::Among(paths) => Some(paths),
            Directory::Unknown => None,
        }
    }

    /// Where an absolute or relative path leads from here.
    pub(super) fn join(&self, path: &str) -> Self {
        match (AbsPath::new(path), self.known()) {
            (Ok(absolute), _) => Self::collect(std::iter::once(Some(absolute))),
            (Err(_), Some(from)) => Self::collect(from.iter().map(|from| from.join(path).ok())),
            (Err(_), None) => Directory::Unknown,
        }
    }

    /// One or the other.
    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Directory::Among(some), Directory::Among(others)) if Arc::ptr_eq(some, others) => self.clone(),
            (Directory::Among(some), Directory::Among(others)) => {
                if others.iter().all(|path| some.binary_search(path).is_ok()) {
                    return self.clone();
                }
                Self::collect(some.iter().chain(others.iter()).map(|path| Some(path.clone())))
            }
            _ => Directory::Unknown,
        }
    }

    pub(super) fn collect(paths: impl Iterator<Item = Option<AbsPath>>) -> Self {
        let paths: Option<BTreeSet<_>> = paths.collect();
        match paths {
            Some(paths) if paths.len() <= Self::MOST && are_short(&paths) => {
                Directory::Among(paths.into_iter().collect())
            }
            _ => Directory::Unknown,
        }
    }
}

/// Whether a command that runs in these directories can be judged for each of them.
fn are_short(paths: &BTreeSet<AbsPath>) -> bool {
    const MOST_NAMES: usize = 256;
    let bytes: usize = paths.iter().map(|path| path.as_bytes().len()).sum();
    bytes <= AbsPath::LONGEST && paths.iter().flat_map(AbsPath::components).count() <= MOST_NAMES
}
