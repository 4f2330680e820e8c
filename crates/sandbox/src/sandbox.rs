//! The facade: a [`Sandbox`] runs commands, each in its own bubblewrap with its own proxy.
//!
//! # What is done at the same time
//!
//! bubblewrap comes up while the command's paths are resolved, since it is told of them only when it waits for them. What
//! stands in for missing files is made while it mounts its own part, in which none of them is; what is mounted on them
//! is mounted by us, after they stand, and looked at after that. Where bubblewrap mounts all of it, they stand before it
//! is told. In between, what the attacker can do from another sandbox is what he could in the moment between the
//! resolving and the mounting before: a path that has changed by then is refused where it is covered, mounted or
//! looked at, and the command is resolved anew. It starts when all of that has succeeded, and not before.

use crate::bridge::Bridging;
use crate::cover::{CoverError, Covers, Wanted};
use crate::error::{Error, system};
use crate::head_start::HeadStart;
use crate::launcher::Launcher;
use crate::listen::Listen;
use crate::mount_watch::{MountWatch, Warnings};
use crate::needed;
use crate::outcome::Outcome;
use crate::outside::UnsandboxedReason;
use crate::plan::Plan;
use crate::prepared::{Inside, Prepared};
use crate::probe::{Cause, ProbedBridge, probe};
use crate::process::{Process, Walls};
use crate::profile::{self, Backend};
use crate::report::Ignored;
use crate::request::{Request, program_and_argv};
use crate::resolve::{Places, Resolved, resolve};
use crate::scratch::{CommandDirectory, SocketDirectory, Substitute};
use crate::shared::Shared;
use crate::streams::{self, Given, Pipes};
use crate::task::Task;
use palisade_bwrap::linux::{
    Bridge, Build, Entry, Expected, Guard, Held, LaunchError, Listener, ProcGuards, Start, Started, start,
};
use palisade_policy::{AbsPath, Access, Confinement, Effect, Policy};
use palisade_proxy::{Direct, Listeners, Proxy};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// How often a command's paths may change while its sandbox is being built before that is given up.
const MOST_ATTEMPTS: usize = 8;

/// A bubblewrap that comes up.
type Starting = Receiver<Result<Started, LaunchError>>;

/// What was built, or why not.
type Built = Result<(Held, Guard, Listen), LaunchError>;

/// What a [`Sandbox`] is made from.
#[derive(Debug, Default)]
pub struct Options {
    /// The rules in force for every command.
    pub policy: Policy,
    /// Roots of commands to come: no program that Palisade itself starts is taken from them.
    pub roots: Vec<PathBuf>,
    /// Who starts commands inside. With an entry a signal to the command's process group, as a terminal sends, is
    /// the command's to act on; without one it ends the sandbox. And only an entry learns no sooner than at the release
    /// what to start: without one, that the command waits until everything is mounted is up to bubblewrap alone.
    pub entry: Option<Entry>,
    /// Directories of a user's settings besides those in the home directory (`CLAUDE_CONFIG_DIR`): no command may
    /// write them.
    pub settings_directories: Vec<PathBuf>,
    /// What was begun before the rules were known; without, it is begun now.
    pub head_start: Option<HeadStart>,
}

/// Runs commands confined by `Options::policy`. Commands may run at the same time and in different roots.
pub struct Sandbox {
    shared: Arc<Shared>,
}

impl Sandbox {
    /// Finds what a launch needs. Whether the sandbox works here shows with the first command, or by
    /// [`probe`](crate::probe()).
    pub fn create(options: Options) -> Result<Self, Error> {
        let shared = Shared::create(options).map_err(Error::or_shortage)?;
        Ok(Sandbox { shared: Arc::new(shared) })
    }

    /// Puts `policy` in force: for every command that is prepared from now on, and, as far as hosts go, for every
    /// connection that a running command makes from now on. Which files and Unix sockets a running command can reach,
    /// and on which ports it finds servers of this machine, stays as it was when it was prepared.
    pub fn set_policy(&self, policy: Policy) {
        self.shared.set_policy(policy);
    }

