//! The terminal that the command works with, and job control, as a shell does it for its own jobs.
//!
//! The command has a process group of its own (in ours it could signal us and our caller). So that it may read
//! from the terminal, and gets Ctrl-C, that group is made the foreground while it runs. When it stops, on
//! Ctrl-Z or for touching the terminal from the background, we take the terminal back and stop ourselves with
//! the rest of our own group, so that the caller's shell sees its job stop; once continued we pass both on.

use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::cell::Cell;
use std::fs::File;

/// The controlling terminal of this process.
pub(crate) struct Terminal {
    file: File,
    /// Our own process group.
    group: Pid,
    /// Whether we made the command's group the foreground.
    is_given: Cell<bool>,
}

impl Terminal {
    /// `None` where there is no controlling terminal.
    pub(crate) fn controlling() -> Option<Self> {
        Some(Terminal { file: File::open("/dev/tty").ok()?, group: getpgrp(), is_given: Cell::new(false) })
    }

    /// Makes `command` the foreground, if we are; in the background it stays there with us.
    pub(crate) fn give(&self, command: Pid) {
        if tcgetpgrp(&self.file) == Ok(self.group) {
            self.is_given.set(tcsetpgrp(&self.file, command).is_ok());
        }
    }

    /// Makes us the foreground again, where we had given that away. The command may have passed it on to a group of
    /// its own making, which may have gone by now.
    pub(crate) fn take_back(&self) {
        if !self.is_given.replace(false) {
            return;
        }
        // Without this the kernel would stop us for touching the terminal from the background.
        let touch: SigSet = [Signal::SIGTTOU].into_iter().collect();
        if touch.thread_block().is_ok() {
            let _ = tcsetpgrp(&self.file, self.group);
            let _ = touch.thread_unblock();
        }
    }

    /// The command's group was stopped by `signal`: stop as well, and continue both when somebody continues us.
    pub(crate) fn stop_with(&self, command: Pid, signal: Signal) {
        self.take_back();
        // Where nobody could continue us (an orphaned group) the kernel ignores this, and the command goes on at once.
        let _ = kill(Pid::from_raw(0), signal);
        self.give(command);
        let _ = killpg(command, Signal::SIGCONT);
    }
}
