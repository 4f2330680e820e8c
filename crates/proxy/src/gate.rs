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
//! - whatever is neither allowed nor understood is refused, and every refusal is a violation, laid to this command;
//! - a name that leads nowhere, or a server that does not answer, is no violation: nothing was refused.
//!
//! What the gate does not do: it does not look at what is sent once a connection stands.

use crate::dial::dial;
use crate::limits;
use crate::lookup::{Lookup, LookupError};
use crate::violations::{Violations, printable};
use palisade_policy::{
    AddressClass, Dialable, Endpoint, Host, HostVerdict, NetworkPolicy, VetError, Violation, ViolationKind,
};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Decides and opens the connections of one command.
pub(crate) struct Gate {
    network: Arc<NetworkPolicy>,
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
    pub(crate) fn new(network: Arc<NetworkPolicy>, lookup: Arc<Lookup>) -> Self {
        let upstreams = Arc::new(Semaphore::new(limits::UPSTREAMS));
        Gate { network, lookup, violations: Violations::default(), upstreams }
    }

    pub(crate) fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Connects to `endpoint`, when it may be reached.
    pub(crate) async fn open(&self, endpoint: &Endpoint) -> Result<Upstream, NoUpstream> {
        self.judge(endpoint)?;
        let slot = Arc::clone(&self.upstreams)
            .try_acquire_owned()
            .map_err(|_| NoUpstream::TooMany(limits::UPSTREAMS))?;
        let addresses = self.lookup.addresses(&endpoint.host).await?;
        let dialable = self.vet(endpoint, &addresses)?;
        let stream = dial(&dialable).await.map_err(|error| NoUpstream::Dial(endpoint.clone(), error))?;
        Ok(Upstream { stream, slot })
    }

    /// Only the rules' word on `endpoint`, for a request that an open connection could carry.
    pub(crate) fn judge(&self, endpoint: &Endpoint) -> Result<(), NoUpstream> {
        let because = match self.network.judge(endpoint) {
            HostVerdict::Allow(_) => return Ok(()),
            verdict => Because::verdict(verdict, endpoint),
        };
        Err(self.refuse(ViolationKind::Network(endpoint.clone()), because))
    }

    /// Refuses a target that cannot be read as an endpoint.
    pub(crate) fn refuse_unreadable(&self, target: &[u8], reason: String) -> NoUpstream {
        let kind = ViolationKind::UnreadableHost(printable(target).into());
        self.refuse(kind, Because { reason, remedy: None })
    }

    fn vet(&self, endpoint: &Endpoint, addresses: &[IpAddr]) -> Result<Vec<Dialable>, NoUpstream> {
        let own = self.lookup.own_addresses()?;
        self.network.vet(endpoint, addresses, &own).map_err(|error| {
            self.refuse(ViolationKind::Network(endpoint.clone()), Because::vet_error(&error, endpoint))
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
    fn verdict(verdict: HostVerdict<'_>, endpoint: &Endpoint) -> Self {
        match verdict {
            HostVerdict::Deny(Some(rule)) => {
                Because { reason: format!("denied by {}", rule.origin), remedy: None }
            }
            HostVerdict::Deny(None) => Because {
                reason: "not on the allow list, and other hosts are refused without asking".into(),
                remedy: Some(allow_host(endpoint)),
            },
            HostVerdict::Ask | HostVerdict::Allow(_) => Because {
                reason: "not on the allow list, and nothing decides other hosts".into(),
                remedy: Some(allow_host(endpoint)),
            },
        }
    }

    /// Of addresses that did not pass. Nothing should open a metadata endpoint, so no way is shown.
    fn vet_error(error: &VetError, endpoint: &Endpoint) -> Self {
        use AddressClass::{Elsewhere, LinkLocal, Loopback, Metadata, Multicast, ThisMachine, Unspecified};
        let remedy = match error {
            VetError::Class { address, class: Loopback | LinkLocal | ThisMachine } => {
                let itself = Endpoint { host: Host::from(*address), port: endpoint.port };
                Some(allow_address(&itself))
            }
            VetError::Class { class: Elsewhere | Metadata | Multicast | Unspecified, .. } => None,
            VetError::NoAddress | VetError::Denied { .. } => None,
        };
        Because { reason: error.to_string(), remedy }
    }
}

fn allow_host(endpoint: &Endpoint) -> String {
    format!(
        "add \"{}\" to sandbox.network.allowedDomains, or give --allow-host {endpoint} for one run",
        endpoint.host
    )
}

fn allow_address(itself: &Endpoint) -> String {
    format!("add \"{itself}\" to sandbox.network.allowedDomains, or give --allow-host {itself} for one run")
}
