//! Why a launch failed. Nothing is launched here.

use crate::MOST_ARGUMENTS;
use std::io;
use std::time::Duration;

/// How long bubblewrap may take to say that its namespaces are made. It needs milliseconds; a machine under
/// heavy load may need seconds.
pub(super) const SET_UP_TIME: Duration = Duration::from_secs(60);

/// Why a launch failed. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A descriptor, a process or a memory file could not be had.
    #[error("{doing}: {error}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// bubblewrap ended before the command started, with this status, 128 + n for signal n. What it said is on the
    /// command's standard error.
    #[error("bubblewrap could not build the sandbox ({})", how_it_ended(*.0))]
    Ended(i32),
    /// bubblewrap did not get ready in time.
    #[error("bubblewrap was not ready after {} seconds", SET_UP_TIME.as_secs())]
    TimedOut,
    /// What bubblewrap wrote about itself was not understood.
    #[error("bubblewrap's status was not understood: {0:?}")]
    Status(String),
    /// Without an entry the words of the command are arguments of bubblewrap's.
    #[error(
        "the command's {0} words, its variables and the file rules together are more than the \
         {MOST_ARGUMENTS} arguments that bubblewrap takes"
    )]
    TooManyWords(usize),
    /// The kernel refused one of the sandbox's mounts.
    #[error("{at} cannot be mounted in the sandbox: {error}")]
    Mount {
        /// Where.
        at: palisade_policy::AbsPath,
        /// What the kernel said.
        error: io::Error,
    },
    /// Somebody changed what is mounted while it was being mounted.
    #[error("the files changed while the sandbox was being built ({0}); run the command again")]
    Changed(String),
    /// The sandbox's namespaces cannot be entered from outside.
    #[error("the sandbox's namespaces cannot be entered from outside: {0}")]
    Namespaces(io::Error),
    /// The bridge of socat does not stand.
    #[error("the bridge out of the sandbox's network namespace does not stand: {0}")]
    Bridge(String),
}

pub(super) fn failed(doing: &'static str) -> impl Fn(io::Error) -> LaunchError {
    move |error| LaunchError::System { doing, error }
}

fn how_it_ended(status: i32) -> String {
    match status - 128 {
        signal @ 1..=64 => format!("it was killed by signal {signal}"),
        _ => format!("status {status}; its own message stands above"),
    }
}
