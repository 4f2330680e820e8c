//! Listeners inside a sandbox's network namespace, made from outside.
//!
//! A short-lived child enters the user namespace that owns the network namespace, then the network
//! namespace, binds there, and hands the sockets back. Nothing of it stays inside, and there is no socket
//! file: what runs inside can reach nothing but a TCP port.
//!
//! When this happens nothing of the attacker's runs in the sandbox yet: bubblewrap waits to be released.

use super::sys;
use nix::errno::Errno;
use nix::sys::wait::WaitStatus;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

/// Where connections from inside a sandbox are accepted.
#[derive(Debug)]
pub enum Listener {
    /// On a port in the sandbox's own network namespace.
    Tcp(TcpListener),
    /// On a socket of the host, to which the bridge leads from such a port.
    Unix(UnixListener),
}

/// Binds a listener at each of `addresses` inside the network namespace of process `pid`, in their order.
///
/// `None` stands for an address of a family that the namespace does not have (IPv6 switched off).
///
/// # Errors
/// When the namespaces cannot be entered: `EPERM` where the machine forbids it.
pub fn bind_inside(pid: u32, addresses: &[SocketAddr]) -> io::Result<Vec<Option<TcpListener>>> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let network = File::open(format!("/proc/{pid}/ns/net"))?;
    let user = sys::owner_of(network.as_fd())?;
    let (child, from_child) = sys::fork_binder(user.as_fd(), network.as_fd(), addresses)?;
    let received = sys::receive_listeners(from_child.as_fd(), addresses.len());
    drop(from_child);
    match sys::wait_for(child) {
        Ok(WaitStatus::Exited(_, 0)) => received,
        // The host ignores SIGCHLD: the child has ended, and how is lost.
        Err(Errno::ECHILD) => received,
        Ok(status) => {
            received.and(Err(io::Error::other(format!("the binding process ended with {status:?}"))))
        }
        Err(error) => Err(error.into()),
    }
}
