//! Dialing: the one place where a connection to the outside is made.
//!
//! It takes nothing but [`Dialable`]s, so there is no way to reach an address that was not vetted. A name is
//! never seen here, hence never looked up a second time: a name whose owner changes the answer between
//! vetting and dialing gains nothing.

use crate::limits;
use palisade_policy::Dialable;
use std::io;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Connects to the first of `dialable` that answers. They are tried in order; when one takes long, the next
/// is tried beside it, so that an address that leads nowhere costs half a second and not half a minute.
///
/// # Errors
///
/// That of the address which failed last, or `TimedOut` after [`limits::DIAL_TIME`].
pub(crate) async fn dial(dialable: &[Dialable]) -> io::Result<TcpStream> {
    timeout(limits::DIAL_TIME, first_to_answer(dialable)).await.unwrap_or_else(|_| {
        let text = format!("no answer within {} seconds", limits::DIAL_TIME.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}

async fn first_to_answer(dialable: &[Dialable]) -> io::Result<TcpStream> {
    let mut waiting = dialable.iter().copied().take(limits::DIALED_ADDRESSES);
    let mut attempts = JoinSet::new();
    let mut next = waiting.next();
    loop {
        if let Some(address) = next.take() {
            attempts.spawn(connect(address));
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => {
                    next = waiting.next();
                    if next.is_none() && attempts.is_empty() {
                        return Err(error);
                    }
                }
                Some(Err(panicked)) => return Err(panicked.into()),
                None => return Err(io::Error::other("there is no address to dial")),
            },
            () = sleep(limits::DIAL_STAGGER), if waiting.len() > 0 => next = waiting.next(),
        }
    }
}

async fn connect(dialable: Dialable) -> io::Result<TcpStream> {
    let address = dialable.address();
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_nodelay(true)?;
    // The client's own keep-alive ends at the proxy; without this a peer that vanished would never be
    // missed.
    socket.set_keepalive(true)?;
    let stream = socket.connect(address).await?;
    // A port of this machine on which nobody listens can happen to be dialed from that very port, and TCP
    // then connects the socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::testing::{endpoint, network};
    use palisade_policy::LocalAddresses;
    use std::net::{IpAddr, SocketAddr};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    /// A port that does not answer at all: its queue of connections is full.
    struct Silent {
        address: SocketAddr,
        _listener: TcpListener,
        _in_queue: TcpStream,
    }

    async fn silent() -> Silent {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let listener = socket.listen(0).expect("a listener");
        let address = listener.local_addr().expect("bound");
        let in_queue = TcpStream::connect(address).await.expect("connected");
        Silent { address, _listener: listener, _in_queue: in_queue }
    }

    fn dialable(addresses: &[&str], port: u16) -> Vec<Dialable> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().expect(text)).collect();
        let policy = network(
            addresses
                .iter()
                .map(IpAddr::to_string)
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .as_slice(),
            &[],
        );
        policy
            .vet(&endpoint(&format!("a.test:{port}")), &addresses, &LocalAddresses::default())
            .expect("allowed")
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_address_is_dialed_soon_when_one_is_silent() {
        let silent = silent().await;
        let port = silent.address.port();
        let listener = TcpListener::bind(("127.0.0.5", port)).await.expect("the port is free there");
        let start = Instant::now();
        let stream = dial(&dialable(&["127.0.0.1", "127.0.0.5"], port)).await.expect("connected");
        assert_eq!(stream.peer_addr().ok(), listener.local_addr().ok());
        assert_eq!(start.elapsed().as_millis(), limits::DIAL_STAGGER.as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_address_is_dialed_at_once_when_one_refuses() {
        let listener = TcpListener::bind("127.0.0.2:0").await.expect("a listener");
        let port = listener.local_addr().expect("bound").port();
        let start = Instant::now();
        let stream = dial(&dialable(&["127.0.0.3", "127.0.0.2"], port)).await.expect("connected");
        assert_eq!(stream.peer_addr().ok(), listener.local_addr().ok());
        assert_eq!(start.elapsed().as_millis(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn dialing_has_an_end() {
        let silent = silent().await;
        let start = Instant::now();
        let error = dial(&dialable(&["127.0.0.1"], silent.address.port())).await.expect_err("no answer");
        assert_eq!(error.to_string(), "no answer within 30 seconds");
        assert_eq!(start.elapsed().as_secs(), limits::DIAL_TIME.as_secs());
    }

    #[tokio::test]
    async fn all_refuse() {
        let listener = TcpListener::bind("127.0.0.2:0").await.expect("a listener");
        let port = listener.local_addr().expect("bound").port();
        let error = dial(&dialable(&["127.0.0.3", "127.0.0.4"], port)).await.expect_err("nobody listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
