//! From host names to addresses, and which addresses this machine itself holds.
//!
//! The order is that of the system: the hosts file first, then the name servers of the system's
//! configuration. `localhost` and the names below it mean this machine and are never asked of anybody; an
//! address is itself. What an address may be used for is not decided here: everything that comes out of here
//! still has to pass [`NetworkPolicy::vet`](palisade_policy::NetworkPolicy::vet).
//!
//! What the command controls: the name, once the policy has allowed it, and so what its owner's name server
//! answers and how slowly. A name that no rule allows is never asked for, because a question alone carries
//! data out.
//!
//! Deliberately absent: the name services that only the C library's switch knows (mDNS, NIS and the like).

use crate::limits;
use hickory_resolver::config::{LookupIpStrategy, ResolveHosts};
use hickory_resolver::net::NetError;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver};
use palisade_policy::{Host, LocalAddresses};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};
use tokio::time::timeout;

/// Where the system says which addresses names have without asking a server.
const HOSTS_FILE: &str = "/etc/hosts";
/// Where the system says which name servers to ask. Read by hickory; here only watched for changes.
const NAME_SERVERS_FILE: &str = "/etc/resolv.conf";

/// Looks up host names. One serves any number of commands.
///
/// Nothing is read and no server is contacted before the first name is looked up. The system's files are
/// read again when they have changed. The connections to name servers live on the tokio runtime that asked
/// first, so one `Lookup` belongs to one runtime.
pub struct Lookup {
    hosts: Watched<Hosts>,
    resolver: Watched<TokioResolver>,
    own: Mutex<Option<(Instant, Arc<LocalAddresses>)>>,
}

/// Why a host could not be looked up.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The name servers say that there is no such name, or that it has no address.
    #[error("the name {0} has no address")]
    NoAddress(Box<str>),
    /// The name servers did not answer, or not usefully.
    #[error("the name {0} could not be looked up: {1}")]
    NoAnswer(Box<str>, Box<NetError>),
    /// They did not answer in time.
    #[error("the name {0} could not be looked up within {time} seconds", time = limits::LOOKUP_TIME.as_secs())]
    TimedOut(Box<str>),
    /// The hosts file or the configuration of the name servers cannot be read.
    #[error("names cannot be looked up, because of {path}: {error}")]
    Configuration {
        /// The file.
        path: Box<str>,
        /// What is wrong with it.
        error: io::Error,
    },
    /// Without the list of this machine's own addresses nothing can be vetted.
    #[error("the addresses of this machine cannot be listed: {0}")]
    OwnAddresses(io::Error),
}

impl Lookup {
    /// Looks names up as this system is set up to.
    pub fn system() -> Self {
        Self::with_hosts(HOSTS_FILE)
    }

    /// As [`system`](Self::system), with another hosts file. One that does not exist is an empty one.
    pub fn with_hosts(hosts_file: impl Into<PathBuf>) -> Self {
        Lookup {
            hosts: Watched::new(hosts_file),
            resolver: Watched::new(NAME_SERVERS_FILE),
            own: Mutex::default(),
        }
    }

    /// One that asks `resolver` instead of the system's name servers.
    #[cfg(test)]
    pub(crate) fn with_resolver(hosts_file: impl Into<PathBuf>, resolver: TokioResolver) -> Self {
        let lookup = Self::with_hosts(hosts_file);
        let stamp = Stamp::of(&lookup.resolver.path);
        *lookup.resolver.read.lock().expect("nobody else has it") = Some((stamp, Arc::new(resolver)));
        lookup
    }

    /// The addresses of `host`, in the order in which they should be dialed. Never empty.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]; it takes at most [`limits::LOOKUP_TIME`].
    pub async fn addresses(&self, host: &Host) -> Result<Vec<IpAddr>, LookupError> {
        match host {
            Host::Address(address) => Ok(vec![*address]),
            _ if host.is_localhost() => Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            Host::Name(name) => {
                let asked = timeout(limits::LOOKUP_TIME, self.name_addresses(name)).await;
                asked.unwrap_or_else(|_| Err(LookupError::TimedOut(name.clone())))
            }
        }
    }

    /// The addresses of this machine's interfaces, at most [`limits::OWN_ADDRESSES_AGE`] old.
    ///
    /// # Errors
    ///
    /// When the system cannot list them. Nothing may be dialed then.
    pub fn own_addresses(&self) -> Result<Arc<LocalAddresses>, LookupError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        match &*own {
            Some((read, addresses)) if read.elapsed() < limits::OWN_ADDRESSES_AGE => {
                Ok(Arc::clone(addresses))
            }
            _ => {
                let addresses = Arc::new(interface_addresses().map_err(LookupError::OwnAddresses)?);
                *own = Some((Instant::now(), Arc::clone(&addresses)));
                Ok(addresses)
            }
        }
    }

    async fn name_addresses(&self, text: &str) -> Result<Vec<IpAddr>, LookupError> {
        let name = Name::from_ascii(text).map_err(|error| no_answer(text, error.into()))?;
        let listed = listed_addresses(&*self.hosts.current(read_hosts)?, &name);
        if !listed.is_empty() {
            return Ok(listed);
        }
        let resolver = self.resolver.current(|_| system_resolver())?;
        let found = resolver.lookup_ip(name).await.map_err(|error| no_answer(text, error))?;
        let addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() { Err(LookupError::NoAddress(text.into())) } else { Ok(addresses) }
    }
}