    /// Runs a command to its end.
    pub async fn run(&self, request: Request) -> Result<Outcome, Error> {
        self.spawn(request).await?.wait().await
    }

    /// Starts a command. Must be called in a tokio runtime with I/O and time enabled, which serves the command's
    /// proxy while it runs. All commands of one sandbox need the same runtime.
    pub async fn spawn(&self, request: Request) -> Result<Process, Error> {
        self.prepare(request).await?.start().await
    }

    /// Does everything that [`spawn`](Self::spawn) does but let the command start.
    pub async fn prepare(&self, request: Request) -> Result<Prepared, Error> {
        if let Some(reason) = request.outside.clone() {
            return Ok(Prepared::outside(request, reason, self.shared.policy()));
        }
        let mut attempts = 0;
        let prepared = loop {
            attempts += 1;
            let prepared = self.prepare_inside(&request).await;
            let is_worth_another = match &prepared {
                Err(Error::Launch(LaunchError::Namespaces(_))) => !self.shared.bridge().can_enter(),
                // So is a missing path that comes to exist between the look and the cover.
                Err(Error::Launch(LaunchError::Changed(_)) | Error::Cover(CoverError::Changed(_))) => true,
                _ => false,
            };
            if !is_worth_another || attempts >= MOST_ATTEMPTS {
                break prepared;
            }
        };
        match prepared {
            Err(Error::Unavailable(cause)) if !self.shared.policy().fail_if_unavailable => {
                self.prepare_outside(request, cause).await.map_err(Error::or_shortage)
            }
            prepared => prepared.map_err(Error::or_shortage),
        }
    }

    async fn prepare_inside(&self, request: &Request) -> Result<Prepared, Error> {
        let policy = self.shared.policy();
        let (root, working_directory) = request.directories()?;
        let bridge = self.shared.bridge();
        if let Bridging::Unavailable(cause) = &bridge {
            return Err(cause.clone().into());
        }
        self.shared.refuse_writable_programs(&root, &policy)?;
        let (program, argv) = program_and_argv(request, &working_directory, &root, &policy.files)?;
        let shell = AbsPath::new(program.as_bytes()).ok().filter(|_| request.by_shell());
        streams::refuse_ways_around(request.streams, self.shared.entry.is_some())?;
        let pipes = Pipes::make(request.streams)?;
        let (started, sockets) = self.start(program, argv, pipes.inner, &policy, &bridge)?;

        let temporary = self.shared.scratch.command_directory()?;
        let places = Places { root, working_directory, temporary: temporary.path().clone() };
        let resolved = resolve(&policy, &places, &self.shared.owner)?;
        self.refuse_unfit(&resolved.confinement, shell.as_ref())?;
        streams::refuse_hidden(request.streams, &resolved.confinement)?;
        let given = Given::remember(request.streams, &resolved.confinement);
        let mut plan = Plan::new(&self.shared, &policy, request, &resolved, &temporary, &bridge)?;
        let substitutes = std::mem::take(&mut plan.substitutes);
        let Resolved { confinement, warnings: left_out, wanted, .. } = resolved;
        let expected = (!confinement.files_disabled).then(|| std::mem::take(&mut plan.expected));
        let (tell, told) = channel();
        let building = self.build(started, plan, expected, told)?;
        let covers = cover(&wanted, !policy.files_disabled, tell)?;
        let (mut held, guard, listen) = match building.await.map_err(system("building the sandbox"))?? {
            Ok(built) => built,
            Err(error) => {
                // What they left may be why.
                self.shared.begin_sweep();
                return Err(self.explain(error).await);
            }
        };
        let proxy = self.start_proxy(held.take_listeners(), listen)?;
        substitutes.into_iter().try_for_each(Substitute::reveal)?;
        let shared = Arc::clone(&self.shared);
        let ignored = Ignored::of(&policy.ignore_violations, &request.command);
        let warnings = Warnings::default();
        left_out.into_iter().for_each(|warning| warnings.add(warning));
        let watch =
            MountWatch::begin(guard, warnings.clone()).map_err(system("watching the sandbox's mounts"))?;
        let (walls, output) = (Walls { proxy, confinement, ignored }, pipes.outer);
        Ok(Inside { held, watch, given, walls, covers, temporary, sockets, shared, output, warnings }.into())
    }

