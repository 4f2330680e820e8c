//! What a sandbox leaves on disk while it lives, and how that goes away again.
//!
//! A [`Scratch`] is two directories that only their owner can enter: `/tmp/palisade-XXXXXX` with a temporary
//! directory for each command that runs, and one in [`Scratch::private`] with the sources of the masks, an
//! empty file and directory that nobody can open. They go when the last of their users does, and when the
//! host was killed, at the next start.
//!
//! The masks lie apart since a rule may open `/tmp` to a command, as `allowWrite: ["/tmp"]` does: it could
//! then put a link in a mask's place, and what the next command is to be kept from would be bound over
//! itself. Their directory has one name for all sandboxes of a user and exists while any of them lives, so
//! the resolver can deny it to every command.
//!
//! # Why `/tmp` and not `$TMPDIR`
//!
//! A command's `TMPDIR` must be short, since programs make Unix sockets in it and a socket's path has 107
//! bytes (103 on macOS) at most. `$TMPDIR` may be any length, may lie inside a writable root, and whoever
//! wrote the environment chose it. `/tmp` has the sticky bit: no other user can rename or remove what is
//! ours.
//!
//! # How the dead are told from the living
//!
//! The owner holds an `flock` on its directory in [`Scratch::private`], which the kernel takes away with the
//! process however that ends, and records there which directory in `/tmp` is its other one: the name, and the
//! device and inode. Whoever gets the lock may remove both. A start that comes between another's `mkdir` and
//! its `flock` removes a directory that was about to be used; its owner finds out (the lock is taken, or the
//! path is gone) and makes another.
//!
//! A name in `/tmp` alone says nothing: `/tmp/palisade-backup` may be the user's own work. But both directories have
//! the same name, so that one in `/tmp` whose owner was killed before it was recorded is found, and removed if it is
//! empty, as it must be.
//!
//! # What an attacker controls
//!
//! - *A command* owns everything in its temporary directory: links, pipes, modes, names of any bytes, a
//!   million files, nesting far deeper than a path can be long or a process can have descriptors. Removal
//!   works on descriptors, follows no link, opens nothing but directories, and needs a fixed number of
//!   descriptors. It is dead when removal runs.
//! - Where a rule opens `/tmp` it can also write in other commands' temporary directories, as in all of
//!   `/tmp`, and put something else in the place of a recorded directory, even while that is removed. What is
//!   emptied is looked at through the descriptor that it is emptied by; another directory, device or inode is
//!   left alone. It can never reach the records.
//! - *Other users* can make any name in `/tmp`, links too. Only a real directory that belongs to us is used
//!   or removed.
//! - *The host's umask* may take our own permissions away: what is made gets its mode afterwards.

mod commands;
mod remove;
mod substitute;
mod sweep;

use commands::Commands;
use nix::sys::stat::{FchmodatFlags, fchmodat};
use palisade_policy::AbsPath;
pub(crate) use remove::{Removed, remove_tree};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, mkdirat, open, openat,
    statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
pub(crate) use substitute::Substitute;

/// What every scratch directory's name begins with; six letters or digits follow.
const PREFIX: &str = "palisade-";
const RANDOM: usize = 6;
/// The limit for what one command left: a hundred million files are hours of work, and nothing that dead
/// commands leave by accident.
const MOST_STEPS: u64 = 200_000_000;
/// How often another start may take a directory away that was not locked yet.
const MOST_ATTEMPTS: usize = 100;

/// Why there is no scratch directory.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// The system refused.
    #[error("{doing} {path}: {error}; Palisade needs a /tmp with some room that it may write")]
    System {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: AbsPath,
        /// What the system said.
        error: std::io::Error,
    },
    /// Anybody could rename what is in the base directory.
    #[error("{0} is writable for others and has no sticky bit; chmod +t it")]
    Unsafe(AbsPath),
    /// Each new directory was locked by somebody else before it could be locked here.
    #[error("no new directory in {0} could be locked")]
    Contended(AbsPath),
    /// The directory for masks was made by somebody else, or others can enter it.
    #[error("{0} is not a directory of this user's alone; remove it")]
    NotPrivate(AbsPath),
    /// The base directory's name cannot be used.
    #[error("{0:?} is not an absolute path")]
    NoPath(PathBuf),
}

