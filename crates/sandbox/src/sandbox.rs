//! The facade: a [`Sandbox`] runs commands, each in its own bubblewrap with its own proxy.

use crate::cover::{CoverError, Covers};
use crate::environment::{self, ProxyPorts, Scene};
use crate::error::{Error, system};
use crate::launcher::Launcher;
use crate::outcome::Outcome;
use crate::probe::{self, Cause, probe};
use crate::process::{Process, Standing};
use crate::profile::{self, Backend};
use crate::request::{Request, Stream, may_be_written, program_and_argv, real_root};
use crate::resolve::{Places, Resolved, resolve};
use crate::scratch::{CommandDirectory, Scratch};
use nix::unistd::Pid;
use palisade_bwrap::linux::{
    Build, Entry, Expected, Held, Identity, LaunchError, ProcGuards, Program, Start, Started, Warden,
    proc_guards, start,
};
use palisade_bwrap::{Mount, Mounts, Setting, arguments};
use palisade_policy::{AbsPath, Confinement, Endpoint, Host, NetworkPolicy, Policy};
use palisade_proxy::{Listeners, Lookup, Proxy};
use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Once, OnceLock};

/// How often a command's paths may change under the resolver before it gives up.
const MOST_RESOLVES: usize = 8;

/// What a [`Sandbox`] is made from.
#[derive(Debug, Default)]
pub struct Options {
    /// The rules in force for every command.
    pub policy: Policy,
    /// Roots of commands to come: no program that Palisade itself starts is taken from them.
    pub roots: Vec<PathBuf>,
    /// Who starts commands inside. With an entry a signal to the command's process group, as a terminal sends, is
    /// the command's to act on; without one it ends the sandbox.
    pub entry: Option<Entry>,
}

/// Runs commands confined by `Options::policy`. Commands may run at the same time and in different roots.
pub struct Sandbox {
    shared: Arc<Shared>,
}

/// What all commands of a sandbox share. It lives as long as any of them: the thread that launched a command, and the
/// masks that it may have mounted.
pub(crate) struct Shared {
    policy: Policy,
    network: Arc<NetworkPolicy>,
    entry: Option<Entry>,
    bwrap: Program,
    // These three are made by the launching thread, beside other work.
    filter: OnceLock<Result<Vec<u8>, Cause>>,
    guards: OnceLock<io::Result<ProcGuards>>,
    scratch: Scratch,
    lookup: Arc<Lookup>,
    launcher: Launcher,
    warden: OnceLock<io::Result<Warden>>,
    swept: Once,
}

impl Sandbox {
    /// Finds what a launch needs. Whether the sandbox works here shows with the first command, or by
    /// [`probe`](crate::probe()).
    pub fn create(options: Options) -> Result<Self, Error> {
        let launcher = Launcher::start()?;
        let roots = options.roots.iter().map(|root| real_root(root)).collect::<Result<Vec<_>, _>>()?;
        let bwrap = probe::find_bubblewrap(&options.policy.files, &roots).map_err(Error::Unavailable)?;
        let scratch = Scratch::create()?;
        let shared = Shared {
            network: Arc::new(options.policy.network.clone()),
            policy: options.policy,
            entry: options.entry,
            bwrap,
            filter: OnceLock::new(),
            guards: OnceLock::new(),
            scratch,
            lookup: Arc::new(Lookup::system()),
            launcher,
            warden: OnceLock::new(),
            swept: Once::new(),
        };
        let shared = Arc::new(shared);
        let also = Arc::clone(&shared);
        shared.launcher.later(move || {
            let _ = (also.warden(), also.guards());
        });
        Ok(Sandbox { shared })
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
        let (root, working_directory) = request.directories()?;
        let files = &self.shared.policy.files;
        self.shared.refuse_writable_bubblewrap(&root)?;
        let (program, argv) = program_and_argv(&request, &working_directory, &root, files)?;
        refuse_ways_around(request.streams, self.shared.entry.is_some())?;
        let pipes = Pipes::make(request.streams)?;
        let started = self.start(program, argv, pipes.inner);

        let temporary = self.shared.scratch.command_directory()?;
        let places = Places { root, working_directory, temporary: temporary.path().clone() };
        let (Resolved { confinement, warnings, .. }, covers) = self.resolve_and_cover(&places)?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let plan = Plan::new(&self.shared, &request, &confinement, &temporary)?;
        let expected = expected(&Mounts::plan(&confinement))?;
        let (mut held, listen) = match self.build(started, plan).await? {
            Ok(built) => built,
            Err(error) => return Err(self.explain(error).await),
        };
        let proxy = self.start_proxy(held.take_listeners(), listen)?;
        let shared = Arc::clone(&self.shared);
        Ok(Prepared {
            held,
            expected,
            proxy,
            covers,
            temporary,
            shared,
            confinement,
            output: pipes.outer,
            warnings,
        })
    }

