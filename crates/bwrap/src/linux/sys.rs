//! Every unsafe call of the crate. After `fork` nothing here allocates, locks or panics: the child of a
//! process with several threads may call only what is safe in a signal handler.
#![allow(unsafe_code, reason = "fork, descriptor passing and signal dispositions have no safe wrapper")]

mod attach;
mod descriptors;
mod warden;

use nix::errno::Errno;
use nix::libc::{self, c_int};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::SockaddrLike;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) use attach::{
    Change, DEVICES, DONE, ENTERING, MASKS, Progress, Source, Step, What, Work, fork_attacher,
    has_mount_calls, read_progress,
};
pub use descriptors::with_own_descriptors;
pub(super) use warden::{forget, fork_warden, hand_over};

/// More listeners than this are not passed in one message (the kernel takes 253 descriptors in one).
pub(super) const MOST_LISTENERS: usize = 128;

/// Signals that a terminal, or a `kill` of the command's whole process group, sends. They must not end
/// bubblewrap's own process: with it the whole sandbox would die before the command could act on the signal.
const FOR_THE_COMMAND: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGPIPE,
    Signal::SIGALRM,
    Signal::SIGTERM,
    Signal::SIGIO,
];

/// Who is to meet the signals in [`FOR_THE_COMMAND`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// bubblewrap as well as the command.
    ForBoth,
    /// The command alone: bubblewrap blocks them, and [`reset_signals`] makes the command hear them again. What is
    /// sent to the command before that waits for it; ignored, it would be lost.
    ForTheCommand,
}

