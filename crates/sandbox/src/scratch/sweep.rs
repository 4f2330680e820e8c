//! Removes the scratch directories whose owners are dead.
//!
//! Never waits, never follows a link, and never fails: what cannot be removed is a warning, since a start
//! must not depend on what somebody left. It does not look through `/tmp`: which directory there is ours, the
//! records say.

use super::remove::{Removed, open_directory, remove_tree};
use super::{PREFIX, RANDOM, commands, is_still_there};
use rustix::fs::{Dir, FlockOperation, flock};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};

/// How much one start removes of each directory, about a second's work. A command that left millions of files
/// must not hold up the next start for minutes; the one after goes on.
const MOST_STEPS: u64 = 100_000;

/// Removes every directory in `private` that nobody holds, and what it records in `base` before it.
pub(super) fn sweep(private: BorrowedFd<'_>, base: BorrowedFd<'_>) {
    let names = match scratch_names(private) {
        Ok(names) => names,
        Err(error) => {
            return tracing::warn!("what earlier runs left behind could not be looked for: {error}");
        }
    };
    for name in names {
        match sweep_one(private, base, &name) {
            Ok(Removed::Whole) => {}
            Ok(Removed::Part) => {
                tracing::info!("{name:?}, left behind by an earlier run, is removed in part")
            }
            Err(error) => {
                tracing::warn!("{name:?}, left behind by an earlier run, could not be removed: {error}")
            }
        }
    }
}

fn scratch_names(private: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(private)? {
        let entry = entry?;
        if is_scratch_name(entry.file_name().to_bytes()) {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Whether a scratch directory may have this name; many others may, too.
pub(super) fn is_scratch_name(name: &[u8]) -> bool {
    let random = name.strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
}

fn sweep_one(private: BorrowedFd<'_>, base: BorrowedFd<'_>, name: &CString) -> Result<Removed, Errno> {
    let directory = match open_directory(private, name) {
        // Gone by now, or not made by us.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Ok(Removed::Whole),
        other => other?,
    };
    match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Removed::Whole),
        other => other?,
    }
    // Whoever held the lock until just now may have removed the directory, and a new one may have its name.
    if !is_still_there(private, name.to_bytes(), &directory)? {
        return Ok(Removed::Whole);
    }
    match commands::remove_recorded((directory.as_fd(), name), base, MOST_STEPS)? {
        Removed::Whole => remove_tree(private, name.as_c_str(), MOST_STEPS),
        Removed::Part => Ok(Removed::Part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_may_be_ours() {
        assert!(is_scratch_name(b"palisade-aB3xyZ"));
        for name in ["palisade-", "palisade-aB3xy", "palisade-aB3xyZ7", "palisade-aB3x/Z", "Palisade-aB3xyZ"]
        {
            assert!(!is_scratch_name(name.as_bytes()), "{name}");
        }
    }
}