/// The directories of one sandbox.
#[derive(Debug)]
pub(crate) struct Scratch {
    places: Arc<Places>,
    next_command: AtomicU64,
    next_substitute: AtomicU64,
    made: Mutex<Vec<&'static str>>,
    /// A directory for the next command, where it was made before that is there.
    ready: Mutex<Option<CommandDirectory>>,
}

/// What is there until the last command's directory has gone.
#[derive(Debug)]
struct Places {
    commands: Commands,
    /// Its lock says that `commands` is in use too.
    masks: Held,
    /// Goes last: it can be removed only when nothing is in it.
    _private: Private,
}

impl Drop for Places {
    fn drop(&mut self) {
        let removed = self.commands.remove();
        // What could not be removed stays on record for a later start.
        self.masks.is_kept = removed != Ok(Removed::Whole);
        warn_of_rest(&self.commands.path, removed);
    }
}

/// Where the masks of all sandboxes of this user are: by a path without links, since they are mounted from it. (What
/// `/tmp` itself is only an administrator decides.)
static PRIVATE: LazyLock<AbsPath> = LazyLock::new(|| {
    let base = std::fs::canonicalize("/tmp").unwrap_or_else(|_| "/tmp".into());
    let path = base.join(format!("{PREFIX}private-{}", rustix::process::geteuid().as_raw()));
    AbsPath::try_from(path.as_path()).unwrap_or_else(|_| AbsPath::root())
});

impl Scratch {
    /// Makes the directories.
    pub(crate) fn create() -> Result<Self, ScratchError> {
        Self::create_in(Path::new("/tmp"), &PRIVATE)
    }

    fn create_in(base: &Path, private: &AbsPath) -> Result<Self, ScratchError> {
        let base = Base::open(base)?;
        for _ in 0..MOST_ATTEMPTS {
            let (private, masks) = Private::with_one(private)?;
            let Some(commands) = Commands::make(&base, &masks)? else { continue };
            let places = Places { commands, masks, _private: private };
            places.commands.record_in(&places.masks)?;
            return Ok(Scratch {
                places: Arc::new(places),
                next_command: AtomicU64::new(0),
                next_substitute: AtomicU64::new(0),
                made: Mutex::default(),
                ready: Mutex::default(),
            });
        }
        Err(ScratchError::Contended(base.path))
    }

    /// Removes the directories whose owners are dead. Failures are warnings.
    pub(crate) fn sweep() {
        Self::sweep_in(Path::new("/tmp"), &PRIVATE);
    }

    fn sweep_in(base: &Path, private: &AbsPath) {
        let private = Private(private.clone());
        if let (Ok(base), Ok(Some(opened))) = (Base::open(base), private.open()) {
            sweep::sweep(opened.directory.as_fd(), base.directory.as_fd());
        }
    }

