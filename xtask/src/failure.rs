//! Why a task stopped, for a person to read.
//!
//! Nothing here is meant for a program to tell apart: a task either did all of its work or says what to do
//! next.

use std::fmt;
use std::process::ExitCode;

/// A task's answer.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a task stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: String,
    exit_code: u8,
}

impl Failure {
    /// The task failed for this reason; exit code 1.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), exit_code: 1 }
    }

    /// The task was called wrongly; exit code 2.
    pub(crate) fn usage(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), exit_code: 2 }
    }

    /// The same reason under another exit code.
    pub(crate) fn with_exit_code(self, exit_code: u8) -> Self {
        Failure { exit_code, ..self }
    }

    /// What the process is to end with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit_code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Says what was being done when something failed.
pub(crate) trait Context<T> {
    /// Turns an error into "cannot DO: ERROR".
    fn cannot(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn cannot(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("cannot {what}: {error}")))
    }
}
