//! A sandbox that runs: its processes, from the moment that bubblewrap was started to the end of everything inside.
//!
//! The [launch](super::start()) makes it. It is ended by killing, and waited for by handles of processes, never by
//! numbers, which may be others' by then.
//!
//! What the attacker controls: what the sandbox's first process says by its end, and how long anything takes. So a status
//! is what bubblewrap reported, or a guess that no command can make worse than a wrong number; and the end of
//! bubblewrap's outer process, which he cannot delay, is the end of the rest.

use super::bridge;
use super::channels::wait_readable;
use super::error::{LaunchError, SET_UP_TIME, failed};
use super::launch::Bridged;
use super::listeners::{Listener, bind_inside};
use super::status::Status;
use super::warden::Watch;
use nix::sys::signal::{Signal, killpg};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, waitid};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long it may take until a bubblewrap whose first process has ended is seen to have ended too.
pub(super) const UNTIL_IT_IS_SEEN: Duration = Duration::from_secs(5);

/// A command in its sandbox. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
pub struct Running {
    bwrap: Child,
    /// Turns readable when bubblewrap's outer process has ended, and with it the command.
    pub(super) handle: OwnedFd,
    /// The first process of the sandbox, or with a bridge of the outer one: when it has ended, nothing is left.
    pub(super) init: OwnedFd,
    /// The sandbox's first process.
    pub(super) init_pid: u32,
    status: Status,
    /// What the outer bubblewrap says, which dies of it when nobody could read that.
    _outer_status: Option<Status>,
    /// Whether the command has been seen.
    has_started: AtomicBool,
    reaped: bool,
    /// Ends when nothing of the sandbox is left.
    watch: Watch,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The command's own exit status, 128 + n for signal n.
    Exit(u8),
    /// bubblewrap was released and did not say how the command ended. It may have failed before the command started
    /// (and said so on standard error); the command may have forged this, by writing into the bubblewrap inside.
    Unknown,
    /// bubblewrap was killed by this signal, and the command with it.
    Killed(i32),
}

impl Running {
    pub(super) fn adopt(mut bwrap: Child, status: Status, watch: Watch) -> Result<Self, LaunchError> {
        let handles = rustix::process::pidfd_open(Pid::from_child(&bwrap), PidfdFlags::empty())
            .map_err(io::Error::from)
            // Until the first process is known its place is taken by bubblewrap, whose end is the end of both.
            .and_then(|handle| Ok((handle.try_clone()?, handle)));
        let (init, handle) = match handles {
            Ok(handles) => handles,
            Err(error) => {
                // Still without arguments: left alone, it would take their end for "none" and go on.
                let _ = bwrap.kill();
                let _ = bwrap.wait();
                return Err(failed("opening bubblewrap's process")(error));
            }
        };
        Ok(Running {
            bwrap,
            handle,
            init,
            init_pid: 0,
            status,
            _outer_status: None,
            has_started: AtomicBool::new(false),
            reaped: false,
            watch,
        })
    }

    /// Finds the sandbox's first process, and listens inside. The process exists, though perhaps as a zombie, until
    /// bubblewrap reaps it.
    pub(super) fn listen(&mut self, addresses: &[SocketAddr]) -> Result<Vec<Option<Listener>>, LaunchError> {
        let said = self.status.child_pid(self.handle.as_fd())?;
        self.init_pid = self.unless_ended(said)?;
        self.adopt_first(self.init_pid)?;
        let listeners = bind_inside(self.init_pid, addresses);
        let listeners = listeners.map_err(|error| self.or_ended(LaunchError::Namespaces(error)))?;
        Ok(listeners.into_iter().map(|listener| listener.map(Listener::Tcp)).collect())
    }

    /// Finds the first processes of both sandboxes, and waits until the bridge stands.
    pub(super) fn cross(
        &mut self,
        mut bridge: Bridged,
        listen: &[SocketAddr],
    ) -> Result<Vec<Option<Listener>>, LaunchError> {
        let said = bridge.status.child_pid(self.handle.as_fd())?;
        let outer = self.unless_ended(said)?;
        self.adopt_first(outer)?;
        self._outer_status = Some(bridge.status);
        let said = self.status.child_pid(self.handle.as_fd())?;
        let inner = self.unless_ended(said)?;
        self.init_pid = bridge::inner_process(outer, inner).map_err(|error| self.or_ended(error))?;
        let listening = bridge::wait_until_listening(outer, listen, self.handle.as_fd());
        let listening = listening.map_err(|error| self.or_ended(error))?;
        let sockets = bridge.sockets.into_iter().zip(listening);
        Ok(sockets.map(|(socket, listens)| listens.then_some(Listener::Unix(socket))).collect())
    }