    /// What failed for `cause` may have failed by chance. The command runs without the sandbox only when a launch of the
    /// probe's own fails too.
    async fn prepare_outside(&self, request: Request, cause: Cause) -> Result<Prepared, Error> {
        let policy = self.shared.policy();
        let probed = Arc::clone(&policy);
        let doing = system("probing the sandbox");
        let answer = Task::start(move || probe(&probed)).map_err(&doing)?.await.map_err(&doing)?;
        match answer.cause.map(Error::from) {
            Some(Error::Unavailable(cause)) => {
                Ok(Prepared::outside(request, UnsandboxedReason::Unavailable(cause), policy))
            }
            Some(error) => Err(error),
            None => {
                Err(system("making the sandbox, which else works here")(io::Error::other(cause.to_string())))
            }
        }
    }

    /// The policy resolved for `request` as it would be now: every path of a rule real, what Palisade protects of
    /// itself added. It can be asked what a command may read and write. Nothing is run. Fails where the policy would
    /// keep every command from starting there.
    pub fn resolve(&self, request: &Request) -> Result<Confinement, Error> {
        self.resolve_and_warn(request).map(|(confinement, _)| confinement)
    }

    /// The same, with what a command is warned of at its start.
    pub fn resolve_and_warn(&self, request: &Request) -> Result<(Confinement, Vec<String>), Error> {
        let policy = self.shared.policy();
        let (root, _) = request.directories()?;
        if self.shared.bubblewrap().is_ok() {
            self.shared.refuse_writable_programs(&root, &policy)?;
        }
        let (resolved, temporary) = self.resolve_for_show(&policy, request)?;
        self.refuse_unfit(&resolved.confinement, None)?;
        Plan::new(&self.shared, &policy, request, &resolved, &temporary, &self.shared.bridge())?;
        Ok((resolved.confinement, resolved.warnings))
    }

    /// Refuses what no command can start under, or what would let one replace what confines it.
    fn refuse_unfit(&self, confinement: &Confinement, shell: Option<&AbsPath>) -> Result<(), Error> {
        refuse_hidden(&confinement.working_directory, confinement)?;
        if self.shared.bubblewrap().is_ok() {
            self.shared.refuse_opened_programs(&confinement.files)?;
        }
        if self.shared.entry.is_some() {
            needed::refuse_hidden(&confinement.files, shell)?;
        }
        Ok(())
    }

    /// What of the sandbox's own `/proc` is shut.
    pub(crate) fn guards(&self) -> io::Result<&ProcGuards> {
        self.shared.guards()
    }

    /// What would confine `request`, in the words of `backend`, for a person to read. Nothing is run.
    pub fn profile(&self, request: &Request, backend: Backend) -> Result<String, Error> {
        let policy = self.shared.policy();
        let (resolved, temporary) = self.resolve_for_show(&policy, request)?;
        match backend {
            Backend::Bubblewrap => {
                let bridge = self.shared.bridge();
                let plan = Plan::new(&self.shared, &policy, request, &resolved, &temporary, &bridge)?;
                Ok(profile::bubblewrap(&plan))
            }
            Backend::Seatbelt => profile::seatbelt(&resolved.confinement),
        }
    }

    fn resolve_for_show(
        &self,
        policy: &Policy,
        request: &Request,
    ) -> Result<(Resolved, CommandDirectory), Error> {
        let (root, working_directory) = request.directories()?;
        let temporary = self.shared.scratch.command_directory()?;
        let places = Places { root, working_directory, temporary: temporary.path().clone() };
        Ok((resolve(policy, &places, &self.shared.owner)?, temporary))
    }

