//! Removes the scratch directories whose owners are dead.
//!
//! Never waits, never follows a link, and never fails: what cannot be removed is a warning, since a start
//! must not depend on what somebody left in `/tmp`.

use super::remove::{Removed, remove_tree};
use super::{DIRECTORY, PREFIX, RANDOM, is_still_there};
use rustix::fs::{Dir, FlockOperation, Mode, flock, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::CString;
use std::os::fd::BorrowedFd;

/// How much one start removes of each directory, about a second's work. A command that left millions of files
/// must not hold up the next start for minutes; the one after goes on.
const MOST_STEPS: u64 = 100_000;

/// Removes every scratch directory of ours in `base` that nobody holds.
pub(super) fn sweep(base: BorrowedFd<'_>) {
    let names = match scratch_names(base) {
        Ok(names) => names,
        Err(error) => {
            return tracing::warn!("what earlier runs left behind could not be looked for: {error}");
        }
    };
    for name in names {
        match sweep_one(base, &name) {
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

/// The listing is gone through once, and only names like ours are kept: `/tmp` may be crowded.
fn scratch_names(base: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(base)? {
        let entry = entry?;
        if is_scratch_name(entry.file_name().to_bytes()) {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

fn is_scratch_name(name: &[u8]) -> bool {
    let random = name.strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
}

fn sweep_one(base: BorrowedFd<'_>, name: &CString) -> Result<Removed, Errno> {
    let directory = match openat(base, name, DIRECTORY, Mode::empty()) {
        // A file, a link, another user's, or gone by now.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NOENT) => return Ok(Removed::Whole),
        other => other?,
    };
    if fstat(&directory)?.st_uid != geteuid().as_raw() {
        return Ok(Removed::Whole);
    }
    match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Removed::Whole),
        other => other?,
    }
    // Whoever held the lock until just now may have removed the directory, and a new one may have its name.
    if !is_still_there(base, name.to_bytes(), &directory)? {
        return Ok(Removed::Whole);
    }
    remove_tree(base, name.as_c_str(), MOST_STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_ours() {
        assert!(is_scratch_name(b"palisade-aB3xyZ"));
        for name in ["palisade-", "palisade-aB3xy", "palisade-aB3xyZ7", "palisade-aB3x/Z", "Palisade-aB3xyZ"]
        {
            assert!(!is_scratch_name(name.as_bytes()), "{name}");
        }
    }
}
