//! Where a program runs: the directories that a line's `cd`s may have led to.
//!
//! Links are not followed: `cd link/..` is taken by its letters, as the shell's own `cd` takes it. A path that a
//! *program* follows out of a linked directory (`cd link && rm ../x`) is another one than its letters say; whoever has to know asks the
//! file system.

use palisade_policy::AbsPath;
use std::sync::Arc;

/// The directories that a program may run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    /// One of these: sorted, at least one, at most [`Directory::MOST`].
    Among(Arc<[AbsPath]>),
    /// It depends on something that the line does not show.
    Unknown,
}

impl Directory {
    /// More possible directories than these are as good as unknown.
    pub const MOST: usize = 16;

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
}
