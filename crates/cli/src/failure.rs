//! Failures of Palisade's own, as opposed to the command's: a line on standard error and an exit status.

use palisade::Shortage;
use palisade_policy::Printable;
use std::fmt;
use std::io::{ErrorKind, Write};

/// Exit status when the sandbox could not run the command. The reason stands on standard error.
pub(crate) const SANDBOX_FAILED: u8 = 125;
/// Exit status when the program exists but cannot be executed.
const CANNOT_EXECUTE: u8 = 126;
/// Exit status when there is no such program.
const NOT_FOUND: u8 = 127;

/// Exit status when Palisade was called wrongly; of a command to run, which may end with that itself, it is 125.
const CALLED_WRONGLY: u8 = 2;

/// The smallest stack, in bytes, with which settings of every allowed nesting can be read: several times what that
/// takes.
const SMALLEST_STACK: u64 = 512 << 10;

/// Why nothing was run.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A stable word, for programs.
    pub(crate) code: &'static str,
    /// For people.
    pub(crate) message: String,
    pub(crate) status: u8,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl fmt::Display) -> Self {
        Failure { code, message: message.to_string(), status: SANDBOX_FAILED }
    }

    /// What was asked for is wrong by itself.
    pub(crate) fn of_call(code: &'static str, message: impl fmt::Display) -> Self {
        Failure { status: CALLED_WRONGLY, ..Failure::new(code, message) }
    }

    /// The same failure of a command that was to run.
    pub(crate) fn of_run(self) -> Self {
        let status = if self.status == CALLED_WRONGLY { SANDBOX_FAILED } else { self.status };
        Failure { status, ..self }
    }
}

impl From<palisade::Error> for Failure {
    fn from(error: palisade::Error) -> Self {
        let status = match error {
            palisade::Error::ProgramNotFound(_) => NOT_FOUND,
            palisade::Error::NotExecutable(_) => CANNOT_EXECUTE,
            _ => SANDBOX_FAILED,
        };
        Failure { code: error.code(), message: error.to_string(), status }
    }
}

impl From<palisade_settings::Error> for Failure {
    fn from(error: palisade_settings::Error) -> Self {
        let system = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
        if let Some(shortage) = system.and_then(Shortage::of) {
            return Failure::new("SANDBOX_SHORTAGE", format!("{error}; {shortage}"));
        }
        match error {
            palisade_settings::Error::BadFlag { .. } => Failure::of_call("SETTINGS_INVALID", error),
            error => Failure::new("SETTINGS_INVALID", error),
        }
    }
}

/// A stack that is too small would end this process without a word, perhaps in the middle.
pub(crate) fn of_stack() -> Option<Failure> {
    use nix::sys::resource::{Resource, getrlimit};
    let (stack, _) = getrlimit(Resource::RLIMIT_STACK).ok().filter(|(stack, _)| *stack < SMALLEST_STACK)?;
    let message = format!(
        "the stack may be no larger than {} KiB; raise that limit (`ulimit -s`) to {} or more",
        stack >> 10,
        SMALLEST_STACK >> 10
    );
    Some(Failure::new("SANDBOX_SHORTAGE", message))
}

/// One line on standard error. Whatever steers a terminal or ends a line in names and paths is escaped, so that
/// nothing in them can forge a message.
pub(crate) fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "palisade: {}", Printable(message));
}

/// Text on standard output. That its reader has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new("OUTPUT", format!("writing to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
