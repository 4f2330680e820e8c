//! The bridge of socat, for a machine on which a sandbox's namespaces cannot be entered from outside, or whose
//! administrator wants it.
//!
//! Two bubblewraps, one in the other. The outer one has a network namespace, in which a socat for each address
//! listens and leads every connection to a Unix socket of the host. The inner one is the sandbox as it always is,
//! its filter and all, but for the network namespace, which it shares with the socats.
//!
//! # What the attacker controls
//!
//! Nothing of it: the command inside reaches a socat by its TCP port, and in no other way.
//!
//! - *Processes.* The command's process namespace lies below the outer one's, so it can name no process of the bridge,
//!   to trace it or to signal it; and its `/proc` is its own. Each socat is in a session of its own, so a signal to the
//!   command's process group passes it by. (It does reach both bubblewraps, as it reaches the one elsewhere.)
//! - *Sockets.* They lie in a directory that is hidden from this command and from every other one that may make Unix
//!   sockets. A command without that right could not use them either. Behind them is the very proxy that the ports
//!   lead to.
//! - *Ports.* A command cannot take one before socat does, since it does not run yet, nor later. Its network namespace
//!   belongs to the outer user namespace, over which it has no capability.
//! - *Number.* A flood of connections makes at most [`MOST_CONNECTIONS`] processes for each port; the rest waits in the
//!   queue. A command that fills it harms itself.
//!
//! The outer bubblewrap is no wall, but an owner: with its first process everything ends, the socats too. It keeps three
//! capabilities over its own namespaces: to listen on ports below 1024, to make the namespace in which the command's
//! user is mapped, and to mount. It runs by paths that only root can change, with no variable of anybody's, and nothing
//! of the command's runs in it. The ports stand on the socats' command lines, where everybody can read them, as in
//! `/proc/PID/net`; nothing else of the policy does.
//!
//! Readiness is looked at, not slept for: the tables of the network namespace say who listens.

use super::channels::wait_readable;
use super::error::{LaunchError, failed};
use super::program::{Program, ProgramError};
use palisade_policy::AbsPath;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Connections that one port serves at once, a little more than the proxy does. Each is a process.
const MOST_CONNECTIONS: usize = 320;

/// How long, in seconds, a connection whose one end has said all may go on. socat's own half a second would cut
/// answers off; the proxy has a limit of its own, which is lower.
const HALF_CLOSED_SECONDS: u32 = 3600;

/// How long the socats may take to listen. They need milliseconds; a machine under heavy load may need seconds.
const LISTENING_TIME: Duration = Duration::from_secs(10);

/// The longest script: the kernel takes 128 KiB for one word of a command line.
const MOST_SCRIPT: usize = (128 << 10) - 1;

/// What the outer bubblewrap is told, besides how to say who its first process is. It mounts no `/proc`, which comes
/// after it: the inner bubblewrap looks itself up there by its number in this process namespace, and the kernel lets it
/// mount one only where a whole one is to be seen. Of the one that bubblewrap makes for root, parts are covered.
const OUTER: [&str; 19] = [
    "--unshare-user",
    "--uid",
    "0",
    "--gid",
    "0",
    "--unshare-pid",
    "--unshare-net",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--cap-add",
    "CAP_NET_BIND_SERVICE",
    "--cap-add",
    "CAP_SETFCAP",
    "--cap-add",
    "CAP_SYS_ADMIN",
    "--dev-bind",
    "/",
    "/",
];

/// The programs that the bridge is made of, by paths that only root can change.
#[derive(Debug)]
pub struct Socat {
    socat: Program,
    shell: Program,
    env: Program,
    setsid: Program,
    unshare: Program,
}

impl Socat {
    /// The bridge with this socat; the other programs are the system's own.
    ///
    /// # Errors
    /// When one of those is not there, or a confined command may write it.
    pub fn new(socat: Program, is_writable: impl Fn(&AbsPath) -> bool) -> Result<Self, ProgramError> {
        let find = |name| Program::find(name, None, &is_writable);
        Ok(Socat {
            socat,
            shell: find("sh")?,
            env: find("env")?,
            setsid: find("setsid")?,
            unshare: find("unshare")?,
        })
    }

    /// The socat.
    pub fn path(&self) -> &AbsPath {
        self.socat.path()
    }

