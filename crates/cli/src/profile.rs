//! `palisade profile`.

use crate::failure::{Failure, print, say};
use crate::options::{BackendOption, ProfileOptions};
use crate::policy::in_force;
use palisade::{Backend, Command, Entry, Options, Request, Sandbox};

/// Prints what would confine a command.
pub(crate) fn profile(options: &ProfileOptions) -> u8 {
    match text(options) {
        Ok(text) => {
            print(&text);
            0
        }
        Err(failure) => {
            say(&failure.message);
            failure.status
        }
    }
}

fn text(options: &ProfileOptions) -> Result<String, Failure> {
    let in_force = in_force(&options.rules)?;
    let entry = Entry::this_program().map_err(|error| Failure::new("SANDBOX_LAUNCH", error))?;
    let sandbox = Sandbox::create(Options {
        policy: in_force.loaded.policy,
        roots: vec![in_force.root.clone()],
        entry: Some(entry),
    })?;
    let request = Request {
        working_directory: Some(in_force.working_directory),
        ..Request::new(Command::Argv(Vec::new()), in_force.root)
    };
    let backend = match options.backend {
        BackendOption::Bubblewrap => Backend::Bubblewrap,
        BackendOption::Seatbelt => Backend::Seatbelt,
    };
    Ok(sandbox.profile(&request, backend)?)
}
