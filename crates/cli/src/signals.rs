//! Signals that come to this process, to be passed on to the command.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::io::unix::AsyncFd;

/// Passed on to the command: whatever would end this process, which has to clear up behind the command first, or stop it.
/// Not memory faults, which are our own, and not real-time signals, which nobody sends to a program that asks for none.
const PASSED_ON: [Signal; 18] = [
    Signal::SIGABRT,
    Signal::SIGALRM,
    Signal::SIGIO,
    Signal::SIGPROF,
    Signal::SIGPWR,
    Signal::SIGSTKFLT,
    Signal::SIGSYS,
    Signal::SIGTRAP,
    Signal::SIGVTALRM,
    Signal::SIGXCPU,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// Those that the kernel itself sends because of a key that was pressed or a terminal that is gone.
const OF_TERMINALS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT];

/// `si_code` of a signal that the kernel itself sent.
const SI_KERNEL: i32 = 0x80;

/// The signals that this process receives.
pub(crate) struct Signals(AsyncFd<SignalFd>);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    /// Whether it is for everything that was started with us, as what the terminal sends is and what stops or
    /// continues; otherwise it is for the command.
    pub(crate) is_for_all: bool,
}

impl Signals {
    /// From here on the signals no longer end this process. Call it before any thread is started: a thread that
    /// does not block them would take them. Children start with nothing blocked.
    pub(crate) fn block() -> nix::Result<SigSet> {
        let mut set: SigSet = PASSED_ON.into_iter().collect();
        // Tells that bubblewrap was stopped, and with it the command.
        set.add(Signal::SIGCHLD);
        set.thread_block()?;
        // A file that a limit keeps from growing is an error to be told, and no reason to die without a word.
        SigSet::from(Signal::SIGXFSZ).thread_block()?;
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
    pub(crate) async fn next(&self) -> std::io::Result<Received> {
        loop {
            let mut ready = self.0.readable().await?;
            match self.0.get_ref().read_signal()? {
                Some(info) => {
                    let signal = Signal::try_from(info.ssi_signo as i32)?;
                    let is_of_jobs = matches!(signal, Signal::SIGTSTP | Signal::SIGCONT);
                    let is_of_terminal = OF_TERMINALS.contains(&signal) && info.ssi_code == SI_KERNEL;
                    return Ok(Received { signal, is_for_all: is_of_jobs || is_of_terminal });
                }
                None => ready.clear_ready(),
            }
        }
    }
}
