//! A command that runs: its end, its output, its violations.

use crate::cover::Covers;
use crate::error::{Error, system};
use crate::mount_watch::{MountWatch, Warnings};
use crate::outcome::{Captured, Outcome, Report};
use crate::outside::{Outside, UnsandboxedReason};
use crate::report::{self, Ignored, Neutraliser};
use crate::scratch::{CommandDirectory, SocketDirectory};
use crate::shared::Shared;
use crate::streams::Given;
use crate::task::Task;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use palisade_bwrap::linux::{Ended, Running};
use palisade_policy::{Confinement, Violation};
use palisade_proxy::Proxy;
use std::io::PipeReader;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long to wait before another look at whether the command has started.
const A_MOMENT: Duration = Duration::from_millis(1);

/// A command that runs, in the sandbox or, where its request or the policy says so, without. Dropped before its end, it
/// is killed with all that it started.
pub struct Process {
    state: State,
    output: [Option<Reader>; 2],
    walls: Result<Walls, UnsandboxedReason>,
    warnings: Warnings,
}

/// What tells of violations.
pub(crate) struct Walls {
    pub(crate) proxy: Proxy,
    pub(crate) confinement: Confinement,
    pub(crate) ignored: Ignored,
}

impl Walls {
    fn violations(&self) -> Vec<Violation> {
        let mut violations = self.proxy.violations();
        violations.retain(|violation| !self.ignored.holds(violation));
        violations
    }
}

/// What is inside, and what it stands on. The fields stand in the order in which they must end.
pub(crate) struct Standing {
    pub(crate) running: Running,
    pub(crate) watch: MountWatch,
    pub(crate) given: Given,
    pub(crate) covers: Covers,
    pub(crate) temporary: CommandDirectory,
    pub(crate) sockets: Option<SocketDirectory>,
    pub(crate) shared: Arc<Shared>,
}

enum State {
    Running(Box<Standing>),
    Outside(Outside),
    /// The command has ended; what it left is being cleared away.
    Ending {
        clearing: Vec<Task<()>>,
        status: Result<u8, Error>,
    },
    /// Nothing is left but connections of the proxy that do not know yet that nobody is there.
    Closing(Result<u8, Error>),
    Ended,
}

impl Process {
    pub(crate) fn inside(
        standing: Standing,
        walls: Walls,
        output: [Option<PipeReader>; 2],
        warnings: Warnings,
    ) -> Result<Self, Error> {
        let (state, output) = (State::Running(Box::new(standing)), read_both(output)?);
        Ok(Process { state, output, walls: Ok(walls), warnings })
    }

    pub(crate) fn outside(
        outside: Outside,
        reason: UnsandboxedReason,
        output: [Option<PipeReader>; 2],
    ) -> Result<Self, Error> {
        let state = State::Outside(outside);
        Ok(Process { state, output: read_both(output)?, walls: Err(reason), warnings: Warnings::default() })
    }

    /// Why the command runs without the sandbox; `None` when it runs inside.
    pub fn unsandboxed_reason(&self) -> Option<&UnsandboxedReason> {
        self.walls.as_ref().err()
    }

