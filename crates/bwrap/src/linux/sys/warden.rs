//! The warden's process, and what it is told. As everywhere in `sys`, nothing here allocates after the `fork`.

use super::libc::{self, c_int};
use super::{errno, most_descriptors, wait_for};
use crate::linux::warden::MOST_SANDBOXES;
use nix::errno::Errno;
use nix::sys::signal::SigSet;
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// What the warden is told of a launch: its process group, or one of the numbers below, which are no groups.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Notice {
    launch: u64,
    what: i64,
}

/// Nothing is left of the launch.
const GONE: i64 = 0;
/// The first process of the launch's sandbox comes with the notice.
const FIRST: i64 = -1;

impl Notice {
    fn bytes(&self) -> [u8; size_of::<Self>()] {
        let mut bytes = [0; size_of::<Self>()];
        let (launch, what) = bytes.split_at_mut(size_of::<u64>());
        launch.copy_from_slice(&self.launch.to_ne_bytes());
        what.copy_from_slice(&self.what.to_ne_bytes());
        bytes
    }
}

/// A launch that the warden knows.
struct Watched {
    launch: u64,
    group: c_int,
    /// The first process of its sandbox, -1 until it comes.
    first: RawFd,
}

impl Watched {
    /// What is inside ends with the first process, whatever it has made of its group meanwhile.
    fn end(&self) {
        // SAFETY: these take integers and touch no memory. A group or a process that is gone is an error, as is
        // descriptor -1.
        unsafe {
            libc::kill(-self.group, libc::SIGKILL);
            libc::syscall(libc::SYS_pidfd_send_signal, self.first, libc::SIGKILL, 0usize, 0);
        }
    }
}

/// Makes the group of the calling process known to the warden.
pub(super) fn make_known(warden: RawFd, launch: u64) -> io::Result<()> {
    notify(warden, Notice { launch, what: nix::unistd::getpid().as_raw().into() })
}

/// Has the warden end `first`, and with it everything in the sandbox, when it ends the launch.
pub(in crate::linux) fn hand_over(
    warden: BorrowedFd<'_>,
    launch: u64,
    first: BorrowedFd<'_>,
) -> io::Result<()> {
    let notice = Notice { launch, what: FIRST }.bytes();
    let first = [first.as_raw_fd()];
    loop {
        let (iov, control) = ([io::IoSlice::new(&notice)], [ControlMessage::ScmRights(&first)]);
        match sendmsg::<()>(warden.as_raw_fd(), &iov, &control, MsgFlags::MSG_NOSIGNAL, None) {
            Err(Errno::EINTR) => {}
            sent => return sent.map(drop).map_err(io::Error::from),
        }
    }
}

/// Has the warden forget a launch of which nothing is left.
pub(in crate::linux) fn forget(warden: BorrowedFd<'_>, launch: u64) -> io::Result<()> {
    notify(warden.as_raw_fd(), Notice { launch, what: GONE })
}

