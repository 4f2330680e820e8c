//! SOCKS5 (RFC 1928) for the command: the I/O around the [codec].
//!
//! Offered: CONNECT, without authentication, to a name, an IPv4 or an IPv6 address. Who may ask at all is
//! not decided by a password: only processes inside the sandbox's network namespace can reach the listener.
//! A protocol without room for text gets the reply code that comes closest; the words are in the violations.

mod codec;

use crate::client::Client;
use crate::gate::{Gate, NoUpstream};
use crate::limits;
use crate::pipe::pipe;
use codec::{Handshake, Reply, Step, Target};
use palisade_policy::ViolationKind;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Serves one connection until it ends.
pub(crate) async fn serve(mut client: Client, gate: &Gate) {
    let asked = timeout(limits::HANDSHAKE_TIME, shake_hands(&mut client)).await;
    let (target, early) = match asked {
        Ok(Ok(Some(asked))) => asked,
        Ok(Ok(None)) => return tracing::debug!("a SOCKS client was turned away"),
        Ok(Err(error)) => return tracing::debug!(%error, "a SOCKS client broke off"),
        Err(_) => return tracing::debug!("a SOCKS client took too long to say what it wants"),
    };
    let opened = match target.endpoint() {
        Ok(endpoint) => gate.open(&endpoint).await,
        Err(reason) => Err(gate.refuse_unreadable(&target.text(), reason)),
    };
    match opened {
        Ok(upstream) => {
            if client.write_all(&Reply::Succeeded.bytes()).await.is_ok() {
                pipe(client, upstream.stream, &early).await;
            }
        }
        Err(error) => refuse(&mut client, &error).await,
    }
}

/// What the client asks for and what it sent already behind that; nothing when it was turned away.
async fn shake_hands(client: &mut Client) -> io::Result<Option<(Target, Vec<u8>)>> {
    let mut handshake = Handshake::default();
    let mut buffer = [0; 512];
    loop {
        match handshake.step() {
            Step::Read => match client.read(&mut buffer).await? {
                0 => return Ok(None),
                read => handshake.receive(&buffer[..read]),
            },
            Step::Write(bytes) => client.write_all(&bytes).await?,
            Step::Connect(target) => return Ok(Some((target, handshake.into_rest()))),
            Step::Close => return client.shutdown().await.map(|()| None),
        }
    }
}

async fn refuse(client: &mut Client, error: &NoUpstream) {
    tracing::debug!(error = error.text(), "a SOCKS client's wish was not granted");
    // A client that is gone already does not hear it.
    let _ = client.write_all(&reply_to(error).bytes()).await;
    let _ = client.shutdown().await;
}

fn reply_to(error: &NoUpstream) -> Reply {
    match error {
        NoUpstream::Refused(violation) if matches!(violation.kind, ViolationKind::UnreadableHost(_)) => {
            Reply::BadAddress
        }
        NoUpstream::Refused(_) => Reply::NotAllowed,
        NoUpstream::TooMany(_) => Reply::Failed,
        NoUpstream::LookUp(_) => Reply::HostUnreachable,
        NoUpstream::Dial(_, error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Reply::ConnectionRefused
        }
        NoUpstream::Dial(..) => Reply::HostUnreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::LookupError;
    use palisade_policy::Endpoint;

    #[test]
    fn what_is_out_of_reach_is_not_forbidden() {
        let dial = |kind: io::ErrorKind| {
            NoUpstream::Dial(Endpoint::parse("a.test:80", None).expect("an endpoint"), kind.into())
        };
        for (error, reply) in [
            (NoUpstream::LookUp(LookupError::NoAddress("a.test".into())), Reply::HostUnreachable),
            (NoUpstream::LookUp(LookupError::TimedOut("a.test".into())), Reply::HostUnreachable),
            (dial(io::ErrorKind::ConnectionRefused), Reply::ConnectionRefused),
            (dial(io::ErrorKind::TimedOut), Reply::HostUnreachable),
            (NoUpstream::TooMany(1), Reply::Failed),
        ] {
            assert_eq!(reply_to(&error), reply, "{error}");
        }
    }
}
