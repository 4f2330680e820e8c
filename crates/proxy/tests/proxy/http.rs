//! HTTP: plain requests and CONNECT tunnels.

use crate::support::{
    accept, closed, exchange, listener, port_of, read_all, read_exact, read_until, server, start,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// What stands behind the head.
fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test]
async fn a_plain_request_is_rebuilt_for_its_server() {
    let mut server = server().await;
    let setup = start(&["*.test", "127.0.0.1"], &[]);
    let port = server.port;
    let answer = exchange(
        setup.http,
        format!(
            "GET http://A.Test:{port}/p?q HTTP/1.1\r\nHost: other.test\r\nX-Case: Kept\r\nProxy-Authorization: x\r\n\
             Connection: close, X-Named\r\nX-Named: 1\r\n\r\n"
        ),
    )
    .await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("\r\nX-Case: kept\r\n"), "{answer}");
    assert_eq!(body(&answer), "served 1");
    let request = server.request().await;
    assert_eq!(request, format!("GET /p?q HTTP/1.1\r\nHost: a.test:{port}\r\nX-Case: Kept\r\n\r\n"));
}

/// Every target that the server gets has a path, whatever the URL had behind its host.
#[tokio::test]
async fn a_url_without_a_path_asks_for_the_root() {
    let mut server = server().await;
    let setup = start(&["127.0.0.1"], &[]);
    for (behind, target) in [("", "/"), ("#x", "/"), ("?x", "/?x"), ("?x#y", "/?x"), ("#x?y", "/")] {
        let url = format!("http://127.0.0.1:{}{behind}", server.port);
        let answer = exchange(setup.http, format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(status(&answer), "200", "{url}");
        let request = server.request().await;
        assert!(request.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{url}: {request}");
    }
}

#[tokio::test]
async fn bodies_of_known_and_unknown_length() {
    let mut server = server().await;
    let setup = start(&["127.0.0.1"], &[]);
    let target = format!("http://127.0.0.1:{}/", server.port);
    let close = "Connection: close\r\n";
    exchange(setup.http, format!("POST {target} HTTP/1.1\r\n{close}Content-Length: 5\r\n\r\nhello")).await;
    let request = server.request().await;
    assert!(request.contains("\r\nContent-Length: 5\r\n") && request.ends_with("\r\n\r\nhello"), "{request}");
    let chunks = "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    exchange(
        setup.http,
        format!("DELETE {target} HTTP/1.1\r\n{close}Transfer-Encoding: chunked\r\n\r\n{chunks}"),
    )
    .await;
    let request = server.request().await;
    assert!(request.contains("\r\nTransfer-Encoding: chunked\r\n"), "{request}");
    assert!(request.ends_with("\r\n0\r\n\r\n"), "{request}");
    assert!(!request.to_lowercase().contains("content-length"), "{request}");
}

#[tokio::test]
async fn a_body_is_passed_on_as_it_comes() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    let head =
        format!("POST http://127.0.0.1:{}/ HTTP/1.1\r\nContent-Length: 6\r\n\r\none", port_of(&listener));
    client.write_all(head.as_bytes()).await.expect("sent");
    let mut upstream = accept(&listener).await;
    read_until(&mut upstream, "\r\n\r\none").await;
    client.write_all(b"two").await.expect("sent");
    read_until(&mut upstream, "two").await;
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    upstream.write_all(answer).await.expect("sent");
    read_until(&mut client, "abc").await;
    upstream.write_all(b"3\r\ndef\r\n0\r\n\r\n").await.expect("sent");
    read_until(&mut client, "def").await;
}

#[tokio::test]
async fn each_request_of_a_connection_is_judged() {
    let mut server = server().await;
    let setup = start(&["a.test", "here.test", "127.0.0.1"], &[]);
    let port = server.port;
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    for (host, expected) in [
        ("a.test", "served 1"),
        ("a.test", "served 1"),
        ("here.test", "served 2"),
        ("b.test", "nothing decides other hosts"),
        ("here.test", "served 2"),
        ("a.test", "served 3"),
    ] {
        let request = format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
        client.write_all(request.as_bytes()).await.expect("sent");
        read_until(&mut client, expected).await;
        if expected.starts_with("served") {
            let got = server.request().await;
            assert!(got.contains(&format!("Host: {host}:{port}\r\n")), "{got}");
        } else {
            read_until(&mut client, "allowedDomains\n").await;
        }
    }
    assert!(server.had_no_request());
    assert_eq!(
        setup.violations(),
        [format!(
            "deny network-outbound b.test:{port} (not on the allow list, and nothing decides other hosts)"
        )]
    );
}