    /// What would confine `request`, in the words of `backend`, for a person to read. Nothing is run.
    pub fn profile(&self, request: &Request, backend: Backend) -> Result<String, Error> {
        let (root, working_directory) = request.directories()?;
        let temporary = self.shared.scratch.command_directory()?;
        let places = Places { root, working_directory, temporary: temporary.path().clone() };
        let confinement = resolve(&self.shared.policy, &places)?.confinement;
        match backend {
            Backend::Bubblewrap => {
                let plan = Plan::new(&self.shared, request, &confinement, &temporary)?;
                Ok(profile::bubblewrap(&plan.arguments, self.shared.network.unix_sockets))
            }
            Backend::Seatbelt => profile::seatbelt(&confinement),
        }
    }

    /// A missing path that comes to exist between the look and the cover is looked at again.
    fn resolve_and_cover(&self, places: &Places) -> Result<(Resolved, Covers), Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let resolved = resolve(&self.shared.policy, places)?;
            match Covers::hold(&resolved.covers, resolved.binds_registry) {
                Err(CoverError::Exists(_)) if attempts < MOST_RESOLVES => {}
                covers => return Ok((resolved, covers?)),
            }
        }
    }

    /// Has bubblewrap come up while the rest of the work is done. Unless it is built upon, it ends.
    fn start(
        &self,
        program: OsString,
        argv: Vec<OsString>,
        stdio: [Stdio; 3],
    ) -> Receiver<Result<Started, LaunchError>> {
        let shared = Arc::clone(&self.shared);
        let started = self.shared.launcher.begin(move || {
            let warden = shared
                .warden()
                .map_err(|error| LaunchError::System { doing: "starting the warden", error })?;
            let (bwrap, entry) = (&shared.bwrap, shared.entry.as_ref());
            start(Start { bwrap, warden, entry, program, argv, stdio })
        });
        let shared = Arc::clone(&self.shared);
        self.shared.launcher.later(move || {
            let _ = shared.filter();
        });
        started
    }

    async fn build(
        &self,
        started: Receiver<Result<Started, LaunchError>>,
        plan: Plan,
    ) -> Result<Result<(Held, Listen), LaunchError>, Error> {
        let shared = Arc::clone(&self.shared);
        let job = move || {
            let filter = shared.filter().as_ref().map_err(|cause| Error::Unavailable(cause.clone()))?;
            let started = started.recv().map_err(|_| Launcher::has_ended())?;
            let held = started.and_then(|started| {
                started.build(Build {
                    arguments: &plan.arguments,
                    filter,
                    variables: &plan.variables,
                    listen: &plan.listen.addresses(),
                })
            });
            Ok(held.map(|held| (held, plan.listen)))
        };
        let built = self.shared.launcher.run(job).await?;
        self.shared.swept.call_once(|| self.shared.launcher.later(sweep));
        built
    }

    /// A launch that failed may be one that can never succeed here: find out, and say what to do.
    async fn explain(&self, error: LaunchError) -> Error {
        let answer = tokio::task::spawn_blocking(probe).await;
        match answer.ok().and_then(|probe| probe.cause) {
            Some(cause) => Error::Unavailable(cause),
            None => Error::Launch(error),
        }
    }

    fn start_proxy(&self, listeners: Vec<Option<TcpListener>>, listen: Listen) -> Result<Proxy, Error> {
        let missing = || system("listening in the sandbox")(io::Error::other("no IPv4 loopback interface"));
        let mut listeners = listeners.into_iter();
        let http = listeners.next().flatten().ok_or_else(missing)?;
        let socks = listeners.next().flatten().ok_or_else(missing)?;
        let direct = listen.direct.into_iter().zip(listeners);
        let direct = direct.filter_map(|((endpoint, _), listener)| Some((endpoint, listener?))).collect();
        let listeners = Listeners { http, socks, direct };
        Proxy::start(listeners, Arc::clone(&self.shared.network), Arc::clone(&self.shared.lookup))
            .map_err(system("starting the proxy"))
    }
}