fn notify(warden: RawFd, notice: Notice) -> io::Result<()> {
    let bytes = notice.bytes();
    loop {
        // SAFETY: the pointer leads to as many bytes as are sent; a descriptor that is no socket is an error.
        match unsafe { libc::send(warden, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) } {
            0.. => return Ok(()),
            _ if errno() == libc::EINTR => {}
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

/// Forks the warden, and waits until no signal to this process's group reaches it. Its end is the end of whoever holds the
/// socket returned, or of this process.
pub(in crate::linux) fn fork_warden() -> io::Result<(Pid, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    let mut known = Vec::with_capacity(MOST_SANDBOXES);
    // SAFETY: the child calls only `watch`, which allocates nothing beyond that capacity, and which never returns.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => watch(theirs.as_raw_fd(), &mut known),
        pid => {
            let pid = Pid::from_raw(pid);
            drop(theirs);
            match next_notice(ours.as_raw_fd()) {
                Some(_) => Ok((pid, ours)),
                None => Err(match wait_for(pid) {
                    Ok(WaitStatus::Exited(_, errno @ 1..)) => io::Error::from_raw_os_error(errno),
                    _ => io::Error::other("the process that ends sandboxes ended at once"),
                }),
            }
        }
    }
}

/// The warden's whole life.
fn watch(socket: RawFd, known: &mut Vec<Watched>) -> ! {
    let _ = nix::unistd::setsid();
    let _ = rustix::process::chdir(c"/");
    let _ = SigSet::all().thread_set_mask();
    close_all_but(socket);
    hold_many();
    // Whoever started it waits for this.
    if let Err(error) = notify(socket, Notice::default()) {
        // SAFETY: as below.
        unsafe { libc::_exit(error.raw_os_error().unwrap_or(1)) }
    }
    while let Some((notice, first)) = next_notice(socket) {
        learn(known, notice, first);
    }
    known.iter().for_each(Watched::end);
    // SAFETY: ends the process without running destructors or exit handlers of the parent's program.
    unsafe { libc::_exit(0) }
}

/// What cannot be watched over must not be.
fn learn(known: &mut Vec<Watched>, notice: Notice, first: Option<RawFd>) {
    let place = known.iter().position(|watched| watched.launch == notice.launch);
    match (notice.what, place, first) {
        (FIRST, Some(place), Some(first)) => known[place].first = first,
        (FIRST, Some(place), None) => known.swap_remove(place).end(),
        (GONE, Some(place), _) => close(known.swap_remove(place).first),
        (FIRST | GONE, None, first) => close(first.unwrap_or(-1)),
        (group, _, _) => {
            let watched = Watched { launch: notice.launch, group: group as c_int, first: -1 };
            if known.len() < known.capacity() { known.push(watched) } else { watched.end() }
        }
    }
}

fn close(fd: RawFd) {
    // SAFETY: nobody else in this process uses the descriptor; -1 is an error.
    unsafe { libc::close(fd) };
}

/// One descriptor for each sandbox.
fn hold_many() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Room for a control message with one descriptor, aligned as its header must be.
#[repr(C, align(8))]
struct Control([u8; 24]);

/// A notice, with the descriptor that came with it; `None` when nobody is left to send one.
fn next_notice(socket: RawFd) -> Option<(Notice, Option<RawFd>)> {
    loop {
        let mut notice = Notice::default();
        let mut control = Control([0; 24]);
        let mut iov = libc::iovec { iov_base: (&raw mut notice).cast(), iov_len: size_of::<Notice>() };
        // SAFETY: an all-zero msghdr is valid; every pointer set below leads to something that lives until recvmsg
        // returns, with its size, and any bytes make a notice. The header that CMSG_FIRSTHDR finds lies in the control
        // buffer, which then holds a descriptor of ours.
        let (received, first) = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut iov;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = size_of::<Control>() as _;
            let received = libc::recvmsg(socket, &mut message, 0);
            let header = if received > 0 { libc::CMSG_FIRSTHDR(&message) } else { std::ptr::null_mut() };
            let carries_one = !header.is_null()
                && (*header).cmsg_len as usize == libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
            (received, carries_one.then(|| libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
        };
        match received {
            0 => return None,
            -1 if errno() == libc::EINTR => {}
            -1 => return None,
            _ => return Some((notice, first)),
        }
    }
}

/// Closes every other descriptor. Only for a forked process that uses none of them.
fn close_all_but(kept: RawFd) {
    for (first, last) in [(0, kept - 1), (kept + 1, c_int::MAX)] {
        // SAFETY: this process uses none of these descriptors any more; before Linux 5.9 there is no such call.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if closed == 0 {
            continue;
        }
        for fd in first..=last.min(most_descriptors()) {
            // SAFETY: as above; descriptors that are not open answer EBADF.
            unsafe { libc::close(fd) };
        }
    }
}
