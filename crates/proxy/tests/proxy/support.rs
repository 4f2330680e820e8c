//! A proxy under test, a server that records what it is sent, and a few ways to speak to both.

use palisade_policy::{Endpoint, HostPattern, HostRule, IndexedNetwork, NetworkPolicy, Origin};
use palisade_proxy::{Direct, Listeners, Lookup, Proxy};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// A proxy and where its listeners are.
pub(crate) struct Setup {
    pub(crate) proxy: Proxy,
    pub(crate) http: SocketAddr,
    pub(crate) socks: SocketAddr,
    pub(crate) direct: Vec<SocketAddr>,
    _hosts: NamedTempFile,
}

/// `a.test`, `b.test` and `here.test` lead to 127.0.0.1, `there.test` to 127.0.0.2.
const HOSTS: &str = "127.0.0.1 a.test b.test here.test\n127.0.0.2 there.test\n";

pub(crate) fn start(allowed: &[&str], denied: &[&str]) -> Setup {
    start_with_direct(allowed, denied, &[])
}

pub(crate) fn start_with_direct(allowed: &[&str], denied: &[&str], direct: &[&str]) -> Setup {
    let mut hosts = NamedTempFile::new().expect("a file");
    hosts.write_all(HOSTS.as_bytes()).expect("written");
    let network =
        NetworkPolicy { allowed: rules(allowed), denied: rules(denied), ..NetworkPolicy::default() };
    let endpoints: Vec<Endpoint> =
        direct.iter().map(|text| Endpoint::parse(text, None).expect(text)).collect();
    let (http_listener, socks_listener) = (bind(), bind());
    let http = http_listener.local_addr().expect("bound");
    let socks = socks_listener.local_addr().expect("bound");
    let direct_listeners: Vec<_> = endpoints.into_iter().map(|endpoint| (endpoint, bind())).collect();
    let direct = direct_listeners.iter().map(|(_, l)| l.local_addr().expect("bound")).collect();
    let listeners = Listeners {
        http: http_listener.into(),
        socks: socks_listener.into(),
        direct: direct_listeners.into_iter().map(direct_at_loopback).collect(),
    };
    let lookup = Arc::new(Lookup::with_hosts(hosts.path()));
    let proxy = Proxy::start(listeners, watch::channel(Arc::new(IndexedNetwork::new(network))).1, lookup)
        .expect("a proxy");
    Setup { proxy, http, socks, direct, _hosts: hosts }
}

fn direct_at_loopback((endpoint, listener): (Endpoint, std::net::TcpListener)) -> Direct {
    let address = listener.local_addr().expect("bound").ip();
    Direct { endpoint, address, listener: listener.into() }
}

fn bind() -> std::net::TcpListener {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener")
}

fn rules(texts: &[&str]) -> Vec<HostRule> {
    let rule = |text: &&str| HostRule {
        pattern: HostPattern::parse(text).expect(text),
        origin: Origin::flag("--test", text),
    };
    texts.iter().map(rule).collect()
}

impl Setup {
    /// The violations so far, one line each.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.proxy.violations().iter().map(ToString::to_string).collect()
    }
}

/// Sends `bytes` on a new connection and gives back all that comes until its end.
pub(crate) async fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.write_all(bytes.as_ref()).await.expect("sent");
    read_all(&mut stream).await
}

pub(crate) async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("read to the end");
    String::from_utf8(bytes).expect("text")
}

pub(crate) async fn read_exact(stream: &mut (impl AsyncRead + Unpin), length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await.expect("received");
    bytes
}

/// Reads up to and including `end`.
pub(crate) async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(stream.read_u8().await.unwrap_or_else(|error| {
            panic!("{error} before {end:?}, after {:?}", String::from_utf8_lossy(&bytes))
        }));
    }
    String::from_utf8(bytes).expect("text")
}

/// A plain HTTP server. It answers each request with `served N`, N counting its connections, and records
/// the requests.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: UnboundedReceiver<String>,
}

pub(crate) async fn server() -> Server {
    let listener = listener().await;
    let port = port_of(&listener);
    let (record, requests) = unbounded_channel();
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.expect("accepted");
            tokio::spawn(serve(stream, number, record.clone()));
        }
    });
    Server { port, requests }
}

impl Server {
    /// The next request, as it arrived: head and body.
    pub(crate) async fn request(&mut self) -> String {
        self.requests.recv().await.expect("the server runs")
    }

    pub(crate) fn had_no_request(&mut self) -> bool {
        self.requests.try_recv().is_err()
    }
}

async fn serve(mut stream: TcpStream, number: u32, record: UnboundedSender<String>) {
    let mut received = Vec::new();
    loop {
        match whole_request(&received) {
            Some(length) => {
                let request: Vec<u8> = received.drain(..length).collect();
                let _ = record.send(String::from_utf8(request).expect("text"));
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: 8\r\nX-Case: kept\r\n\r\nserved {number}");
                stream.write_all(answer.as_bytes()).await.expect("sent");
            }
            None => match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            },
        }
    }
}

/// The length of the request at the start of `bytes`, when all of it is there.
fn whole_request(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let head = text.find("\r\n\r\n")? + 4;
    let header = |name: &str| {
        text[..head].lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    if header("transfer-encoding").is_some() {
        return text[head..].find("0\r\n\r\n").map(|at| head + at + 5);
    }
    let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
    (bytes.len() >= head + length).then_some(head + length)
}

/// A listener for tests that play the server themselves.
pub(crate) async fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener")
}

pub(crate) fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("bound").port()
}

/// A port on which nobody listens: one end of a connection is bound to it.
pub(crate) struct Closed {
    pub(crate) port: u16,
    _ends: [TcpStream; 2],
}

pub(crate) async fn closed() -> Closed {
    let listener = listener().await;
    let address = listener.local_addr().expect("bound");
    let (one, other) = tokio::join!(TcpStream::connect(address), accept(&listener));
    let one = one.expect("connected");
    Closed { port: one.local_addr().expect("connected").port(), _ends: [one, other] }
}

pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.expect("accepted").0
}
