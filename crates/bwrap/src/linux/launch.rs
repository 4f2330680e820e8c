//! The launch of one bubblewrap, and the process it leaves.
//!
//! Order. bubblewrap takes about a millisecond to come up, so it is [started](start) first and waits for its
//! arguments while the caller finds out what they are; then the sandbox is [built](Started::build), held, and
//! [released](Held::release).
//!
//! Descriptors. bubblewrap gets 0, 1, 2 and the four of [`start`]'s making (arguments, filter, status, block;
//! with an [`Entry`] two more), all else is closed by `exec`. bubblewrap closes the four before the command
//! starts, the entry the other two. The environment of bubblewrap is empty, so no loader variable of the
//! command takes effect in it.
//!
//! Lifetime. The kernel kills bubblewrap when the *thread* that launched it ends (so launch from one that lives
//! as long as the sandbox), and with bubblewrap everything inside, once the command has started; until then the
//! [warden](super::Warden) has to. The block descriptor is open for writing in
//! bubblewrap itself, so that a Palisade that is killed before the release leaves it waiting for the kill rather
//! than reading an end of file and starting the command. Nor does a bubblewrap that goes on unasked start it, since
//! what it waits on cannot be read: the entry is told the command only at the release.

use super::attach::{Attachments, Place, attach};
use super::bridge::{self, Bridge};
use super::channels::{block_pipe, fill, memory_file, nul_ended, send, stream_pair, wait_readable};
use super::entry::{Entry, described};
use super::error::{LaunchError, SET_UP_TIME, failed};
use super::guard::Guard;
use super::listeners::{Listener, bind_inside};
use super::program::Program;
use super::status::Status;
use super::sys::{self, Signals};
use super::verify::{self, Expected};
use super::warden::{Warden, Watch};
use crate::{MOST_ARGUMENTS, Mounts};
use nix::sys::signal::{Signal, killpg};
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Exit status of an entry that could not do its work. The command itself may end with it too.
pub(super) const ENTRY_FAILED: i32 = 125;

/// What bubblewrap is started with.
#[derive(Debug)]
pub struct Start<'a> {
    /// The bubblewrap to use.
    pub bwrap: &'a Program,
    /// Who ends the sandbox if this process is killed.
    pub warden: &'a Warden,
    /// How connections come out of the sandbox; by listeners made in it from outside when there is none.
    pub bridge: Option<Bridge<'a>>,
    /// With an entry: who starts the command; signals to its process group then reach the command alone.
    /// Without: bubblewrap itself starts it, dies of such signals, and has the variables among its arguments.
    pub entry: Option<&'a Entry>,
    /// The file to execute inside: an absolute path.
    pub program: OsString,
    /// The command's arguments, its own name first. Without an entry the name is `program` whatever stands here.
    pub argv: Vec<OsString>,
    /// The command's standard input, output and error.
    pub stdio: [Stdio; 3],
}

/// How long it may take until a bubblewrap whose first process has ended is seen to have ended too.
const UNTIL_IT_IS_SEEN: Duration = Duration::from_secs(5);

/// What a sandbox is built from.
#[derive(Debug)]
pub struct Build<'a> {
    /// bubblewrap's arguments, without the command.
    pub arguments: &'a [Vec<u8>],
    /// What is to be mounted on top of what they mount.
    pub attachments: Option<&'a Attachments>,
    /// The seccomp program.
    pub filter: &'a [u8],
    /// With an entry: the command's variables.
    pub variables: &'a [(Vec<u8>, Vec<u8>)],
    /// Where to listen inside the sandbox's network namespace; with a bridge, the addresses it was started with.
    pub listen: &'a [SocketAddr],
}

/// A bubblewrap that waits for its arguments. Dropped, it ends without having done anything.
#[derive(Debug)]
pub struct Started {
    running: Running,
    release: OwnedFd,
    block: i32,
    /// Our end of the socket that bubblewrap reads its arguments from, up to its end.
    arguments: OwnedFd,
    filter: File,
    /// With an entry: where it reads the command.
    command: Option<File>,
    program: OsString,
    argv: Vec<OsString>,
    bridge: Option<Bridged>,
}

/// What a started bubblewrap has when it is within another one.
#[derive(Debug)]
struct Bridged {
    sockets: Vec<UnixListener>,
    /// Where the outer one says who its first process is.
    status: Status,
}

/// A sandbox that is built and waits: the command has not started.
#[derive(Debug)]
pub struct Held {
    running: Running,
    listeners: Vec<Option<Listener>>,
    release: OwnedFd,
    /// The number of the descriptor that bubblewrap waits on, there.
    block: i32,
    /// With an entry: where it reads the command, and the command.
    command: Option<(File, Vec<u8>)>,
}

