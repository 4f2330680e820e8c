//! Signals that come for the command, and the terminal it shares.
//!
//! The command is in the caller's process group. What the terminal sends (Ctrl-C, Ctrl-\, a hang-up) reaches it
//! without us; what somebody sends to this process alone is passed on. Ctrl-Z stops us and the command alike.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::fs::File;
use tokio::io::unix::AsyncFd;

const PASSED_ON: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];

/// `si_code` of a signal that the kernel itself sent: here, the terminal.
const SI_KERNEL: i32 = 0x80;

/// The signals that this process received and that the command has not.
pub(crate) struct Signals(AsyncFd<SignalFd>);

impl Signals {
    /// From here on the signals no longer end this process. Call it before any thread is started: a thread that
    /// does not block them would take them. Children start with nothing blocked.
    pub(crate) fn block() -> nix::Result<SigSet> {
        let set: SigSet = PASSED_ON.into_iter().collect();
        set.thread_block()?;
        Ok(set)
    }

    /// Starts to receive, in a tokio runtime.
    pub(crate) fn receive(set: &SigSet) -> std::io::Result<Self> {
        let fd = SignalFd::with_flags(set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        #[expect(deprecated, reason = "its successor is unsafe for the sake of types that give away others' descriptors")]
        let fd = AsyncFd::new(fd)?;
        Ok(Signals(fd))
    }

    /// The next signal to pass on.
    pub(crate) async fn next(&self) -> std::io::Result<Signal> {
        loop {
            let mut ready = self.0.readable().await?;
            match self.0.get_ref().read_signal()? {
                Some(info) if info.ssi_code != SI_KERNEL => {
                    if let Ok(signal) = Signal::try_from(info.ssi_signo as i32) {
                        return Ok(signal);
                    }
                }
                Some(_) => {}
                None => ready.clear_ready(),
            }
        }
    }
}

/// The terminal that this process was in the foreground of when it started.
pub(crate) struct Foreground {
    terminal: File,
    group: Pid,
}

impl Foreground {
    /// `None` without a controlling terminal, or in the background of one.
    pub(crate) fn of_terminal() -> Option<Self> {
        let terminal = File::open("/dev/tty").ok()?;
        let group = tcgetpgrp(&terminal).ok()?;
        (group == getpgrp()).then_some(Foreground { terminal, group })
    }

    /// Takes the terminal back from a command that did job control of its own and ended without returning it.
    pub(crate) fn restore(&self) {
        if tcgetpgrp(&self.terminal) == Ok(self.group) {
            return;
        }
        // Without this the kernel would stop us for touching the terminal from the background.
        let blocked = SigSet::from_iter([Signal::SIGTTOU]).thread_block();
        if blocked.is_ok() {
            let _ = tcsetpgrp(&self.terminal, self.group);
        }
    }
}
