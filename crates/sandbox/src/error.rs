//! Why a command could not be run in the sandbox. Each error has a stable word ([`Error::code`]) for programs and a
//! sentence for people that says what to do.

use crate::probe::Cause;
use palisade_policy::AbsPath;
use std::io;

/// Why a command could not be run. Nothing of it ran, and nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sandbox does not work on this machine.
    #[error("the sandbox cannot run here: {0}")]
    Unavailable(Cause),
    /// A rule cannot be enforced by this backend. It never becomes a weaker rule.
    #[error("{rule} cannot be enforced: {reason}")]
    Unenforceable {
        /// The rule, with its file.
        rule: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// The root or the working directory is none that a command can be confined to.
    #[error("{what} {path:?} {reason}")]
    Directory {
        /// `the root` or `the working directory`.
        what: &'static str,
        /// The path as given.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such program.
    #[error("{0}: command not found")]
    ProgramNotFound(String),
    /// The program exists but is no executable file.
    #[error("{0}: not an executable file")]
    NotExecutable(String),
    /// A word of the command cannot be passed to any program.
    #[error("{0} holds a NUL byte, which no program can be given")]
    Nul(&'static str),
    /// A stream of the caller's would be a way around the sandbox's mounts.
    #[error("{stream} is {what}; {remedy}")]
    Stream {
        /// `standard input` and so on.
        stream: &'static str,
        /// What it is.
        what: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The temporary directory, or what goes with it, could not be made.
    #[error("no temporary directory for the command: {0}")]
    Scratch(#[from] crate::scratch::ScratchError),
    /// A missing protected path could not be covered.
    #[error("a missing path that a rule protects could not be covered: {0}")]
    Cover(#[from] crate::cover::CoverError),
    /// The mount plan is larger than bubblewrap takes.
    #[error(transparent)]
    Arguments(#[from] palisade_bwrap::ArgumentsError),
    /// The launch failed although the sandbox works on this machine.
    #[error("the sandbox could not be built: {0}")]
    Launch(#[from] palisade_bwrap::linux::LaunchError),
    /// A path of a rule could not be looked at.
    #[error("{path}: {error}")]
    Path {
        /// The path.
        path: AbsPath,
        /// What the system said.
        error: io::Error,
    },
    /// Anything else that the system refused.
    #[error("{doing}: {error}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl Error {
    /// The stable word for this kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Unavailable(_) => "SANDBOX_UNAVAILABLE",
            Error::Unenforceable { .. } | Error::Arguments(_) => "SANDBOX_UNENFORCEABLE",
            Error::Directory { .. } => "SANDBOX_DIRECTORY",
            Error::ProgramNotFound(_) => "PROGRAM_NOT_FOUND",
            Error::NotExecutable(_) => "PROGRAM_NOT_EXECUTABLE",
            Error::Nul(_) | Error::Stream { .. } => "COMMAND_INVALID",
            Error::Scratch(_) | Error::Cover(_) => "SANDBOX_SCRATCH",
            Error::Launch(_) | Error::Path { .. } | Error::System { .. } => "SANDBOX_LAUNCH",
        }
    }
}

pub(crate) fn system(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::System { doing, error }
}
