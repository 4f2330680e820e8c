//! What one launch is made from, besides the command itself.

use crate::environment::{self, Scene};
use crate::error::{Error, system};
use crate::listen::Listen;
use crate::request::Request;
use crate::scratch::CommandDirectory;
use crate::shared::Shared;
use palisade_bwrap::linux::{Expected, Identity};
use palisade_bwrap::{Mount, Mounts, Setting, arguments};
use palisade_policy::{Confinement, Policy};

/// Arguments, variables and listeners of one launch.
pub(crate) struct Plan {
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) variables: environment::Variables,
    pub(crate) listen: Listen,
    pub(crate) unix_sockets: bool,
}

impl Plan {
    pub(crate) fn new(
        shared: &Shared,
        policy: &Policy,
        request: &Request,
        confinement: &Confinement,
        temporary: &CommandDirectory,
    ) -> Result<Self, Error> {
        let listen = Listen::choose(&policy.network);
        let scene = Scene {
            inherited: &request.variables,
            hidden: &policy.hidden_variables,
            by_shell: request.by_shell(),
            temporary: temporary.path(),
            working_directory: &confinement.working_directory,
            network: &policy.network,
        };
        let variables = environment::variables(&scene, listen.proxy);
        let guards = shared.guards().map_err(system("reading /proc"))?;
        let setting = Setting {
            hidden_file: &shared.scratch.hidden_file()?,
            hidden_directory: &shared.scratch.hidden_directory()?,
            working_directory: &confinement.working_directory,
            proc_read_only: &guards.read_only,
            proc_hidden: &guards.hidden,
            variables: if shared.entry.is_some() { &[] } else { &variables },
        };
        let arguments = arguments(&Mounts::plan(confinement), &setting)?;
        Ok(Plan { arguments, variables, listen, unix_sockets: policy.network.unix_sockets })
    }
}

/// What the plan's mounts must turn out to be. Looked at after the paths were resolved and before anything is
/// mounted: what is a link by now, where there was none, is an error.
pub(crate) fn expected(mounts: &Mounts) -> Result<Vec<Expected>, Error> {
    let one = |step: &Mount| {
        let (is_writable, is_seen) = match step {
            Mount::Writable(_) => (true, true),
            Mount::Pin(_) => (true, false),
            Mount::ReadOnly(_) | Mount::HideFile(_) | Mount::HideDirectory(_) | Mount::SearchOnly(_) => {
                (false, false)
            }
            Mount::Passage(_) | Mount::Seal(_) => return None,
        };
        let path = step.path().clone();
        let identity = is_seen.then(|| Identity::of(&path)).transpose();
        Some(match identity {
            Ok(identity) => Ok(Expected { path, is_writable, identity }),
            Err(error) => Err(Error::Path { path, error }),
        })
    };
    mounts.steps().iter().filter_map(one).collect()
}
