//! Covers: stand-ins where a rule protects a path and nothing is.
//!
//! bubblewrap mounts on what exists. A missing protected file therefore gets an empty stand-in on the host
//! while a command runs, over which the sandbox binds it read-only: the command cannot write, rename or
//! remove it, nor make anything below it. Afterwards it is removed.
//!
//! # What a stand-in is
//!
//! Mostly a *socket* without any permission. git lists, adds, stashes and cleans regular files, links and
//! directories, and passes over everything else in silence (tried with `status`, `add -A`, `stash -u`, `clean -fdx`,
//! `diff HEAD`, `commit`): so neither the command's git nor the user's own ever sees one, without any exclude rule.
//! Whoever opens it, to read or to write, is told `Permission denied`; whoever looks for something below it, that
//! there is nothing. An empty regular file was tried too, and is an untracked file to git; an empty directory makes
//! `git clean` and `git stash -u` fail; a device does what a socket does, but only root can make one.
//!
//! The sockets in one directory are one, by many names, where the file system has such: to make thirty files takes a
//! disk ten milliseconds at worst.
//!
//! An empty read-only *file* where programs read the very path at each start and take a refusal for an error: in the
//! home directory, and for git's own `config`.
//!
//! # What is removed instead
//!
//! A few files change what git does by their mere presence (`commondir`). Where such a one is missing nothing stands
//! in: it is on the list while the command runs, and what has come to stand there is removed when it is over.
//!
//! # Counting
//!
//! Commands that run at the same time, in whatever process, share covers; the last one removes them. For each
//! *directory* with covers there is an entry in a registry, `/tmp/palisade-covers-UID`, that lists their
//! paths. It has its name of what the directory is (its number), not of its path: the directory may be moved meanwhile. Whoever uses one of them holds a shared `flock` on the entry. Whoever can make his lock exclusive
//! is the last: he removes the covers, then the entry. The kernel takes the locks of a killed process, and
//! the next start removes what is listed in an entry that nobody holds. It tries again, too, where the last one could
//! not remove something: the entry stays as long as that does.
//!
//! The locks of a killed process go a moment before its command does, and a cover that is removed on the host takes the
//! mount on it along. So whoever removes covers that another process may have stood behind looks first whether any
//! sandbox still has them mounted.
//!
//! An entry lists a path before its cover is made, so that no kill leaves a cover that is not listed. A cover
//! is an empty file without any write permission, or a socket without any, at a listed path; what has become anything
//! else, because the user has written, replaced or opened it up meanwhile, is the user's and stays.
//!
//! What is to be removed is removed at the end of *each* command that found it missing, not of the last: nobody has
//! reason to keep it. What a killed process has left to remove is only given another name: the user may have made it
//! since.
//!
//! # What an attacker controls
//!
//! - *A command that is running* can rearrange the directories that the next command's covers go into. Every
//!   directory on the way is opened in turn without following links, and covers are made and removed relative
//!   to that descriptor.
//! - With read access to the registry it could take a lock on an entry: then covers would outlive their users until a
//!   later start, or a start would give up with [`CoverError::Busy`]. It could do worse with write access (have an empty
//!   read-only file of the user's removed). So [`Covers::registry`] is hidden from every command, and no rule opens it.
//! - It can make the host use up its descriptors, by as many connections as it likes. To remove covers takes none; to
//!   find out whether others still use them takes some of a thread's own.
//! - It can take the permissions from directories of its own that hold covers, or what is to be removed: they are
//!   given back, and then it is removed.
//! - *Other users* can make the registry first; it is then refused.
//!
//! # What this does not do
//!
//! It does not find out which paths need a cover. It knows nothing of covers of other users in a directory
//! that is shared between them, nor of those that were left by a machine that lost its power and `/tmp` with
//! it.

mod entry;
mod registry;

use entry::Entry;
use palisade_policy::AbsPath;
use registry::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// Why a path could not be covered.
#[derive(Debug, thiserror::Error)]
pub enum CoverError {
    /// Something else stands at the path than a moment ago, when it was found missing, or a directory.
    #[error("{0} has changed just now; run the command again")]
    Changed(AbsPath),
    /// The registry's directory was made by somebody else, or others can enter it.
    #[error("{0} is not a directory of this user's alone; remove it")]
    Registry(AbsPath),
    /// Somebody holds on to a lock that is never held for long.
    #[error("{0} is locked by another process")]
    Busy(AbsPath),
    /// The file system does not keep a file's permissions, so that a cover could not be told from a user's
    /// file.
    #[error("the file system of {0} does not keep permissions, so no stand-in can be made there")]
    Permissions(AbsPath),
    /// The system refused.
    #[error("{doing} {path}: {error}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: AbsPath,
        /// What the system said.
        error: std::io::Error,
    },
}