/// A server may close a connection that it kept at any time: nobody sees that but the proxy.
#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    for number in 1..=2 {
        let request = format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\n\r\n", port_of(&listener));
        client.write_all(request.as_bytes()).await.expect("sent");
        let mut upstream = accept(&listener).await;
        read_until(&mut upstream, "\r\n\r\n").await;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
        upstream.write_all(answer.as_bytes()).await.expect("sent");
        read_until(&mut client, &format!("\r\n\r\n{number}")).await;
    }
}

#[tokio::test]
async fn a_refusal_names_the_host_and_the_reason() {
    let setup = start(&["a.test"], &["x.a.test"]);
    let answer = exchange(setup.http, "GET http://other.test/ HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert_eq!(status(&answer), "403");
    assert!(answer.contains("content-type: text/plain; charset=utf-8\r\n"), "{answer}");
    assert_eq!(
        body(&answer),
        "palisade: other.test:80 is refused: not on the allow list, and nothing decides other hosts\n\
         To allow it: add \"other.test\" to sandbox.network.allowedDomains\n"
    );
    for (target, text) in [
        ("x.a.test:443", "palisade: x.a.test:443 is refused: denied by --test \"x.a.test\"\n"),
        (
            "a.test:443",
            "palisade: a.test:443 is refused: leads to a loopback address (127.0.0.1), which is reached only when it is allowed itself\n\
             To allow it: add \"127.0.0.1:443\" to sandbox.network.allowedDomains\n",
        ),
    ] {
        let answer = exchange(setup.http, format!("CONNECT {target} HTTP/1.1\r\nHost: a.test\r\n\r\n")).await;
        assert_eq!((status(&answer), body(&answer)), ("403", text));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden by palisade\r\n"), "{answer}");
    }
    assert_eq!(setup.violations().len(), 3, "{:?}", setup.violations());
}

#[tokio::test]
async fn a_refused_request_can_be_sent_to_its_end() {
    let setup = start(&[], &[]);
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    let length = 5_000_000;
    let head = format!("POST http://other.test/ HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    client.write_all(head.as_bytes()).await.expect("sent");
    client.write_all(&vec![b'x'; length]).await.expect("all of it is taken in");
    read_until(&mut client, "allowedDomains\n").await;
    client.write_all(b"GET /next HTTP/1.1\r\n\r\n").await.expect("the connection still stands");
    assert!(read_all(&mut client).await.contains("whole URL"));
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_no_violation() {
    let (setup, closed) = (start(&["127.0.0.1"], &[]), closed().await);
    for request in ["GET http://127.0.0.1:PORT/ HTTP/1.1", "CONNECT 127.0.0.1:PORT HTTP/1.1"] {
        let request = request.replace("PORT", &closed.port.to_string());
        let answer = exchange(setup.http, format!("{request}\r\n\r\n")).await;
        assert_eq!(status(&answer), "502");
        let text = format!("palisade: 127.0.0.1:{} cannot be reached: Connection refused", closed.port);
        assert!(body(&answer).starts_with(&text), "{answer}");
    }
    assert_eq!(setup.violations(), [""; 0]);
}

/// The end of such an answer is the end of the connection, and an old client hears of it in the same way.
#[tokio::test]
async fn an_answer_of_unknown_length_arrives_whole() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    for size in [7_728, 5_000_000] {
        let request = format!("GET http://127.0.0.1:{}/ HTTP/1.0\r\n\r\n", port_of(&listener));
        let (answer, ()) = tokio::join!(exchange(setup.http, request), async {
            let mut upstream = accept(&listener).await;
            read_until(&mut upstream, "\r\n\r\n").await;
            let answer = format!("HTTP/1.0 200 OK\r\n\r\n{}", "x".repeat(size));
            upstream.write_all(answer.as_bytes()).await.expect("sent");
        });
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"));
        assert_eq!(body(&answer).len(), size);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_reported() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let request = format!("POST http://127.0.0.1:{}/ HTTP/1.1\r\n\r\n", port_of(&listener));
    let (answer, ()) = tokio::join!(exchange(setup.http, request), async {
        let mut upstream = accept(&listener).await;
        read_until(&mut upstream, "\r\n\r\n").await;
        upstream.write_all(b"220 mail.test ESMTP\r\n").await.expect("sent");
    });
    assert_eq!(status(&answer), "502");
    assert!(body(&answer).contains("did not answer properly"), "{answer}");
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy() {
    let setup = start(&["*"], &[]);
    for (request, expected, text) in [
        ("GET / HTTP/1.1\r\nHost: a.test", "400", "this is a proxy, not a web server"),
        ("GET https://a.test/ HTTP/1.1", "400", "CONNECT tunnel"),
        ("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test", "400", "several Host headers"),
        (
            "GET http://a.test/ HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket",
            "501",
            "does not switch protocols",
        ),
        ("GET http://someone:secret@a.test:80/ HTTP/1.1", "400", "a.test:80 is refused: the target has user"),
        ("GET http://someone@a.test/ HTTP/1.1", "400", "palisade: a.test is refused: the target has user"),
        ("CONNECT someone:secret@a.test:443 HTTP/1.1", "400", "a.test:443 is refused: the target has user"),
        ("CONNECT someone:secret@a.test HTTP/1.1", "400", "palisade: a.test is refused: the target has user"),
        ("GET https://someone:secret@a.test/ HTTP/1.1", "400", "CONNECT tunnel"),
        ("CONNECT a.test HTTP/1.1", "400", "needs a port"),
        ("CONNECT a.test:0 HTTP/1.1", "400", "a.test:0 is refused"),
        ("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 1", "400", "has no body"),
        ("CONNECT a.test\0.b.test:443 HTTP/1.1", "400", ""),
        ("CONNECT a.test\t:443 HTTP/1.1", "400", ""),
        ("POST http://a.test/ HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 38", "400", ""),
        ("POST http://a.test/ HTTP/1.1\r\nContent-Length: +5", "400", ""),
        ("POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding : chunked", "400", ""),
        ("GET http://a.test/ HTTP/1.1\r\nX: a\r\n folded: b", "400", ""),
    ] {
        let answer = exchange(setup.http, format!("{request}\r\n\r\n")).await;
        assert_eq!(status(&answer), expected, "{request:?}: {answer}");
        assert!(body(&answer).contains(text), "{request:?}: {answer}");
        assert!(text.is_empty() || body(&answer).starts_with("palisade: "), "{answer}");
        assert!(!answer.contains("someone") && !answer.contains("secret"), "{answer}");
    }
    let violations = setup.violations();
    let expected = "deny network-outbound a.test:443 (the target has user information, which the proxy does not pass on)";
    assert!(violations.iter().any(|line| line == expected), "{violations:?}");
    assert!(
        !violations.iter().any(|line| line.contains("someone") || line.contains("secret")),
        "{violations:?}"
    );
    let expected = "deny network-outbound (HTTP request) (it cannot be read: invalid URI)";
    assert!(violations.iter().any(|line| line == expected), "{violations:?}");
}

/// Where two lengths disagree, what a second reader could take for another request stays part of the body,
/// or is not passed on at all.
#[tokio::test]
async fn nothing_is_smuggled_past_the_length_of_a_body() {
    let mut server = server().await;
    let setup = start(&["127.0.0.1"], &[]);
    let target = format!("http://127.0.0.1:{}", server.port);
    let smuggled = format!("0\r\n\r\nGET {target}/second HTTP/1.1\r\n\r\n");
    let length = smuggled.len();
    for headers in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
    ] {
        let answer =
            exchange(setup.http, format!("POST {target}/first HTTP/1.1\r\n{headers}\r\n\r\n{smuggled}"))
                .await;
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
        let request = server.request().await;
        assert!(request.starts_with("POST /first ") && request.ends_with("\r\n\r\n0\r\n\r\n"), "{request}");
        assert!(!request.to_lowercase().contains("content-length"), "{request}");
        assert!(server.had_no_request());
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let setup = start(&["*"], &[]);
    let long = "x".repeat(palisade_proxy::limits::REQUEST_HEAD);
    let answer = exchange(setup.http, format!("GET http://a.test/ HTTP/1.1\r\nX: {long}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{answer}");
    assert_eq!(setup.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_come_to_its_end_is_given_up() {
    let setup = start(&["*"], &[]);
    let start = tokio::time::Instant::now();
    let answer = exchange(setup.http, "GET http://a.test/ HTTP/1.1\r\nX: ").await;
    assert_eq!(status(&answer), "408");
    assert_eq!(body(&answer), "palisade: the request took longer than 120 s to arrive\n");
    assert_eq!(start.elapsed().as_secs(), palisade_proxy::limits::HANDSHAKE_TIME.as_secs());
    assert_eq!(exchange(setup.http, "").await, "", "nothing was asked");
}

#[tokio::test]
async fn a_tunnel_carries_everything_both_ways() {
    let listener = listener().await;
    let setup = start(&["here.test", "127.0.0.1"], &[]);
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    let head = format!("CONNECT here.test:{} HTTP/1.1\r\nHost: x\r\n\r\nearly ", port_of(&listener));
    client.write_all(head.as_bytes()).await.expect("sent");
    let mut upstream = accept(&listener).await;
    upstream.write_all(b"banner").await.expect("sent");
    assert_eq!(read_until(&mut client, "\r\n\r\n").await.lines().next(), Some("HTTP/1.1 200 OK"));
    assert_eq!(read_exact(&mut client, 6).await, b"banner");
    client.write_all(b"late").await.expect("sent");
    client.shutdown().await.expect("half-closed");
    assert_eq!(read_all(&mut upstream).await, "early late");
    upstream.write_all(b"answer").await.expect("sent");
    drop(upstream);
    assert_eq!(read_all(&mut client).await, "answer");
}

/// The answer to CONNECT is given once the server is there, and carries no headers that belong to a body.
#[tokio::test]
async fn the_answer_to_connect_has_no_body() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let request = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", port_of(&listener));
    let mut client = TcpStream::connect(setup.http).await.expect("connected");
    client.write_all(request.as_bytes()).await.expect("sent");
    let head = read_until(&mut client, "\r\n\r\n").await.to_lowercase();
    assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
}

/// What follows a refused CONNECT was meant for the tunnel. It must not be taken for a request.
#[tokio::test]
async fn nothing_is_read_behind_a_refused_connect() {
    let mut server = server().await;
    let setup = start(&["127.0.0.1"], &[]);
    let second = format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\n\r\n", server.port);
    let answer = exchange(setup.http, format!("CONNECT other.test:443 HTTP/1.1\r\n\r\n{second}")).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(answer.to_lowercase().contains("connection: close\r\n"), "{answer}");
    assert!(server.had_no_request());
}

#[tokio::test]
async fn many_tunnels_one_after_another_and_at_once() {
    let mut server = server().await;
    let setup = start(&["127.0.0.1"], &[]);
    let (http, port) = (setup.http, server.port);
    let through_tunnel = move || async move {
        let mut client = TcpStream::connect(http).await.expect("connected");
        client
            .write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes())
            .await
            .expect("sent");
        assert_eq!(status(&read_until(&mut client, "\r\n\r\n").await), "200");
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
        read_until(&mut client, "served ").await;
    };
    for _ in 0..2 * palisade_proxy::limits::CLIENTS {
        through_tunnel().await;
        server.request().await;
    }
    let at_once: Vec<_> = (0..64).map(|_| tokio::spawn(through_tunnel())).collect();
    for one in at_once {
        one.await.expect("all of them work");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_server_connection_with_it() {
    let listener = listener().await;
    let setup = start(&["127.0.0.1"], &[]);
    let port = port_of(&listener);
    for request in
        [format!("GET http://127.0.0.1:{port}/ HTTP/1.1"), format!("CONNECT 127.0.0.1:{port} HTTP/1.1")]
    {
        let mut client = TcpStream::connect(setup.http).await.expect("connected");
        client.write_all(format!("{request}\r\n\r\n").as_bytes()).await.expect("sent");
        let mut upstream = accept(&listener).await;
        if request.starts_with("GET") {
            read_until(&mut upstream, "\r\n\r\n").await;
        } else {
            read_until(&mut client, "\r\n\r\n").await;
        }
        drop(client);
        assert_eq!(upstream.read(&mut [0]).await.expect("ended in order"), 0, "{request}");
    }
}