/// Removes what killed hosts left behind. It happens while the first command runs, not before it.
fn sweep() {
    Scratch::sweep();
    Covers::sweep();
}

/// A command whose sandbox stands and whose proxy listens, and which has not started. Dropped, it never does.
///
/// The fields stand in the order in which they must end.
pub struct Prepared {
    held: Held,
    expected: Vec<Expected>,
    proxy: Proxy,
    covers: Covers,
    temporary: CommandDirectory,
    shared: Arc<Shared>,
    confinement: Confinement,
    output: [Option<PipeReader>; 2],
    warnings: Vec<String>,
}

impl Prepared {
    /// The process group that the command will start in: make it a terminal's foreground for the command to read
    /// from it.
    pub fn group(&self) -> Pid {
        self.held.group()
    }

    /// Lets the command start, once it is certain that what is mounted is what was resolved.
    pub async fn start(self) -> Result<Process, Error> {
        let Prepared { held, expected, proxy, covers, temporary, shared, confinement, output, warnings } =
            self;
        let is_planned = !confinement.files_disabled;
        let verified = tokio::task::spawn_blocking(move || {
            if is_planned {
                held.verify(&expected)?;
            }
            held.release()
        });
        let running = verified.await.map_err(|error| system("starting the command")(error.into()))??;
        let standing = Standing { running, covers, temporary, shared };
        Process::new(standing, proxy, confinement, output, warnings)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // It ends while the rest is cleared away.
        if let Some(Ok(warden)) = self.warden.get() {
            warden.dismiss();
        }
    }
}

impl Shared {
    fn warden(&self) -> io::Result<&Warden> {
        self.warden.get_or_init(Warden::start).as_ref().map_err(again)
    }

    fn guards(&self) -> io::Result<&ProcGuards> {
        let find = || proc_guards(rustix::process::geteuid().is_root());
        self.guards.get_or_init(find).as_ref().map_err(again)
    }

    fn filter(&self) -> &Result<Vec<u8>, Cause> {
        self.filter.get_or_init(|| probe::filter(self.policy.network.unix_sockets))
    }

    /// The bubblewrap that was found must not lie where this very command, or one before it, could have put it.
    fn refuse_writable_bubblewrap(&self, root: &AbsPath) -> Result<(), Error> {
        let path = self.bwrap.path();
        if !may_be_written(path, root, &self.policy.files) || self.policy.files_disabled {
            return Ok(());
        }
        Err(Error::Unenforceable {
            rule: format!("a root or allowWrite that holds {path}"),
            reason: "it would let the command replace the bubblewrap that confines it".into(),
        })
    }
}