/// What this process holds. One for all sandboxes of the process: a lock is a descriptor, and commands that
/// run in the same directory can share one.
static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let base = AbsPath::root().join("tmp").unwrap_or_else(|_| AbsPath::root());
    Arc::new(Registry::new(&base))
});

/// What stands in for a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// A socket, which git does not see.
    Socket,
    /// An empty file, which every program can read.
    File,
}

/// What is wanted at missing paths while a command runs. Each is missing, or a cover or unwanted already, in a
/// directory that exists and without links on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Paths that something must stand in for.
    pub(crate) covers: BTreeMap<AbsPath, StandIn>,
    /// Paths that nothing may be left at.
    pub(crate) unwanted: BTreeSet<AbsPath>,
}

/// Covers that stand while this value lives. The command must be dead when it goes.
#[derive(Debug)]
pub(crate) struct Covers {
    registry: Arc<Registry>,
    entries: Vec<Arc<Entry>>,
    unwanted: Vec<(Arc<Entry>, AbsPath)>,
}

impl Covers {
    /// Has what is wanted stand.
    ///
    /// When something real stands at one of the paths, nothing is held and the caller should resolve again. With
    /// `with_registry` the registry exists as long as the covers do, even where there are none: a sandbox has it
    /// hidden, and removed on the host it would be uncovered there.
    pub(crate) fn hold(wanted: &Wanted, with_registry: bool) -> Result<Self, CoverError> {
        let mut covers = Self::hold_in(&REGISTRY, wanted)?;
        if with_registry && covers.is_empty() {
            covers.keep_registry()?;
        }
        Ok(covers)
    }

    fn keep_registry(&mut self) -> Result<(), CoverError> {
        self.entries.push(self.registry.enter(self.registry.path())?);
        Ok(())
    }

    fn hold_in(registry: &Arc<Registry>, wanted: &Wanted) -> Result<Self, CoverError> {
        let mut covers = Covers { registry: Arc::clone(registry), entries: Vec::new(), unwanted: Vec::new() };
        let by_directory = by_directory(wanted)?;
        for (directory, here) in by_directory {
            let entry = registry.enter(&directory)?;
            let stand = entry.stand(&directory, &here);
            // Even where that failed: it is left again when `covers` goes.
            covers.entries.push(Arc::clone(&entry));
            stand?;
            covers.unwanted.extend(here.unwanted.into_iter().map(|path| (Arc::clone(&entry), path)));
        }
        Ok(covers)
    }

    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether something stands at `path` that is no cover, of this process or another: to a resolver, else the path is
    /// missing.
    pub(crate) fn is_uncovered(path: &AbsPath) -> bool {
        REGISTRY.is_uncovered(path)
    }

    /// Whether something stands at `path` that is not only there until a command that runs is over: to a resolver, else
    /// the path is missing.
    pub(crate) fn is_wanted(path: &AbsPath) -> bool {
        REGISTRY.is_wanted(path)
    }

    /// Removes the covers of processes that were killed. Failures are warnings.
    pub(crate) fn sweep() {
        REGISTRY.sweep();
    }

    /// Where the registry is, whether or not it exists. No rule may open it to a command.
    pub(crate) fn registry() -> &'static AbsPath {
        REGISTRY.path()
    }
}

/// What is wanted in each directory, the path first.
fn by_directory(wanted: &Wanted) -> Result<BTreeMap<AbsPath, Wanted>, CoverError> {
    let parent = |path: &AbsPath| path.parent().ok_or_else(|| CoverError::Changed(path.clone()));
    let mut all: BTreeMap<AbsPath, Wanted> = BTreeMap::new();
    for (path, stand_in) in &wanted.covers {
        all.entry(parent(path)?).or_default().covers.insert(path.clone(), *stand_in);
    }
    for path in &wanted.unwanted {
        all.entry(parent(path)?).or_default().unwanted.insert(path.clone());
    }
    Ok(all)
}

impl Drop for Covers {
    fn drop(&mut self) {
        entry::tell(self.unwanted.iter().map(|(entry, path)| entry.remove_unwanted(path)));
        for entry in &self.entries {
            self.registry.leave(entry);
        }
    }
}

#[cfg(test)]
mod tests;
