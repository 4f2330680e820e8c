//! The gate: the one way from a command to the outside, for every protocol that the proxy speaks.
//!
//! ```text
//! endpoint ─judge─▶ allowed ─look up─▶ addresses ─vet─▶ Dialables ─dial─▶ Upstream
//!             └─▶ refused                           └─▶ refused     └─▶ out of reach
//! ```
//!
//! What the command controls: the endpoint, how often and how many at once; through a name that it may ask
//! for, perhaps the addresses as well. It controls neither the rules nor which addresses are this machine's.
//! Hence:
//!
//! - a name is looked up only after the rules allow it, and once: what was vetted is what is dialed;
//! - whatever is neither allowed nor understood is refused, and every refusal is a violation, laid to this
//!   command;
//! - a name that leads nowhere, or a server that does not answer, is no violation: nothing was refused.
//!
//! What the gate does not do: it does not look at what is sent once a connection stands.

use crate::dial::dial;
use crate::limits;
use crate::lookup::{Lookup, LookupError};
use crate::violations::{Violations, printable};
use palisade_policy::{
    AddressClass, Dialable, Endpoint, Host, HostVerdict, IndexedNetwork, NetworkPolicy, VetError, Violation,
    ViolationKind,
};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Why a target with an `@` is refused.
const USER_INFORMATION: &str = "the target has user information, which the proxy does not pass on";

/// Decides and opens the connections of one command.
pub(crate) struct Gate {
    network: watch::Receiver<Arc<IndexedNetwork>>,
    lookup: Arc<Lookup>,
    violations: Violations,
    upstreams: Arc<Semaphore>,
}