fn no_answer(name: &str, error: NetError) -> LookupError {
    if error.is_no_records_found() {
        LookupError::NoAddress(name.into())
    } else {
        LookupError::NoAnswer(name.into(), Box::new(error))
    }
}

/// IPv4 before IPv6, as with the answers of name servers.
fn listed_addresses(hosts: &Hosts, name: &Name) -> Vec<IpAddr> {
    [RecordType::A, RecordType::AAAA]
        .into_iter()
        .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
        .flat_map(|found| {
            found.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>()
        })
        .collect()
}

fn read_hosts(path: &Path) -> io::Result<Hosts> {
    let mut hosts = Hosts::default();
    match fs::read(path) {
        Ok(text) => hosts.read_hosts_conf(&*text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(hosts)
}

fn system_resolver() -> io::Result<TokioResolver> {
    let mut builder = TokioResolver::builder_tokio().map_err(io::Error::other)?;
    let options = builder.options_mut();
    // The hosts file was asked before, by the rules above.
    options.use_hosts_file = ResolveHosts::Never;
    // A machine without IPv6 is common, one without IPv4 is not. Dialing tries all of them, one soon after
    // another.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    builder.build().map_err(io::Error::other)
}

fn interface_addresses() -> io::Result<LocalAddresses> {
    let interfaces = nix::ifaddrs::getifaddrs()?;
    Ok(LocalAddresses::new(interfaces.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
    })))
}

/// What was read from a file, for as long as the file stays as it is.
struct Watched<T> {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<T>)>>,
}

/// What changes when somebody writes or replaces a file; all absent when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(Option<(u64, u64, u64, SystemTime)>);

impl<T> Watched<T> {
    fn new(path: impl Into<PathBuf>) -> Self {
        Watched { path: path.into(), read: Mutex::default() }
    }

    /// What `read` makes of the file now. These are small local files, so reading them may block.
    fn current(&self, read: impl FnOnce(&Path) -> io::Result<T>) -> Result<Arc<T>, LookupError> {
        let mut last = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before reading: a change in between is then seen by the next call.
        let stamp = Stamp::of(&self.path);
        match &*last {
            Some((then, value)) if *then == stamp => Ok(Arc::clone(value)),
            _ => {
                let failed = |error| {
                    let path = self.path.display().to_string().into();
                    LookupError::Configuration { path, error }
                };
                let value = Arc::new(read(&self.path).map_err(failed)?);
                *last = Some((stamp, Arc::clone(&value)));
                Ok(value)
            }
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let stamp =
            fs::metadata(path).and_then(|file| Ok((file.dev(), file.ino(), file.len(), file.modified()?)));
        Stamp(stamp.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NameServer;
    use std::io::Write;

    fn hosts_file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file
    }

    async fn show(lookup: &Lookup, host: &str) -> String {
        match lookup.addresses(&Host::parse(host).expect(host)).await {
            Ok(addresses) => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn hosts_file_then_name_servers() {
        let hosts = hosts_file(
            "# c\n10.0.0.1 a.test A2.test # x\nfd00::1 a.test\n10.0.0.2 a.test\n9.9.9.9 localhost\n",
        );
        let server =
            NameServer::start(&[("a.test", &[&["10.9.9.9"]]), ("b.test", &[&["10.0.0.3", "10.0.0.4"]])])
                .await;
        let lookup = server.lookup(hosts.path());
        for (host, expected) in [
            ("a.test", "10.0.0.1 10.0.0.2 fd00::1"),
            ("a2.test", "10.0.0.1"),
            ("b.test", "10.0.0.3 10.0.0.4"),
            ("none.test", "the name none.test has no address"),
            ("10.1.2.3", "10.1.2.3"),
            ("[::1]", "::1"),
            ("localhost", "127.0.0.1 ::1"),
            ("x.localhost", "127.0.0.1 ::1"),
        ] {
            assert_eq!(show(&lookup, host).await, expected, "{host}");
        }
        assert_eq!(server.asked(), ["b.test."], "no other name needed a server");
    }

    #[tokio::test]
    async fn a_changed_hosts_file_is_read_again() {
        let mut hosts = hosts_file("10.0.0.1 a.test\n");
        let server = NameServer::start(&[]).await;
        let lookup = server.lookup(hosts.path());
        assert_eq!(show(&lookup, "a.test").await, "10.0.0.1");
        writeln!(hosts, "10.0.0.2 a.test").expect("written");
        assert_eq!(show(&lookup, "a.test").await, "10.0.0.1 10.0.0.2");
        hosts.close().expect("removed");
        assert_eq!(show(&lookup, "a.test").await, "the name a.test has no address");
    }

    #[tokio::test]
    async fn a_hosts_file_that_cannot_be_read_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let shown = show(&Lookup::with_hosts(directory.path()), "a.test").await;
        assert!(shown.starts_with("names cannot be looked up, because of /"), "{shown}");
    }

    #[test]
    fn own_addresses_are_those_of_the_interfaces() {
        let own = Lookup::system().own_addresses().expect("listed");
        for address in nix::ifaddrs::getifaddrs().expect("listed").filter_map(|i| i.address) {
            if let Some(address) = address.as_sockaddr_in() {
                let class = own.class(address.ip().into());
                assert_ne!(class, palisade_policy::AddressClass::Elsewhere, "{address}");
            }
        }
    }
}