/// What the plan's mounts must turn out to be. Looked at after the paths were resolved and before anything is
/// mounted: what is a link by now, where there was none, is an error.
fn expected(mounts: &Mounts) -> Result<Vec<Expected>, Error> {
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

/// The same error for one more command.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}

/// What one launch is made from, besides the command itself.
struct Plan {
    arguments: Vec<Vec<u8>>,
    variables: environment::Variables,
    listen: Listen,
}

impl Plan {
    fn new(
        shared: &Shared,
        request: &Request,
        confinement: &Confinement,
        temporary: &CommandDirectory,
    ) -> Result<Self, Error> {
        let listen = Listen::choose(&shared.network);
        let scene = Scene {
            inherited: &request.variables,
            hidden: &shared.policy.hidden_variables,
            by_shell: request.by_shell(),
            temporary: temporary.path(),
            working_directory: &confinement.working_directory,
            network: &shared.network,
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
        Ok(Plan { arguments, variables, listen })
    }
}

/// Where to listen inside: the proxy's two ports, and each loopback endpoint of this machine that the policy
/// allows on one port.
struct Listen {
    proxy: ProxyPorts,
    direct: Vec<(Endpoint, SocketAddr)>,
}

/// The proxy's ports inside, each in a network namespace of its own: above the range from which Linux picks
/// ports by itself, so that no server of the command's gets one by chance.
const PROXY_PORTS: std::ops::RangeFrom<u16> = 61_080..;

impl Listen {
    fn choose(network: &NetworkPolicy) -> Self {
        let direct: Vec<(Endpoint, SocketAddr)> = network
            .allowed
            .iter()
            .flat_map(|rule| Self::direct(rule.pattern.host(), rule.pattern.port()))
            .collect();
        let is_free = |port: &u16| direct.iter().all(|(_, address)| address.port() != *port);
        let mut free = PROXY_PORTS.filter(is_free).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let proxy = ProxyPorts {
            http: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_080))),
            socks: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_081))),
        };
        Listen { proxy, direct }
    }

    fn direct(host: Option<&Host>, port: Option<u16>) -> Vec<(Endpoint, SocketAddr)> {
        let (Some(host), Some(port)) = (host, port) else { return Vec::new() };
        let addresses: &[IpAddr] = match host {
            Host::Address(address) if address.is_loopback() => std::slice::from_ref(address),
            host if *host == Host::Name("localhost".into()) => {
                &[IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            _ => &[],
        };
        let endpoint = Endpoint { host: host.clone(), port };
        addresses.iter().map(|address| (endpoint.clone(), SocketAddr::new(*address, port))).collect()
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        [self.proxy.http, self.proxy.socks].into_iter().chain(self.direct.iter().map(|(_, at)| *at)).collect()
    }
}

/// A directory that the caller has open leads, through `/proc/self/fd`, to the host's whole tree by the host's own
/// mounts. A file on standard input leads to itself, for writing; an entry sees to that.
fn refuse_ways_around(streams: [Stream; 3], has_entry: bool) -> Result<(), Error> {
    use std::os::fd::AsFd;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let named = [
        ("standard input", stdin.as_fd()),
        ("standard output", stdout.as_fd()),
        ("standard error", stderr.as_fd()),
    ];
    for ((stream, fd), leads) in named.into_iter().zip(streams) {
        // What is closed leads nowhere.
        let Ok(stat) = rustix::fs::fstat(fd) else { continue };
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        let is_path = rustix::fs::fcntl_getfl(fd).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::PATH));
        let remedy = "give the command something else there";
        if leads == Stream::Inherit && (kind.is_dir() || is_path) {
            return Err(Error::Stream { stream, what: "a directory, or a mere path", remedy });
        }
        if leads == Stream::Inherit && stream == "standard input" && kind.is_file() && !has_entry {
            let remedy = "pass it through a pipe, or give the sandbox an entry";
            return Err(Error::Stream { stream, what: "a file, which the command could write", remedy });
        }
    }
    Ok(())
}

/// The command's ends of its streams, and ours of those that are captured.
struct Pipes {
    inner: [Stdio; 3],
    outer: [Option<PipeReader>; 2],
}

impl Pipes {
    fn make([stdin, stdout, stderr]: [Stream; 3]) -> Result<Self, Error> {
        let stdin = if stdin == Stream::Inherit { Stdio::inherit() } else { Stdio::null() };
        let (stdout, from_stdout) = Self::output(stdout)?;
        let (stderr, from_stderr) = Self::output(stderr)?;
        Ok(Pipes { inner: [stdin, stdout, stderr], outer: [from_stdout, from_stderr] })
    }

    fn output(stream: Stream) -> Result<(Stdio, Option<PipeReader>), Error> {
        Ok(match stream {
            Stream::Inherit => (Stdio::inherit(), None),
            Stream::Null => (Stdio::null(), None),
            Stream::Capture => {
                let (reader, writer) = io::pipe().map_err(system("making a pipe"))?;
                (writer.into(), Some(reader))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{HostPattern, HostRule, Origin};

    #[test]
    fn allowed_loopback_endpoints_get_listeners_of_their_own() {
        let rule = |text: &str| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--test", text),
        };
        let network = NetworkPolicy {
            allowed: [
                "127.0.0.1:3000",
                "[::1]:61080",
                "localhost:81",
                "example.com:80",
                "127.0.0.1",
                "10.0.0.1:80",
            ]
            .map(rule)
            .into(),
            ..NetworkPolicy::default()
        };
        let listen = Listen::choose(&network);
        let shown: Vec<String> = listen.addresses().iter().map(SocketAddr::to_string).collect();
        let expected = [
            "127.0.0.1:61081",
            "127.0.0.1:61082",
            "127.0.0.1:3000",
            "[::1]:61080",
            "127.0.0.1:81",
            "[::1]:81",
        ];
        assert_eq!(shown, expected);
    }
}
