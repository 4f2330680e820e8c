//! Whether the sandbox runs on this machine, found out by running it, and if not, why and what to do.
//!
//! A list of requirements would be wrong on the next kernel. So a probe makes a real launch of the same kind as
//! any command's, and only when that fails looks for the cause: in what bubblewrap said and in a few settings of
//! the kernel.

mod cause;

pub use cause::Cause;

use crate::bridge::{Bridging, find_socat, within};
use crate::scratch::{Scratch, ScratchError};
use cause::Facts;
use palisade_bwrap::filter::{Arch, Filter, FilterError, program};
use palisade_bwrap::linux::{
    Bridge, Build, Ended, LaunchError, Program, ProgramError, Socat, Start, Warden, proc_guards, start,
};
use palisade_bwrap::{Mounts, Setting, arguments};
use palisade_policy::{AbsPath, Confinement, FileSets, NetworkPolicy, Policy};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Stdio;

/// Where the probe listens, which it could not without a network namespace of its own.
const LISTEN: [SocketAddr; 1] = [SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1)];

/// What a probe found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Why the sandbox does not run here; `None` when it does.
    pub cause: Option<Cause>,
    /// The bubblewrap that was found, and what it says its version is.
    pub bubblewrap: Option<(AbsPath, String)>,
    /// How connections come out of the sandbox, where it runs.
    pub bridge: Option<ProbedBridge>,
}

/// How connections come out of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbedBridge {
    /// By listeners made in its network namespace from outside.
    Namespaces,
    /// By a socat inside, this one, to sockets of the host.
    Socat(AbsPath),
}

impl Probe {
    /// Whether commands can be confined here.
    pub fn is_available(&self) -> bool {
        self.cause.is_none()
    }
}

/// Runs the launch with a command that does nothing, with the programs that `policy` names. Blocks for some
/// milliseconds; may be called from any thread.
pub fn probe(policy: &Policy) -> Probe {
    let bwrap = match find_bubblewrap(policy, &[]) {
        Ok(bwrap) => bwrap,
        Err(cause) => return Probe { cause: Some(cause), bubblewrap: None, bridge: None },
    };
    let answered = version_of(&bwrap);
    let is_bubblewrap = answered.is_some();
    let version = answered.unwrap_or_default();
    let (cause, bridge) = match cross(policy, &bwrap, &version) {
        Ok(bridge) => (None, Some(bridge)),
        // A limit keeps any program from answering.
        Err(cause) if is_bubblewrap || matches!(cause, Cause::Shortage { .. }) => (Some(cause), None),
        Err(_) => (Some(not_bubblewrap(policy, bwrap.path())), None),
    };
    Probe { cause, bubblewrap: Some((bwrap.path().clone(), version)), bridge }
}

/// Tries the bridge that the policy names, or else each.
fn cross(policy: &Policy, bwrap: &Program, version: &str) -> Result<ProbedBridge, Cause> {
    let reason = match Bridging::named(policy, &[])? {
        Bridging::Socat { socat, .. } => return cross_by(&socat, bwrap, version),
        Bridging::Unavailable(cause) => return Err(cause),
        Bridging::Namespaces => match attempt(bwrap, version, None) {
            Err(Cause::Unreachable(reason)) => reason,
            attempted => return attempted.map(|()| ProbedBridge::Namespaces),
        },
    };
    let socat = find_socat(policy, &[]).map_err(|missing| Cause::unreachable(&reason, missing))?;
    cross_by(&socat, bwrap, version)
}

fn cross_by(socat: &Socat, bwrap: &Program, version: &str) -> Result<ProbedBridge, Cause> {
    attempt(bwrap, version, Some(socat))?;
    Ok(ProbedBridge::Socat(socat.path().clone()))
}

/// The bubblewrap to use: the one that an administrator names, or else the one on `PATH`; where only root can write, and
/// if there is such a one, no command of these rules and roots. Where there is none, the sandbox is not unavailable,
/// or a repository's rule could switch it off: [whoever uses it](crate::shared::Shared) refuses the rule.
pub(crate) fn find_bubblewrap(policy: &Policy, roots: &[AbsPath]) -> Result<Program, Cause> {
    let is_writable = |path: &AbsPath| is_writable_in(policy, roots, path);
    match search(policy, is_writable) {
        Err(Cause::UntrustedBubblewrap(_) | Cause::NamedBubblewrap { .. }) => search(policy, |_| false),
        found => found,
    }
}

fn search(policy: &Policy, is_writable: impl Fn(&AbsPath) -> bool) -> Result<Program, Cause> {
    if let Some(rule) = &policy.bwrap {
        return Program::at(&rule.path, is_writable).map_err(|error| match &error {
            ProgramError::Shortage { error: system, .. } => {
                Cause::of_system(&error.to_string(), &(*system).into())
            }
            _ => Cause::NamedBubblewrap { error: error.to_string(), by: rule.origin.to_string() },
        });
    }
    let path = std::env::var_os("PATH");
    Program::find("bwrap", path.as_deref(), is_writable).map_err(|error| match &error {
        ProgramError::Missing { .. } => Cause::NoBubblewrap,
        ProgramError::Untrusted { passed_over, .. } => Cause::UntrustedBubblewrap(passed_over.join(", ")),
        ProgramError::Shortage { error: system, .. } => {
            Cause::of_system(&error.to_string(), &(*system).into())
        }
    })
}

