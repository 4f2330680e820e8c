//! HTTP/1 for the command: CONNECT tunnels and plain requests with an absolute URL.
//!
//! The parsing and writing of messages is hyper's; what they mean to a proxy is decided in [`request`], and
//! who may be reached by the [gate](crate::gate). Each request on a kept-alive connection is judged on its
//! own. Every answer of the proxy itself is plain text that starts with `palisade:`. (Where hyper cannot
//! read a request it answers by status alone: 400, 414, 431.)
//!
//! An answer may take as long as its client waits for it: when the client goes, its server connections go.
//!
//! Deliberately absent: `https://` URLs in plain requests (a proxy that took them would see what is to stay
//! between the two ends), switching protocols outside a tunnel, HTTP/2, caching, credentials.

mod forward;
mod request;

use crate::client::Client as Stream;
use crate::gate::{Gate, NoUpstream, Upstream};
use crate::limits;
use crate::pipe::pipe;
use forward::Forwarder;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderValue};
use hyper::server::conn::http1::{Builder, UpgradeableConnection};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use palisade_policy::{Endpoint, ViolationKind};
use request::{BadRequest, Wish};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

type Answer = Response<Either<Incoming, Full<Bytes>>>;

/// Serves one connection until it ends.
pub(crate) async fn serve(stream: Stream, gate: Arc<Gate>) {
    let client =
        Arc::new(Client { forwarder: Forwarder::new(Arc::clone(&gate)), gate, tunnel: Mutex::default() });
    let service = service_fn(|request| {
        let client = Arc::clone(&client);
        async move { Ok::<_, Infallible>(client.answer(request).await) }
    });
    let mut connection = builder().serve_connection(TokioIo::new(stream), service).with_upgrades();
    match (&mut connection).await {
        Ok(()) => client.run_tunnel().await,
        Err(error) if error.is_timeout() => tell_time_out(connection).await,
        Err(error) if error.is_parse() && !error.is_parse_too_large() => {
            client.gate.refuse_unreadable(b"(HTTP request)", format!("it cannot be read: {error}"));
        }
        Err(error) => tracing::debug!(%error, "an HTTP client's connection broke off"),
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HANDSHAKE_TIME)
        .max_header_size(limits::REQUEST_HEAD)
        .preserve_header_case(true);
    builder
}

/// Says so when a client was in the middle of a request. One that only kept its connection open needs no
/// word.
async fn tell_time_out<S>(connection: UpgradeableConnection<TokioIo<Stream>, S>)
where
    S: hyper::service::HttpService<Incoming, ResBody = Either<Incoming, Full<Bytes>>>,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let Some(parts) = connection.into_parts().filter(|parts| !parts.read_buf.is_empty()) else { return };
    let text =
        format!("palisade: the request took longer than {} s to arrive\n", limits::HANDSHAKE_TIME.as_secs());
    let head =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{text}", text.len());
    let mut stream = parts.io.into_inner();
    // A client that is gone already does not hear it.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// One connection from the command.
struct Client {
    gate: Arc<Gate>,
    forwarder: Forwarder,
    /// The tunnel that the connection becomes once the answer to its CONNECT is sent.
    tunnel: Mutex<Option<(OnUpgrade, Upstream)>>,
}

