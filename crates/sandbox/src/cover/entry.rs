//! One entry of the registry: the covers in one directory, and the files that they are; what is unwanted there.

use super::registry::entry_name_of;
use super::{CoverError, StandIn, Wanted};
use crate::scratch::{Removed, remove_tree};
use palisade_bwrap::linux::{wait_until_unmounted, with_own_descriptors};
use palisade_policy::AbsPath;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, chmod, fstat, linkat, mknodat, open, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How many steps the removal of one unwanted directory may take.
const MOST_STEPS: u64 = 100_000;

/// How long a sandbox is waited for whose Palisade was killed.
const WHILE_IT_ENDS: Duration = Duration::from_millis(500);

/// An open entry with a lock on it.
///
/// Its file holds the covers' paths, a NUL before and after each: a path that was cut off when its writer was
/// killed does not spoil the next.
#[derive(Debug)]
pub(super) struct Entry {
    file: File,
    /// Which directory it is about.
    name: String,
    /// That directory, once covers were made there. It may be moved until they are removed; and a process that has used up
    /// its descriptors, as a command may make it do, could not open it again.
    directory: OnceLock<Arc<OwnedFd>>,
}

impl Entry {
    pub(super) fn new(file: OwnedFd, name: String) -> Self {
        Entry { file: file.into(), name, directory: OnceLock::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Has what is wanted in `directory` stand.
    pub(super) fn stand(&self, directory: &AbsPath, wanted: &Wanted) -> Result<(), CoverError> {
        let opened = Arc::new(open_directory(directory).map_err(on_the_way("opening", directory))?);
        if entry_name_of(&opened).map_err(system("looking at", directory))? != self.name {
            return Err(CoverError::Changed(directory.clone()));
        }
        let opened = self.directory.get_or_init(|| opened);
        let mut missing = Vec::new();
        let mut standing = Vec::new();
        for (path, stand_in) in &wanted.covers {
            match look(opened, path).map_err(system("looking at", path))? {
                None => missing.push((path, *stand_in)),
                Some(stat) if is_cover(&stat) => standing.push(path),
                Some(_) => return Err(CoverError::Changed(path.clone())),
            }
        }
        let made = wanted.unwanted.iter().find(|path| !matches!(look(opened, path), Ok(None)));
        self.refuse_unlisted(&standing, made)?;
        let lines = missing.iter().map(|(path, _)| Line::Cover((*path).clone()));
        let lines = lines.chain(wanted.unwanted.iter().cloned().map(Line::Unwanted)).collect::<Vec<_>>();
        self.list(&lines).map_err(|error| failed("listing a cover in", directory, error))?;
        let mut first_socket = None;
        for (path, stand_in) in missing {
            make(opened, path, stand_in, first_socket)?;
            first_socket = first_socket.or((stand_in == StandIn::Socket).then_some(path));
        }
        Ok(())
    }

    /// What looks like a cover and is not listed is a file of the user's, and so is what stands where it is unwanted
    /// now but was not before. The list is read after the files were seen, so that it holds whatever others have made
    /// before.
    fn refuse_unlisted(&self, standing: &[&AbsPath], made: Option<&AbsPath>) -> Result<(), CoverError> {
        let Some(first) = standing.first().copied().or(made) else { return Ok(()) };
        let listed = self.lines().map_err(|error| failed("looking up", first, error))?;
        let covers = standing.iter().map(|path| Line::Cover((*path).clone()));
        let unwanted = made.into_iter().cloned().map(Line::Unwanted);
        match covers.chain(unwanted).find(|line| !listed.contains(line)) {
            Some(Line::Cover(path) | Line::Unwanted(path)) => Err(CoverError::Changed(path)),
            Some(Line::Shared) | None => Ok(()),
        }
    }

    /// Removes every cover that is listed, and what is unwanted. What fails is a warning, and `false`. Unless `is_own`,
    /// it was left by others, whose commands may not have ended yet, and what is unwanted may be the user's.
    pub(super) fn remove_covers(&self, is_own: bool) -> bool {
        let listed = match self.lines() {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!("covers that should be removed could not be listed: {error}");
                return false;
            }
        };
        if is_own && !listed.contains(&Line::Shared) {
            return tell(self.remove_listed(&listed, is_own));
        }
        // Whoever has the lock now is who removes them, even with its descriptors used up: one that had some to spare may
        // just have left it to this one.
        let directory = self.directory.get().map(|directory| directory.as_fd());
        let kept: Vec<_> = directory.into_iter().chain([self.file.as_fd()]).collect();
        let removals = with_own_descriptors(&kept, || {
            are_unused(&listed).map(|are| are.then(|| self.remove_listed(&listed, is_own)))
        });
        match removals {
            Ok(removals) => removals.is_some_and(tell),
            Err(error) => {
                tell(Err(format!("whether covers are still in use could not be found out: {error}")))
            }
        }
    }

    fn remove_listed(&self, listed: &HashSet<Line>, is_own: bool) -> Vec<Removal> {
        // Nearly all of them lie in one.
        let mut last = None;
        let remove = |line: &Line| match line {
            Line::Cover(path) => self.remove(path, &mut last),
            Line::Unwanted(path) if is_own => self.remove_unwanted(path),
            Line::Unwanted(path) => self.set_aside(path),
            Line::Shared => Ok(None),
        };
        listed.iter().map(remove).collect()
    }

    /// Another process than the one that made the entry uses it too.
    pub(super) fn share(&self) -> io::Result<()> {
        self.list(&[Line::Shared])
    }

    /// Removes the cover at `path`, unless it has become something else or its directory has gone. `last` is the directory
    /// that was reached last.
    fn remove(&self, path: &AbsPath, last: &mut Option<(AbsPath, Arc<OwnedFd>)>) -> Removal {
        let failed = |error: Errno| format!("{path}, a cover, could not be removed: {error}");
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let directory = match last {
            Some((reached, directory)) if *reached == above => Arc::clone(directory),
            _ => {
                let Some(directory) = self.reach(&above).map_err(failed)? else { return Ok(None) };
                Arc::clone(&last.insert((above, directory)).1)
            }
        };
        let removed = as_owner(&directory, || match look(&directory, path)? {
            Some(stat) if is_cover(&stat) => unlinkat(&directory, name, AtFlags::empty()),
            _ => Ok(()),
        });
        removed.map(|()| None).map_err(failed)
    }

    /// Removes whatever stands at `path`, which was missing when the command started.
    pub(super) fn remove_unwanted(&self, path: &AbsPath) -> Removal {
        match self.take_away(path) {
            Ok(None) => Ok(None),
            Ok(Some(Removed::Whole)) => {
                Ok(Some(format!("{path}, which git would follow, was made by a command and is removed")))
            }
            Ok(Some(Removed::Part)) => {
                Ok(Some(format!("{path}, which a command made, holds so much that only a part is removed")))
            }
            Err(error) => Err(format!("{path}, which a command made, could not be removed: {error}")),
        }
    }

    /// Gives what stands at `path`, which perhaps a command made, or since then the user, another name, or removes it
    /// where that fails.
    fn set_aside(&self, path: &AbsPath) -> Removal {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Ok(Some(directory)) = self.reach(&above) else { return self.remove_unwanted(path) };
        match as_owner(&directory, || rename_aside(&directory, name)) {
            Err(Errno::NOENT) => Ok(None),
            Err(_) => self.remove_unwanted(path),
            Ok(aside) => Ok(Some(format!(
                "{path}, which git would follow, was there after a command was killed, and is {} now",
                aside.as_bytes().escape_ascii()
            ))),
        }
    }

    /// Removes what stands at `path`; `None` when nothing does.
    fn take_away(&self, path: &AbsPath) -> Result<Option<Removed>, Errno> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(directory) = self.reach(&directory)? else { return Ok(None) };
        as_owner(&directory, || match unlinkat(&directory, name, AtFlags::empty()) {
            Ok(()) => Ok(Some(Removed::Whole)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(directory.as_fd(), name, MOST_STEPS).map(Some),
            Err(error) => Err(error),
        })
    }

    /// The directory to remove something from, unless it has gone, or another one stands there.
    fn reach(&self, directory: &AbsPath) -> Result<Option<Arc<OwnedFd>>, Errno> {
        if let Some(opened) = self.directory.get() {
            return Ok(Some(Arc::clone(opened)));
        }
        match reach_directory(directory) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Ok(reached) if entry_name_of(&reached)? != self.name => Ok(None),
            other => other.map(Arc::new).map(Some),
        }
    }

