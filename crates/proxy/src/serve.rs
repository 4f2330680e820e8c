//! Accepting connections, on all listeners of one command, in one task that owns every connection.
//!
//! The command controls how many connections there are and how long they rest. No more than
//! [`limits::CLIENTS`] are served at once; the task sees each of them end. When the task ends they all end.

use crate::client::{Client, Watched};
use crate::gate::Gate;
use crate::pipe::pipe;
use crate::{http, limits, socks};
use palisade_policy::Endpoint;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What is spoken on a listener.
#[derive(Debug, Clone)]
pub(crate) enum Entrance {
    Http,
    Socks,
    /// Nothing: whoever connects to this address inside is connected to the endpoint.
    Direct(Endpoint, IpAddr),
}

/// Serves until `stop` ends, and then ends every connection before it returns.
pub(crate) async fn serve(
    listeners: Vec<(Entrance, Watched)>,
    gate: Arc<Gate>,
    stop: impl Future<Output = ()>,
) {
    let mut connections = JoinSet::new();
    let mut turn = 0;
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection of the proxy failed");
                }
            }
            accepted = next_client(&listeners, &mut turn), if connections.len() < limits::CLIENTS => {
                match accepted {
                    Ok((entrance, stream)) => {
                        connections.spawn(serve_client(entrance, stream, Arc::clone(&gate)));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the proxy could not accept a connection");
                        sleep(limits::ACCEPT_PAUSE).await;
                    }
                }
            }
        }
    }
    drop(listeners);
    connections.shutdown().await;
}

async fn serve_client(entrance: Entrance, stream: Client, gate: Arc<Gate>) {
    if let Err(error) = stream.send_at_once() {
        tracing::debug!(%error, "a client was gone before it was served");
        return;
    }
    match entrance {
        Entrance::Http => http::serve(stream, gate).await,
        Entrance::Socks => socks::serve(stream, &gate).await,
        Entrance::Direct(endpoint, address) => match gate.open_direct(&endpoint, address).await {
            Ok(upstream) => pipe(stream, upstream.stream, &[]).await,
            Err(error) => tracing::debug!(error = error.text(), "a direct connection was not made"),
        },
    }
}

/// The next connection on any listener. `turn` is whose turn it is to be asked first.
async fn next_client(listeners: &[(Entrance, Watched)], turn: &mut usize) -> io::Result<(Entrance, Client)> {
    poll_fn(|cx| poll_client(listeners, turn, cx)).await
}

fn poll_client(
    listeners: &[(Entrance, Watched)],
    turn: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<io::Result<(Entrance, Client)>> {
    for step in 0..listeners.len() {
        let at = turn.wrapping_add(step) % listeners.len();
        if let Poll::Ready(accepted) = listeners[at].1.poll_accept(cx) {
            *turn = at + 1;
            return Poll::Ready(accepted.map(|stream| (listeners[at].0.clone(), stream)));
        }
    }
    Poll::Pending
}
