//! A tunnel: bytes both ways between two sockets until both directions are over.
//!
//! Both peers may be hostile or dead: the command inside, and whoever it may reach. Hence:
//!
//! - The end of one direction is passed on as just that (a half-close); the other direction goes on. A peer that
//!   breaks off counts as one that ended, so that what it had sent before still arrives.
//! - What a peer no longer takes is read and thrown away until the other direction is over. Closing a
//!   socket with unread bytes would make the kernel discard the bytes still under way in the other direction.
//! - A tunnel that carries nothing for a long time ends, sooner when one direction is over.
//! - A buffer exists only while bytes move, so that idle tunnels cost next to nothing.

use crate::limits;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Pipes between `client` and `upstream`. `early` is what the client sent before the tunnel stood.
pub(crate) async fn pipe(mut client: TcpStream, mut upstream: TcpStream, early: &[u8]) {
    let (from_client, to_client) = client.split();
    let (from_upstream, to_upstream) = upstream.split();
    let activity = Activity::new();
    let (up_over, down_over) = (Notify::new(), Notify::new());
    let up = Direction { from: from_client, to: to_upstream, activity: &activity, over: &up_over };
    let down = Direction { from: from_upstream, to: to_client, activity: &activity, over: &down_over };
    tokio::select! {
        _ = async { tokio::join!(up.run(early, &down_over), down.run(&[], &up_over)) } => {}
        () = activity.cease() => tracing::debug!("a tunnel carried nothing for too long"),
    }
}

/// One direction of a tunnel.
struct Direction<'a> {
    from: ReadHalf<'a>,
    to: WriteHalf<'a>,
    activity: &'a Activity,
    /// Told when this direction is over.
    over: &'a Notify,
}

impl Direction<'_> {
    async fn run(mut self, early: &[u8], other_over: &Notify) {
        if self.carry(early).await.is_err() {
            tokio::select! {
                () = self.discard() => {}
                () = other_over.notified() => {}
            }
        }
        self.activity.half_closed.store(true, Relaxed);
        self.over.notify_one();
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
        let mut buffer = Vec::with_capacity(limits::TUNNEL_BUFFER);
        loop {
            match self.from.try_read_buf(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(_) => {
                    self.to.write_all(&buffer).await?;
                    self.activity.seen();
                    buffer.clear();
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
