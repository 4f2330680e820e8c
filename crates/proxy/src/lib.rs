//! The filtering proxy: the only way from a confined command to the network.
//!
//! One [`Proxy`] serves one command, so that every connection is laid to that command. It speaks HTTP/1
//! (CONNECT tunnels and plain requests) and SOCKS5, and carries the connections to single endpoints of the
//! host that the policy allows (`127.0.0.1:3000`) without any protocol. For all three there is one gate: the
//! rules judge the endpoint, the host is looked up, the addresses are vetted, and only what passed is
//! dialed.
//!
//! # What the attacker controls
//!
//! The command inside is the attacker, and it may be working together with a server that it is allowed to
//! reach, or with the owner of a name. It controls every byte that arrives at a listener, when it arrives
//! and how many connections there are; whatever such a server answers; and which addresses such a name leads
//! to. What holds all the same:
//!
//! - Nothing is dialed but a [`Dialable`](palisade_policy::Dialable), which only
//!   [`NetworkPolicy::vet`](palisade_policy::NetworkPolicy::vet) makes. A host is looked up once per
//!   connection, after the rules have allowed it, and the very address that was vetted is dialed: changing
//!   what a name means in between gains nothing.
//! - A host is judged in its one normal spelling ([`Host::parse`](palisade_policy::Host::parse)), and that
//!   spelling is what the server gets to see in plain HTTP. Messages are rebuilt from their parsed parts.
//! - What is not understood is refused. Every refusal is a [`Violation`], by evidence of the proxy itself.
//! - Memory, descriptors and time that the command can take up here are bounded by [`limits`].
//!
//! Nobody but the command can ask: the listeners live in the sandbox's own network namespace, where only its
//! processes can connect to them, or are sockets that only a relay in there can reach. So there is no password, and
//! the proxy must not be given a listener that others can reach, such as one on the host's own loopback.
//!
//! # What it deliberately does not do
//!
//! It does not look into tunnels (TLS stays between its two ends: an allowed host carries whatever is sent
//! to it), carries no UDP, and decides nothing that the policy leaves open: such hosts are refused.
#![forbid(unsafe_code)]

mod client;
mod dial;
mod gate;
mod http;
pub mod limits;
mod lookup;
mod pipe;
mod serve;
mod socks;
#[cfg(test)]
mod testing;
mod violations;

pub use client::Listener;
pub use lookup::{Lookup, LookupError};

use client::Watched;
use gate::Gate;
use palisade_policy::{Endpoint, IndexedNetwork, Violation};
use serve::Entrance;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// The listeners of one command, bound where only that command can reach them.
#[derive(Debug)]
pub struct Listeners {
    /// Where HTTP is spoken.
    pub http: Listener,
    /// Where SOCKS5 is spoken.
    pub socks: Listener,
    /// Where each connection leads to one endpoint, without any protocol.
    pub direct: Vec<Direct>,
}

/// A listener whose connections all lead to one endpoint.
#[derive(Debug)]
pub struct Direct {
    /// Where they lead.
    pub endpoint: Endpoint,
    /// The address that clients connect to, inside.
    pub address: IpAddr,
    /// Where they are accepted.
    pub listener: Listener,
}

/// The proxy of one command. When it is dropped, nothing is accepted any more and every open connection ends
/// as soon as the runtime gets to it; [`close`](Self::close) waits for that.
#[must_use = "a proxy ends when it is dropped"]
pub struct Proxy {
    gate: Arc<Gate>,
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Proxy {
    /// Starts serving, on the tokio runtime that this is called from (of either kind, with I/O and time
    /// enabled). Each connection, and each request on one, is judged by the rules that are then in force.
    ///
    /// # Errors
    ///
    /// When there is no such runtime, or a listener is not fit to be served by it.
    pub fn start(
        listeners: Listeners,
        network: watch::Receiver<Arc<IndexedNetwork>>,
        lookup: Arc<Lookup>,
    ) -> io::Result<Proxy> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let entrances = entrances(listeners)?;
        let gate = Arc::new(Gate::new(network, lookup));
        let (stop, stopped) = oneshot::channel();
        let serving = serve::serve(entrances, Arc::clone(&gate), async { stopped.await.unwrap_or_default() });
        Ok(Proxy { gate, task: runtime.spawn(serving), stop: Some(stop) })
    }

    /// What was refused so far: each endpoint and reason once, in the order of their first occurrence, at
    /// most [`limits::VIOLATIONS`].
    pub fn violations(&self) -> Vec<Violation> {
        self.gate.violations().listed()
    }

    /// How many more refusals there were than [`violations`](Self::violations) has room for. Never zero
    /// when something is missing there.
    pub fn violations_left_out(&self) -> u64 {
        self.gate.violations().left_out()
    }

    /// Ends everything and returns when it has ended. The violations can still be asked for.
    pub async fn close(&mut self) {
        let Some(stop) = self.stop.take() else { return };
        drop(stop);
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the proxy failed");
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn entrances(listeners: Listeners) -> io::Result<Vec<(Entrance, Watched)>> {
    let Listeners { http, socks, direct } = listeners;
    let direct = direct
        .into_iter()
        .map(|Direct { endpoint, address, listener }| (Entrance::Direct(endpoint, address), listener));
    [(Entrance::Http, http), (Entrance::Socks, socks)]
        .into_iter()
        .chain(direct)
        .map(|(entrance, listener)| Ok((entrance, Watched::new(listener)?)))
        .collect()
}
