//! One entry of the registry: the covers in one directory, and the files that they are.

use super::CoverError;
use palisade_policy::AbsPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// An open entry with a lock on it.
///
/// Its file holds the covers' paths, a NUL before and after each: a path that was cut off when its writer was
/// killed does not spoil the next.
#[derive(Debug)]
pub(super) struct Entry(File);

impl Entry {
    pub(super) fn new(file: OwnedFd) -> Self {
        Entry(file.into())
    }

    /// Has a cover stand at each of `paths`, all in `directory`.
    pub(super) fn stand(&self, directory: &AbsPath, paths: &[&AbsPath]) -> Result<(), CoverError> {
        let opened = open_directory(directory).map_err(system("opening", directory))?;
        let mut missing = Vec::new();
        let mut standing = Vec::new();
        for path in paths {
            match look(&opened, path).map_err(system("looking at", path))? {
                None => missing.push(*path),
                Some(stat) if is_cover(&stat) => standing.push(*path),
                Some(_) => return Err(CoverError::Exists((*path).clone())),
            }
        }
        self.refuse_unlisted(&standing)?;
        self.list(&missing).map_err(|error| failed("listing a cover in", directory, error))?;
        missing.into_iter().try_for_each(|path| make(&opened, path))
    }

    /// What looks like a cover and is not listed is a file of the user's. The list is read after the files
    /// were seen, so that it holds whatever others have made before.
    fn refuse_unlisted(&self, standing: &[&AbsPath]) -> Result<(), CoverError> {
        let Some(first) = standing.first() else { return Ok(()) };
        let listed = self.listed().map_err(|error| failed("looking up", first, error))?;
        let unlisted = standing.iter().find(|path| !listed.contains(*path));
        unlisted.map_or(Ok(()), |path| Err(CoverError::Exists((**path).clone())))
    }

    /// Removes every cover that is listed. What fails is a warning.
    pub(super) fn remove_covers(&self) {
        let listed = self.listed().unwrap_or_else(|error| {
            tracing::warn!("covers that should be removed could not be listed: {error}");
            HashSet::new()
        });
        for path in listed {
            if let Err(error) = remove(&path) {
                tracing::warn!("the empty file {path}, a cover, could not be removed: {error}");
            }
        }
    }

    /// The paths of the entry. Read from a place of its own, since other threads may read at the same time.
    pub(super) fn listed(&self) -> io::Result<HashSet<AbsPath>> {
        let length = usize::try_from(self.0.metadata()?.len()).map_err(io::Error::other)?;
        let mut content = vec![0; length];
        self.0.read_exact_at(&mut content, 0)?;
        Ok(content.split(|&b| b == 0).filter_map(|path| AbsPath::new(path).ok()).collect())
    }

    /// Appends in a single write, which does not mix with that of another process.
    fn list(&self, paths: &[&AbsPath]) -> io::Result<()> {
        let mut text = Vec::new();
        for path in paths {
            text.push(0);
            text.extend_from_slice(path.as_bytes());
            text.push(0);
        }
        if text.is_empty() { Ok(()) } else { (&self.0).write_all(&text) }
    }
}

impl AsFd for Entry {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes the cover at `path` in `directory`. Another may have been quicker.
fn make(directory: &OwnedFd, path: &AbsPath) -> Result<(), CoverError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = path.file_name().unwrap_or_default();
    let file = match openat(directory, name, flags, Mode::RUSR | Mode::RGRP | Mode::ROTH) {
        Err(Errno::EXIST) => {
            let stat = look(directory, path).map_err(system("looking at", path))?;
            let is_one = stat.is_some_and(|stat| is_cover(&stat));
            return if is_one { Ok(()) } else { Err(CoverError::Exists(path.clone())) };
        }
        other => other.map_err(system("making an empty file at", path))?,
    };
    if !fstat(&file).is_ok_and(|stat| is_cover(&stat)) {
        let _ = unlinkat(directory, name, AtFlags::empty());
        return Err(CoverError::Permissions(path.clone()));
    }
    Ok(())
}

/// Removes the cover at `path`, unless it has become something else or its directory has gone.
fn remove(path: &AbsPath) -> Result<(), Errno> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let directory = match open_directory(&directory) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        other => other?,
    };
    match look(&directory, path)? {
        Some(stat) if is_cover(&stat) => unlinkat(&directory, name, AtFlags::empty()),
        _ => Ok(()),
    }
}

/// What stands at `path` in `directory`, if anything.
fn look(directory: &OwnedFd, path: &AbsPath) -> Result<Option<Stat>, Errno> {
    match statat(directory, path.file_name().unwrap_or_default(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_cover(stat: &Stat) -> bool {
    let writable = Mode::WUSR | Mode::WGRP | Mode::WOTH;
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_size == 0
        && !Mode::from_raw_mode(stat.st_mode).intersects(writable)
}

/// Whether what stands at `path`, on whatever way that leads there, may be a cover.
pub(super) fn looks_like_cover(path: &AbsPath) -> bool {
    rustix::fs::lstat(path.as_bytes()).is_ok_and(|stat| is_cover(&stat))
}

/// Opens a directory, or fails where a link is on the way.
fn open_directory(path: &AbsPath) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = open(c"/", flags, Mode::empty())?;
    path.components().try_fold(root, |above, name| openat(above, name, flags, Mode::empty()))
}

pub(super) fn system<'a>(doing: &'static str, path: &'a AbsPath) -> impl Fn(Errno) -> CoverError + use<'a> {
    move |errno| failed(doing, path, errno.into())
}

fn failed(doing: &'static str, path: &AbsPath, error: io::Error) -> CoverError {
    CoverError::System { doing, path: path.clone(), error }
}
