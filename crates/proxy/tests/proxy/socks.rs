//! SOCKS5.

use crate::support::{accept, closed, listener, port_of, read_all, read_exact, start};
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

fn request(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
    [&[5, 1, 0, kind][..], address, &port.to_be_bytes()].concat()
}

fn name(name: &str) -> Vec<u8> {
    [&[u8::try_from(name.len()).expect("a short name")], name.as_bytes()].concat()
}

/// Greets and asks; the reply's code, with the stream behind it. A reply is always ten bytes of one form.
async fn ask(proxy: SocketAddr, request: &[u8]) -> (u8, TcpStream) {
    let mut client = TcpStream::connect(proxy).await.expect("connected");
    client.write_all(&[5, 1, 0]).await.expect("sent");
    assert_eq!(read_exact(&mut client, 2).await, [5, 0]);
    client.write_all(request).await.expect("sent");
    let reply = read_exact(&mut client, 10).await;
    assert_eq!((reply[0], &reply[2..]), (5, &[0, 1, 0, 0, 0, 0, 0, 0][..]));
    (reply[1], client)
}

#[tokio::test]
async fn names_and_addresses_reach_their_server() {
    let listener = listener().await;
    let setup = start(&["here.test", "127.0.0.1", "localhost"], &[]);
    let mapped = [&[0; 10][..], &[255, 255, 127, 0, 0, 1]].concat();
    for (kind, address) in [
        (3, name("here.test")),
        (3, name("localhost")),
        (3, name("0x7f.1")),
        (3, name("::ffff:127.0.0.1")),
        (1, vec![127, 0, 0, 1]),
        (4, mapped),
    ] {
        let early = [request(kind, &address, port_of(&listener)), b"early ".to_vec()].concat();
        let (code, mut client) = ask(setup.socks, &early).await;
        assert_eq!(code, 0, "{address:?}");
        let mut upstream = accept(&listener).await;
        client.write_all(b"late").await.expect("sent");
        client.shutdown().await.expect("half-closed");
        assert_eq!(read_all(&mut upstream).await, "early late");
        upstream.write_all(b"answer").await.expect("sent");
        drop(upstream);
        assert_eq!(read_all(&mut client).await, "answer");
    }
    assert_eq!(setup.violations(), [""; 0]);
}

#[tokio::test]
async fn refusals_have_their_code() {
    let closed = closed().await;
    let setup = start(&["here.test", "127.0.0.1", "there.test"], &["127.0.0.3"]);
    for (kind, address, port, code) in [
        (3, name("other.test"), 443, 2),
        (3, name("there.test"), 443, 2),
        (1, vec![127, 0, 0, 3], 443, 2),
        (1, vec![169, 254, 169, 254], 80, 2),
        (3, name("127.0.0.3"), 443, 2),
        (3, name("a\0.here.test"), 443, 8),
        (3, name(""), 443, 8),
        (3, name("here.test"), 0, 8),
        (3, name("someone:secret@here.test"), 443, 8),
        (3, name("here.test"), closed.port, 5),
        (1, vec![127, 0, 0, 1], closed.port, 5),
        (2, vec![], 443, 8),
    ] {
        let (got, mut client) = ask(setup.socks, &request(kind, &address, port)).await;
        assert_eq!(got, code, "{kind} {address:?} {port}");
        assert_eq!(read_all(&mut client).await, "", "the connection ends");
    }
    let expected = [
        "deny network-outbound other.test:443 (not on the allow list, and nothing decides other hosts)",
        "deny network-outbound there.test:443 (leads to a loopback address (127.0.0.2), which is reached only when it is allowed itself)",
        "deny network-outbound 127.0.0.3:443 (denied by --test \"127.0.0.3\")",
        "deny network-outbound 169.254.169.254:80 (not on the allow list, and nothing decides other hosts)",
        r"deny network-outbound a\x00.here.test:443 (the host holds '\0', which no host name may)",
        "deny network-outbound :443 (the host is empty)",
        "deny network-outbound here.test:0 (there is no port 0)",
        "deny network-outbound here.test:443 (the target has user information, which the proxy does not pass on)",
    ];
    assert_eq!(setup.violations(), expected);
}

#[tokio::test]
async fn who_is_turned_away() {
    let setup = start(&["*"], &[]);
    for (hello, answer) in [
        (&[5, 1, 2][..], &[5, 0xff][..]),
        (&[4, 1, 0, 80, 127, 0, 0, 1, 0], &[]),
        (b"GET / HTTP/1.1\r\n\r\n", &[]),
        (&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0], &[5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut client = TcpStream::connect(setup.socks).await.expect("connected");
        client.write_all(hello).await.expect("sent");
        assert_eq!(read_exact(&mut client, answer.len()).await, answer, "{hello:?}");
        assert_eq!(read_all(&mut client).await, "", "{hello:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_does_not_come_to_its_end_is_given_up() {
    let setup = start(&["*"], &[]);
    let start = tokio::time::Instant::now();
    let mut client = TcpStream::connect(setup.socks).await.expect("connected");
    client.write_all(&[5, 1, 0, 5, 1]).await.expect("sent");
    assert_eq!(read_exact(&mut client, 2).await, [5, 0]);
    assert_eq!(read_all(&mut client).await, "");
    assert_eq!(start.elapsed().as_secs(), palisade_proxy::limits::HANDSHAKE_TIME.as_secs());
}