/// A connection to the outside. It counts towards [`limits::UPSTREAMS`] until it is dropped.
pub(crate) struct Upstream {
    pub(crate) stream: TcpStream,
    /// To be kept for as long as the stream.
    pub(crate) slot: OwnedSemaphorePermit,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoUpstream {
    #[error("{} is refused: {}", .0.target(), .0.reason)]
    Refused(Box<Violation>),
    #[error("this command has {0} connections open already, the most that it may have at once")]
    TooMany(usize),
    #[error(transparent)]
    LookUp(#[from] LookupError),
    #[error("{0} cannot be reached: {1}")]
    Dial(Endpoint, io::Error),
}

impl Gate {
    pub(crate) fn new(network: watch::Receiver<Arc<IndexedNetwork>>, lookup: Arc<Lookup>) -> Self {
        let upstreams = Arc::new(Semaphore::new(limits::UPSTREAMS));
        Gate { network, lookup, violations: Violations::default(), upstreams }
    }

    pub(crate) fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Connects to `endpoint`, when it may be reached.
    pub(crate) async fn open(&self, endpoint: &Endpoint) -> Result<Upstream, NoUpstream> {
        let network = self.network();
        self.judge_by(&network, endpoint)?;
        let slot = Arc::clone(&self.upstreams)
            .try_acquire_owned()
            .map_err(|_| NoUpstream::TooMany(limits::UPSTREAMS))?;
        let addresses = self.lookup.addresses(&endpoint.host).await?;
        let dialable = self.vet(&network, endpoint, &addresses)?;
        let stream = dial(&dialable).await.map_err(|error| NoUpstream::Dial(endpoint.clone(), error))?;
        Ok(Upstream { stream, slot })
    }

    /// The same for a client that connected to `address` inside, which stands for `endpoint`. By which name it came
    /// there is not known, so none that leads there may be denied.
    pub(crate) async fn open_direct(
        &self,
        endpoint: &Endpoint,
        address: IpAddr,
    ) -> Result<Upstream, NoUpstream> {
        if let Some(rule) = self.network().policy().denies_by_some_name(address, endpoint.port) {
            let because = Because::verdict(self.network().policy(), HostVerdict::Deny(Some(rule)), endpoint);
            return Err(self.refuse(ViolationKind::Network(endpoint.clone()), because));
        }
        self.open(endpoint).await
    }

    /// Only the rules' word on `endpoint`, for a request that an open connection could carry.
    pub(crate) fn judge(&self, endpoint: &Endpoint) -> Result<(), NoUpstream> {
        self.judge_by(&self.network(), endpoint)
    }

    /// The rules in force at this moment.
    fn network(&self) -> Arc<IndexedNetwork> {
        Arc::clone(&self.network.borrow())
    }

    fn judge_by(&self, network: &IndexedNetwork, endpoint: &Endpoint) -> Result<(), NoUpstream> {
        let because = match network.judge(endpoint) {
            HostVerdict::Allow(_) => return Ok(()),
            verdict => Because::verdict(network.policy(), verdict, endpoint),
        };
        Err(self.refuse(ViolationKind::Network(endpoint.clone()), because))
    }

    /// Refuses a target that cannot be read as an endpoint. What stands before its last `@`, which no host
    /// holds, names a user and perhaps a password: it is shown nowhere.
    pub(crate) fn refuse_unreadable(&self, target: &[u8], reason: String) -> NoUpstream {
        let (target, reason) = match target.iter().rposition(|&byte| byte == b'@') {
            Some(at) => (&target[at + 1..], USER_INFORMATION.into()),
            None => (target, reason),
        };
        let kind = ViolationKind::UnreadableHost(printable(target).into());
        self.refuse(kind, Because { reason, remedy: None })
    }

    fn vet(
        &self,
        network: &IndexedNetwork,
        endpoint: &Endpoint,
        addresses: &[IpAddr],
    ) -> Result<Vec<Dialable>, NoUpstream> {
        let own = self.lookup.own_addresses()?;
        network.vet(endpoint, addresses, &own).map_err(|error| {
            self.refuse(
                ViolationKind::Network(endpoint.clone()),
                Because::vet_error(network.policy(), &error, endpoint),
            )
        })
    }

    fn refuse(&self, kind: ViolationKind, because: Because) -> NoUpstream {
        NoUpstream::Refused(Box::new(self.violations.add(kind, &because.reason, because.remedy)))
    }
}

impl NoUpstream {
    /// For a client whose protocol has room for text: what happened, and what can be done about it.
    pub(crate) fn text(&self) -> String {
        let remedy = match self {
            NoUpstream::Refused(violation) => violation.remedy.as_deref(),
            _ => None,
        };
        remedy.map_or_else(|| self.to_string(), |remedy| format!("{self}\nTo allow it: {remedy}"))
    }
}

/// Why the rules refuse an endpoint, and what would make them allow it.
#[derive(Debug, PartialEq, Eq)]
struct Because {
    reason: String,
    remedy: Option<String>,
}

impl Because {
    /// Of a verdict other than `Allow`.
    fn verdict(network: &NetworkPolicy, verdict: HostVerdict<'_>, endpoint: &Endpoint) -> Self {
        match verdict {
            HostVerdict::Deny(Some(rule)) => {
                Because { reason: format!("denied by {}", rule.origin), remedy: None }
            }
            HostVerdict::Deny(None) => Because {
                reason: "not on the allow list, and other hosts are refused without asking".into(),
                remedy: Some(network.to_allow(endpoint)),
            },
            HostVerdict::Ask | HostVerdict::Allow(_) => Because {
                reason: "not on the allow list, and nothing decides other hosts".into(),
                remedy: Some(network.to_allow(endpoint)),
            },
        }
    }

    /// Of addresses that did not pass. Nothing should open a metadata endpoint, so no way is shown.
    fn vet_error(network: &NetworkPolicy, error: &VetError, endpoint: &Endpoint) -> Self {
        use AddressClass::{Elsewhere, LinkLocal, Loopback, Metadata, Multicast, ThisMachine, Unspecified};
        let remedy = match error {
            VetError::Class { address, class: Loopback | LinkLocal | ThisMachine } => {
                let itself = Endpoint { host: Host::from(*address), port: endpoint.port };
                Some(network.to_allow(&itself))
            }
            VetError::Class { class: Elsewhere | Metadata | Multicast | Unspecified, .. } => None,
            VetError::NoAddress | VetError::Denied { .. } => None,
        };
        Because { reason: error.to_string(), remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NameServer, endpoint, network};
    use std::net::Ipv4Addr;
    use tokio::net::{TcpListener, TcpSocket};

    /// Rules that do not change.
    fn fixed(network: NetworkPolicy) -> watch::Receiver<Arc<IndexedNetwork>> {
        watch::channel(Arc::new(IndexedNetwork::new(network))).1
    }

    /// What the gate says to `asked`, and the violation that it left behind.
    async fn outcome(network: &NetworkPolicy, lookup: &Arc<Lookup>, asked: &str) -> (String, Vec<Violation>) {
        let gate = Gate::new(fixed(network.clone()), Arc::clone(lookup));
        let said = match gate.open(&endpoint(asked)).await {
            Ok(upstream) => format!("connected to {}", upstream.stream.peer_addr().expect("connected")),
            Err(error) => error.to_string(),
        };
        (said, gate.violations().listed())
    }

    /// A port of loopback on which nobody listens, and from which nobody dials: it is taken as long as the value lives.
    struct Unused(u16, #[expect(dead_code, reason = "held, so that the port stays taken")] TcpSocket);

    fn unused_port() -> Unused {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        Unused(socket.local_addr().expect("bound").port(), socket)
    }

    #[tokio::test]
    async fn who_gets_where() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
        let port = listener.local_addr().expect("bound").port();
        let server = NameServer::start(&[
            ("evil.test", &[&["127.0.0.1"]]),
            ("meta.test", &[&["169.254.169.254"]]),
            ("mixed.test", &[&["127.0.0.2", "127.0.0.1"]]),
        ])
        .await;
        let lookup = Arc::new(server.lookup("/nonexistent".as_ref()));
        let here = format!("127.0.0.1:{port}");
        let reached = format!("connected to {here}");
        let localhost = format!("localhost:{port}");
        let closed = "which is reached only when it is allowed itself";
        for (allowed, denied, asked, expected) in [
            (&[&*here][..], &[][..], "127.0.0.1", &*reached),
            (&[&here], &[], "0x7f.1", &reached),
            (&[&here], &[], "[::ffff:127.0.0.1]", &reached),
            (&["localhost"], &[], "localhost", &reached),
            (&[&localhost], &[], "localhost", &reached),
            (&["*.localhost"], &[], "a.localhost", &reached),
            (&["evil.test", &here], &[], "evil.test", &reached),
            (&["mixed.test", &here], &[], "mixed.test", &reached),
            (
                &["*"],
                &[],
                "evil.test",
                &format!("evil.test:PORT is refused: leads to a loopback address (127.0.0.1), {closed}"),
            ),
            (
                &["*"],
                &[],
                "127.1",
                &format!("127.0.0.1:PORT is refused: leads to a loopback address (127.0.0.1), {closed}"),
            ),
            (
                &["*"],
                &[],
                "meta.test",
                &format!(
                    "meta.test:PORT is refused: leads to a cloud metadata endpoint (169.254.169.254), {closed}"
                ),
            ),
            (
                &["*"],
                &["127.0.0.1"],
                "evil.test",
                "evil.test:PORT is refused: leads to 127.0.0.1, which is denied by --test \"127.0.0.1\"",
            ),
            (
                &["*"],
                &["evil.test"],
                "evil.test",
                "evil.test:PORT is refused: denied by --test \"evil.test\"",
            ),
            (
                &["a.test"],
                &[],
                "evil.test",
                "evil.test:PORT is refused: not on the allow list, and nothing decides other hosts",
            ),
            (
                &["evil.test:1"],
                &[],
                "evil.test",
                "evil.test:PORT is refused: not on the allow list, and nothing decides other hosts",
            ),
            (&["*"], &[], "none.test", "the name none.test has no address"),
        ] {
            let network = network(allowed, denied);
            let (said, violations) = outcome(&network, &lookup, &format!("{asked}:{port}")).await;
            assert_eq!(said.replace(&port.to_string(), "PORT"), expected.replace(&port.to_string(), "PORT"));
            assert_eq!(violations.len(), usize::from(said.contains("refused")), "{said}: {violations:?}");
        }
    }

    #[tokio::test]
    async fn what_is_not_allowed_is_not_even_looked_up() {
        let server = NameServer::start(&[("a.test", &[&["127.0.0.1"]])]).await;
        let lookup = Arc::new(server.lookup("/nonexistent".as_ref()));
        outcome(&network(&["b.test"], &["a.test"]), &lookup, "a.test").await;
        outcome(&network(&["b.test"], &[]), &lookup, "a.test").await;
        assert!(server.asked().is_empty(), "{:?}", server.asked());
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_and_what_was_vetted_is_dialed() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
        let port = listener.local_addr().expect("bound").port();
        let server = NameServer::start(&[("rebind.test", &[&["127.0.0.1"], &["127.0.0.2"]])]).await;
        let lookup = Arc::new(server.lookup("/nonexistent".as_ref()));
        let network = network(&["rebind.test", "127.0.0.1"], &[]);
        let (said, _) = outcome(&network, &lookup, &format!("rebind.test:{port}")).await;
        assert_eq!(said, format!("connected to 127.0.0.1:{port}"));
        assert_eq!(server.asked(), ["rebind.test."]);
        let (said, _) = outcome(&network, &lookup, &format!("rebind.test:{port}")).await;
        assert!(said.contains("leads to a loopback address (127.0.0.2)"), "{said}");
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_is_no_violation() {
        let unused = unused_port();
        let lookup = Arc::new(Lookup::with_hosts("/nonexistent"));
        let asked = format!("127.0.0.1:{}", unused.0);
        let (said, violations) = outcome(&network(&["127.0.0.1"], &[]), &lookup, &asked).await;
        assert!(said.starts_with(&format!("{asked} cannot be reached: Connection refused")), "{said}");
        assert_eq!(violations, []);
    }

    #[tokio::test]
    async fn too_many_at_once_are_refused_until_one_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
        let target = endpoint(&listener.local_addr().expect("bound").to_string());
        let network = fixed(network(&["127.0.0.1"], &[]));
        let gate = Gate::new(network, Arc::new(Lookup::with_hosts("/nonexistent")));
        let others = u32::try_from(limits::UPSTREAMS - 1).expect("a small number");
        let _others = gate.upstreams.try_acquire_many(others).expect("none is in use");
        let last = gate.open(&target).await.expect("there is room for one");
        let refused = gate.open(&target).await.err().expect("there is no room").to_string();
        assert_eq!(
            refused,
            "this command has 256 connections open already, the most that it may have at once"
        );
        drop(last);
        assert!(gate.open(&target).await.is_ok(), "there is room again");
    }

    #[test]
    fn remedies() {
        let strict = NetworkPolicy { strict: true, ..network(&[], &[]) };
        let allow_host = Some("add \"x.test\" to sandbox.network.allowedDomains");
        let lock = Some(palisade_policy::Origin::builtin("lock", "true"));
        let locked = NetworkPolicy { lock, ..strict.clone() };
        let managed = Some(
            "add \"x.test\" to sandbox.network.allowedDomains of managed settings; no others count, by built-in lock \"true\"",
        );
        for (policy, reason, remedy) in [
            (network(&[], &[]), "not on the allow list, and nothing decides other hosts", allow_host),
            (locked, "not on the allow list, and other hosts are refused without asking", managed),
            (strict, "not on the allow list, and other hosts are refused without asking", allow_host),
            (network(&[], &["*.test"]), "denied by --test \"*.test\"", None),
        ] {
            let x = endpoint("x.test");
            let because = Because::verdict(&policy, policy.judge(&x), &x);
            assert_eq!((because.reason.as_str(), because.remedy.as_deref()), (reason, remedy));
        }
    }

    #[test]
    fn a_remedy_opens_no_other_port_of_a_machine() {
        for (asked, entry) in [
            ("x.test:18082", "x.test"),
            ("localhost.test:18082", "localhost.test"),
            ("localhost:18082", "localhost:18082"),
            ("a.localhost:18082", "a.localhost:18082"),
            ("127.0.0.1:18082", "127.0.0.1:18082"),
            ("0x7f.1:18082", "127.0.0.1:18082"),
            ("[::1]:18082", "[::1]:18082"),
            ("192.0.2.7:443", "192.0.2.7:443"),
        ] {
            let x = endpoint(asked);
            let network = network(&[], &[]);
            let because = Because::verdict(&network, network.judge(&x), &x);
            let remedy = because.remedy.expect("it can be allowed");
            let expected = format!("add \"{entry}\" to sandbox.network.allowedDomains");
            assert_eq!(remedy, expected, "{asked}");
        }
    }

    #[test]
    fn an_unreadable_target_shows_no_user_and_no_password() {
        let gate = Gate::new(fixed(network(&["*"], &[])), Arc::new(Lookup::with_hosts("/nonexistent")));
        let mut shown = Vec::new();
        for (target, expected) in [
            ("user:pw@a.test:80", format!("a.test:80 is refused: {USER_INFORMATION}")),
            ("user@b.test:80", format!("b.test:80 is refused: {USER_INFORMATION}")),
            ("user:p@w@c.test:80", format!("c.test:80 is refused: {USER_INFORMATION}")),
            (
                &format!("{}:pw@d.test:80", "user".repeat(100)),
                format!("d.test:80 is refused: {USER_INFORMATION}"),
            ),
            ("::1:80", "::1:80 is refused: as the reader says".into()),
        ] {
            let refused = gate.refuse_unreadable(target.as_bytes(), "as the reader says".into());
            assert_eq!(refused.text(), expected, "{target}");
            shown
                .push(format!("deny network-outbound {}", expected.replacen(" is refused: ", " (", 1) + ")"));
        }
        let violations: Vec<String> = gate.violations().listed().iter().map(ToString::to_string).collect();
        assert_eq!(violations, shown);
    }

    #[test]
    fn an_address_is_to_be_allowed_itself_unless_nothing_should_allow_it() {
        let own = palisade_policy::LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
        let allow = |itself: &str| Some(format!("add \"{itself}\" to sandbox.network.allowedDomains"));
        for (address, remedy) in [
            ("127.0.0.1", allow("127.0.0.1:443")),
            ("::1", allow("[::1]:443")),
            ("192.0.2.7", allow("192.0.2.7:443")),
            ("169.254.1.1", allow("169.254.1.1:443")),
            ("169.254.169.254", None),
            ("0.0.0.0", None),
            ("224.0.0.1", None),
        ] {
            let x = endpoint("x.test");
            let network = network(&["*"], &[]);
            let refused = network.vet(&x, &[address.parse().expect("an address")], &own);
            let because = Because::vet_error(&network, &refused.expect_err("none of them passes"), &x);
            assert_eq!(because.remedy, remedy, "{address}");
        }
    }
}