/// A command in its sandbox. Dropped before its end, it is killed with all that it started.
#[derive(Debug)]
pub struct Running {
    bwrap: Child,
    /// Turns readable when bubblewrap's outer process has ended, and with it the command.
    handle: OwnedFd,
    /// The first process of the sandbox, or with a bridge of the outer one: when it has ended, nothing is left.
    init: OwnedFd,
    /// The sandbox's first process.
    init_pid: u32,
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

/// Starts a bubblewrap, which waits for what it is to build.
///
/// Call it from a thread that lives as long as the sandbox: the kernel kills the sandbox when the thread ends.
pub fn start(start: Start<'_>) -> Result<Started, LaunchError> {
    let (release, block) = block_pipe().map_err(failed("making the release pipe"))?;
    let (status, status_in) = Status::pipe()?;
    let outer = start.bridge.map(|bridge| Ok((bridge, bridge.bind()?, Status::pipe()?))).transpose()?;
    let (arguments, arguments_in) = stream_pair().map_err(failed("making the arguments' socket"))?;
    let filter = memory_file("palisade-filter")?;
    let command = start.entry.map(|_| memory_file("palisade-command")).transpose()?;

    let mut keep: Vec<i32> =
        vec![arguments_in.as_raw_fd(), filter.as_raw_fd(), status_in.as_raw_fd(), block.as_raw_fd()];
    let mut bwrap = Command::new(start.bwrap.handle());
    bwrap.arg0("bwrap").env_clear();
    let bridge = outer.map(|(bridge, sockets, (status, status_in))| {
        bwrap.args(bridge.words(start.bwrap, status_in.as_raw_fd())?);
        Ok((Bridged { sockets, status }, status_in))
    });
    let bridge = bridge.transpose()?;
    for (option, fd) in ["--args", "--seccomp", "--json-status-fd", "--block-fd"].iter().zip(&keep) {
        bwrap.arg(option).arg(fd.to_string());
    }
    bwrap.arg("--");
    keep.extend(bridge.iter().map(|(_, status_in)| status_in.as_raw_fd()));
    match (start.entry, &command) {
        (Some(entry), Some(command)) => {
            let (file, command) = (entry.file.as_raw_fd(), command.as_raw_fd());
            keep.extend([file, command]);
            bwrap.args(entry.argv(file, command));
        }
        _ => {
            refuse_too_many(&start.argv, 0)?;
            bwrap.arg(&start.program).args(start.argv.iter().skip(1));
        }
    }
    let [stdin, stdout, stderr] = start.stdio;
    bwrap.stdin(stdin).stdout(stdout).stderr(stderr);
    let signals = if command.is_some() { Signals::ForTheCommand } else { Signals::ForBoth };
    let watch = start.warden.watch_over();
    sys::prepare_child(&mut bwrap, keep, signals, (watch.socket(), watch.launch));
    let child = bwrap.spawn().map_err(failed("starting bubblewrap"))?;
    let running = Running::adopt(child, status, watch)?;
    let block = block.as_raw_fd();
    Ok(Started {
        running,
        release,
        block,
        arguments,
        filter,
        command,
        program: start.program,
        argv: start.argv,
        bridge: bridge.map(|(bridge, _)| bridge),
    })
}

impl Started {
    /// Builds the sandbox up to the point where its command would start. Blocks for a few milliseconds, and
    /// with attachments for some more, depending on their number.
    pub fn build(self, build: Build<'_>) -> Result<Held, LaunchError> {
        let Started { mut running, release, block, arguments, filter, command, program, argv, bridge } = self;
        let described = |command| Ok((command, described(&program, &argv, build.variables)?));
        let command = command.map(described).transpose()?;
        if command.is_none() {
            refuse_too_many(&argv, build.arguments.len())?;
        }
        fill(&filter, build.filter)?;
        send(arguments, &nul_ended(build.arguments))?;
        let listeners = match bridge {
            None => running.listen(build.listen)?,
            Some(bridge) => running.cross(bridge, build.listen)?,
        };
        let held = Held { running, listeners, release, block, command };
        build.attachments.map_or(Ok(()), |attachments| held.attach(attachments))?;
        Ok(held)
    }
}

impl Held {
    /// The listeners inside the sandbox's network namespace, in the order in which they were asked for; `None`
    /// for an address of a family that is switched off.
    pub fn take_listeners(&mut self) -> Vec<Option<Listener>> {
        std::mem::take(&mut self.listeners)
    }

    /// See [`Running::group`].
    pub fn group(&self) -> nix::unistd::Pid {
        self.running.group()
    }

    /// Waits until bubblewrap has mounted its part, and adds the rest.
    fn attach(&self, attachments: &Attachments) -> Result<(), LaunchError> {
        self.wait_until_built()?;
        attach(&Place::of(self.running.init_pid)?, attachments)
    }

    /// Watches from now on over `mounts`, which [can](super::can_attach) be made from outside or not.
    pub fn guard(&self, mounts: Mounts, can_attach: bool) -> Result<Guard, LaunchError> {
        // Its mount table is that of the root directory which it has when that is opened.
        self.wait_until_built()?;
        let guard = Guard::over(self.running.init_pid, self.running.init.as_fd(), mounts, can_attach);
        guard.map_err(failed("opening the sandbox's mount table"))
    }

