//! What all commands of one sandbox share: the rules in force, and what is found or made once. It launches nothing.

use crate::bridge::{self, Bridging};
use crate::cover::Covers;
use crate::error::Error;
use crate::head_start::HeadStart;
use crate::launcher::Launcher;
use crate::loading::Loading;
use crate::probe::{self, Cause};
use crate::protected::Owner;
use crate::request::real_root;
use crate::sandbox::Options;
use crate::scratch::Scratch;
use crate::task::Task;
use palisade_bwrap::linux::{Entry, ProcGuards, Program, Warden, proc_guards};
use palisade_policy::{AbsPath, Access, Effect, FileRule, FileSets, IndexedNetwork, Policy};
use palisade_proxy::Lookup;
use std::io;
use std::iter;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio::sync::watch;

/// What all commands of a sandbox share. It lives as long as any of them: the thread that launched a command, and the
/// masks that it may have mounted.
pub(crate) struct Shared {
    policy: RwLock<Arc<Policy>>,
    network: watch::Sender<Arc<IndexedNetwork>>,
    pub(crate) owner: Owner,
    pub(crate) entry: Option<Entry>,
    bwrap: Result<Arc<Program>, Cause>,
    bridge: RwLock<Bridging>,
    /// The roots of commands to come, as far as they are known.
    roots: Vec<AbsPath>,
    filters: Filters,
    guards: OnceLock<io::Result<ProcGuards>>,
    pub(crate) scratch: Scratch,
    pub(crate) lookup: Arc<Lookup>,
    pub(crate) launcher: Launcher,
    warden: Arc<OnceLock<io::Result<Warden>>>,
    /// The removal of what killed hosts left, once it has begun. It may take a while.
    sweeping: OnceLock<io::Result<Task<()>>>,
}

/// The seccomp filters that commands may need.
#[derive(Default)]
struct Filters {
    without: OnceLock<Result<Arc<[u8]>, Cause>>,
    with_sockets: OnceLock<Result<Arc<[u8]>, Cause>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.dismiss_warden();
    }
}

impl Shared {
    pub(crate) fn create(options: Options) -> Result<Self, Error> {
        let begun = options.head_start.map_or_else(HeadStart::begin, Ok)?;
        let HeadStart { launcher, scratch, warden } = begun;
        let roots = options.roots.iter().map(|root| real_root(root)).collect::<Result<Vec<_>, _>>()?;
        let bwrap = probe::find_bubblewrap(&options.policy, &roots).map(Arc::new);
        if let (Err(cause), true) = (&bwrap, options.policy.fail_if_unavailable) {
            return Err(cause.clone().into());
        }
        let bridge = match Bridging::named(&options.policy, &roots) {
            Err(cause) if options.policy.fail_if_unavailable => return Err(cause.into()),
            bridge => bridge.unwrap_or_else(Bridging::Unavailable),
        };
        let owner = Owner::of_process(&options.settings_directories)?;
        let scratch = scratch.recv().map_err(|_| Launcher::has_ended())?;
        let scratch = scratch.map_err(|error| match Cause::of_scratch(&error) {
            Some(cause) => Error::Unavailable(cause),
            None => Error::Scratch(error),
        })?;
        Ok(Shared {
            network: watch::Sender::new(Arc::new(IndexedNetwork::new(options.policy.network.clone()))),
            policy: RwLock::new(Arc::new(options.policy)),
            owner,
            entry: options.entry,
            bwrap,
            bridge: RwLock::new(bridge),
            roots,
            filters: Filters::default(),
            guards: OnceLock::new(),
            scratch,
            lookup: Arc::new(Lookup::system()),
            launcher,
            warden,
            sweeping: OnceLock::new(),
        })
    }

    /// Nothing will be launched any more, and nothing runs, if this is the last user: the warden then ends while the rest
    /// is cleared away.
    pub(crate) fn retire(self: &Arc<Self>) {
        if Arc::strong_count(self) == 1 {
            self.dismiss_warden();
        }
    }

    fn dismiss_warden(&self) {
        if let Some(Ok(warden)) = self.warden.get() {
            warden.dismiss();
        }
    }

    pub(crate) fn warden(&self) -> io::Result<&Warden> {
        self.warden.get_or_init(Warden::start).as_ref().map_err(again)
    }

    pub(crate) fn guards(&self) -> io::Result<&ProcGuards> {
        let find = || proc_guards(rustix::process::geteuid().is_root());
        self.guards.get_or_init(find).as_ref().map_err(again)
    }

    /// Finds out and makes what every command needs, where that was not done before: while bubblewrap comes up and the
    /// first command's paths are resolved. What fails is told to whoever asks for it.
    pub(crate) fn make_ready(&self, unix_sockets: bool) {
        let _ = self.guards();
        let _ = self.filter(unix_sockets);
        let _ = self.scratch.hidden_file();
        let _ = self.scratch.hidden_directory();
    }

