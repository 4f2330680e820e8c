//! Why a command could not be run in the sandbox. Each error has a stable word ([`Error::code`]) for programs and a
//! sentence for people that says what to do.

use crate::cover::CoverError;
use crate::probe::Cause;
use crate::scratch::ScratchError;
use crate::shortage::Shortage;
use palisade_bwrap::linux::LaunchError;
use palisade_policy::{AbsPath, Origin};
use std::io;

/// Why a command could not be run. Nothing of it ran, and nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sandbox does not work on this machine.
    #[error("the sandbox cannot run here: {0}")]
    Unavailable(Cause),
    /// A limit is used up. The sandbox may well work here.
    #[error("{failed}; {shortage}")]
    Shortage {
        /// What failed, and what the system said.
        failed: String,
        /// What is short.
        shortage: Shortage,
    },
    /// Files are looked at with the rights of one user, and bubblewrap works with those of another.
    #[error(
        "this process has the rights of two users, {real} and {effective}, as that of a set-user-ID program has; \
         start it as one of them"
    )]
    TwoUsers {
        /// Who started it.
        real: u32,
        /// Whose rights it has.
        effective: u32,
    },
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
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The temporary directory, or what goes with it, could not be made.
    #[error("no temporary directory for the command: {0}")]
    Scratch(#[from] ScratchError),
    /// A missing protected path could not be covered.
    #[error("a missing path that a rule protects could not be covered: {0}")]
    Cover(#[from] CoverError),
    /// The mount plan is larger than bubblewrap takes.
    #[error(transparent)]
    Arguments(#[from] palisade_bwrap::ArgumentsError),
    /// The launch failed although the sandbox works on this machine.
    #[error("the sandbox could not be built: {0}")]
    Launch(#[from] LaunchError),
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
            Error::TwoUsers { .. } | Error::Launch(_) | Error::Path { .. } | Error::System { .. } => {
                "SANDBOX_LAUNCH"
            }
            Error::Shortage { .. } => "SANDBOX_SHORTAGE",
        }
    }

    /// The same error, but one about a path that `rule` names says so: whoever has the rule can do something about it.
    pub(crate) fn of_rule(self, rule: &Origin) -> Self {
        let (path, error) = match self {
            Error::Path { path, error } if Shortage::of(&error).is_none() => (path, error),
            other => return other,
        };
        let is_loop = error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32);
        let reason = if is_loop {
            format!("symbolic links lead in a circle at {path}; remove one of them")
        } else {
            format!("{path} cannot be looked at: {error}")
        };
        Error::Unenforceable { rule: rule.to_string(), reason }
    }

    /// The same error, but one that a limit is the reason of names the limit.
    pub(crate) fn or_shortage(self) -> Self {
        let error = match &self {
            Error::System { error, .. }
            | Error::Path { error, .. }
            | Error::Launch(LaunchError::System { error, .. } | LaunchError::Namespaces(error))
            | Error::Launch(LaunchError::Mount { error, .. })
            | Error::Scratch(ScratchError::System { error, .. })
            | Error::Cover(CoverError::System { error, .. }) => error,
            _ => return self,
        };
        let shortage = match &self {
            Error::Launch(LaunchError::Mount { .. }) => Shortage::of_mounting(error),
            _ => Shortage::of(error),
        };
        match shortage {
            Some(shortage) => Error::Shortage { failed: self.to_string(), shortage },
            None => self,
        }
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Shortage { failed, shortage } => Error::Shortage { failed, shortage },
            // Of a socat that does not listen it is not known why. It may be one of those too.
            Cause::NoBridge(reason) => Error::Launch(LaunchError::Bridge(reason)),
            cause => Error::Unavailable(cause),
        }
    }
}

pub(crate) fn system(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::System { doing, error }
}