    /// What the entry lists. Read from a place of its own, since other threads may read at the same time.
    pub(super) fn lines(&self) -> io::Result<HashSet<Line>> {
        let length = usize::try_from(self.file.metadata()?.len()).map_err(io::Error::other)?;
        let mut content = vec![0; length];
        self.file.read_exact_at(&mut content, 0)?;
        Ok(content.split(|&b| b == 0).filter_map(Line::read).collect())
    }

    /// Appends in a single write, which does not mix with that of another process.
    fn list(&self, lines: &[Line]) -> io::Result<()> {
        let text: Vec<u8> = lines.iter().flat_map(Line::write).collect();
        if text.is_empty() { Ok(()) } else { (&self.file).write_all(&text) }
    }
}

/// What an entry says of one path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Line {
    /// A cover stands there.
    Cover(AbsPath),
    /// Nothing was there, and nothing may be left there. Written with a `-` before the path.
    Unwanted(AbsPath),
    /// Several processes have used the entry. Written as `+`.
    Shared,
}

impl Line {
    fn read(text: &[u8]) -> Option<Self> {
        match text.strip_prefix(b"-") {
            Some(path) => AbsPath::new(path).ok().map(Line::Unwanted),
            None if text == b"+" => Some(Line::Shared),
            None => AbsPath::new(text).ok().map(Line::Cover),
        }
    }

