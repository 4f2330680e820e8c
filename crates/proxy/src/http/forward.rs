//! Passing plain requests on to their servers, for one connection from the command.
//!
//! The server's side of things is as little to be trusted as the client's: hyper parses what it answers and
//! writes it anew. A connection to a server is kept for the next request to the same endpoint, but carries
//! only requests that may be sent twice. The server may close it at any moment, and whether a request had
//! reached it by then cannot be known; anything else gets a connection of its own. Nothing is shared between
//! connections of the command.

use super::request;
use crate::gate::{Gate, NoUpstream};
use http_body_util::{Either, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use palisade_policy::Endpoint;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;

type Sender = SendRequest<Either<Incoming, Empty<Bytes>>>;

/// The servers' side of one connection from the command. Its end ends all that it started.
pub(crate) struct Forwarder {
    gate: Arc<Gate>,
    kept: Mutex<Option<(Endpoint, Sender)>>,
    tasks: Mutex<JoinSet<()>>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    NoUpstream(#[from] NoUpstream),
    #[error("{0}")]
    Http(Box<dyn std::error::Error + Send + Sync>),
}

impl Forwarder {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Forwarder { gate, kept: Mutex::default(), tasks: Mutex::default() }
    }

    /// Passes on a request that the gate's rules allow.
    pub(crate) async fn send(
        &self,
        endpoint: &Endpoint,
        request: Request<Incoming>,
    ) -> Result<Response<Incoming>, Failure> {
        let (mut head, body) = request.into_parts();
        request::for_server(&mut head, endpoint).map_err(http)?;
        let response = if request::is_repeatable(&head, !body.is_end_stream()) {
            self.send_repeatable(endpoint, head).await?
        } else {
            self.connect(endpoint).await?.send_request(whole(head, Either::Left(body))).await.map_err(http)?
        };
        for_client(response)
    }

    /// Runs `task` until it or this connection ends.
    pub(crate) fn beside(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends the connection that is kept for another request.
    pub(crate) fn let_go(&self) {
        lock(&self.kept).take();
    }

    async fn send_repeatable(&self, endpoint: &Endpoint, head: Parts) -> Result<Response<Incoming>, Failure> {
        if let Some(mut sender) = self.take_kept(endpoint).await {
            let first = sender.send_request(whole(head.clone(), Either::Right(Empty::new()))).await;
            if let Ok(response) = first {
                return Ok(self.keep(endpoint, sender, response));
            }
        }
        let mut sender = self.connect(endpoint).await?;
        let response = sender.send_request(whole(head, Either::Right(Empty::new()))).await.map_err(http)?;
        Ok(self.keep(endpoint, sender, response))
    }

    async fn take_kept(&self, endpoint: &Endpoint) -> Option<Sender> {
        let (kept_for, mut sender) = lock(&self.kept).take()?;
        // It is ready once the last response has been read to its end, which the client's next request
        // implies.
        (kept_for == *endpoint && sender.ready().await.is_ok()).then_some(sender)
    }

    fn keep(&self, endpoint: &Endpoint, sender: Sender, response: Response<Incoming>) -> Response<Incoming> {
        *lock(&self.kept) = Some((endpoint.clone(), sender));
        response
    }

    async fn connect(&self, endpoint: &Endpoint) -> Result<Sender, Failure> {
        let upstream = self.gate.open(endpoint).await?;
        let slot = upstream.slot;
        let (sender, connection) = Builder::new()
            .preserve_header_case(true)
            .handshake(TokioIo::new(upstream.stream))
            .await
            .map_err(http)?;
        self.beside(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a server broke off");
            }
            drop(slot);
        });
        Ok(sender)
    }
}

fn whole(head: Parts, body: Either<Incoming, Empty<Bytes>>) -> Request<Either<Incoming, Empty<Bytes>>> {
    Request::from_parts(head, body)
}

fn for_client(mut response: Response<Incoming>) -> Result<Response<Incoming>, Failure> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::Http("it switches protocols, which was not asked for".into()));
    }
    request::for_next_hop(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    Ok(response)
}

fn http(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::Http(error.into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