    /// Waits until everything is mounted, and makes sure that it is what was planned, where something was. Blocks for
    /// some milliseconds.
    pub fn verify(&self, expected: Option<&[Expected]>) -> Result<(), LaunchError> {
        self.wait_until_built()?;
        let Some(expected) = expected else { return Ok(()) };
        match verify::difference(self.running.init_pid, expected) {
            Ok(None) => Ok(()),
            Ok(Some(difference)) => Err(LaunchError::Changed(difference)),
            Err(error) => Err(failed("looking at the sandbox's mounts")(error)),
        }
    }

    /// bubblewrap tells nobody that it has mounted everything, but then it reads from the block descriptor.
    fn wait_until_built(&self) -> Result<(), LaunchError> {
        const A_MOMENT: Duration = Duration::from_micros(200);
        let doing = failed("waiting for the sandbox to be built");
        let waits = format!("{} {:#x} ", nix::libc::SYS_read, self.block);
        let place = format!("/proc/{}/syscall", self.running.init_pid);
        let deadline = Instant::now() + SET_UP_TIME;
        loop {
            let seen = std::fs::read_to_string(&place);
            if seen.as_ref().is_ok_and(|call| call.starts_with(&waits)) {
                return Ok(());
            }
            // The process inside is gone a moment before bubblewrap itself is.
            let is_gone = seen.as_ref().is_err_and(is_of_the_dead);
            // As is, for others than root, what can be known of one that is dead and not yet waited for.
            let is_closed = seen.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            let wait = if is_gone || is_closed { UNTIL_IT_IS_SEEN } else { A_MOMENT };
            let has_ended =
                wait_readable(self.running.handle.as_fd(), Instant::now() + wait).map_err(&doing)?;
            // One that does not notice that the process inside is gone builds nothing any more.
            if has_ended || is_gone {
                return Err(LaunchError::Ended(self.running.exit_code()));
            }
            match seen {
                _ if Instant::now() > deadline => return Err(LaunchError::TimedOut),
                Err(error) => return Err(doing(error)),
                _ => {}
            }
        }
    }

    /// Lets the command start.
    pub fn release(self) -> Result<Running, LaunchError> {
        if let Some((file, command)) = &self.command {
            fill(file, command)?;
        }
        rustix::io::write(&self.release, b"x")
            .map_err(|error| failed("releasing the command")(error.into()))?;
        Ok(self.running)
    }
}

impl Running {
    fn adopt(mut bwrap: Child, status: Status, watch: Watch) -> Result<Self, LaunchError> {
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
    fn listen(&mut self, addresses: &[SocketAddr]) -> Result<Vec<Option<Listener>>, LaunchError> {
        let said = self.status.child_pid(self.handle.as_fd())?;
        self.init_pid = self.unless_ended(said)?;
        self.adopt_first(self.init_pid)?;
        let listeners = bind_inside(self.init_pid, addresses);
        let listeners = listeners.map_err(|error| self.or_ended(LaunchError::Namespaces(error)))?;
        Ok(listeners.into_iter().map(|listener| listener.map(Listener::Tcp)).collect())
    }

    /// Finds the first processes of both sandboxes, and waits until the bridge stands.
    fn cross(
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
        Err(LaunchError::Ended(status.and_then(|status| status.code()).unwrap_or(-1)))
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

    /// How bubblewrap, which has ended, did so; -1 when that is not known.
    fn exit_code(&self) -> i32 {
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.group()), look) {
            Ok(WaitStatus::Exited(_, code)) => code,
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
        wait_readable(self.init.as_fd(), Instant::now() + SET_UP_TIME)?;
        if let Some(signal) = status.and_then(|status| status.signal()) {
            return Ok(Ended::Killed(signal));
        }
        let rest = self.status.read_rest()?;
        let reported = super::status::number_in(&rest, "exit-code").and_then(|code| u8::try_from(code).ok());
        let code = reported.or_else(|| killed_unreported(status?.code()?));
        Ok(code.map_or(Ended::Unknown, Ended::Exit))
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
            let _ = wait_readable(self.init.as_fd(), Instant::now() + SET_UP_TIME);
        }
    }
}

/// What reading a file of a process in `/proc` fails with when the process is gone.
fn is_of_the_dead(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ESRCH))
}

fn first_process(pid: u32) -> Result<OwnedFd, LaunchError> {
    let opened = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH);
    opened
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()))
        .map_err(|error| failed("opening the sandbox's first process")(error.into()))
}

/// Without an entry bubblewrap itself takes the command's words, besides `others` arguments.
fn refuse_too_many(argv: &[OsString], others: usize) -> Result<(), LaunchError> {
    /// bubblewrap's name, four options with their descriptors, and `--`.
    const OWN: usize = 10;
    if argv.len() + others + OWN > MOST_ARGUMENTS {
        return Err(LaunchError::TooManyWords(argv.len()));
    }
    Ok(())
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

    #[test]
    fn the_block_pipe_has_no_end_of_file() {
        let (release, block) = block_pipe().expect("a pipe");
        drop(release);
        let readable = wait_readable(block.as_fd(), Instant::now()).expect("a poll");
        assert!(!readable, "a dead Palisade must not look like a release");
    }
}