    /// Rules that were left out for this command, and why; then what has happened so far to files that are to be kept from
    /// it.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.all()
    }

    /// What the proxy has refused so far, without what [`Policy::ignore_violations`](palisade_policy::Policy) silences.
    pub fn violations(&self) -> Vec<Violation> {
        self.walls.as_ref().map_or_else(|_| Vec::new(), Walls::violations)
    }

    /// How many refusals there were beyond those that [`violations`](Self::violations) lists.
    pub fn violations_left_out(&self) -> u64 {
        self.walls.as_ref().map_or(0, |walls| walls.proxy.violations_left_out())
    }

    /// The process group that the command started in. No process but the command's own, and the sandbox's two, is
    /// in it.
    pub fn group(&self) -> Option<Pid> {
        match &self.state {
            State::Running(standing) => Some(standing.running.group()),
            State::Outside(outside) => Some(outside.group()),
            _ => None,
        }
    }

    /// The signal that has stopped the command's process group since the last call, if one has.
    pub fn stopped_by(&self) -> std::io::Result<Option<Signal>> {
        match &self.state {
            State::Running(standing) => standing.running.stopped_by(),
            State::Outside(outside) => outside.stopped_by(),
            _ => Ok(None),
        }
    }

    /// Sends `signal` to the command itself; what it started gets it from the command, or not at all. A command that
    /// is only being started gets it first of all.
    pub async fn signal(&self, signal: Signal) -> std::io::Result<()> {
        match &self.state {
            State::Outside(outside) => outside.signal(signal),
            _ => self.once_started(|running| running.signal(signal)).await,
        }
    }

    /// Sends `signal` to the [process group](Self::group) that the command started in, as a terminal does.
    pub async fn signal_all(&self, signal: Signal) -> std::io::Result<()> {
        match &self.state {
            State::Outside(outside) => outside.signal_group(signal),
            _ => self.once_started(|running| running.signal_group(signal)).await,
        }
    }

    async fn once_started(&self, send: impl Fn(&Running) -> std::io::Result<bool>) -> std::io::Result<()> {
        let Some(running) = self.running() else { return Ok(()) };
        // bubblewrap tells nobody when it has started the command, which takes it a moment.
        while !send(running)? {
            tokio::time::sleep(A_MOMENT).await;
        }
        Ok(())
    }

    /// Waits until the command has ended, whatever still holds its output open, and nothing is left of it.
    ///
    /// Cancel-safe: when the future is dropped the command goes on, and the next call waits on.
    pub async fn wait_for_end(&mut self) -> Result<u8, Error> {
        if let Some(running) = self.running() {
            readable(running.ended()).await.map_err(system("watching the command"))?;
            running.kill_rest();
            readable(running.emptied()).await.map_err(system("watching the sandbox"))?;
        }
        if let State::Outside(outside) = &self.state {
            readable(outside.ended()).await.map_err(system("watching the command"))?;
        }
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Running(standing) => clear_away(*standing),
            State::Outside(outside) => State::Closing(outside.finish()),
            other => other,
        };
        if let State::Ending { clearing, status } = &mut self.state {
            while let Some(task) = clearing.last_mut() {
                let cleared = task.await.map_err(system("ending the sandbox"));
                clearing.pop();
                if let Err(error) = cleared {
                    *status = Err(error);
                }
            }
            if let State::Ending { status, .. } = std::mem::replace(&mut self.state, State::Ended) {
                self.state = State::Closing(status);
            }
        }
        if let Ok(walls) = &mut self.walls {
            walls.proxy.close().await;
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Closing(status) => status,
            _ => Err(system("waiting for the command")(std::io::Error::other("it was waited for already"))),
        }
    }

    fn running(&self) -> Option<&Running> {
        match &self.state {
            State::Running(standing) => Some(&standing.running),
            State::Outside(_) | State::Ending { .. } | State::Closing(_) | State::Ended => None,
        }
    }

    /// Runs the command to its end and gathers what it left.
    pub async fn wait(mut self) -> Result<Outcome, Error> {
        let status = self.wait_for_end().await?;
        let [stdout, stderr] = std::mem::take(&mut self.output);
        let may_be_held = self.walls.is_err();
        let stdout = neutral(gather(stdout, may_be_held).await?);
        let written = gather(stderr, may_be_held).await?;
        let mut violations = self.violations();
        if let Ok(walls) = &self.walls {
            violations.extend(report::stderr_violations(&written.bytes, &walls.confinement, &walls.ignored));
        }
        let stderr = with_block(written, &violations);
        let left_out = self.violations_left_out();
        let unsandboxed_reason = self.walls.err();
        let sandboxed = unsandboxed_reason.is_none();
        let warnings = self.warnings.all();
        let sandbox = Report { sandboxed, unsandboxed_reason, violations, left_out, warnings };
        Ok(Outcome { status, stdout, stderr, sandbox })
    }
}