    /// Where the masks of all sandboxes of this user are. No rule may open it to a command.
    pub(crate) fn private() -> &'static AbsPath {
        &PRIVATE
    }

    /// An empty file that nobody can open: what a hidden file is bound over with.
    pub(crate) fn hidden_file(&self) -> Result<AbsPath, ScratchError> {
        self.mask("hidden-file", |held, name| held.make_file(name, Mode::empty()).map(drop))
    }

    /// An empty directory that nobody can open: what a hidden directory is bound over with.
    pub(crate) fn hidden_directory(&self) -> Result<AbsPath, ScratchError> {
        self.mask("hidden-directory", |held, name| held.make_directory(name, Mode::empty()))
    }

    /// Makes a mask where it was not made yet.
    fn mask(
        &self,
        name: &'static str,
        make: impl FnOnce(&Held, &str) -> Result<(), ScratchError>,
    ) -> Result<AbsPath, ScratchError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(&name) {
            make(&self.places.masks, name)?;
            made.push(name);
        }
        Ok(self.places.masks.child(name))
    }

    /// Makes a fresh directory for the sockets of one command's bridge.
    pub(crate) fn socket_directory(&self) -> Result<SocketDirectory, ScratchError> {
        let name = format!("bridge-{}", self.next_command.fetch_add(1, Ordering::Relaxed));
        self.places.masks.make_directory(&name, Mode::RWXU)?;
        Ok(SocketDirectory { path: self.places.masks.child(&name), name, places: Arc::clone(&self.places) })
    }

    /// Makes the directory for the next command before that is there. Where it fails, it is tried again then.
    pub(crate) fn make_ready(&self) {
        if let Ok(directory) = self.new_command_directory() {
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).replace(directory);
        }
    }

    /// A fresh directory for one command.
    pub(crate) fn command_directory(&self) -> Result<CommandDirectory, ScratchError> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        ready.map_or_else(|| self.new_command_directory(), Ok)
    }

    fn new_command_directory(&self) -> Result<CommandDirectory, ScratchError> {
        let name = self.next_command.fetch_add(1, Ordering::Relaxed).to_string();
        let path = self.places.commands.make_directory(&name)?;
        Ok(CommandDirectory { path, name, places: Arc::clone(&self.places), is_removed: false })
    }
}

/// The directory of one bridge's sockets, among the masks: hidden from every command. Removed with its sockets when this
/// value goes.
#[derive(Debug)]
pub(crate) struct SocketDirectory {
    path: AbsPath,
    name: String,
    places: Arc<Places>,
}

impl SocketDirectory {
    /// Where it is. The path is short and holds nothing but letters, digits, slashes and hyphens.
    pub(crate) fn path(&self) -> &AbsPath {
        &self.path
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let parent = self.places.masks.directory.as_fd();
        warn_of_rest(&self.path, remove_tree(parent, self.name.as_bytes(), MOST_STEPS));
    }
}

/// The temporary directory of one command, removed with all that is in it when this value goes.
///
/// The command must be dead by then: what is still alive can make files as fast as they are removed. To
/// remove a million files takes seconds; drop it where that may block.
#[derive(Debug)]
pub(crate) struct CommandDirectory {
    path: AbsPath,
    name: String,
    places: Arc<Places>,
    is_removed: bool,
}

impl CommandDirectory {
    /// Where it is. The path is short: a socket name of 45 bytes fits behind it.
    pub(crate) fn path(&self) -> &AbsPath {
        &self.path
    }
}

impl CommandDirectory {
    /// Removes the directory if that is done at once; gives it back where something is in it.
    pub(crate) fn remove_if_empty(mut self) -> Option<Self> {
        match unlinkat(&self.places.commands.directory, self.name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) => {
                self.is_removed = true;
                None
            }
            Err(_) => Some(self),
        }
    }
}

impl Drop for CommandDirectory {
    fn drop(&mut self) {
        if self.is_removed {
            return;
        }
        let parent = self.places.commands.directory.as_fd();
        warn_of_rest(&self.path, remove_tree(parent, self.name.as_bytes(), MOST_STEPS));
    }
}

/// The directory in which scratch directories are made.
struct Base {
    path: AbsPath,
    directory: OwnedFd,
}

impl Base {
    fn open(path: &Path) -> Result<Self, ScratchError> {
        let no_path = || ScratchError::NoPath(path.to_owned());
        let given = AbsPath::try_from(path).map_err(|_| no_path())?;
        let fault = |error: std::io::Error| system("opening", &given)(error);
        let real = std::fs::canonicalize(path).map_err(fault)?;
        let directory = open(&real, DIRECTORY, Mode::empty()).map_err(|errno| fault(errno.into()))?;
        let base = Base { path: AbsPath::try_from(real.as_path()).map_err(|_| no_path())?, directory };
        base.refuse_unsafe()?;
        Ok(base)
    }

    /// Makes a locked directory of our own here.
    fn make(&self) -> Result<Held, ScratchError> {
        for _ in 0..MOST_ATTEMPTS {
            if let Some(held) = Held::make(self)? {
                return Ok(held);
            }
        }
        Err(ScratchError::Contended(self.path.clone()))
    }

