//! A command that runs without the sandbox: as any other program of this user's would.
//!
//! It comes to that only where somebody said so: the settings (`failIfUnavailable: false` on a machine where the
//! sandbox cannot run, `excludedCommands`), or the caller, for a call that asked for it. Nothing here decides. The
//! outcome says that, and why, the command ran outside.

use crate::error::{Error, system};
use crate::probe::Cause;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::PidfdFlags;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Why a command ran without the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsandboxedReason {
    /// The sandbox cannot run here, and the policy lets commands run without it.
    Unavailable(Cause),
    /// `excludedCommands` names the command.
    Excluded,
    /// The call asked for it, and the policy allows that.
    Disabled,
}

impl UnsandboxedReason {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            UnsandboxedReason::Unavailable(_) => "unavailable",
            UnsandboxedReason::Excluded => "excluded",
            UnsandboxedReason::Disabled => "disabled",
        }
    }
}

/// For people: what is the case, and what to do where there is something to do.
impl fmt::Display for UnsandboxedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnsandboxedReason::Unavailable(cause) => {
                write!(f, "it cannot run here, and failIfUnavailable is false: {cause}")
            }
            UnsandboxedReason::Excluded => f.write_str("excludedCommands names it"),
            UnsandboxedReason::Disabled => f.write_str("the call asked for it"),
        }
    }
}

/// What to start.
pub(crate) struct Start<'a> {
    pub(crate) program: OsString,
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: &'a [(OsString, OsString)],
    pub(crate) working_directory: &'a Path,
    pub(crate) stdio: [Stdio; 3],
}

/// A running command outside. Dropped before its end, it is killed with what is left in its process group.
pub(crate) struct Outside {
    child: Child,
    /// Turns readable when the command has ended.
    handle: OwnedFd,
    is_reaped: bool,
}

impl Outside {
    pub(crate) fn start(start: Start<'_>) -> Result<Self, Error> {
        let Start { program, argv, variables, working_directory, stdio: [stdin, stdout, stderr] } = start;
        let mut command = Command::new(program);
        command
            .args(argv.iter().skip(1))
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(name) = argv.first() {
            command.arg0(name);
        }
        // A group of its own, as a command inside has: signals for it reach it alone.
        command.current_dir(working_directory).process_group(0);
        let child = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn();
        let mut child = child.map_err(system("starting the command"))?;
        let pid = rustix::process::Pid::from_child(&child);
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Outside { child, handle, is_reaped: false }),
            Err(error) => {
                let _ = killpg(Pid::from_raw(pid.as_raw_nonzero().get()), Signal::SIGKILL);
                let _ = child.wait();
                Err(system("opening the command's process")(error.into()))
            }
        }
    }

    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub(crate) fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    pub(crate) fn stopped_by(&self) -> io::Result<Option<Signal>> {
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
        match waitid(Id::Pid(self.group()), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::Stopped(_, signal)) => Ok(Some(signal)),
            Ok(_) | Err(nix::errno::Errno::ECHILD) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// To the command itself. It is not reaped yet, so its number is nobody else's.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        gone_is_fine(nix::sys::signal::kill(self.group(), signal))
    }

    pub(crate) fn signal_group(&self, signal: Signal) -> io::Result<()> {
        gone_is_fine(killpg(self.group(), signal))
    }

    /// Waits for the end; 128 + n for signal n.
    pub(crate) fn finish(mut self) -> Result<u8, Error> {
        let status = self.child.wait().map_err(system("waiting for the command"))?;
        self.is_reaped = true;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }
}

fn gone_is_fine(sent: nix::Result<()>) -> io::Result<()> {
    match sent {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = killpg(self.group(), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}
