//! The directory in `/tmp` that the commands' own directories are in, and the record of it that a later start
//! removes it by.
//!
//! It has the name of the owner's locked directory. So the one that was left by a process that was killed before it
//! had recorded anything is known by its name alone; nothing can be in it, and it is removed only if nothing is.
//!
//! The record is in the owner's locked directory, where no command and no other user can write. It has one
//! line, the name, the device and the inode, and holds only for a directory of ours that would be recorded in
//! the very same bytes: the name alone may be somebody else's by now. What is not such a line records
//! nothing. This does not find out whether the owner is alive.

use super::remove::{Removed, remove_tree_if};
use super::sweep::is_scratch_name;
use super::{Base, DIRECTORY, Held, MOST_STEPS, ScratchError, is_our_directory, make_directory, system};
use palisade_policy::AbsPath;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const RECORD: &str = "commands";
/// No record is longer: a short name and two numbers.
const MOST_BYTES: usize = 128;

/// The directory for the commands of one sandbox.
#[derive(Debug)]
pub(super) struct Commands {
    pub(super) path: AbsPath,
    base: OwnedFd,
    pub(super) directory: OwnedFd,
}

impl Commands {
    /// Makes the directory with the name of `held`; `None` when something else has that name here.
    pub(super) fn make(base: &Base, held: &Held) -> Result<Option<Self>, ScratchError> {
        let name = held.path.file_name().unwrap_or_default();
        let path = base.path.join(name).unwrap_or_else(|_| base.path.clone());
        match make_directory(base.directory.as_fd(), name, Mode::RWXU) {
            Err(Errno::EXIST) => return Ok(None),
            other => other.map_err(|errno| system("making", &path)(errno.into()))?,
        }
        let opened = Self::open(base, path);
        if opened.is_err() {
            let _ = unlinkat(&base.directory, name, AtFlags::REMOVEDIR);
        }
        opened.map(Some)
    }

    fn open(base: &Base, path: AbsPath) -> Result<Self, ScratchError> {
        let name = path.file_name().unwrap_or_default();
        let directory = openat(&base.directory, name, DIRECTORY, Mode::empty())
            .map_err(|errno| system("opening", &path)(errno.into()))?;
        // Only for systemd-tmpfiles, which leaves old directories alone that are locked.
        let _ = flock(&directory, FlockOperation::NonBlockingLockExclusive);
        let base = base.directory.try_clone().map_err(system("opening", &path))?;
        Ok(Commands { path, base, directory })
    }

    /// Has whoever finds `held` without its owner remove this directory too.
    pub(super) fn record_in(&self, held: &Held) -> Result<(), ScratchError> {
        let stat = fstat(&self.directory).map_err(|errno| system("looking at", &self.path)(errno.into()))?;
        let name = String::from_utf8_lossy(self.name());
        held.write_file(RECORD, record(&name, &stat).as_bytes())
    }

    /// Makes a directory for a command.
    pub(super) fn make_directory(&self, name: &str) -> Result<AbsPath, ScratchError> {
        let path = self.path.join(name).unwrap_or_else(|_| self.path.clone());
        make_directory(self.directory.as_fd(), name.as_bytes(), Mode::RWXU)
            .map_err(|errno| system("making", &path)(errno.into()))?;
        Ok(path)
    }

    /// Removes the directory with all that is in it, unless another has its name.
    pub(super) fn remove(&self) -> Result<Removed, Errno> {
        let own = fstat(&self.directory)?;
        let is_own = |stat: &Stat| (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino);
        remove_tree_if(self.base.as_fd(), self.name(), is_own, MOST_STEPS)
    }

    fn name(&self) -> &[u8] {
        self.path.file_name().unwrap_or_default()
    }
}

/// Removes the directory in `base` that is on record in `held`, where it still is that one. Where nothing is on
/// record, the one that has the name of `held` is removed if it is empty.
pub(super) fn remove_recorded(
    (held, held_name): (BorrowedFd<'_>, &CStr),
    base: BorrowedFd<'_>,
    most_steps: u64,
) -> Result<Removed, Errno> {
    let Some(recorded) = read_record(held)? else {
        return remove_empty(base, held_name);
    };
    let name = recorded.split(' ').next().unwrap_or_default();
    if !is_scratch_name(name.as_bytes()) {
        return Ok(Removed::Whole);
    }
    let is_recorded = |stat: &Stat| is_our_directory(stat) && record(name, stat) == recorded;
    remove_tree_if(base, name, is_recorded, most_steps)
}

fn remove_empty(base: BorrowedFd<'_>, name: &CStr) -> Result<Removed, Errno> {
    let is_ours = match statat(base, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => false,
        stat => is_our_directory(&stat?),
    };
    let removed = if is_ours { unlinkat(base, name, AtFlags::REMOVEDIR) } else { Ok(()) };
    match removed {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(Removed::Whole),
        Err(error) => Err(error),
    }
}

fn record(name: &str, stat: &Stat) -> String {
    format!("{name} {} {}\n", stat.st_dev, stat.st_ino)
}

/// `None` where the owner was killed before it had written a whole line.
fn read_record(held: BorrowedFd<'_>) -> Result<Option<String>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(held, RECORD, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => File::from(other?),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(String::from_utf8(bytes).ok().filter(|text| text.ends_with('\n')))
}
