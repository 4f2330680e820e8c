//! The two kinds of socket that a command's connections come by: TCP, where the proxy listens inside the sandbox
//! itself, and Unix, where a relay inside leads each connection out to a socket file of the host.
//!
//! What is spoken on them is the same, and so is who is asking: whoever can reach a listener of a command's is
//! that command. Nothing here knows what the bytes mean.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream, tcp, unix};

/// Where connections of a command are accepted.
#[derive(Debug)]
pub enum Listener {
    /// On a port inside the sandbox.
    Tcp(std::net::TcpListener),
    /// On a socket of the host that only the relay of one sandbox can reach.
    Unix(std::os::unix::net::UnixListener),
}

impl From<std::net::TcpListener> for Listener {
    fn from(listener: std::net::TcpListener) -> Self {
        Listener::Tcp(listener)
    }
}

impl From<std::os::unix::net::UnixListener> for Listener {
    fn from(listener: std::os::unix::net::UnixListener) -> Self {
        Listener::Unix(listener)
    }
}

/// A [`Listener`] that the runtime watches.
#[derive(Debug)]
pub(crate) enum Watched {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Watched {
    pub(crate) fn new(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            Listener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                Watched::Tcp(TcpListener::from_std(listener)?)
            }
            Listener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Watched::Unix(UnixListener::from_std(listener)?)
            }
        })
    }

    pub(crate) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Client>> {
        Poll::Ready(match self {
            Watched::Tcp(listener) => ready!(listener.poll_accept(cx)).map(|(stream, _)| Client::Tcp(stream)),
            Watched::Unix(listener) => {
                ready!(listener.poll_accept(cx)).map(|(stream, _)| Client::Unix(stream))
            }
        })
    }
}

/// One connection of a command's.
#[derive(Debug)]
pub(crate) enum Client {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Client {
    /// Has small writes go out at once, which a Unix socket does anyway.
    pub(crate) fn send_at_once(&self) -> io::Result<()> {
        match self {
            Client::Tcp(stream) => stream.set_nodelay(true),
            Client::Unix(_) => Ok(()),
        }
    }

    fn inner(self: Pin<&mut Self>) -> Inner<'_> {
        match self.get_mut() {
            Client::Tcp(stream) => Inner::Tcp(Pin::new(stream)),
            Client::Unix(stream) => Inner::Unix(Pin::new(stream)),
        }
    }
}

enum Inner<'a> {
    Tcp(Pin<&'a mut TcpStream>),
    Unix(Pin<&'a mut UnixStream>),
}

impl AsyncRead for Client {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.inner() {
            Inner::Tcp(stream) => stream.poll_read(cx, buffer),
            Inner::Unix(stream) => stream.poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Client {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.inner() {
            Inner::Tcp(stream) => stream.poll_write(cx, bytes),
            Inner::Unix(stream) => stream.poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.inner() {
            Inner::Tcp(stream) => stream.poll_write_vectored(cx, slices),
            Inner::Unix(stream) => stream.poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.inner() {
            Inner::Tcp(stream) => stream.poll_flush(cx),
            Inner::Unix(stream) => stream.poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.inner() {
            Inner::Tcp(stream) => stream.poll_shutdown(cx),
            Inner::Unix(stream) => stream.poll_shutdown(cx),
        }
    }
}

/// A half of a connection that can be read without a buffer held while nothing comes.
pub(crate) trait Source {
    /// Waits until there is something to read.
    async fn readable(&self) -> io::Result<()>;
    /// Reads what is there.
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Reads what is there, behind what `buffer` holds.
    fn try_read_buf(&self, buffer: &mut Vec<u8>) -> io::Result<usize>;
}

macro_rules! source {
    ($half:ty) => {
        impl Source for $half {
            async fn readable(&self) -> io::Result<()> {
                self.readable().await
            }

            fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.try_read(buffer)
            }

            fn try_read_buf(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
                self.try_read_buf(buffer)
            }
        }
    };
}

source!(tcp::ReadHalf<'_>);
source!(unix::ReadHalf<'_>);
