//! A tunnel: bytes both ways between two sockets until both directions are over.
//!
//! Both peers may be hostile or dead: the command inside, and whoever it may reach. Hence:
//!
//! - The end of one direction is passed on as just that (a half-close); the other direction goes on. A peer
//!   that breaks off counts as one that ended, so that what it had sent before still arrives.
//! - What a peer no longer takes is read and thrown away until the other direction is over. Closing a socket
//!   with unread bytes would make the kernel discard the bytes still under way in the other direction.
//! - Where it is our own system that takes no more, for want of memory say, both directions are over at once: the peer
//!   might wait for the rest for ever.
//! - A tunnel that carries nothing for a long time ends, sooner when one direction is over.
//! - A buffer exists only while bytes move, so that idle tunnels cost next to nothing.

use crate::client::{Client, Source};
use crate::limits;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Bytes of the buffer at first. It grows when more is there at once.
const FIRST_BUFFER: usize = 16 * 1024;

/// Pipes between `client` and `upstream`. `early` is what the client sent before the tunnel stood.
pub(crate) async fn pipe(client: Client, mut upstream: TcpStream, early: &[u8]) {
    match client {
        Client::Tcp(mut client) => pipe_halves(client.split(), upstream.split(), early).await,
        Client::Unix(mut client) => pipe_halves(client.split(), upstream.split(), early).await,
    }
}

async fn pipe_halves(
    (from_client, to_client): (impl Source, impl AsyncWrite + Unpin),
    (from_upstream, to_upstream): (impl Source, impl AsyncWrite + Unpin),
    early: &[u8],
) {
    let activity = Activity::new();
    let (up_over, down_over) = (Notify::new(), Notify::new());
    let up = Direction { from: from_client, to: to_upstream, activity: &activity, over: &up_over };
    let down = Direction { from: from_upstream, to: to_client, activity: &activity, over: &down_over };
    tokio::select! {
        ended = async { tokio::try_join!(up.run(early, &down_over), down.run(&[], &up_over)) } => {
            if let Err(error) = ended {
                tracing::debug!("a tunnel ended early: {error}");
            }
        }
        () = activity.cease() => tracing::debug!("a tunnel carried nothing for too long"),
    }
}

/// One direction of a tunnel.
struct Direction<'a, From, To> {
    from: From,
    to: To,
    activity: &'a Activity,
    /// Told when this direction is over.
    over: &'a Notify,
}

impl<From: Source, To: AsyncWrite + Unpin> Direction<'_, From, To> {
    /// Fails when the whole tunnel is over.
    async fn run(mut self, early: &[u8], other_over: &Notify) -> io::Result<()> {
        match self.carry(early).await {
            Err(error) if is_of_the_peer(&error) => tokio::select! {
                () = self.discard() => {}
                () = other_over.notified() => {}
            },
            carried => carried?,
        }
        self.activity.half_closed.store(true, Relaxed);
        self.over.notify_one();
        Ok(())
    }

    /// Carries everything until `from` ends, then ends `to`. Fails when `to` takes no more.
    async fn carry(&mut self, early: &[u8]) -> io::Result<()> {
        self.to.write_all(early).await?;
        while let Ok(()) = self.from.readable().await {
            if !self.carry_what_is_there().await? {
                break;
            }
        }
        self.to.shutdown().await
    }

    /// Whether there may be more later.
    async fn carry_what_is_there(&mut self) -> io::Result<bool> {
        let mut buffer = Vec::with_capacity(FIRST_BUFFER);
        loop {
            match self.from.try_read_buf(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(_) => {
                    self.to.write_all(&buffer).await?;
                    self.activity.seen();
                    let is_too_small = buffer.len() == buffer.capacity();
                    buffer.clear();
                    if is_too_small && buffer.capacity() < limits::TUNNEL_BUFFER {
                        buffer.reserve_exact(limits::TUNNEL_BUFFER);
                    }
                }
                Err(error) => return Ok(error.kind() == io::ErrorKind::WouldBlock),
            }
        }
    }

    async fn discard(&mut self) {
        let mut buffer = [0; 4096];
        while let Ok(()) = self.from.readable().await {
            match self.from.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    }
}

/// Whether sending failed since the peer broke off, or cannot be reached any more.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, HostUnreachable, NetworkDown, NetworkUnreachable,
        NotConnected, TimedOut,
    };
    matches!(
        error.kind(),
        BrokenPipe
            | ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | NetworkDown
            | NetworkUnreachable
            | NotConnected
            | TimedOut
    )
}

/// When a tunnel last carried something.
struct Activity {
    start: Instant,
    /// In milliseconds since `start`.
    last: AtomicU64,
    half_closed: AtomicBool,
}

impl Activity {
    fn new() -> Self {
        Activity { start: Instant::now(), last: AtomicU64::new(0), half_closed: AtomicBool::new(false) }
    }

    fn seen(&self) {
        let since = self.start.elapsed().as_millis();
        self.last.store(u64::try_from(since).unwrap_or(u64::MAX), Relaxed);
    }

    /// Ends when there was no activity for as long as the tunnel may do without.
    async fn cease(&self) {
        loop {
            sleep(limits::IDLE_CHECK).await;
            let allowed =
                if self.half_closed.load(Relaxed) { limits::HALF_CLOSED_IDLE } else { limits::TUNNEL_IDLE };
            let last = Duration::from_millis(self.last.load(Relaxed));
            if self.start.elapsed().saturating_sub(last) >= allowed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    async fn socket_pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
        let address = listener.local_addr().expect("bound");
        let (one, other) = tokio::join!(TcpStream::connect(address), listener.accept());
        (one.expect("connected"), other.expect("accepted").0)
    }

    /// The client's end, the server's end, and the tunnel between them.
    async fn tunnel(early: &'static [u8]) -> (TcpStream, TcpStream, JoinHandle<()>) {
        let ((client, near), (far, server)) = (socket_pair().await, socket_pair().await);
        (client, server, tokio::spawn(pipe(Client::Tcp(near), far, early)))
    }

    async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("read to the end");
        bytes
    }

