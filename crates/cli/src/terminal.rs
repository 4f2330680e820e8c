//! The terminal that the command works with, and job control, as a shell does it for its own jobs.
//!
//! The command has a process group of its own (in ours it could signal us and our caller). So that it may read
//! from the terminal, and gets Ctrl-C, that group is made the foreground while it runs. When it stops, on
//! Ctrl-Z or for touching the terminal from the background, we take the terminal back and stop ourselves with
//! the rest of our own group, so that the caller's shell sees its job stop; once continued we pass both on.
//!
//! In a pipeline our own group has other members, and one of them may want the keyboard: a pager does. There the
//! command gets the foreground only when it touches the terminal itself. Until then Ctrl-C and Ctrl-Z come to us,
//! and are passed on to its group.

use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::cell::Cell;
use std::fs::File;
use std::io::{IsTerminal, stdin, stdout};

/// The controlling terminal of this process.
pub(crate) struct Terminal {
    file: File,
    /// Our own process group.
    group: Pid,
    /// Whether others of our group may want the keyboard, too.
    is_shared: bool,
    /// Whether we made the command's group the foreground.
    is_given: Cell<bool>,
}

impl Terminal {
    /// `None` where there is no controlling terminal.
    pub(crate) fn controlling() -> Option<Self> {
        Some(Terminal {
            file: File::open("/dev/tty").ok()?,
            group: getpgrp(),
            is_shared: !(stdin().is_terminal() && stdout().is_terminal()),
            is_given: Cell::new(false),
        })
    }

    /// Makes `command`, which is to start, the foreground, if we are and nobody else may want to be; in the background
    /// it stays there with us.
    pub(crate) fn offer(&self, command: Pid) {
        if !self.is_shared {
            self.give(command);
        }
    }

    /// Makes `command` the foreground, if we are. Says whether it is now and was not before.
    fn give(&self, command: Pid) -> bool {
        let gives = tcgetpgrp(&self.file) == Ok(self.group) && tcsetpgrp(&self.file, command).is_ok();
        if gives {
            self.is_given.set(true);
        }
        gives
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

    /// The command's group was stopped by `signal`. If what it lacks is the terminal and we have that, it gets it and goes
    /// on. Else we stop as well, and continue both when somebody continues us.
    pub(crate) fn stopped(&self, command: Pid, signal: Signal) {
        let touches = matches!(signal, Signal::SIGTTIN | Signal::SIGTTOU);
        if !(touches && self.give(command)) {
            let was_given = self.is_given.get();
            self.take_back();
            self.stop(signal);
            if was_given || !self.is_shared {
                self.give(command);
            }
        }
        let _ = killpg(command, Signal::SIGCONT);
    }

    /// Stops our own group until somebody continues it. Where nobody could (an orphaned group) the kernel ignores this.
    fn stop(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(0), signal);
        // We receive the signal of Ctrl-Z in another way. It waits for us until we let it in.
        let waiting: SigSet = [signal].into_iter().collect();
        let was_blocked = SigSet::thread_get_mask().is_ok_and(|mask| mask.contains(signal));
        if was_blocked && waiting.thread_unblock().is_ok() {
            let _ = waiting.thread_block();
        }
    }
}