    /// Begins to remove what killed hosts left behind, if that has not begun yet. It happens while the first command runs,
    /// not before it.
    pub(crate) fn begin_sweep(&self) {
        let sweep = || {
            Scratch::sweep();
            Covers::sweep();
        };
        self.sweeping.get_or_init(|| Task::start(sweep));
    }

    pub(crate) fn bubblewrap(&self) -> Result<&Arc<Program>, Error> {
        self.bwrap.as_ref().map_err(|cause| cause.clone().into())
    }

    /// How connections come out of the sandboxes made from now on.
    pub(crate) fn bridge(&self) -> Bridging {
        self.bridge.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The sandbox's namespaces could not be entered: from now on nobody tries to, and socat is the bridge, if it can
    /// be.
    pub(crate) fn stop_entering(&self, reason: &str) -> Result<(), Error> {
        let socat = match self.bridge() {
            Bridging::Socat { socat, .. } => socat,
            Bridging::Namespaces | Bridging::Unavailable(_) => {
                let found = bridge::find_socat(&self.policy(), &self.roots);
                Arc::new(found.map_err(|missing| Error::from(Cause::unreachable(reason, missing)))?)
            }
        };
        tracing::debug!("socat is the bridge from now on: {reason}");
        let mut bridge = self.bridge.write().unwrap_or_else(PoisonError::into_inner);
        *bridge = Bridging::Socat { socat, can_enter: false };
        Ok(())
    }

    /// The rules in force at this moment.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hosts first: should both change, no connection is judged by lists older than those of its command.
    pub(crate) fn set_policy(&self, policy: Policy) {
        self.network.send_replace(Arc::new(IndexedNetwork::new(policy.network.clone())));
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// The rules that connections are judged by, as they change.
    pub(crate) fn network(&self) -> watch::Receiver<Arc<IndexedNetwork>> {
        self.network.subscribe()
    }

    /// The seccomp program, with Unix sockets or without.
    pub(crate) fn filter(&self, unix_sockets: bool) -> Result<Arc<[u8]>, Error> {
        let filter = if unix_sockets { &self.filters.with_sockets } else { &self.filters.without };
        let made = filter.get_or_init(|| probe::filter(unix_sockets).map(Arc::from));
        made.clone().map_err(Error::from)
    }

    /// The programs that were found, and what they are loaded from, must not lie where this very command, or one before
    /// it, could have put them, as far as the rules as written say. To be called before they are started.
    pub(crate) fn refuse_writable_programs(&self, root: &AbsPath, policy: &Policy) -> Result<(), Error> {
        if policy.files_disabled {
            return Ok(());
        }
        self.refuse_programs(&policy.files.allow_write, |path| {
            let rule = policy.files.allow_write.iter().find(|rule| rule.pattern.covers(path).is_some());
            let root = || self.roots.iter().chain([root]).find(|root| root.covers(path));
            let by = rule.map(|rule| rule.origin.to_string());
            by.or_else(|| root().map(|root| format!("the root {root}")))
        })
    }

    /// The same once it is known where rules really lead.
    pub(crate) fn refuse_opened_programs(&self, files: &FileSets) -> Result<(), Error> {
        self.refuse_programs(&files.allow_write, |path| {
            let verdict = files.judge(Access::Write, path);
            verdict.rule.filter(|_| verdict.effect == Effect::Allow).map(|rule| rule.origin.to_string())
        })
    }

    /// Refuses the rule by which a command could replace what confines it.
    fn refuse_programs(
        &self,
        allows: &[FileRule],
        opened_by: impl Fn(&AbsPath) -> Option<String>,
    ) -> Result<(), Error> {
        let bubblewrap = self.bubblewrap()?.path();
        let (bridge, loading) = (self.bridge(), Loading::here()?);
        let programs = iter::once((bubblewrap, "the bubblewrap that confines them"))
            .chain(bridge.paths().map(|path| (path, "the bridge out of their sandboxes")));
        let loaded = loading.paths().map(|path| (path, FROM));
        let mut refused =
            programs.chain(loaded).filter_map(|(path, what)| Some((path, what, opened_by(path)?)));
        let library = || {
            let (path, rule) = loading.opened_library(allows)?;
            Some((path, FROM, rule.origin.to_string()))
        };
        match refused.next().or_else(library) {
            None => Ok(()),
            Some((path, what, rule)) => {
                let reason = format!("it would let commands replace {path}, {what}");
                Err(Error::Unenforceable { rule, reason })
            }
        }
    }
}

/// Completes "it would let commands replace …, ".
const FROM: &str = "from which the bubblewrap that confines them is loaded";

/// The same error for one more command.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}
