//! Keeps what is mounted in a running sandbox where it was mounted.
//!
//! The kernel lets nobody inside rename or remove what something is mounted on. Outside it does: when a program there
//! replaces such a file, as git and editors do with each save, the kernel detaches the mount in every namespace, and the
//! sandbox sees the new file as it is, to be read and written. When one is renamed, its mount goes along, and its old
//! place is free.
//!
//! So the sandbox's mount table is watched: the kernel tells when something is detached, and what was moved shows at the
//! next [look](Guard::lost). What was lost is mounted anew, or the sandbox is [ended](Guard::end).
//!
//! What the attacker controls: he may wait for the same moment, and be quicker. In the moment between he can read or
//! write the new file. Nobody can know afterwards whether he did, but that he does not go on: whatever he has got
//! [hold of](Guard::find_held) by then, beneath the new mount, ends the sandbox. He may
//! put links and other files in the way: what is mounted is opened without following links, and is looked at again
//! afterwards. Where he uses up the machine's processes or descriptors, to keep anything from being mounted, the sandbox
//! is ended, which takes none.
//!
//! What this does not do: it makes nothing where nothing stands any more. What is to stand there is the caller's choice.

use super::around::{Around, Leads};
use super::attach::{Attachments, Place, attach};
use super::channels::wait_readable;
use super::error::{LaunchError, failed};
use super::verify::visible;
use crate::mounts::{Mount, Mounts, prefixes};
use palisade_policy::AbsPath;
use rustix::process::Signal;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// What the restored masks are made from, both in every sandbox: a device that is mounted without devices, and what
/// hides bubblewrap's own process.
const MASKS: [&[u8]; 2] = [b"/dev/null", b"/proc/1"];

/// The mounts of a sandbox, and what they should be.
#[derive(Debug)]
pub struct Guard {
    pid: u32,
    /// The sandbox's first process, or with a bridge that of the outer one.
    init: OwnedFd,
    /// Its mount table, which stays its own when the number is another's.
    table: File,
    steps: Vec<Mount>,
    /// Whether anything can be mounted from outside.
    can_attach: bool,
}

impl Guard {
    /// Watches over `mounts` in the sandbox of process `pid`; from now on, so that what changes while they are being
    /// looked at for the first time is not missed.
    pub(super) fn over(pid: u32, init: BorrowedFd<'_>, mounts: Mounts, can_attach: bool) -> io::Result<Self> {
        Ok(Guard {
            pid,
            init: init.try_clone_to_owned()?,
            table: File::open(format!("/proc/{pid}/mountinfo"))?,
            steps: mounts.into_detachable(),
            can_attach,
        })
    }