    /// Makes a directory of our own here, with a name that nothing had.
    fn make_directory(&self) -> Result<AbsPath, ScratchError> {
        // By the descriptor, for a base that goes with its last user may have gone, and another have its
        // path.
        let make = |path: &Path| {
            let name = AbsPath::try_from(path).map_err(|_| Errno::INVAL)?;
            let name = name.file_name().unwrap_or_default();
            make_directory(self.directory.as_fd(), name, Mode::RWXU).map_err(std::io::Error::from)
        };
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM)
            .disable_cleanup(true)
            .make_in(self.path.as_path(), make)
            .map_err(system("making a directory in", &self.path))?;
        AbsPath::try_from(made.path()).map_err(|_| ScratchError::NoPath(made.path().to_owned()))
    }

    fn refuse_unsafe(&self) -> Result<(), ScratchError> {
        let stat = fstat(&self.directory).map_err(|errno| system("looking at", &self.path)(errno.into()))?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let shared = mode.intersects(Mode::WGRP | Mode::WOTH);
        if shared && !mode.contains(Mode::SVTX) {
            return Err(ScratchError::Unsafe(self.path.clone()));
        }
        Ok(())
    }
}

/// A directory of this user's alone that is there while anything is in it.
#[derive(Debug)]
struct Private(AbsPath);

impl Private {
    /// Makes `path` where it is missing, and a directory in it, so that nobody removes it.
    fn with_one(path: &AbsPath) -> Result<(Self, Held), ScratchError> {
        for _ in 0..MOST_ATTEMPTS {
            match rustix::fs::mkdir(path.as_path(), Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(system("making", path)(errno.into())),
            }
            let private = Private(path.clone());
            open_to_owner(path).map_err(|errno| system("opening to its owner", path)(errno.into()))?;
            match private.open()?.map(|base| base.make()) {
                // The last of its users removed it just now.
                None => {}
                Some(Err(ScratchError::System { error, .. })) if error.kind() == ErrorKind::NotFound => {}
                Some(held) => return Ok((private, held?)),
            }
        }
        Err(ScratchError::Contended(path.clone()))
    }

    /// `None` when it is gone. A link, another user's directory or one that others may enter is refused:
    /// whoever made it could change what is in it.
    fn open(&self) -> Result<Option<Base>, ScratchError> {
        let fault = |errno: Errno| system("opening", &self.0)(errno.into());
        let directory = match open(self.0.as_path(), DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(ScratchError::NotPrivate(self.0.clone())),
            other => other.map_err(fault)?,
        };
        let stat = fstat(&directory).map_err(fault)?;
        if !is_our_directory(&stat) || stat.st_mode & 0o077 != 0 {
            return Err(ScratchError::NotPrivate(self.0.clone()));
        }
        Ok(Some(Base { path: self.0.clone(), directory }))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Fails while another sandbox has its masks there, as it should.
        let _ = rustix::fs::rmdir(self.0.as_path());
    }
}

/// How a directory is opened: never through a link, and not for a child that is executed.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory with its lock.
#[derive(Debug)]
struct Held {
    path: AbsPath,
    base: OwnedFd,
    /// Holds the lock.
    directory: OwnedFd,
    /// Whether it is left to a later start.
    is_kept: bool,
}

impl Held {
    /// Makes and locks a directory; `None` when somebody took it away before it was locked.
    fn make(base: &Base) -> Result<Option<Self>, ScratchError> {
        let path = base.make_directory()?;
        Self::lock(base, path.clone()).inspect_err(|_| {
            // Nothing is in it, and nothing says that anybody is using it.
            let _ = unlinkat(&base.directory, path.file_name().unwrap_or_default(), AtFlags::REMOVEDIR);
        })
    }

