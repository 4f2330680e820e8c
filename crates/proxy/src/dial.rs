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

/// Connects to the first of `dialable` that answers. They are tried in order; when one takes long, the next is
/// tried beside it, so that an address that leads nowhere costs half a second and not half a minute.
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
    // The client's own keep-alive ends at the proxy; without this a peer that vanished would never be missed.
    socket.set_keepalive(true)?;
    let stream = socket.connect(address).await?;
    // A port of this machine on which nobody listens can happen to be dialed from that very port, and TCP
    // then connects the socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}