    /// Has bubblewrap come up while the rest of the work is done. Unless it is built upon, it ends.
    fn start(
        &self,
        program: OsString,
        argv: Vec<OsString>,
        stdio: [Stdio; 3],
        policy: &Policy,
        bridge: &Bridging,
    ) -> Result<(Starting, Option<SocketDirectory>), Error> {
        let (socat, sockets) = match bridge {
            Bridging::Socat { socat, .. } => {
                (Some(Arc::clone(socat)), Some(self.shared.scratch.socket_directory()?))
            }
            Bridging::Namespaces | Bridging::Unavailable(_) => (None, None),
        };
        let crossing = socat.zip(sockets.as_ref().map(|sockets| sockets.path().clone()));
        let crossing =
            crossing.map(|(socat, path)| (socat, path, Listen::choose(&policy.network).addresses()));
        let bwrap = Arc::clone(self.shared.bubblewrap()?);
        let shared = Arc::clone(&self.shared);
        let started = self.shared.launcher.begin(move || {
            let warden = shared
                .warden()
                .map_err(|error| LaunchError::System { doing: "starting the warden", error })?;
            let entry = shared.entry.as_ref();
            let bridge = crossing.as_ref();
            let bridge = bridge.map(|(socat, sockets, listen)| Bridge { socat, sockets, listen });
            start(Start { bwrap: &bwrap, warden, bridge, entry, program, argv, stdio })
        });
        let (shared, unix_sockets) = (Arc::clone(&self.shared), policy.network.unix_sockets);
        self.shared.launcher.later(move || shared.make_ready(unix_sockets));
        Ok((started, sockets))
    }

    /// Builds the sandbox, and makes certain that what is mounted is what was resolved, where that is known. Not on the
    /// launching thread, on which the next command's bubblewrap may start meanwhile.
    ///
    /// What is mounted on covers is mounted once it is `told` that they stand.
    fn build(
        &self,
        started: Starting,
        plan: Plan,
        expected: Option<Vec<Expected>>,
        told: Receiver<()>,
    ) -> Result<Task<Result<Built, Error>>, Error> {
        let filter = self.shared.filter(plan.unix_sockets)?;
        let job = move || {
            let given_up = |_| system("building the sandbox")(io::Error::other("what it needs was not made"));
            if plan.needs_covers_first {
                told.recv().map_err(given_up)?;
            }
            let started = started.recv().map_err(|_| Launcher::has_ended())?;
            let held = started.and_then(|started| {
                started.build(Build {
                    arguments: &plan.arguments,
                    filter: &filter,
                    variables: &plan.variables,
                    listen: &plan.listen.addresses(),
                })
            });
            if !plan.needs_covers_first {
                told.recv().map_err(given_up)?;
            }
            Ok(held.and_then(|mut held| {
                plan.attachments.as_ref().map_or(Ok(()), |attachments| held.attach(attachments))?;
                let guard = held.guard(plan.mounts, plan.attachments.is_some())?;
                held.verify(expected.as_deref())?;
                Ok((held, guard, plan.listen))
            }))
        };
        Task::start(job).map_err(system("building the sandbox"))
    }

    /// A launch that failed may be one that can never succeed here: find out, and say what to do, or take the other
    /// bridge from now on. Not where it is the files of this very command that it failed for: whoever changes them must
    /// not make the sandbox unavailable. Nor where a bridge does not stand: that is said already.
    async fn explain(&self, error: LaunchError) -> Error {
        use LaunchError::{Bridge, Changed, Mount, TooManyWords};
        let error = match Error::Launch(error).or_shortage() {
            Error::Launch(error) => error,
            shortage => return shortage,
        };
        if matches!(error, Bridge(_) | Changed(_) | Mount { .. } | TooManyWords(_)) {
            return Error::Launch(error);
        }
        let policy = self.shared.policy();
        let answer = match Task::start(move || probe(&policy)) {
            Ok(task) => task.await,
            Err(_) => return Error::Launch(error),
        };
        let Ok(answer) = answer else { return Error::Launch(error) };
        let is_shut = matches!(error, LaunchError::Namespaces(_));
        match (answer.cause, answer.bridge) {
            (Some(cause), _) => cause.into(),
            (None, Some(ProbedBridge::Socat(_))) if is_shut => {
                self.shared.stop_entering(&error.to_string()).err().unwrap_or(Error::Launch(error))
            }
            _ => Error::Launch(error),
        }
    }

