//! A command on the threshold: all is ready, and it has not started.

use crate::cover::Covers;
use crate::error::Error;
use crate::mount_watch::{MountWatch, Warnings};
use crate::outside::{Outside, Start, UnsandboxedReason};
use crate::process::{Process, Standing, Walls};
use crate::request::{Request, program_and_argv};
use crate::scratch::{CommandDirectory, SocketDirectory};
use crate::shared::Shared;
use crate::streams::{Given, Pipes};
use nix::unistd::Pid;
use palisade_bwrap::linux::Held;
use palisade_policy::Policy;
use std::io::PipeReader;
use std::sync::Arc;

/// A command that has not started: its sandbox stands and its proxy listens, if it is to run inside. Dropped, it never
/// starts.
pub struct Prepared(Ready);

enum Ready {
    Inside(Box<Inside>),
    Outside { reason: UnsandboxedReason, request: Box<Request>, policy: Arc<Policy> },
}

/// The fields stand in the order in which they must end.
pub(crate) struct Inside {
    pub(crate) held: Held,
    pub(crate) watch: MountWatch,
    pub(crate) given: Given,
    pub(crate) walls: Walls,
    pub(crate) covers: Covers,
    pub(crate) temporary: CommandDirectory,
    pub(crate) sockets: Option<SocketDirectory>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) output: [Option<PipeReader>; 2],
    pub(crate) warnings: Warnings,
}

impl Prepared {
    pub(crate) fn outside(request: Request, reason: UnsandboxedReason, policy: Arc<Policy>) -> Self {
        tracing::warn!("this command runs WITHOUT the sandbox: {reason}");
        Prepared(Ready::Outside { reason, request: Box::new(request), policy })
    }

    /// The process group that the command will start in: make it a terminal's foreground for the command to read
    /// from it. Outside the sandbox there is none before the command starts.
    pub fn group(&self) -> Option<Pid> {
        match &self.0 {
            Ready::Inside(inside) => Some(inside.held.group()),
            Ready::Outside { .. } => None,
        }
    }

    /// Why the command will run without the sandbox; `None` when it will run inside.
    pub fn unsandboxed_reason(&self) -> Option<&UnsandboxedReason> {
        match &self.0 {
            Ready::Inside(_) => None,
            Ready::Outside { reason, .. } => Some(reason),
        }
    }

    /// Lets the command start.
    pub async fn start(self) -> Result<Process, Error> {
        match self.0 {
            Ready::Inside(inside) => inside.start(),
            Ready::Outside { reason, request, policy } => start_outside(&request, reason, &policy),
        }
    }
}

impl From<Inside> for Prepared {
    fn from(inside: Inside) -> Self {
        Prepared(Ready::Inside(Box::new(inside)))
    }
}

impl Inside {
    fn start(self) -> Result<Process, Error> {
        let Inside { held, watch, given, walls, covers, temporary, sockets, shared, output, warnings } = self;
        let running = held.release()?;
        shared.begin_sweep();
        let standing = Standing { running, watch, given, covers, temporary, sockets, shared };
        Process::inside(standing, walls, output, warnings)
    }
}

fn start_outside(request: &Request, reason: UnsandboxedReason, policy: &Policy) -> Result<Process, Error> {
    let (root, working_directory) = request.directories()?;
    let (program, argv) = program_and_argv(request, &working_directory, &root, &policy.files)?;
    let pipes = Pipes::make(request.streams)?;
    let outside = Outside::start(Start {
        program,
        argv,
        variables: &request.variables,
        working_directory: working_directory.as_path(),
        stdio: pipes.inner,
    })?;
    Process::outside(outside, reason, pipes.outer)
}