    /// From now on the sandbox ends with this process of it, its first.
    fn adopt_first(&mut self, pid: u32) -> Result<(), LaunchError> {
        self.init = first_process(pid)?;
        let handed_over = self.watch.hand_over(self.init.as_fd());
        handed_over.map_err(failed("having the sandbox watched over"))
    }

    /// What bubblewrap has said; when that is nothing, it has ended.
    fn unless_ended(&mut self, said: Option<u32>) -> Result<u32, LaunchError> {
        if let Some(said) = said {
            return Ok(said);
        }
        let waiting = failed("waiting for bubblewrap");
        wait_readable(self.handle.as_fd(), Instant::now() + UNTIL_IT_IS_SEEN).map_err(&waiting)?;
        // A first process that it has made waits to be told to go on, and nobody is there to tell it any more.
        self.kill();
        let status = self.reap().map_err(waiting)?;
        let code = |status: ExitStatus| status.code().or(status.signal().map(|signal| 128 + signal));
        Err(LaunchError::Ended(status.and_then(code).unwrap_or(-1)))
    }

    /// Why something could not be done in the sandbox: perhaps it is gone, since bubblewrap could not go on.
    fn or_ended(&self, error: LaunchError) -> LaunchError {
        use LaunchError::{Bridge, Namespaces, System};
        // The namespaces go a moment before their process is seen to have ended, and bubblewrap follows.
        let wait = match &error {
            Namespaces(error) | System { error, .. } if is_of_the_dead(error) => UNTIL_IT_IS_SEEN,
            // As is what can be known of one that is dead and not yet waited for.
            Namespaces(error) if error.kind() == io::ErrorKind::PermissionDenied => Duration::from_millis(50),
            Bridge(_) => Duration::from_secs(1),
            _ => Duration::ZERO,
        };
        let has_ended = |process: &OwnedFd, wait| wait_readable(process.as_fd(), Instant::now() + wait);
        match has_ended(&self.init, wait)
            .and_then(|ended| Ok(ended && has_ended(&self.handle, UNTIL_IT_IS_SEEN)?))
        {
            Ok(true) => LaunchError::Ended(self.exit_code()),
            _ => error,
        }
    }

