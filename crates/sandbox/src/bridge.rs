//! Which bridge leads a command's connections out of its sandbox: listeners that are made inside from outside, or
//! socat, where an administrator wants it or the sandbox's namespaces cannot be entered.
//!
//! socat is looked up as bubblewrap is, by the same rules: never where a command could have put it. It is looked up
//! only when it is needed.

use crate::probe::Cause;
use palisade_bwrap::Within;
use palisade_bwrap::linux::{Program, ProgramError, Socat};
use palisade_policy::{AbsPath, Policy};
use std::sync::Arc;

/// The bridge of the sandboxes to come.
#[derive(Debug, Clone)]
pub(crate) enum Bridging {
    /// Listeners inside, made from outside.
    Namespaces,
    /// socat inside.
    Socat {
        socat: Arc<Socat>,
        /// Whether the namespaces may be entered all the same, to mount what bubblewrap is too slow for.
        can_enter: bool,
    },
    /// The socat that an administrator names cannot be used, and nothing else may be.
    Unavailable(Cause),
}

impl Bridging {
    /// The bridge that an administrator names, or else the usual one.
    pub(crate) fn named(policy: &Policy, roots: &[AbsPath]) -> Result<Self, Cause> {
        if policy.socat.is_none() {
            return Ok(Bridging::Namespaces);
        }
        let socat = find_socat(policy, roots)?;
        Ok(Bridging::Socat { socat: Arc::new(socat), can_enter: true })
    }

    /// Whether the sandbox's namespaces can be entered from outside, as far as is known.
    pub(crate) fn can_enter(&self) -> bool {
        !matches!(self, Bridging::Socat { can_enter: false, .. })
    }

    /// Whether there is a socat inside.
    pub(crate) fn is_socat(&self) -> bool {
        matches!(self, Bridging::Socat { .. })
    }

    /// The programs that it runs.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        let socat = if let Bridging::Socat { socat, .. } = self { Some(socat.paths()) } else { None };
        socat.into_iter().flatten()
    }
}

/// The socat that an administrator names, or else the one on `PATH`.
pub(crate) fn find_socat(policy: &Policy, roots: &[AbsPath]) -> Result<Socat, Cause> {
    let is_writable = |path: &AbsPath| crate::probe::is_writable_in(policy, roots, path);
    match search(policy, &is_writable) {
        // As with bubblewrap, no rule makes the bridge unavailable: whoever uses it refuses the rule.
        Err(Cause::NamedSocat { .. } | Cause::NoSocat(_)) => search(policy, &|_| false),
        found => found,
    }
}

fn search(policy: &Policy, is_writable: &impl Fn(&AbsPath) -> bool) -> Result<Socat, Cause> {
    let found = match &policy.socat {
        Some(rule) => Program::at(&rule.path, is_writable).map_err(|error| match &error {
            ProgramError::Shortage { .. } => no_socat(error),
            _ => Cause::NamedSocat { error: error.to_string(), by: rule.origin.to_string() },
        }),
        None => Program::find("socat", std::env::var_os("PATH").as_deref(), is_writable).map_err(no_socat),
    };
    Socat::new(found?, is_writable).map_err(no_socat)
}

/// What a sandbox is told that is within another one, as with socat.
pub(crate) fn within() -> Within {
    Within { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
}

fn no_socat(error: ProgramError) -> Cause {
    match &error {
        ProgramError::Shortage { error: system, .. } => {
            Cause::of_system(&error.to_string(), &(*system).into())
        }
        _ => Cause::NoSocat(error.to_string()),
    }
}