    /// Has something exceptional to be read (`POLLPRI`) when the mount table has changed.
    pub fn changed(&self) -> BorrowedFd<'_> {
        self.table.as_fd()
    }

    /// Where what was mounted is not mounted any more, and nothing else keeps the command from what that kept it from.
    /// Parents come before what is in them.
    ///
    /// # Errors
    /// Where the mount table cannot be read.
    pub fn lost(&self) -> io::Result<Vec<AbsPath>> {
        let mounted = visible(&self.mounted()?);
        let masks: HashSet<&[u8]> =
            self.steps.iter().filter(|step| is_mask(step)).map(|step| step.path().as_bytes()).collect();
        let unmakeable = LazyCell::new(|| self.unmakeable());
        let is_lost = |step: &&Mount| {
            let (above, is_writable) = nearest(&mounted, step.path());
            let is_open = if is_mask(step) { !masks.contains(above) } else { is_writable };
            let is_there = above == step.path().as_bytes();
            !is_there && is_open && (stands(step.path()) || unmakeable.contains(step.path().as_bytes()))
        };
        let lost: BTreeSet<_> = self.steps.iter().filter(is_lost).map(|step| step.path().clone()).collect();
        Ok(lost.into_iter().collect())
    }

    /// What the command may not make where it is missing: it, or something in it, may not be written. What may not be read
    /// only holds what the command has put there, then.
    fn unmakeable(&self) -> HashSet<&[u8]> {
        let keeps = |step: &&Mount| !is_mask(step) && !matches!(step, Mount::Pin(_));
        self.steps.iter().filter(keeps).flat_map(|step| prefixes(step.path())).collect()
    }

    /// The mount table as it is now.
    fn mounted(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut table = &self.table;
        table.rewind()?;
        table.read_to_end(&mut text)?;
        Ok(text)
    }

    /// Mounts again at `paths`, at each of which something stands, and makes sure that nobody can write there on.
    ///
    /// # Errors
    /// What is another kind of thing than before, or cannot be mounted; and where mounts cannot be made from outside.
    pub fn restore(&self, paths: &BTreeSet<AbsPath>) -> Result<(), LaunchError> {
        if !self.can_attach {
            let error = io::Error::from(io::ErrorKind::Unsupported);
            return Err(failed("mounting in a sandbox that runs")(error));
        }
        let kinds: BTreeMap<&AbsPath, &Mount> = self.steps.iter().map(|step| (step.path(), step)).collect();
        let steps = paths.iter().filter_map(|path| kinds.get(path)).map(|step| again(step));
        let mounts = Mounts::of(steps.collect::<Result<_, _>>()?);
        let mask =
            |at: &[u8]| AbsPath::new(at).map_err(|error| failed("naming a mask")(io::Error::other(error)));
        let (hidden_file, hidden_directory) = (mask(MASKS[0])?, mask(MASKS[1])?);
        let place = Place::of(self.pid)?;
        // The number may have been somebody else's by then.
        if self.has_ended() {
            return Err(LaunchError::Namespaces(io::ErrorKind::NotFound.into()));
        }
        attach(&place, &Attachments { mounts, hidden_file, hidden_directory }).map(drop)
    }

    /// Whether the sandbox has ended.
    pub fn has_ended(&self) -> bool {
        wait_readable(self.init.as_fd(), Instant::now()).unwrap_or(false)
    }

    /// One of `paths`, at each of which something is mounted again, that the command has got hold of before.
    ///
    /// # Errors
    /// Where nobody can tell.
    pub fn find_held<'p>(&self, paths: &'p BTreeSet<AbsPath>) -> io::Result<Option<&'p AbsPath>> {
        let is_pin = |step: &Mount| matches!(step, Mount::Pin(_) | Mount::PinLink(_));
        let pins: HashSet<_> = self.steps.iter().filter(|step| is_pin(step)).map(Mount::path).collect();
        let leads = |path| if pins.contains(path) { Leads::Directories } else { Leads::Anything };
        Around::new(paths.iter().map(|path| (path, leads(path))), &self.mounted()?).find(self.pid)
    }

    /// Ends the sandbox with everything in it.
    pub fn end(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.init, Signal::KILL);
    }
}

/// The step as it is to be done at what stands in its place now.
fn again(step: &Mount) -> Result<Mount, LaunchError> {
    let at = step.path().clone();
    let kind = at.as_path().symlink_metadata().map_err(failed("looking at what was mounted on"))?;
    Ok(match step {
        Mount::PinLink(_) if kind.is_symlink() => Mount::PinLink(at),
        _ if kind.is_symlink() => return Err(LaunchError::Changed(format!("{at} is a symbolic link now"))),
        Mount::PinLink(_) => return Err(LaunchError::Changed(format!("{at} is no symbolic link any more"))),
        Mount::Pin(_) if kind.is_dir() => Mount::Pin(at),
        Mount::HideFile(_) | Mount::HideDirectory(_) if kind.is_dir() => Mount::HideDirectory(at),
        Mount::HideFile(_) | Mount::HideDirectory(_) => Mount::HideFile(at),
        Mount::ReadOnly(_) | Mount::Substitute { .. } | Mount::Pin(_) => Mount::ReadOnly(at),
        _ => {
            return Err(LaunchError::Changed(format!(
                "{at}, in which something is to be seen, was replaced"
            )));
        }
    })
}

fn stands(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok()
}

fn is_mask(step: &Mount) -> bool {
    matches!(step, Mount::HideFile(_) | Mount::HideDirectory(_) | Mount::SearchOnly(_))
}

/// The mount that a path is in, and whether that is writable.
fn nearest<'p>(mounted: &BTreeMap<Vec<u8>, bool>, at: &'p AbsPath) -> (&'p [u8], bool) {
    let found = prefixes(at).find_map(|above| Some((above, *mounted.get(above)?)));
    found.unwrap_or((b"/", true))
}
