//! `palisade profile`.

use crate::failure::{Failure, print, say};
use crate::options::{BackendOption, ProfileOptions};
use crate::policy::{InForce, in_force_to_resolve, settings_directories};
use palisade::{Backend, Command, Entry, Options, Request, Sandbox};
use palisade_policy::Policy;
use std::path::PathBuf;

/// Prints what would confine a command.
pub(crate) fn profile(options: &ProfileOptions) -> u8 {
    match text(options).and_then(|text| print(&text)) {
        Ok(()) => 0,
        Err(failure) => {
            say(&failure.message);
            failure.status
        }
    }
}

fn text(options: &ProfileOptions) -> Result<String, Failure> {
    let (sandbox, request) = for_show(in_force_to_resolve(&options.rules)?)?;
    let backend = match options.backend {
        BackendOption::Bubblewrap => Backend::Bubblewrap,
        BackendOption::Seatbelt => Backend::Seatbelt,
    };
    Ok(sandbox.profile(&request, backend)?)
}

/// A sandbox and a request that are only asked about. For that it need not work on this machine.
pub(crate) fn for_show(in_force: InForce) -> Result<(Sandbox, Request), Failure> {
    let InForce { loaded, root, working_directory, .. } = in_force;
    asked_about(loaded.policy, root, working_directory)
}

/// The same of a policy.
pub(crate) fn asked_about(
    policy: Policy,
    root: PathBuf,
    working_directory: PathBuf,
) -> Result<(Sandbox, Request), Failure> {
    let entry = Entry::this_program().map_err(|error| Failure::new("SANDBOX_LAUNCH", error))?;
    let policy = Policy { fail_if_unavailable: false, ..policy };
    let sandbox = Sandbox::create(Options {
        policy,
        roots: vec![root.clone()],
        entry: Some(entry),
        settings_directories: settings_directories(),
        head_start: None,
    })?;
    let request = Request {
        working_directory: Some(working_directory),
        ..Request::new(Command::Argv(Vec::new()), root)
    };
    Ok((sandbox, request))
}