    /// Locks the directory `path`, just made in `base`; `None` when a sweep has the lock, or was there
    /// already.
    fn lock(base: &Base, path: AbsPath) -> Result<Option<Self>, ScratchError> {
        let name = path.file_name().unwrap_or_default();
        let fault = |error: Errno| system("locking", &path)(error.into());
        let directory = match openat(&base.directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(fault)?,
        };
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other.map_err(fault)?,
        }
        if !is_still_there(&base.directory, name, &directory).map_err(fault)? {
            return Ok(None);
        }
        let base = base.directory.try_clone().map_err(system("locking", &path))?;
        Ok(Some(Held { path, base, directory, is_kept: false }))
    }

    /// A name of our own below the directory.
    fn child(&self, name: &str) -> AbsPath {
        self.path.join(name).unwrap_or_else(|_| self.path.clone())
    }

    /// Makes a file and opens it for writing.
    fn make_file(&self, name: &str, mode: Mode) -> Result<File, ScratchError> {
        let fault = |errno: Errno| system("making", &self.child(name))(errno.into());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, mode).map_err(fault)?;
        fchmod(&file, mode).map_err(fault)?;
        Ok(file.into())
    }

    fn write_file(&self, name: &str, content: &[u8]) -> Result<(), ScratchError> {
        let mut file = self.make_file(name, Mode::RUSR | Mode::WUSR)?;
        file.write_all(content).map_err(|error| system("writing", &self.child(name))(error))
    }

    fn make_directory(&self, name: &str, mode: Mode) -> Result<(), ScratchError> {
        let made = make_directory(self.directory.as_fd(), name.as_bytes(), mode);
        made.map_err(|errno| system("making", &self.child(name))(errno.into()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let name = self.path.file_name().unwrap_or_default();
        let removed = match is_still_there(&self.base, name, &self.directory) {
            // Mostly it is empty by now.
            Ok(true) if unlinkat(&self.base, name, AtFlags::REMOVEDIR).is_ok() => Ok(Removed::Whole),
            Ok(true) => remove_tree(self.base.as_fd(), name, MOST_STEPS),
            Ok(false) => Ok(Removed::Whole),
            Err(error) => Err(error),
        };
        warn_of_rest(&self.path, removed);
    }
}

fn warn_of_rest(path: &AbsPath, removed: Result<Removed, Errno>) {
    match removed {
        Ok(Removed::Whole) => {}
        Ok(Removed::Part) => {
            tracing::warn!("{path} holds too much to be removed at once; a later start goes on")
        }
        Err(error) => tracing::warn!("{path} could not be removed: {error}"),
    }
}

/// Makes the directory `name` in `parent` with just that mode, whatever the umask is.
fn make_directory(parent: BorrowedFd<'_>, name: &[u8], mode: Mode) -> Result<(), Errno> {
    mkdirat(parent, name, mode)?;
    set_mode(parent, name, mode).inspect_err(|_| {
        let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
    })
}

/// Sets the mode of `name` in `parent`, which may be one that we cannot open; follows no link.
fn set_mode(parent: BorrowedFd<'_>, name: &[u8], mode: Mode) -> Result<(), Errno> {
    let mode = nix::sys::stat::Mode::from_bits_truncate(mode.as_raw_mode());
    fchmodat(parent, name, mode, FchmodatFlags::NoFollowSymlink)
        .map_err(|error| Errno::from_raw_os_error(error as i32))
}

/// Gives us the permissions of a directory of ours that a umask took, also where another start was killed before it
/// could. Those that others have stay, for whoever opens it to refuse.
pub(crate) fn open_to_owner(path: &AbsPath) -> Result<(), Errno> {
    let stat = match statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let is_ours = is_our_directory(&stat) && stat.st_mode & 0o077 == 0;
    if !is_ours || Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU) {
        return Ok(());
    }
    match set_mode(CWD, path.as_bytes(), Mode::RWXU) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn is_our_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

/// Whether `name` in `base` is the directory that is open as `directory`.
fn is_still_there(base: impl AsFd, name: &[u8], directory: &OwnedFd) -> Result<bool, Errno> {
    let open = fstat(directory)?;
    match statat(base, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => Ok((there.st_dev, there.st_ino) == (open.st_dev, open.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn system<'a>(doing: &'static str, path: &'a AbsPath) -> impl Fn(std::io::Error) -> ScratchError + use<'a> {
    move |error| ScratchError::System { doing, path: path.clone(), error }
}

#[cfg(test)]
mod tests;