    fn write(&self) -> Vec<u8> {
        match self {
            Line::Cover(path) => [b"\0", path.as_bytes(), b"\0"].concat(),
            Line::Unwanted(path) => [b"\0-", path.as_bytes(), b"\0"].concat(),
            Line::Shared => b"\0+\0".into(),
        }
    }
}

/// What came of a removal: what is to be said of it, or why something is left. It is [told](tell) where the host's
/// descriptors are open.
type Removal = Result<Option<String>, String>;

/// Warns of what is to be said; whether nothing is left.
pub(super) fn tell(removals: impl IntoIterator<Item = Removal>) -> bool {
    removals.into_iter().fold(true, |is_whole, removal| {
        let is_gone = removal.is_ok();
        if let Some(said) = removal.unwrap_or_else(Some) {
            tracing::warn!("{said}");
        }
        is_whole && is_gone
    })
}

/// Gives a file another name, which no other has, and says which.
fn rename_aside(directory: &OwnedFd, name: &[u8]) -> Result<String, Errno> {
    let name = std::str::from_utf8(name).map_err(|_| Errno::ILSEQ)?;
    // A command can have made the first hundred thousand, but not all.
    let numbers = (1..100).chain((1..10).map(|_| random_number()));
    let asides = numbers.map(|number| match number {
        1 => format!("{name}.set-aside"),
        _ => format!("{name}.set-aside-{number}"),
    });
    for aside in asides {
        match renameat_with(directory, name, directory, aside.as_str(), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // Not every file system can refuse to replace.
            Err(Errno::INVAL) if statat(directory, aside.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok() => {}
            Err(Errno::INVAL) => return renameat(directory, name, directory, aside.as_str()).map(|()| aside),
            renamed => return renamed.map(|()| aside),
        }
    }
    Err(Errno::EXIST)
}

fn random_number() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// Whether no sandbox has these covers mounted any more. Waits a moment for one that is just ending.
fn are_unused(listed: &HashSet<Line>) -> io::Result<bool> {
    let covers = listed.iter().filter_map(|line| match line {
        Line::Cover(path) => Some(path),
        Line::Unwanted(_) | Line::Shared => None,
    });
    wait_until_unmounted(&covers.collect(), WHILE_IT_ENDS)
}

impl AsFd for Entry {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Makes the cover at `path` in `directory`. Another may have been quicker. A socket is one more name of
/// `first_socket` where there is one: a name costs the file system a twentieth of what a file does.
fn make(
    directory: &OwnedFd,
    path: &AbsPath,
    stand_in: StandIn,
    first_socket: Option<&AbsPath>,
) -> Result<(), CoverError> {
    let made = match (stand_in, first_socket) {
        (StandIn::Socket, Some(first)) => {
            make_name(directory, first, path).or_else(|_| make_socket(directory, path))
        }
        (StandIn::Socket, None) => make_socket(directory, path),
        (StandIn::File, _) => make_file(directory, path),
    };
    let is_new = match made {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(system("making a stand-in at", path)(error)),
    };
    let stat = look(directory, path).map_err(system("looking at", path))?;
    match (stat.is_some_and(|stat| is_cover(&stat)), is_new) {
        (true, _) => Ok(()),
        (false, false) => Err(CoverError::Changed(path.clone())),
        (false, true) => {
            let _ = unlinkat(directory, path.file_name().unwrap_or_default(), AtFlags::empty());
            Err(CoverError::Permissions(path.clone()))
        }
    }
}

/// Whatever somebody may have put in the place of `first` is looked at at its new name.
fn make_name(directory: &OwnedFd, first: &AbsPath, path: &AbsPath) -> Result<(), Errno> {
    let [first, name] = [first, path].map(|path| path.file_name().unwrap_or_default());
    linkat(directory, first, directory, name, AtFlags::empty())
}

/// Not every file system knows sockets.
fn make_socket(directory: &OwnedFd, path: &AbsPath) -> Result<(), Errno> {
    let name = path.file_name().unwrap_or_default();
    match mknodat(directory, name, FileType::Socket, Mode::empty(), 0) {
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => make_file(directory, path),
        made => made,
    }
}

fn make_file(directory: &OwnedFd, path: &AbsPath) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = path.file_name().unwrap_or_default();
    openat(directory, name, flags, Mode::RUSR | Mode::RGRP | Mode::ROTH).map(drop)
}

/// What stands at `path` in `directory`, if anything.
fn look(directory: &OwnedFd, path: &AbsPath) -> Result<Option<Stat>, Errno> {
    match statat(directory, path.file_name().unwrap_or_default(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether that may be a cover.
pub(super) fn is_cover(stat: &Stat) -> bool {
    let mode = Mode::from_raw_mode(stat.st_mode);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => stat.st_size == 0 && !mode.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH),
        FileType::Socket => !mode.intersects(Mode::RWXU | Mode::RWXG | Mode::RWXO),
        _ => false,
    }
}

/// How the directories on the way to a cover are opened: no link is followed.
const ON_THE_WAY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory, or fails where a link is on the way.
fn open_directory(path: &AbsPath) -> Result<OwnedFd, Errno> {
    let root = open(c"/", ON_THE_WAY, Mode::empty())?;
    path.components().try_fold(root, |above, name| openat(above, name, ON_THE_WAY, Mode::empty()))
}

/// Opens a directory likewise, also where a command has locked those on the way.
fn reach_directory(path: &AbsPath) -> Result<OwnedFd, Errno> {
    let root = open(c"/", ON_THE_WAY, Mode::empty())?;
    path.components()
        .try_fold(root, |above, name| as_owner(&above, || openat(&above, name, ON_THE_WAY, Mode::empty())))
}

/// Does something in a directory of this user's, also where a command has taken the owner's permissions from it. They
/// stay given back: other commands that end at this moment need them too.
fn as_owner<T>(directory: &OwnedFd, act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    let refused = match act() {
        Err(error @ Errno::ACCESS) => error,
        done => return done,
    };
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
    // By this name, since a mode cannot be set by a descriptor that only stands for a path. The table is the thread's.
    let name = format!("/proc/thread-self/fd/{}", directory.as_raw_fd());
    chmod(name, mode | Mode::RWXU).map_err(|_| refused)?;
    act()
}

pub(super) fn system<'a>(doing: &'static str, path: &'a AbsPath) -> impl Fn(Errno) -> CoverError + use<'a> {
    move |errno| failed(doing, path, errno.into())
}

/// Likewise of a directory: that it is none any more is a change.
pub(super) fn on_the_way<'a>(
    doing: &'static str,
    directory: &'a AbsPath,
) -> impl Fn(Errno) -> CoverError + use<'a> {
    move |errno| match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => CoverError::Changed(directory.clone()),
        _ => system(doing, directory)(errno),
    }
}

pub(super) fn failed(doing: &'static str, path: &AbsPath, error: io::Error) -> CoverError {
    CoverError::System { doing, path: path.clone(), error }
}
