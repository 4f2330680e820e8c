//! Reading the bytes of a settings file that somebody else may have put there.
//!
//! The attacker may replace the file by a named pipe (opening it would wait for ever), a device (opening some
//! has an effect), a link to either, a link loop, a huge or an endless file, and may do so between two looks. So
//! the path is looked at before it is opened, the opening never waits, the opened descriptor is looked at again,
//! and no more than the limit is read from it. Where a link leads is not judged: settings are often linked.
//!
//! A socket that gives nobody a permission is no file: such a one stands in for a missing settings file while a command
//! that must not make it runs, and no program leaves one otherwise. Whoever could put it there could as well remove the
//! file. Not so behind a link, whose end may lie where others write: there it is an error, as a missing file is.

use crate::Error;
use palisade_policy::AbsPath;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::sync::Arc;

/// The size beyond which a settings file is refused, as Claude Code does.
pub const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// The bytes of the file at `path`; `None` where there is none.
pub(crate) fn read(path: &AbsPath) -> Result<Option<Vec<u8>>, Error> {
    let name: Arc<str> = path.to_string().into();
    let judge = |found: io::Result<Metadata>| match found {
        Ok(metadata) if is_stand_in(&metadata) && !is_link(path) => Ok(false),
        Ok(metadata) => check_kind(&name, &metadata).map(|()| true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(unreadable(&name, error)),
    };
    if !judge(std::fs::metadata(path.as_path()))? {
        return if is_behind_dangling_link(path) {
            Err(Error::DanglingLink { file: name })
        } else {
            Ok(None)
        };
    }
    // Only a file that vanished in between is absent here.
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&name, error)),
    };
    judge(file.metadata())?;
    read_opened(&name, file).map(Some)
}

/// The names in `directory`, in the order of their bytes. None where there is no such directory.
pub(crate) fn names(directory: &AbsPath) -> Result<Vec<Vec<u8>>, Error> {
    let name: Arc<str> = directory.to_string().into();
    let entries = match std::fs::read_dir(directory.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_behind_dangling_link(directory) => {
            return Ok(Vec::new());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::DanglingLink { file: name });
        }
        Err(error) => return Err(unreadable(&name, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(&name, error))?;
        names.push(entry.file_name().as_encoded_bytes().to_vec());
    }
    names.sort();
    Ok(names)
}

/// What is in the way of `directory`, which holds settings files: it, or the last thing on the way to it that is there,
/// is no directory. What stands in for a missing one while a command runs is in nobody's way.
pub(crate) fn in_the_way(directory: &AbsPath) -> Option<(AbsPath, &'static str)> {
    let found = |path: AbsPath| Some((std::fs::metadata(path.as_path()).ok()?, path));
    let (metadata, path) = directory.ancestors().find_map(found)?;
    let is_empty = metadata.is_file() && metadata.len() == 0 && metadata.permissions().readonly();
    let stands_in = is_empty || (is_stand_in(&metadata) && !is_link(&path));
    (!metadata.is_dir() && !stands_in).then(|| (path, kind(metadata.file_type())))
}

fn open(path: &AbsPath) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path.as_path(), flags, Mode::empty())?))
}

fn read_opened(name: &Arc<str>, file: File) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::TooLarge { file: name.clone() });
    }
    Ok(bytes)
}

fn check_kind(name: &Arc<str>, metadata: &Metadata) -> Result<(), Error> {
    if !metadata.is_file() {
        return Err(Error::NotAFile { file: name.clone(), kind: kind(metadata.file_type()) });
    }
    if metadata.len() > MAX_BYTES {
        return Err(Error::TooLarge { file: name.clone() });
    }
    Ok(())
}

fn is_link(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

fn is_stand_in(metadata: &Metadata) -> bool {
    metadata.file_type().is_socket() && metadata.permissions().mode() & 0o777 == 0
}

fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_file() {
        "a file"
    } else if file_type.is_fifo() {
        "a pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Whether there is nothing, as opposed to something that cannot be looked at.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether what is missing at `path` is the far end of a link: of the file's own, or its directory's.
fn is_behind_dangling_link(path: &AbsPath) -> bool {
    path.ancestors().take(2).any(|path| {
        let is_link = std::fs::symlink_metadata(path.as_path()).is_ok_and(|metadata| metadata.is_symlink());
        is_link && std::fs::metadata(path.as_path()).is_err()
    })
}

pub(crate) fn unreadable(name: &Arc<str>, source: io::Error) -> Error {
    let file = name.clone();
    match source.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => Error::LinkLoop { file },
        _ => Error::Unreadable { file, source },
    }
}