    fn start_proxy(&self, listeners: Vec<Option<Listener>>, listen: Listen) -> Result<Proxy, Error> {
        let missing = || system("listening in the sandbox")(io::Error::other("no IPv4 loopback interface"));
        let mut listeners = listeners.into_iter().map(|listener| {
            listener.map(|listener| match listener {
                Listener::Tcp(listener) => palisade_proxy::Listener::Tcp(listener),
                Listener::Unix(listener) => palisade_proxy::Listener::Unix(listener),
            })
        });
        let http = listeners.next().flatten().ok_or_else(missing)?;
        let socks = listeners.next().flatten().ok_or_else(missing)?;
        let direct = listen.direct.into_iter().zip(listeners);
        let direct = direct.filter_map(|((endpoint, address), listener)| {
            Some(Direct { endpoint, address: address.ip(), listener: listener? })
        });
        let direct = direct.collect();
        let listeners = Listeners { http, socks, direct };
        Proxy::start(listeners, self.shared.network(), Arc::clone(&self.shared.lookup))
            .map_err(system("starting the proxy"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // What the thread still does for a command that was given up must not be cut off by the end of the process.
        self.shared.launcher.catch_up();
    }
}

/// Has what is wanted stand while bubblewrap comes up, and tells whoever mounts on it. Nobody is told where that fails.
fn cover(wanted: &Wanted, with_registry: bool, tell: Sender<()>) -> Result<Covers, CoverError> {
    let covers = Covers::hold(wanted, with_registry)?;
    let _ = tell.send(());
    Ok(covers)
}

/// A command cannot start in a directory that it may not enter. (It may enter a hidden one in which something is to be
/// seen.)
fn refuse_hidden(working_directory: &AbsPath, confinement: &Confinement) -> Result<(), Error> {
    let is_seen = |path: &AbsPath| confinement.files.judge(Access::Read, path).effect == Effect::Allow;
    let verdict = confinement.files.judge(Access::Read, working_directory);
    let mut below = confinement.nodes.keys().filter(|path| working_directory.covers(path));
    if confinement.files_disabled || verdict.effect == Effect::Allow || below.any(is_seen) {
        return Ok(());
    }
    let by = verdict.rule.map(|rule| format!(" by {}", rule.origin)).unwrap_or_default();
    Err(Error::Directory {
        what: "the working directory",
        path: working_directory.as_path().to_owned(),
        reason: format!("is hidden{by}; start somewhere else"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Command;

    /// Where the sandbox runs, nothing that failed by chance lets a command run without it.
    #[tokio::test]
    async fn a_command_runs_outside_only_where_a_probe_fails_too() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let policy = Policy { fail_if_unavailable: false, ..Policy::default() };
        let cannot_run_here = probe(&policy).cause.is_some();
        let sandbox = Sandbox::create(Options { policy, ..Options::default() }).expect("a directory in /tmp");
        let request = Request::new(Command::Argv(vec!["true".into()]), root.path());
        let prepared = sandbox.prepare_outside(request, Cause::Other("by chance".into())).await;
        match prepared {
            Ok(prepared) => assert!(cannot_run_here && prepared.unsandboxed_reason().is_some()),
            Err(error) => {
                assert!(!cannot_run_here);
                assert_eq!(error.code(), "SANDBOX_LAUNCH");
                assert!(error.to_string().contains("by chance"), "{error}");
            }
        }
    }
}
