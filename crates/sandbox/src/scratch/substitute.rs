//! Files that a command sees in the place of others: their content is ours, and nobody can change it.
//!
//! What the attacker controls: commands in other sandboxes of this user can see the directory for masks, where a
//! substitute has a name for the moment in which it is mounted. What it says may be hidden from them, so nobody can
//! open it while it has a name. It is [revealed](Substitute::reveal) once its sandbox alone leads to it.

use super::{Places, Scratch, ScratchError, system};
use palisade_policy::AbsPath;
use rustix::fs::{AtFlags, Mode, OFlags, chmod, openat, unlinkat};
use rustix::io::Errno;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A file to be mounted in another's place. Dropped, it loses its name; where it is mounted it stays.
#[derive(Debug)]
pub(crate) struct Substitute {
    path: AbsPath,
    name: String,
    places: Arc<Places>,
}

impl Scratch {
    /// Makes a file with that content, which nobody can open yet.
    pub(crate) fn substitute(&self, content: &[u8]) -> Result<Substitute, ScratchError> {
        let name = format!("substitute-{}", self.next_substitute.fetch_add(1, Ordering::Relaxed));
        let path = self.places.masks.child(&name);
        let mut file = self.places.masks.make_file(&name, Mode::empty())?;
        let substitute = Substitute { path, name, places: Arc::clone(&self.places) };
        file.write_all(content).map_err(system("writing", &substitute.path))?;
        Ok(substitute)
    }
}

impl Substitute {
    /// Where it is to be mounted from.
    pub(crate) fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Lets it be read where it is mounted, and nowhere else.
    pub(crate) fn reveal(self) -> Result<(), ScratchError> {
        let reveal = || {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&self.places.masks.directory, &self.name, flags, Mode::empty())?;
            self.remove()?;
            // What is open without any right has its mode set by this name only.
            chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), Mode::RUSR)
        };
        reveal().map_err(|errno| system("revealing", &self.path)(errno.into()))
    }

    fn remove(&self) -> Result<(), Errno> {
        unlinkat(&self.places.masks.directory, &self.name, AtFlags::empty())
    }
}

impl Drop for Substitute {
    fn drop(&mut self) {
        // It has no name any more where it was revealed.
        let _ = self.remove();
    }
}