    #[tokio::test]
    async fn a_half_close_is_passed_on_and_the_other_direction_goes_on() {
        let (mut client, mut server, tunnel) = tunnel(b"early ").await;
        client.write_all(b"late").await.expect("sent");
        client.shutdown().await.expect("half-closed");
        assert_eq!(read_all(&mut server).await, b"early late");
        server.write_all(b"answer").await.expect("sent");
        drop(server);
        assert_eq!(read_all(&mut client).await, b"answer");
        tunnel.await.expect("the tunnel ended");
    }

    #[tokio::test]
    async fn the_server_may_speak_first() {
        let (mut client, mut server, _tunnel) = tunnel(b"").await;
        server.write_all(b"220 hello").await.expect("sent");
        let mut banner = [0; 9];
        client.read_exact(&mut banner).await.expect("received");
        assert_eq!(&banner, b"220 hello");
    }

    #[tokio::test]
    async fn every_byte_arrives_when_the_server_closes_right_after_sending() {
        for size in [7_728, 5_000_000] {
            let (mut client, mut server, tunnel) = tunnel(b"").await;
            let sent: Vec<u8> = (0..size).map(|n: u32| n.to_le_bytes()[0]).collect();
            let expected = sent.clone();
            let serving = tokio::spawn(async move { server.write_all(&sent).await });
            assert!(read_all(&mut client).await == expected, "{size} bytes");
            serving.await.expect("no panic").expect("all was sent");
            drop(client);
            tunnel.await.expect("the tunnel ended");
        }
    }

    /// Closing a socket with unread bytes is a reset. What went before it was received all the same.
    #[tokio::test]
    async fn every_byte_arrives_when_the_server_breaks_off_after_sending() {
        let (mut client, mut server, tunnel) = tunnel(b"").await;
        client.write_all(b"never read").await.expect("sent");
        server.readable().await.expect("it has arrived");
        server.write_all(&[7; 40_000]).await.expect("sent");
        drop(server);
        // The tunnel cannot pass this on any more.
        client.write_all(&[b'x'; 10_000]).await.expect("it is taken in");
        assert!(read_all(&mut client).await == [7; 40_000]);
        drop(client);
        tunnel.await.expect("the tunnel ended");
    }

    /// Closed with these bytes unread, the client's socket would lose what it has not been sent yet.
    #[tokio::test]
    async fn what_nobody_takes_is_read_until_the_other_direction_is_over() {
        let ((mut client, mut near), (mut far, server)) = (socket_pair().await, socket_pair().await);
        far.write_all(b"never read").await.expect("sent");
        server.readable().await.expect("it has arrived");
        drop(server);
        let (activity, over, other_over) = (Activity::new(), Notify::new(), Notify::new());
        let up = Direction { from: near.split().0, to: far.split().1, activity: &activity, over: &over };
        let more_than_fits = vec![b'x'; 20_000_000];
        let sending = async {
            client.write_all(&more_than_fits).await.expect("all of it is taken in");
            other_over.notify_one();
        };
        let (carried, ()) =
            timeout(Duration::from_secs(60), async { tokio::join!(up.run(&[], &other_over), sending) })
                .await
                .expect("both came to their end");
        carried.expect("it is the peer that broke off");
    }

    /// A socket for which the system has no memory.
    struct Full;

    impl AsyncWrite for Full {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Both peers are alive and wait.
    #[tokio::test]
    async fn a_tunnel_ends_when_the_system_takes_no_more() {
        let ((_client, mut near), (mut far, _server)) = (socket_pair().await, socket_pair().await);
        let ends = pipe_halves(near.split(), (far.split().0, Full), b"x");
        timeout(Duration::from_secs(60), ends).await.expect("it ends at once");
    }

    #[tokio::test]
    async fn a_client_that_is_killed_ends_the_tunnel() {
        let (mut client, mut server, tunnel) = tunnel(b"").await;
        let serving = tokio::spawn(async move { while server.write_all(&[0; 65536]).await.is_ok() {} });
        client.read_exact(&mut [0; 10]).await.expect("received");
        drop(client);
        tunnel.await.expect("the tunnel ended");
        serving.await.expect("the server noticed");
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_when_it_carries_nothing() {
        let (mut client, mut server, tunnel) = tunnel(b"").await;
        for _ in 0..3 {
            sleep(limits::TUNNEL_IDLE - 2 * limits::IDLE_CHECK).await;
            client.write_all(b"x").await.expect("sent");
            server.read_exact(&mut [0; 1]).await.expect("the tunnel still stands");
        }
        let last = Instant::now();
        tunnel.await.expect("the tunnel ended");
        let rested = last.elapsed();
        let most = limits::TUNNEL_IDLE + limits::IDLE_CHECK;
        assert!(limits::TUNNEL_IDLE <= rested && rested <= most, "after {rested:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_closed_tunnel_ends_sooner() {
        let (mut client, mut server, tunnel) = tunnel(b"").await;
        client.shutdown().await.expect("half-closed");
        assert_eq!(read_all(&mut server).await, b"");
        let start = Instant::now();
        tunnel.await.expect("the tunnel ended");
        let most = limits::HALF_CLOSED_IDLE + limits::IDLE_CHECK;
        assert!(start.elapsed() <= most, "after {:?}", start.elapsed());
    }
}