/// Has the child, between `fork` and `exec`, keep only 0, 1, 2 and `keep` open, die when the calling *thread*
/// dies, lead a process group of its own, and make that known to the warden at the other end of a socket.
///
/// The group is part of the wall: a signal to one's own process group (`kill 0`) reaches every member of the
/// same user, inside the process namespace or not. In the caller's group a command could kill its caller.
pub(super) fn prepare_child(
    command: &mut Command,
    keep: Vec<RawFd>,
    signals: Signals,
    (warden, launch): (BorrowedFd<'_>, u64),
) {
    let parent = nix::unistd::getpid();
    let warden = warden.as_raw_fd();
    let in_child = move || {
        die_with(parent)?;
        keep_open_only(&keep)?;
        nix::unistd::setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        forget_pending();
        warden::make_known(warden, launch)?;
        hear_of_children();
        drop_ambient_capabilities();
        block_only(match signals {
            Signals::ForBoth => &[],
            Signals::ForTheCommand => &FOR_THE_COMMAND,
        })
    };
    // SAFETY: the closure runs in the forked child and makes system calls only; `keep` was allocated before. The
    // socket's descriptor is open while the caller's borrow lasts; should it be closed by the time of the `fork`,
    // sending fails.
    unsafe { command.pre_exec(in_child) };
}

/// What was sent to the caller's group before this process had left it, by a terminal for one, is the caller's to pass on.
/// Let in here, it would stop this process, for whose `exec` the caller waits, or end it.
fn forget_pending() {
    for number in 1..=libc::SIGSYS {
        // SAFETY: plain data, for which zeros are no flags and an empty mask.
        let mut ignored: libc::sigaction = unsafe { std::mem::zeroed() };
        ignored.sa_sigaction = libc::SIG_IGN;
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both are valid for the call. To ignore a signal discards it; then its disposition is what it was.
        unsafe {
            if libc::sigaction(number, &ignored, &mut before) == 0 {
                libc::sigaction(number, &before, std::ptr::null_mut());
            }
        }
    }
}

/// bubblewrap waits for its children, which whoever ignores SIGCHLD cannot.
fn hear_of_children() {
    // SAFETY: a disposition without a handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// bubblewrap refuses to run with capabilities as anybody but root. Those that a service manager or a container gives
/// its programs would pass to it.
fn drop_ambient_capabilities() {
    // SAFETY: PR_CAP_AMBIENT takes integers and touches no memory. Before Linux 4.3 there are none to drop.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
}

/// Blocks `signals` and nothing else, whatever this process blocks for itself.
fn block_only(signals: &[Signal]) -> io::Result<()> {
    let mut set = SigSet::empty();
    signals.iter().for_each(|signal| set.add(*signal));
    set.thread_set_mask().map_err(io::Error::from)
}

/// The kernel kills this process once the parent's thread ends. If it has ended already, so that the request
/// came too late, the parent is another one by now.
fn die_with(parent: Pid) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if nix::unistd::getppid() != parent {
        // SAFETY: `_exit` ends the process without running anything of it.
        unsafe { libc::_exit(1) };
    }
    Ok(())
}

/// Marks everything above 2 to be closed by `exec`, then clears the mark from `keep`.
fn keep_open_only(keep: &[RawFd]) -> io::Result<()> {
    // SAFETY: close_range with CLOSE_RANGE_CLOEXEC sets flags on this process's own descriptors, touches no memory.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        mark_each();
    }
    for &fd in keep {
        // SAFETY: F_SETFD takes an integer; a descriptor that is not open is an error, not undefined.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Before Linux 5.11 there is no CLOSE_RANGE_CLOEXEC: one call for each descriptor that can be open.
fn mark_each() {
    for fd in 3..most_descriptors() {
        // SAFETY: F_SETFD takes an integer; descriptors that are not open answer EBADF.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Every descriptor that can be open has a lower number. (The call fails for no process that exists.)
fn most_descriptors() -> c_int {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur.min(c_int::MAX as u64) as c_int
}

/// Undoes [`Signals::ForTheCommand`] for the command: each of those signals has its default effect again, but those
/// in `ignored`, which whoever started Palisade wanted ignored (`nohup`). One that has come meanwhile takes
/// effect now.
pub(super) fn reset_signals(ignored: u64) -> io::Result<()> {
    for signal in FOR_THE_COMMAND.into_iter().chain([Signal::SIGCHLD]) {
        let stays = signal != Signal::SIGPIPE && ignored >> (signal as c_int - 1) & 1 == 1;
        let disposition = if stays { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: a disposition without a handler.
        unsafe { libc::signal(signal as c_int, disposition) };
    }
    block_only(&[])
}

/// Closes every descriptor above 2. Only for a process that is about to `exec` and owns none that it still needs.
pub(super) fn close_all_others() {
    // SAFETY: the caller uses no descriptor above 2 after this, so none is closed under anybody's feet.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    if closed != 0 {
        mark_each();
    }
}

/// Waits for the end of a child. A host's handlers of signals, that of SIGCHLD first, may interrupt any thread.
pub(super) fn wait_for(child: Pid) -> nix::Result<WaitStatus> {
    loop {
        match waitpid(child, None) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// Takes over a descriptor that was inherited.
pub(super) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD takes no argument; a descriptor that is not open is an error.
    if fd <= 2 || unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is open, and in a process that has just been started nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A descriptor of our own for what the inherited descriptor `fd` leads to; closed by `exec`.
///
/// # Errors
/// `EBADF` when no such descriptor is open.
pub fn duplicate_inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC reads nothing but the integers; a descriptor that is not open is an error.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// The user namespace that owns the namespace `ns`.
pub(super) fn owner_of(ns: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const NS_GET_USERNS: libc::c_ulong = 0xb701;
    // SAFETY: NS_GET_USERNS takes no argument and answers with a new descriptor.
    let fd = unsafe { libc::ioctl(ns.as_raw_fd(), NS_GET_USERNS as _) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What the binder says besides the sockets: 0 and which addresses it bound, or where it failed and why.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Report {
    stage: u8,
    errno: c_int,
    /// Bit i: a socket for address i is in the message, in order.
    bound: u128,
}

const STAGES: [&str; 5] = [
    "",
    "entering the sandbox's user namespace",
    "entering the sandbox's network namespace",
    "making a listener in the sandbox",
    "sending the listeners",
];

/// Where the binder failed. What the system said is its source.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {error}")]
struct AtStage {
    stage: &'static str,
    #[source]
    error: io::Error,
}

/// One address ready for `bind`, made before the fork.
enum Target {
    V4(nix::sys::socket::SockaddrIn),
    V6(nix::sys::socket::SockaddrIn6),
}

impl Target {
    fn new(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Target::V4(address.into()),
            SocketAddr::V6(address) => Target::V6(address.into()),
        }
    }

    fn family(&self) -> c_int {
        match self {
            Target::V4(_) => libc::AF_INET,
            Target::V6(_) => libc::AF_INET6,
        }
    }

    /// The address as `bind` takes it; valid as long as `self`.
    fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        match self {
            Target::V4(address) => (address.as_ptr(), address.len()),
            Target::V6(address) => (address.as_ptr(), address.len()),
        }
    }
}

/// Forks a child that enters `user` and `network`, binds `addresses` there and sends the sockets over the
/// socket returned with its process id.
pub(super) fn fork_binder(
    user: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    addresses: &[SocketAddr],
) -> io::Result<(Pid, OwnedFd)> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    if addresses.len() > MOST_LISTENERS {
        return Err(io::Error::other(format!("more than {MOST_LISTENERS} listeners in one sandbox")));
    }
    let targets: Vec<Target> = addresses.iter().copied().map(Target::new).collect();
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    // SAFETY: the child calls only `bind_and_send`, which allocates nothing, and ends with `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = bind_and_send(user, network, &targets, theirs.as_raw_fd());
            // SAFETY: ends the child without running destructors or exit handlers of the parent's program.
            unsafe { libc::_exit(status) }
        }
        pid => Ok((Pid::from_raw(pid), ours)),
    }
}

/// The child's whole life. Its exit status is 0 when the sockets were sent.
fn bind_and_send(user: BorrowedFd<'_>, network: BorrowedFd<'_>, targets: &[Target], to: RawFd) -> c_int {
    // The parent's handlers are none of this process's, and its end is near.
    let _ = SigSet::all().thread_set_mask();
    let mut sockets = [-1; MOST_LISTENERS];
    let mut report = Report::default();
    let count = match enter_and_bind(user, network, targets, &mut sockets, &mut report.bound) {
        Ok(count) => count,
        Err((stage, errno)) => {
            report.stage = stage;
            report.errno = errno;
            0
        }
    };
    let sent = send(to, &report, &sockets[..count]);
    c_int::from(sent < 0 || report.stage != 0)
}

fn errno() -> c_int {
    Errno::last_raw()
}

fn enter_and_bind(
    user: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    targets: &[Target],
    sockets: &mut [c_int; MOST_LISTENERS],
    bound: &mut u128,
) -> Result<usize, (u8, c_int)> {
    // SAFETY: setns takes a descriptor and a flag and touches no memory.
    if unsafe { libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER) } != 0 {
        return Err((1, errno()));
    }
    // SAFETY: as above.
    if unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err((2, errno()));
    }
    let mut count = 0;
    for (index, target) in targets.iter().enumerate() {
        match bind_one(target) {
            Ok(socket) => {
                sockets[count] = socket;
                count += 1;
                *bound |= 1 << index;
            }
            Err(libc::EAFNOSUPPORT) if target.family() == libc::AF_INET6 => {}
            Err(errno) => return Err((3, errno)),
        }
    }
    Ok(count)
}

fn bind_one(target: &Target) -> Result<c_int, c_int> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes integers; answers with a new descriptor.
    let socket = unsafe { libc::socket(target.family(), kind, 0) };
    if socket < 0 {
        return Err(errno());
    }
    let on: c_int = 1;
    // bubblewrap may not have given the loopback interface its address yet: FREEBIND binds all the same.
    // SAFETY: `on` lives through the calls and its size is given; an option that does not apply is an error.
    unsafe {
        let size = size_of::<c_int>() as libc::socklen_t;
        libc::setsockopt(socket, libc::IPPROTO_IP, libc::IP_FREEBIND, (&raw const on).cast(), size);
        if target.family() == libc::AF_INET6 {
            libc::setsockopt(socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, (&raw const on).cast(), size);
        }
    }
    let (address, length) = target.raw();
    // SAFETY: `address` and `length` describe the address that `target` holds.
    let bound = unsafe { libc::bind(socket, address, length) };
    // SAFETY: takes integers.
    if bound != 0 || unsafe { libc::listen(socket, 1024) } != 0 {
        return Err(errno());
    }
    Ok(socket)
}