    /// How bubblewrap, which has ended, did so, 128 + n for signal n; -1 when that is not known.
    pub(super) fn exit_code(&self) -> i32 {
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.group()), look) {
            Ok(WaitStatus::Exited(_, code)) => code,
            Ok(WaitStatus::Signaled(_, signal, _)) => 128 + signal as i32,
            _ => -1,
        }
    }

    /// Turns readable when the command has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// The process group that the command starts in: bubblewrap's outer process leads it.
    pub fn group(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.bwrap.id() as i32)
    }

    /// The signal that has stopped the command's process group since the last call, if one has (Ctrl-Z, or
    /// reading from a terminal in its background).
    pub fn stopped_by(&self) -> io::Result<Option<Signal>> {
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
        match waitid(Id::Pid(self.group()), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::Stopped(_, signal)) => Ok(Some(signal)),
            Ok(_) | Err(nix::errno::Errno::ECHILD) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends `signal` to the command itself (not to what it started). `false` when bubblewrap has not started it
    /// yet: then nothing was sent. Does nothing once the command has ended.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = self.command_pid()? else { return self.is_past_start() };
        self.has_started.store(true, Ordering::Relaxed);
        let command = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        // The number may have been reused between the look and the opening: only a child of init is meant.
        if self.command_pid()? != Some(pid) {
            return Ok(true);
        }
        let signal =
            rustix::process::Signal::from_named_raw(signal as i32).ok_or(io::ErrorKind::InvalidInput)?;
        match rustix::process::pidfd_send_signal(command, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends `signal` to the process group that the command started in, as a terminal does; the answer is that of
    /// [`signal`](Self::signal).
    pub fn signal_group(&self, signal: Signal) -> io::Result<bool> {
        if self.command_pid()?.is_none() {
            return self.is_past_start();
        }
        self.has_started.store(true, Ordering::Relaxed);
        match killpg(self.group(), signal) {
            Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn is_past_start(&self) -> io::Result<bool> {
        Ok(self.has_started.load(Ordering::Relaxed) || wait_readable(self.handle.as_fd(), Instant::now())?)
    }

    /// The first child of the sandbox's first process is the command.
    fn command_pid(&self) -> io::Result<Option<Pid>> {
        let pid = self.init_pid;
        let children = match std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
            Ok(children) => children,
            Err(error) if is_of_the_dead(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(children.split_ascii_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw))
    }

    /// Kills the command and all that it started.
    pub fn kill(&self) {
        // The group too, for a first process that is not known yet. Its number is its leader's, who is not reaped.
        let _ = killpg(self.group(), Signal::SIGKILL);
        for process in [&self.init, &self.handle] {
            let _ = rustix::process::pidfd_send_signal(process, rustix::process::Signal::KILL);
        }
    }

    /// Waits for the end of the command, then for the end of everything inside, and says how it ended.
    ///
    /// What the command left running ends with it: bubblewrap's outer process is gone, and the kernel then
    /// kills the sandbox's first process and its whole process namespace. Does not block once
    /// [`ended`](Self::ended) is readable and, after [`kill_rest`](Self::kill_rest), [`emptied`](Self::emptied) too.
    pub fn finish(mut self) -> io::Result<Ended> {
        let status = self.reap()?;
        self.kill_rest();
        self.wait_until_empty()?;
        if let Some(signal) = status.and_then(|status| status.signal()) {
            return Ok(Ended::Killed(signal));
        }
        let rest = self.status.read_rest()?;
        let reported = super::status::number_in(&rest, "exit-code").and_then(|code| u8::try_from(code).ok());
        let code = reported.or_else(|| killed_unreported(status?.code()?));
        Ok(code.map_or(Ended::Unknown, Ended::Exit))
    }

    /// Waits for the end of the sandbox's first process, and takes its status where bubblewrap's orphans come to this
    /// process, as to a subreaper or process 1: nobody else would.
    fn wait_until_empty(&self) -> io::Result<()> {
        if wait_readable(self.init.as_fd(), Instant::now() + SET_UP_TIME)? {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = waitid(WaitId::PidFd(self.init.as_fd()), ended);
        }
        Ok(())
    }

    /// Waits for bubblewrap's end. Its status is lost where the host ignores SIGCHLD; the command's is not.
    fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match self.bwrap.wait() {
            Err(error) if error.raw_os_error() == Some(nix::libc::ECHILD) => None,
            status => Some(status?),
        };
        self.reaped = true;
        Ok(status)
    }

    /// Kills what the command, which has ended, left running.
    pub fn kill_rest(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.init, rustix::process::Signal::KILL);
    }

    /// Turns readable when nothing is left inside.
    pub fn emptied(&self) -> BorrowedFd<'_> {
        self.init.as_fd()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            let _ = self.reap();
            let _ = self.wait_until_empty();
        }
    }
}

/// What reading a file of a process in `/proc` fails with when the process is gone.
pub(super) fn is_of_the_dead(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ESRCH))
}

fn first_process(pid: u32) -> Result<OwnedFd, LaunchError> {
    let opened = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH);
    opened
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()))
        .map_err(|error| failed("opening the sandbox's first process")(error.into()))
}

/// Of a command that a signal ended before it was executed bubblewrap reports nothing, but takes over the status, which
/// none of its own failures has.
fn killed_unreported(own_status: i32) -> Option<u8> {
    const MOST_SIGNALS: i32 = 64;
    u8::try_from(own_status).ok().filter(|_| (129..=128 + MOST_SIGNALS).contains(&own_status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signals_status_is_taken_from_bubblewrap_itself() {
        for (own, taken) in
            [(0, None), (1, None), (125, None), (128, None), (137, Some(137)), (143, Some(143)), (193, None)]
        {
            assert_eq!(killed_unreported(own), taken, "{own}");
        }
    }
}
