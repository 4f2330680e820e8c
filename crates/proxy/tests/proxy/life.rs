//! Beginning and end.

use crate::support::{Setup, accept, exchange, listener, port_of, read_exact, read_until, start};
use palisade_policy::{IndexedNetwork, NetworkPolicy};
use palisade_proxy::{Listeners, Lookup, Proxy};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A tunnel, a SOCKS connection, a request without an answer and one that is not even whole; their servers'
/// ends.
async fn busy(setup: &Setup, listener: &TcpListener) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let port = port_of(listener);
    let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
    let socks = [&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1][..], &port.to_be_bytes()].concat();
    let get = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for (address, bytes) in
        [(setup.http, connect.as_bytes()), (setup.socks, &socks), (setup.http, get.as_bytes())]
    {
        let mut client = TcpStream::connect(address).await.expect("connected");
        client.write_all(bytes).await.expect("sent");
        servers.push(accept(listener).await);
        clients.push(client);
    }
    read_until(&mut clients[0], "\r\n\r\n").await;
    read_exact(&mut clients[1], 12).await;
    read_until(&mut servers[2], "\r\n\r\n").await;
    let mut half = TcpStream::connect(setup.http).await.expect("connected");
    half.write_all(b"GET http").await.expect("sent");
    clients.push(half);
    (clients, servers)
}

async fn has_ended(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]).await, Ok(0) | Err(_))
}

#[tokio::test]
async fn when_a_proxy_is_dropped_everything_ends() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let (clients, servers) = busy(&setup, &listener).await;
    drop(setup);
    for mut stream in clients.into_iter().chain(servers) {
        assert!(has_ended(&mut stream).await);
    }
}

#[tokio::test]
async fn when_close_returns_everything_has_ended() {
    let listener = listener().await;
    let mut setup = start(&["127.0.0.1"], &[]);
    let (clients, servers) = busy(&setup, &listener).await;
    exchange(setup.http, "GET http://other.test/ HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    setup.proxy.close().await;
    for stream in clients.iter().chain(&servers) {
        let ended = stream.try_read(&mut [0]);
        assert!(!matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "{ended:?}");
    }
    assert_eq!(setup.violations().len(), 1, "what was refused is still known");
    setup.proxy.close().await;
}

/// Two commands may share a look-up; what they may reach is each their own.
#[tokio::test]
async fn each_proxy_has_its_own_policy_and_violations() {
    let (one, two) = (start(&["127.0.0.1"], &[]), start(&[], &[]));
    let target = listener().await;
    let request = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", port_of(&target));
    let mut client = TcpStream::connect(one.http).await.expect("connected");
    client.write_all(request.as_bytes()).await.expect("sent");
    assert!(read_until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    assert!(exchange(two.http, request).await.starts_with("HTTP/1.1 403 "));
    assert_eq!((one.violations().len(), two.violations().len()), (0, 1));
    assert_eq!(two.proxy.violations_left_out(), 0);
}

#[test]
fn a_proxy_needs_a_runtime() {
    let bind = || std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let listeners = Listeners { http: bind().into(), socks: bind().into(), direct: Vec::new() };
    let started = Proxy::start(
        listeners,
        watch::channel(Arc::new(IndexedNetwork::new(NetworkPolicy::default()))).1,
        Arc::new(Lookup::system()),
    );
    assert!(started.is_err());
}
