//! Listeners that lead to one endpoint.

use crate::support::{accept, listener, port_of, read_all, start_with_direct};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[tokio::test]
async fn a_direct_listener_leads_to_its_endpoint() {
    let (one, two) = (listener().await, listener().await);
    let endpoints = [format!("127.0.0.1:{}", port_of(&one)), format!("127.0.0.1:{}", port_of(&two))];
    let endpoints = [&*endpoints[0], &*endpoints[1]];
    let setup = start_with_direct(&endpoints, &[], &endpoints);
    for (at, listener) in [&one, &two, &one].into_iter().enumerate() {
        let mut client = TcpStream::connect(setup.direct[at % 2]).await.expect("connected");
        let mut upstream = accept(listener).await;
        client.write_all(b"question").await.expect("sent");
        client.shutdown().await.expect("half-closed");
        assert_eq!(read_all(&mut upstream).await, "question");
        upstream.write_all(b"answer").await.expect("sent");
        drop(upstream);
        assert_eq!(read_all(&mut client).await, "answer");
    }
}

#[tokio::test]
async fn a_direct_listener_is_judged_like_any_other_way() {
    let server = listener().await;
    let endpoint = format!("127.0.0.1:{}", port_of(&server));
    for (allowed, denied, why) in [
        (&[][..], &[][..], "not on the allow list, and nothing decides other hosts".to_owned()),
        (&[&*endpoint], &[&*endpoint], format!("denied by --test \"{endpoint}\"")),
    ] {
        let setup = start_with_direct(allowed, denied, &[&endpoint]);
        let mut client = TcpStream::connect(setup.direct[0]).await.expect("connected");
        assert_eq!(read_all(&mut client).await, "");
        assert_eq!(setup.violations(), [format!("deny network-outbound {endpoint} ({why})")]);
    }
}