    /// The programs that the bridge runs.
    pub fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        [&self.socat, &self.shell, &self.env, &self.setsid, &self.unshare].into_iter().map(Program::path)
    }
}

/// What one launch needs of the bridge.
#[derive(Debug, Clone, Copy)]
pub struct Bridge<'a> {
    /// Its programs.
    pub socat: &'a Socat,
    /// Where the sockets are made: an empty directory that only this user can enter and no command can see. Its path
    /// must hold nothing but letters, digits, `/`, `-`, `_` and `.`.
    pub sockets: &'a AbsPath,
    /// Where to listen inside.
    pub listen: &'a [SocketAddr],
}

impl Bridge<'_> {
    /// Makes the sockets, in the order of the addresses.
    pub(super) fn bind(&self) -> Result<Vec<UnixListener>, LaunchError> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(byte);
        let paths = self.socat.paths().chain([self.sockets]);
        if let Some(path) = paths.into_iter().find(|path| !path.as_bytes().iter().all(is_plain)) {
            return Err(LaunchError::Bridge(format!(
                "{path} holds a character that socat or a shell may take for its own"
            )));
        }
        (0..self.listen.len())
            .map(|index| {
                UnixListener::bind(self.socket(index)).map_err(failed("making the bridge's sockets"))
            })
            .collect()
    }

    fn socket(&self, index: usize) -> PathBuf {
        self.sockets.as_path().join(index.to_string())
    }

    /// The outer bubblewrap's arguments, up to where the words of the inner one follow.
    pub(super) fn words(&self, bwrap: &Program, status: i32) -> Result<Vec<OsString>, LaunchError> {
        let script = self.script();
        if script.len() > MOST_SCRIPT {
            let count = self.listen.len();
            return Err(LaunchError::Bridge(format!(
                "{count} addresses of this machine are allowed (allowedDomains), more than socat can be told of"
            )));
        }
        let mut words: Vec<OsString> = OUTER.iter().map(Into::into).collect();
        words.extend(["--json-status-fd".into(), status.to_string().into(), "--".into()]);
        // By a program that becomes the next one, and not by the shell, which forgets what signals are blocked when it
        // waits for one.
        words.extend([self.socat.unshare.path().as_path().into(), "--mount-proc".into()]);
        words.extend([self.socat.shell.path().as_path().into(), "-c".into(), script.into(), "sh".into()]);
        words.push(bwrap.path().as_path().into());
        Ok(words)
    }

    /// Starts the socats, and becomes the inner bubblewrap without any variable, which a shell may have set.
    fn script(&self) -> String {
        let Socat { socat, env, setsid, .. } = self.socat;
        let mut script = String::new();
        for (index, address) in self.listen.iter().enumerate() {
            let port = address.port();
            let listen = match address.ip() {
                IpAddr::V4(ip) => format!("TCP4-LISTEN:{port},bind={ip}"),
                IpAddr::V6(ip) => format!("TCP6-LISTEN:{port},bind=[{ip}],ipv6only=1"),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                script,
                "{} {} -t {HALF_CLOSED_SECONDS} {listen},fork,backlog=1024,max-children={MOST_CONNECTIONS} \
                 UNIX-CONNECT:{} </dev/null >/dev/null 2>&1 &",
                setsid.path(),
                socat.path(),
                self.socket(index).display(),
            );
        }
        let _ = writeln!(script, "exec {} -i \"$@\"", env.path());
        script
    }
}

/// The inner sandbox's first process, by its number in the process namespace that `first` is the first process of.
pub(super) fn inner_process(first: u32, number: u32) -> Result<u32, LaunchError> {
    let look = || -> io::Result<Option<u32>> {
        let depth = namespace_numbers(first)?.len().saturating_sub(1);
        for child in children(first)? {
            for grandchild in children(child)? {
                if namespace_numbers(grandchild).is_ok_and(|numbers| numbers.get(depth) == Some(&number)) {
                    return Ok(Some(grandchild));
                }
            }
        }
        Ok(None)
    };
    let found = look().map_err(failed("looking for the sandbox's first process"))?;
    found.ok_or_else(|| LaunchError::Bridge("the sandbox's first process is not to be found".into()))
}

