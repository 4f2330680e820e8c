//! What every sandbox needs whatever its rules are, begun while they are still being read: the disk and the kernel take
//! their time, and a program that runs one command has none to wait.
//!
//! Nothing here depends on a rule, and nothing of a command runs. The attacker gains nothing by its being early: what is
//! made is what every sandbox has, in directories that are this user's alone, or as open as any command's own temporary
//! directory is to whom a rule opens `/tmp`. What is begun and not used is ended and removed, as if
//! the [`Sandbox`](crate::Sandbox) had been made and dropped.

use crate::error::Error;
use crate::launcher::Launcher;
use crate::scratch::{Scratch, ScratchError};
use palisade_bwrap::linux::Warden;
use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

/// A sandbox in the making, to be given to [`Sandbox::create`](crate::Sandbox::create) with the rules.
///
/// It starts a thread, so whoever wants signals blocked in all threads blocks them before.
#[derive(Debug)]
pub struct HeadStart {
    pub(crate) launcher: Launcher,
    pub(crate) scratch: Receiver<Result<Scratch, ScratchError>>,
    pub(crate) warden: Arc<OnceLock<io::Result<Warden>>>,
}

impl HeadStart {
    /// Begins, and waits for nothing. What fails later is told when it is needed.
    pub fn begin() -> Result<Self, Error> {
        refuse_two_users()?;
        let launcher = Launcher::start().map_err(Error::or_shortage)?;
        let scratch = launcher.begin(|| Scratch::create().inspect(Scratch::make_ready));
        let warden = Arc::new(OnceLock::new());
        let also = Arc::clone(&warden);
        launcher.later(move || {
            also.get_or_init(Warden::start);
        });
        Ok(HeadStart { launcher, scratch, warden })
    }
}

fn refuse_two_users() -> Result<(), Error> {
    let (real, effective) = (rustix::process::getuid(), rustix::process::geteuid());
    if real == effective {
        return Ok(());
    }
    Err(Error::TwoUsers { real: real.as_raw(), effective: effective.as_raw() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_removed() {
        let head_start = HeadStart::begin().expect("a thread");
        head_start.launcher.catch_up();
        let scratch = head_start.scratch.recv().expect("it was begun").expect("a directory in /tmp");
        let temporary = scratch.command_directory().expect("made");
        let (sent, unused) = std::sync::mpsc::channel();
        sent.send(Ok(scratch)).expect("there is room");
        let above = temporary.path().parent().expect("it is not /");
        assert!(temporary.path().as_path().is_dir());
        drop(temporary);
        assert!(above.as_path().is_dir());
        drop(HeadStart { scratch: unused, ..head_start });
        assert!(above.as_path().symlink_metadata().is_err());
    }
}
