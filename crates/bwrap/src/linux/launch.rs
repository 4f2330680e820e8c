//! The launch of one bubblewrap.
//!
//! Order. bubblewrap takes about a millisecond to come up, so it is [started](start) first and waits for its
//! arguments while the caller finds out what they are; then the sandbox is [built](Started::build), held, what else
//! there is to mount is [attached](Held::attach), and it is [released](Held::release).
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

use super::attach::{Attacher, Attachments, Place, attach};
use super::bridge::Bridge;
use super::channels::{block_pipe, fill, memory_file, nul_ended, send, stream_pair, wait_readable};
use super::entry::{Entry, described};
use super::error::{LaunchError, SET_UP_TIME, failed};
use super::guard::Guard;
use super::listeners::Listener;
use super::program::Program;
use super::running::{Running, UNTIL_IT_IS_SEEN, is_of_the_dead};
use super::status::Status;
use super::sys::{self, Signals};
use super::verify::{self, Expected};
use super::warden::Warden;
use crate::{MOST_ARGUMENTS, Mounts};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
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

/// What a sandbox is built from.
#[derive(Debug)]
pub struct Build<'a> {
    /// bubblewrap's arguments, without the command.
    pub arguments: &'a [Vec<u8>],
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
pub(super) struct Bridged {
    pub(super) sockets: Vec<UnixListener>,
    /// Where the outer one says who its first process is.
    pub(super) status: Status,
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
    /// The child that has made the mounts, which ends meanwhile.
    attacher: Option<Attacher>,
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
    /// Builds the sandbox, but for what is to be [attached](Held::attach), up to the point where its command would start.
    /// Blocks for a few milliseconds.
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
        Ok(Held { running, listeners, release, block, command, attacher: None })
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

    /// Waits until bubblewrap has mounted its part, and adds the rest. Blocks for some milliseconds, depending on how much
    /// that is.
    pub fn attach(&mut self, attachments: &Attachments) -> Result<(), LaunchError> {
        self.wait_until_built()?;
        self.attacher = Some(attach(&Place::of(self.running.init_pid)?, attachments)?);
        Ok(())
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
    pub fn release(mut self) -> Result<Running, LaunchError> {
        drop(self.attacher.take());
        if let Some((file, command)) = &self.command {
            fill(file, command)?;
        }
        rustix::io::write(&self.release, b"x")
            .map_err(|error| failed("releasing the command")(error.into()))?;
        Ok(self.running)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_pipe_has_no_end_of_file() {
        let (release, block) = block_pipe().expect("a pipe");
        drop(release);
        let readable = wait_readable(block.as_fd(), Instant::now()).expect("a poll");
        assert!(!readable, "a dead Palisade must not look like a release");
    }
}
