//! Signals that come to this process, to be passed on to the command.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::io::unix::AsyncFd;

/// Passed on to the command.
const PASSED_ON: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
];

/// The signals that this process receives.
pub(crate) struct Signals(AsyncFd<SignalFd>);

impl Signals {
    /// From here on the signals no longer end this process. Call it before any thread is started: a thread that
    /// does not block them would take them. Children start with nothing blocked.
    pub(crate) fn block() -> nix::Result<SigSet> {
        let mut set: SigSet = PASSED_ON.into_iter().collect();
        // Tells that bubblewrap was stopped, and with it the command.
        set.add(Signal::SIGCHLD);
        set.thread_block()?;
        Ok(set)
    }

    /// Starts to receive, in a tokio runtime.
    pub(crate) fn receive(set: &SigSet) -> std::io::Result<Self> {
        let fd = SignalFd::with_flags(set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for the sake of types that give away others' descriptors"
        )]
        let fd = AsyncFd::new(fd)?;
        Ok(Signals(fd))
    }

    /// The next signal.
    pub(crate) async fn next(&self) -> std::io::Result<Signal> {
        loop {
            let mut ready = self.0.readable().await?;
            match self.0.get_ref().read_signal()? {
                Some(info) => return Ok(Signal::try_from(info.ssi_signo as i32)?),
                None => ready.clear_ready(),
            }
        }
    }
}