impl Client {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        match request::read(&head) {
            Ok(Wish::Tunnel(_)) if !body.is_end_stream() => {
                closing(plain(StatusCode::BAD_REQUEST, "a CONNECT request has no body"))
            }
            Ok(Wish::Tunnel(endpoint)) => {
                let upgrade = hyper::upgrade::on(Request::from_parts(head, body));
                self.open_tunnel(&endpoint, upgrade).await
            }
            Ok(Wish::Forward(endpoint)) => self.forward(&endpoint, Request::from_parts(head, body)).await,
            Err(BadRequest::Kind(status, text)) => closing(plain(status, text)),
            Err(BadRequest::Host { target, reason }) => {
                closing(refusal(&self.gate.refuse_unreadable(target.as_bytes(), reason)))
            }
        }
    }

    /// What a client sends right behind a CONNECT is meant for the tunnel: refused, it must not be read as a
    /// request.
    async fn open_tunnel(&self, endpoint: &Endpoint, upgrade: OnUpgrade) -> Answer {
        match self.gate.open(endpoint).await {
            Ok(upstream) => {
                self.forwarder.let_go();
                *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, upstream));
                Response::new(Either::Right(Full::default()))
            }
            Err(error) => closing(refusal(&error)),
        }
    }

    async fn forward(&self, endpoint: &Endpoint, request: Request<Incoming>) -> Answer {
        if let Err(error) = self.gate.judge(endpoint) {
            self.take_in(request);
            return refusal(&error);
        }
        match self.forwarder.send(endpoint, request).await {
            Ok(response) => response.map(Either::Left),
            Err(forward::Failure::NoUpstream(error)) => closing(refusal(&error)),
            Err(forward::Failure::Http(error)) => closing(plain(
                StatusCode::BAD_GATEWAY,
                &format!("{endpoint} did not answer properly: {error}"),
            )),
        }
    }

    /// Reads the rest of a refused request, within bounds: many clients send all of it before they read the
    /// answer.
    fn take_in(&self, request: Request<Incoming>) {
        if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
            return;
        }
        self.forwarder.beside(async move {
            let mut body = http_body_util::Limited::new(request.into_body(), limits::REFUSED_BODY);
            let all = async { while let Some(Ok(_)) = body.frame().await {} };
            let _ = timeout(limits::HANDSHAKE_TIME, all).await;
        });
    }

    /// Runs the tunnel, if this connection has become one.
    async fn run_tunnel(&self) {
        let tunnel = self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((upgrade, upstream)) = tunnel else { return };
        match upgrade.await.map(|upgraded| upgraded.downcast::<TokioIo<Stream>>()) {
            Ok(Ok(parts)) => pipe(parts.io.into_inner(), upstream.stream, &parts.read_buf).await,
            Ok(Err(_)) => tracing::error!("a tunnel's socket is of an unexpected type"),
            Err(error) => tracing::debug!(%error, "a client went away before its tunnel stood"),
        }
    }
}

/// What clients show that do not show the body of a refused CONNECT: who it was.
const FORBIDDEN: ReasonPhrase = ReasonPhrase::from_static(b"Forbidden by palisade");

/// The answer when there is no connection to the server.
fn refusal(error: &NoUpstream) -> Answer {
    let mut answer = plain(status_of(error), &error.text());
    if answer.status() == StatusCode::FORBIDDEN {
        answer.extensions_mut().insert(FORBIDDEN);
    }
    answer
}

fn status_of(error: &NoUpstream) -> StatusCode {
    match error {
        NoUpstream::Refused(violation) if matches!(violation.kind, ViolationKind::UnreadableHost(_)) => {
            StatusCode::BAD_REQUEST
        }
        NoUpstream::Refused(_) => StatusCode::FORBIDDEN,
        NoUpstream::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
        NoUpstream::Dial(_, error) if error.kind() == io::ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        NoUpstream::LookUp(_) | NoUpstream::Dial(..) => StatusCode::BAD_GATEWAY,
    }
}

/// An answer of the proxy itself.
fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Either::Right(Full::from(format!("palisade: {text}\n"))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// Ends the connection after this answer.
fn closing(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::LookupError;

    #[test]
    fn what_is_out_of_reach_is_not_forbidden() {
        let dial = |kind: io::ErrorKind| {
            NoUpstream::Dial(Endpoint::parse("a.test:80", None).expect("an endpoint"), kind.into())
        };
        for (error, status) in [
            (NoUpstream::LookUp(LookupError::NoAddress("a.test".into())), 502),
            (NoUpstream::LookUp(LookupError::TimedOut("a.test".into())), 502),
            (dial(io::ErrorKind::ConnectionRefused), 502),
            (dial(io::ErrorKind::NetworkUnreachable), 502),
            (dial(io::ErrorKind::TimedOut), 504),
            (NoUpstream::TooMany(1), 503),
        ] {
            assert_eq!(status_of(&error).as_u16(), status, "{error}");
        }
    }
}
