//! How many connections one command may have at once. In a process of its own, because it takes most of the
//! descriptors that a process may customarily have.
#![forbid(unsafe_code)]

use palisade_policy::{HostPattern, HostRule, IndexedNetwork, NetworkPolicy, Origin};
use palisade_proxy::{Listeners, Lookup, Proxy, limits};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

fn bind() -> std::net::TcpListener {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener")
}

/// The proxy, and where it speaks HTTP and SOCKS.
fn start() -> (Proxy, SocketAddr, SocketAddr) {
    let pattern = HostPattern::parse("127.0.0.1").expect("a pattern");
    let allowed = vec![HostRule { pattern, origin: Origin::flag("--test", "127.0.0.1") }];
    let network = IndexedNetwork::new(NetworkPolicy { allowed, ..NetworkPolicy::default() });
    let (http_listener, socks_listener) = (bind(), bind());
    let http = http_listener.local_addr().expect("bound");
    let socks = socks_listener.local_addr().expect("bound");
    let listeners =
        Listeners { http: http_listener.into(), socks: socks_listener.into(), direct: Vec::new() };
    (
        Proxy::start(listeners, watch::channel(Arc::new(network)).1, Arc::new(Lookup::system()))
            .expect("a proxy"),
        http,
        socks,
    )
}

/// A request, and the answer up to the end of its head; the connection stays open.
async fn ask(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    String::from_utf8(head).expect("text")
}

const REFUSED: &str = "HEAD http://other.test/ HTTP/1.1\r\n\r\n";

#[tokio::test]
async fn connections_at_once() {
    clients_beyond_the_limit_wait().await;
    upstreams_beyond_the_limit_are_refused().await;
}

async fn clients_beyond_the_limit_wait() {
    let (_proxy, http, _) = start();
    let mut served = Vec::new();
    for _ in 0..limits::CLIENTS {
        let mut client = TcpStream::connect(http).await.expect("connected");
        assert!(ask(&mut client, REFUSED).await.starts_with("HTTP/1.1 403 "));
        served.push(client);
    }
    let mut waiting = TcpStream::connect(http).await.expect("connected");
    waiting.write_all(REFUSED.as_bytes()).await.expect("sent");
    for client in &mut served {
        ask(client, REFUSED).await;
    }
    let answer = waiting.try_read(&mut [0]).expect_err("others are served, but not this one");
    assert_eq!(answer.kind(), std::io::ErrorKind::WouldBlock);
    drop(served.pop());
    assert_eq!(waiting.read_u8().await.expect("an answer"), b'H');
}

async fn upstreams_beyond_the_limit_are_refused() {
    let (proxy, http, socks) = start();
    // They accept nothing: what waits in a queue needs no descriptor, and a queue may hold no more than 128.
    let servers = [bind(), bind(), bind()];
    let ports = servers.each_ref().map(|server| server.local_addr().expect("bound").port());
    let connects = ports.map(|port| format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"));
    let mut tunnels = Vec::new();
    for connect in connects.iter().cycle().take(limits::UPSTREAMS) {
        let mut client = TcpStream::connect(http).await.expect("connected");
        assert!(ask(&mut client, connect).await.starts_with("HTTP/1.1 200 "));
        tunnels.push(client);
    }
    let mut refused = TcpStream::connect(http).await.expect("connected");
    assert!(ask(&mut refused, &connects[0]).await.starts_with("HTTP/1.1 503 "));
    let mut text = String::new();
    refused.read_to_string(&mut text).await.expect("the connection ends");
    let expected =
        "palisade: this command has 256 connections open already, the most that it may have at once\n";
    assert_eq!(text, expected);
    let mut refused = TcpStream::connect(socks).await.expect("connected");
    let request = [&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1][..], &ports[0].to_be_bytes()].concat();
    refused.write_all(&request).await.expect("sent");
    let mut reply = [0; 12];
    refused.read_exact(&mut reply).await.expect("a reply");
    assert_eq!(reply, [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(proxy.violations(), [], "nothing was refused by a rule");
}