/// Whether a command of these rules and roots may write `path`.
pub(crate) fn is_writable_in(policy: &Policy, roots: &[AbsPath], path: &AbsPath) -> bool {
    roots.iter().any(|root| root.covers(path))
        || policy.files.allow_write.iter().any(|rule| rule.pattern.covers(path).is_some())
}

/// The seccomp program for this machine.
pub(crate) fn filter(unix_sockets: bool) -> Result<Vec<u8>, Cause> {
    let make = || program(&Filter { unix_sockets }, Arch::native()?);
    make().map_err(|error: FilterError| match &error {
        FilterError::ReadBack(system) => Cause::of_system(&format!("{error}: {system}"), system),
        _ => Cause::NoFilter(error.to_string()),
    })
}

fn attempt(bwrap: &Program, version: &str, socat: Option<&Socat>) -> Result<(), Cause> {
    let filter = filter(false)?;
    let scratch =
        Scratch::create().map_err(|error| Cause::of_scratch(&error).unwrap_or_else(|| unmade(&error)))?;
    let guards = proc_guards(rustix::process::geteuid().is_root()).map_err(refused)?;
    let confinement = Confinement {
        files: FileSets::default(),
        nodes: BTreeMap::new(),
        links: BTreeMap::new(),
        stepped_out_of: BTreeMap::new(),
        files_disabled: false,
        network: NetworkPolicy::default(),
        working_directory: AbsPath::root(),
    };
    let setting = Setting {
        hidden_file: &scratch.hidden_file().map_err(|error| unmade(&error))?,
        hidden_directory: &scratch.hidden_directory().map_err(|error| unmade(&error))?,
        working_directory: &confinement.working_directory,
        root_links: &[],
        within: socat.map(|_| within()),
        variables: &[],
    };
    let mounts = Mounts::plan(&confinement).guarded(&guards.read_only, &guards.hidden);
    let planned = arguments(&mounts, &setting);
    let arguments = planned.map_err(|error| Cause::Other(error.to_string()))?;
    let (mut said, stderr) = std::io::pipe().map_err(refused)?;
    let sockets = scratch.socket_directory().map_err(|error| unmade(&error))?;
    let bridge = socat.map(|socat| Bridge { socat, sockets: sockets.path(), listen: &LISTEN });
    let ended = run(bwrap, bridge, &arguments, &filter, stderr.into());
    let mut text = Vec::new();
    if matches!(ended, Ok(Ended::Exit(0))) {
        return Ok(());
    }
    let _ = said.read_to_end(&mut text);
    let cause = Cause::find(&String::from_utf8_lossy(&text), &ended, &Facts::gather(version));
    Err(if socat.is_some() { cause.with_bridge() } else { cause })
}

fn refused(error: std::io::Error) -> Cause {
    Cause::of_system(&error.to_string(), &error)
}

fn unmade(error: &ScratchError) -> Cause {
    match error {
        ScratchError::System { error: system, .. } => Cause::of_system(&error.to_string(), system),
        _ => Cause::Other(error.to_string()),
    }
}

fn run(
    bwrap: &Program,
    bridge: Option<Bridge<'_>>,
    arguments: &[Vec<u8>],
    filter: &[u8],
    stderr: Stdio,
) -> Result<Ended, LaunchError> {
    let failed = |doing| move |error| LaunchError::System { doing, error };
    let warden = Warden::start().map_err(failed("starting the warden"))?;
    let started = start(Start {
        bwrap,
        warden: &warden,
        bridge,
        entry: None,
        program: "/bin/sh".into(),
        argv: ["sh", "-c", ":"].map(Into::into).into(),
        stdio: [Stdio::null(), Stdio::null(), stderr],
    })?;
    let held = started.build(Build { arguments, filter, variables: &[], listen: &LISTEN })?;
    let ended = held.release()?.finish();
    ended.map_err(failed("waiting for the probe"))
}

/// Another program stands where bubblewrap should.
fn not_bubblewrap(policy: &Policy, path: &AbsPath) -> Cause {
    let error = format!("{path} is not bubblewrap, whose version it does not tell (--version)");
    match &policy.bwrap {
        Some(rule) => Cause::NamedBubblewrap { error, by: rule.origin.to_string() },
        None => Cause::NotBubblewrap(error),
    }
}

/// The version that `bwrap --version` tells; `None` where it does not answer as bubblewrap does.
fn version_of(bwrap: &Program) -> Option<String> {
    const LONGEST: u64 = 256;
    let mut command = std::process::Command::new(bwrap.path().as_path());
    command.arg("--version").env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut text = String::new();
    let read = child.stdout.take().map(|said| said.take(LONGEST).read_to_string(&mut text));
    let _ = (read, child.wait());
    let version = text.trim().strip_prefix("bubblewrap ")?;
    let numbers = version.split('.').take_while(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    (numbers.count() >= 3).then(|| version.to_owned())
}