/// Removes what a dead command stood on: at once when it left nothing there, elsewhere when there may be a million
/// files to remove.
fn clear_away(standing: Standing) -> State {
    let Standing { running, watch, given, covers, mut temporary, sockets, shared } = standing;
    let status = running.finish().map_err(system("ending the sandbox")).and_then(status_of);
    drop((watch, given));
    drop(sockets);
    shared.retire();
    if covers.is_empty() {
        match temporary.remove_if_empty() {
            None => return State::Closing(status),
            Some(rest) => temporary = rest,
        }
    }
    let is_last = Arc::strong_count(&shared) == 1;
    let clear = move || drop((temporary.remove_if_empty(), shared));
    // With the last command goes all that the sandbox has: that and the covers each wait for the disk, so at the same time.
    let clearing = if is_last {
        vec![Task::start(move || drop(covers)), Task::start(clear)]
    } else {
        vec![Task::start(move || {
            drop(covers);
            clear();
        })]
    };
    // Without a thread for it, it is done by now.
    State::Ending { clearing: clearing.into_iter().flatten().collect(), status }
}

/// The exit status of a command that ended without one: bubblewrap failed at its very start, or the command meddled
/// with the bubblewrap process inside. It did run as far as anybody outside can tell, so this is no launch that failed.
const NO_STATUS: u8 = 125;

fn status_of(ended: Ended) -> Result<u8, Error> {
    match ended {
        Ended::Exit(status) => Ok(status),
        Ended::Killed(signal) => Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(0))),
        Ended::Unknown => {
            tracing::warn!("bubblewrap did not say how the command ended");
            Ok(NO_STATUS)
        }
    }
}

/// Waits until `fd` is readable.
async fn readable(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    let copy: OwnedFd = fd.try_clone_to_owned()?;
    #[expect(
        deprecated,
        reason = "its successor is unsafe for the sake of types that give away others' descriptors"
    )]
    let watched = AsyncFd::new(copy)?;
    watched.readable().await.map(drop)
}

/// A task that reads one of the command's streams.
struct Reader {
    task: JoinHandle<std::io::Result<Captured>>,
    stop: oneshot::Sender<()>,
}

fn read_both(output: [Option<PipeReader>; 2]) -> Result<[Option<Reader>; 2], Error> {
    let [stdout, stderr] = output.map(|pipe| pipe.map(Reader::start).transpose());
    Ok([stdout?, stderr?])
}

impl Reader {
    /// Reads a pipe to its end or until it is told to stop, keeping no more than [`Captured::LIMIT`].
    fn start(pipe: PipeReader) -> Result<Self, Error> {
        let from = OwnedFd::from(pipe);
        let mut pipe = pipe::Receiver::from_owned_fd(from).map_err(system("reading the command's output"))?;
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut captured = Captured::default();
            let mut chunk = vec![0; 32 << 10];
            loop {
                tokio::select! {
                    biased;
                    count = pipe.read(&mut chunk) => match count? {
                        0 => return Ok(captured),
                        count => captured.add(&chunk[..count]),
                    },
                    _ = &mut stopped => break,
                }
            }
            // What has been written already counts.
            while let Ok(count @ 1..) = pipe.try_read(&mut chunk)
                && !captured.truncated
            {
                captured.add(&chunk[..count]);
            }
            Ok(captured)
        });
        Ok(Reader { task, stop })
    }
}

/// What a stream gave. Inside nothing is left that could hold it open; outside, what the command left running in the
/// background may, and is not waited for.
async fn gather(reader: Option<Reader>, may_be_held: bool) -> Result<Captured, Error> {
    let Some(Reader { task, stop }) = reader else { return Ok(Captured::default()) };
    let waiting = if may_be_held {
        let _ = stop.send(());
        None
    } else {
        Some(stop)
    };
    let read = task.await.map_err(|error| system("reading the command's output")(error.into()))?;
    drop(waiting);
    read.map_err(system("reading the command's output"))
}

/// The command's own tags neutralised.
fn neutral(written: Captured) -> Captured {
    let mut neutraliser = Neutraliser::new();
    let mut bytes = neutraliser.push(&written.bytes);
    bytes.extend(neutraliser.finish());
    Captured { bytes, truncated: written.truncated }
}

/// The command's own tags neutralised, the block appended.
fn with_block(written: Captured, violations: &[Violation]) -> Captured {
    let mut stderr = neutral(written);
    let block = report::block(violations);
    if !block.is_empty() && stderr.bytes.last().is_some_and(|byte| *byte != b'\n') {
        stderr.bytes.push(b'\n');
    }
    stderr.bytes.extend_from_slice(block.as_bytes());
    stderr
}