/// Waits until a socat listens at each of `addresses`, and says at which one does: none where the machine has no IPv6.
/// `first` is the outer sandbox's first process; `ended` turns readable when it is over with it.
pub(super) fn wait_until_listening(
    first: u32,
    addresses: &[SocketAddr],
    ended: BorrowedFd<'_>,
) -> Result<Vec<bool>, LaunchError> {
    const A_MOMENT: Duration = Duration::from_micros(300);
    let looking = failed("looking at the bridge's ports");
    let has_v6 = table(first, "if_inet6").map_err(&looking)?.contains("00000000000000000000000000000001");
    let wanted: Vec<bool> = addresses.iter().map(|address| address.is_ipv4() || has_v6).collect();
    let socats = children(first).map_err(&looking)?.into_iter().next();
    let deadline = Instant::now() + LISTENING_TIME;
    loop {
        let listening = listening(first).map_err(&looking)?;
        let mut missing = addresses
            .iter()
            .zip(&wanted)
            .filter(|(address, is_wanted)| **is_wanted && !listening.contains(address));
        let Some((address, _)) = missing.next() else { return Ok(wanted) };
        let alive = socats.map(children).transpose().map_err(&looking)?.unwrap_or_default().len();
        // One more is the inner sandbox.
        let has_failed = alive <= wanted.iter().filter(|is_wanted| **is_wanted).count();
        if has_failed || Instant::now() > deadline {
            return Err(LaunchError::Bridge(format!("socat does not listen at {address} in the sandbox")));
        }
        if wait_readable(ended, Instant::now() + A_MOMENT).map_err(&looking)? {
            return Err(LaunchError::Bridge("bubblewrap has ended".into()));
        }
    }
}

fn listening(pid: u32) -> io::Result<Vec<SocketAddr>> {
    let tables = [table(pid, "tcp")?, table(pid, "tcp6")?];
    Ok(tables.iter().flat_map(|table| table.lines().filter_map(listener_in)).collect())
}

/// A table of the network namespace of process `pid`; empty where the machine has none of that name.
fn table(pid: u32, name: &str) -> io::Result<String> {
    match std::fs::read_to_string(format!("/proc/{pid}/net/{name}")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        table => table,
    }
}

/// The address of a line of `/proc/net/tcp` or `tcp6`, if it is a listener's. The address stands there as the
/// kernel's 32-bit words of it, in the machine's order of bytes.
fn listener_in(line: &str) -> Option<SocketAddr> {
    const LISTENS: &str = "0A";
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (address, port) = local.split_once(':')?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    (state == LISTENS).then_some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

fn children(pid: u32) -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// The numbers of a process, from this process's namespace to its own.
fn namespace_numbers(pid: u32) -> io::Result<Vec<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    Ok(line.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    #[test]
    fn who_listens_is_read_from_the_tables() {
        let header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
        assert_eq!(listener_in(header), None);
        let established = "   0: 0100007F:1F90 0100007F:0050 01 00000000:00000000 00:00000000 00000000";
        assert_eq!(listener_in(established), None);
        let own = std::process::id();
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
            // A machine without IPv6 has only the first.
            let Ok(listener) = TcpListener::bind((ip, 0)) else { continue };
            let address = listener.local_addr().expect("bound");
            assert!(listening(own).expect("readable").contains(&address), "{address}");
            drop(listener);
            assert!(!listening(own).expect("readable").contains(&address), "{address}");
        }
    }

    #[test]
    fn the_script_names_addresses_and_sockets_and_nothing_else() {
        let find = |name| Program::find(name, None, |_| false).expect("every system has it");
        let socat = Socat::new(find("true"), |_| false).expect("every system has them");
        let sockets = AbsPath::new("/s").expect("absolute");
        let listen = ["127.0.0.1:61080", "[::1]:81"].map(|text| text.parse().expect("an address"));
        let script = Bridge { socat: &socat, sockets: &sockets, listen: &listen }.script();
        let script = socat.paths().fold(script, |text, path| {
            let name = path.as_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            text.replace(&path.to_string(), &name)
        });
        insta::assert_snapshot!(script, @r#"
        setsid true -t 3600 TCP4-LISTEN:61080,bind=127.0.0.1,fork,backlog=1024,max-children=320 UNIX-CONNECT:/s/0 </dev/null >/dev/null 2>&1 &
        setsid true -t 3600 TCP6-LISTEN:81,bind=[::1],ipv6only=1,fork,backlog=1024,max-children=320 UNIX-CONNECT:/s/1 </dev/null >/dev/null 2>&1 &
        exec env -i "$@"
        "#);
    }
}