/// Room for the control message, aligned as its header must be.
#[repr(C, align(8))]
struct Control([u8; 16 + 4 * MOST_LISTENERS]);

fn send(to: RawFd, report: &Report, sockets: &[c_int]) -> isize {
    let mut control = Control([0; 16 + 4 * MOST_LISTENERS]);
    let mut iov =
        libc::iovec { iov_base: (&raw const *report).cast_mut().cast(), iov_len: size_of::<Report>() };
    // SAFETY: an all-zero msghdr is valid; every pointer set below leads to something that lives until sendmsg
    // returns; the control buffer has room for one header and MOST_LISTENERS descriptors.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut iov;
        message.msg_iovlen = 1;
        if !sockets.is_empty() {
            let bytes = size_of_val(sockets) as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(bytes) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes) as _;
            std::ptr::copy_nonoverlapping(sockets.as_ptr(), libc::CMSG_DATA(header).cast(), sockets.len());
        }
        libc::sendmsg(to, &message, libc::MSG_NOSIGNAL)
    }
}

/// Takes what [`fork_binder`]'s child sent: a listener for each of `count` addresses, in order.
pub(super) fn receive_listeners(from: BorrowedFd<'_>, count: usize) -> io::Result<Vec<Option<TcpListener>>> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    let mut report = [0u8; size_of::<Report>()];
    let mut iov = [io::IoSliceMut::new(&mut report)];
    let mut control = nix::cmsg_space!([RawFd; MOST_LISTENERS]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = loop {
        match recvmsg::<()>(from.as_raw_fd(), &mut iov, Some(&mut control), flags) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    let complete = message.bytes == size_of::<Report>();
    let mut sockets = Vec::new();
    // The room for them suffices. What the kernel could not hand over found no free descriptor.
    let controls = message.cmsgs().map_err(|_| Errno::EMFILE)?;
    for control in controls {
        if let ControlMessageOwned::ScmRights(fds) = control {
            // SAFETY: the kernel has just installed these descriptors in this process for us alone.
            sockets.extend(fds.into_iter().map(|fd| unsafe { TcpListener::from_raw_fd(fd) }));
        }
    }
    if !complete {
        return Err(io::Error::other("the process that binds the listeners ended early"));
    }
    // SAFETY: `report` holds as many bytes as a Report has, each bit pattern of whose fields is valid.
    let report: Report = unsafe { std::ptr::read_unaligned(report.as_ptr().cast()) };
    if report.stage != 0 {
        let error = io::Error::from_raw_os_error(report.errno);
        let stage = STAGES.get(report.stage as usize).copied().unwrap_or_default();
        return Err(io::Error::new(error.kind(), AtStage { stage, error }));
    }
    let mut sockets = sockets.into_iter();
    Ok((0..count).map(|index| if report.bound >> index & 1 == 1 { sockets.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, sigaction};
    use std::os::fd::AsFd;
    use std::process::Stdio;

    extern "C" fn nothing(_: c_int) {}

    #[expect(clippy::zombie_processes, reason = "what is tested waits for it")]
    #[test]
    fn a_wait_that_a_signal_interrupts_goes_on() {
        let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        unsafe { sigaction(Signal::SIGUSR2, &action) }.expect("a handler");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat starts");
        let pid = Pid::from_raw(child.id() as c_int);
        let (name, named) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            name.send(nix::unistd::gettid().as_raw()).expect("the test waits for it");
            wait_for(pid)
        });
        let thread = named.recv().expect("it says so first of all");
        let call = format!("/proc/self/task/{thread}/syscall");
        let is_waiting = || {
            let call = std::fs::read_to_string(&call);
            call.is_ok_and(|call| call.starts_with(&format!("{} ", libc::SYS_wait4)))
        };
        while !is_waiting() {
            std::thread::yield_now();
        }
        // SAFETY: takes integers.
        let sent =
            unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, Signal::SIGUSR2 as c_int) };
        assert_eq!(sent, 0);
        drop(child.stdin.take());
        assert_eq!(waits.join().expect("no panic"), Ok(WaitStatus::Exited(pid, 0)));
    }

    /// Ctrl-Z in the moment between `fork` and `setpgid`.
    #[test]
    fn a_child_is_not_stopped_before_it_is_executed() {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            SigSet::all().thread_block().expect("own thread");
            let (warden, _known) = std::os::unix::net::UnixStream::pair().expect("sockets");
            let mut command = Command::new("true");
            // SAFETY: one system call.
            unsafe { command.pre_exec(|| Ok(nix::sys::signal::raise(Signal::SIGTSTP)?)) };
            prepare_child(&mut command, Vec::new(), Signals::ForBoth, (warden.as_fd(), 1));
            let status = command.spawn().and_then(|mut child| child.wait());
            let _ = done.send(status.map(|status| status.success()));
        });
        let status = is_done.recv_timeout(std::time::Duration::from_secs(60)).expect("it is not stopped");
        assert!(status.expect("it starts"));
    }
}
