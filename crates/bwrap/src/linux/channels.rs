//! What a launch passes to bubblewrap through descriptors: pipes, sockets, files in memory. What they carry is the
//! launch's business.

use super::error::{LaunchError, failed};
use nix::sys::socket::MsgFlags;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Two ends of a stream; ours is the first.
pub(super) fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}

/// Sends `bytes` and closes. That nobody reads them any more shows by what comes next.
pub(super) fn send(socket: OwnedFd, bytes: &[u8]) -> Result<(), LaunchError> {
    use nix::errno::Errno;
    let mut left = bytes;
    while !left.is_empty() {
        match nix::sys::socket::send(socket.as_raw_fd(), left, MsgFlags::MSG_NOSIGNAL) {
            Ok(count) => left = &left[count..],
            Err(Errno::EINTR) => {}
            Err(Errno::EPIPE | Errno::ECONNRESET) => return Ok(()),
            Err(error) => return Err(failed("passing bubblewrap its arguments")(error.into())),
        }
    }
    Ok(())
}

/// Words as `--args` takes them.
pub(super) fn nul_ended(words: &[Vec<u8>]) -> Vec<u8> {
    words.iter().flat_map(|word| [word.as_slice(), b"\0"].concat()).collect()
}

/// The writing end for us, and a descriptor for bubblewrap that reads *and* writes, so that it never sees an end.
pub(super) fn block_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let path = format!("/proc/self/fd/{}", read.as_raw_fd());
    let both = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    Ok((write, both))
}

/// An empty file in memory.
pub(super) fn memory_file(name: &str) -> Result<File, LaunchError> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC);
    file.map(File::from).map_err(|error| failed("making a memory file")(error.into()))
}

/// Writes `content` without moving the place from which whoever inherited the file reads.
pub(super) fn fill(file: &File, content: &[u8]) -> Result<(), LaunchError> {
    file.write_all_at(content, 0).map_err(failed("filling a memory file"))
}

/// Whether `fd` became readable before `deadline`.
pub(super) fn wait_readable(fd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    wait_readable_any(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], deadline)
}

/// Whether one of two became readable before `deadline`.
pub(super) fn wait_readable_either(
    one: BorrowedFd<'_>,
    other: BorrowedFd<'_>,
    deadline: Instant,
) -> io::Result<bool> {
    wait_readable_any(&mut [one, other].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)), deadline)
}

fn wait_readable_any(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match rustix::event::poll(fds, Some(&timeout)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
