//! The attempt helper: makes one harmless access or system call and prints how the system answered.
//!
//! Tests compile it by plain `rustc`, with and without `-C target-feature=+crt-static`, and run it inside the
//! sandbox, so it is one file that needs nothing but the standard library. It does not know what is right: tests
//! compare what it prints with `attempt --list`, with the filter's table, or with what they expect.
//!
//! Harmless means: also outside the sandbox, as root, nothing on the machine changes. Arguments are wrong on
//! purpose where the right ones would do something, and each attempt is made in a child process, which takes with
//! it whatever it made. A kernel without a filter therefore answers most attempts by `EINVAL`, `EFAULT` or
//! `EBADF`, which tells a refusal from a wrong argument.
//!
//! ```text
//! attempt NAME                     makes one attempt            NAME: EPERM (1)
//! attempt --all                    makes all of them, a line each
//! attempt --list [--unix-sockets]  what the filter must answer to each, in the same form; with the flag, where
//!                                  the policy allows Unix sockets
//! attempt --fds                    the open descriptors         1 /dev/pts/0
//! attempt --caps                   the capability lines of /proc/self/status
//! attempt --connect PATH           connects to a Unix stream socket
//! attempt --write PATH…            prints each path that could be opened for writing (a directory: written into)
//! attempt --access PATH…           prints what may be done with each: r- PATH, -w PATH and so on, as for --write
//! attempt --walk-writable DIR…     prints all such paths below, without the processes of a /proc
//! ```
//!
//! The exit status is 0 when the attempt was made, whatever the answer, and 2 for a command line that is none of
//! these.

use std::arch::asm;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.split_first().is_some_and(|(first, rest)| obey(&first.to_string_lossy(), rest)) {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "usage: attempt NAME | --all | --list [--unix-sockets] | --fds | --caps | --connect PATH | \
         --write PATH… | --access PATH… | --walk-writable DIR…"
    );
    ExitCode::from(2)
}

/// Whether the command line was understood.
fn obey(first: &str, rest: &[OsString]) -> bool {
    match (first, rest) {
        ("--list", []) => attempts().iter().for_each(|attempt| attempt.print(attempt.expected)),
        ("--list", [flag]) if flag == "--unix-sockets" => {
            attempts().iter().for_each(|attempt| attempt.print(attempt.with_unix_sockets));
        }
        ("--all", []) => attempts().iter().for_each(|attempt| attempt.print(attempt.make())),
        ("--fds", []) => print_descriptors(),
        ("--caps", []) => print_capabilities(),
        ("--connect", [path]) => println!("connect: {}", Answer::of(&UnixStream::connect(path))),
        ("--write", [_, ..]) => rest.iter().map(Path::new).filter(|path| is_writable(path)).for_each(print),
        ("--access", [_, ..]) => rest.iter().map(Path::new).for_each(print_access),
        ("--walk-writable", [_, ..]) => rest.iter().map(PathBuf::from).for_each(walk),
        (name, []) => match attempts().iter().find(|attempt| attempt.name == name) {
            Some(attempt) => attempt.print(attempt.make()),
            None => return false,
        },
        _ => return false,
    }
    true
}

fn print(path: &Path) {
    println!("{}", path.display());
}

fn print_access(path: &Path) {
    let reads = if path.is_dir() { fs::read_dir(path).is_ok() } else { may_open(path) };
    let [reads, writes] = [(reads, 'r'), (is_writable(path), 'w')].map(|(may, name)| if may { name } else { '-' });
    println!("{reads}{writes} {}", path.display());
}

fn may_open(path: &Path) -> bool {
    OpenOptions::new().read(true).custom_flags(CALM).open(path).is_ok()
}

/// One system call with arguments that do no harm.
struct Attempt {
    name: String,
    entry: Entry,
    number: u64,
    arguments: [u64; 6],
    expected: Answer,
    with_unix_sockets: Answer,
}

/// How the kernel is entered.
#[derive(Clone, Copy)]
enum Entry {
    Native,
    /// The entry of 32-bit programs, which a 64-bit one can use as well.
    #[cfg(target_arch = "x86_64")]
    Int80,
}

/// How an attempt ended.
#[derive(Clone, Copy)]
enum Answer {
    Passed,
    Failed(i32),
    /// The attempt ended its process. On a kernel without an entry for 32-bit programs `int 0x80` does.
    Killed(i32),
}

const EPERM: Answer = Answer::Failed(1);
const EBADF: Answer = Answer::Failed(9);
const EINVAL: Answer = Answer::Failed(22);
const ENOSYS: Answer = Answer::Failed(38);
const ESRCH: Answer = Answer::Failed(3);

impl Attempt {
    fn print(&self, answer: Answer) {
        println!("{}: {answer}", self.name);
    }

    /// Makes the call in a child, which tells the error by its exit status.
    fn make(&self) -> Answer {
        // SAFETY: this program has one thread, so the child may do anything.
        match unsafe { fork() } {
            0 => {
                let result = self.call();
                // SAFETY: waits for the child that `clone` may have made, then ends the process, be it the child or
                // that child's own. Descriptors that the call made end with it.
                unsafe {
                    waitpid(-1, std::ptr::null_mut(), 0);
                    _exit(result.min(0).unsigned_abs() as i32)
                }
            }
            -1 => panic!("cannot fork: {}", io::Error::last_os_error()),
            child => Answer::of_child(child),
        }
    }

    fn call(&self) -> i64 {
        // SAFETY: each pointer among the arguments is null or leads to the leaked buffer of `attempts`.
        unsafe {
            match self.entry {
                Entry::Native => enter(self.number, self.arguments),
                #[cfg(target_arch = "x86_64")]
                Entry::Int80 => enter_by_int80(self.number as u32, self.arguments.map(|a| a as u32)),
            }
        }
    }

    /// Another answer where the policy allows Unix sockets.
    fn or_with_unix_sockets(mut self, answer: Answer) -> Self {
        self.with_unix_sockets = answer;
        self
    }
}

impl Answer {
    fn of<T>(result: &io::Result<T>) -> Self {
        match result {
            Ok(_) => Answer::Passed,
            Err(error) => Answer::Failed(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn of_child(child: i32) -> Self {
        let mut status = 0;
        // SAFETY: the pointer is to a live integer, and the child is this process's own.
        let waited = unsafe { waitpid(child, &mut status, 0) };
        assert_eq!(waited, child, "cannot wait: {}", io::Error::last_os_error());
        match (status & 0x7f, status >> 8 & 0xff) {
            (0, 0) => Answer::Passed,
            (0, errno) => Answer::Failed(errno),
            (signal, _) => Answer::Killed(signal),
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (names, number) = match *self {
            Answer::Passed => return f.write_str("ok"),
            Answer::Failed(number) => (ERRNO_NAMES, number),
            Answer::Killed(number) => (SIGNAL_NAMES, number),
        };
        let name = names.iter().find(|(known, _)| *known == number).map_or("unnamed", |(_, name)| *name);
        write!(f, "{name} ({number})")
    }
}

const ERRNO_NAMES: &[(i32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (3, "ESRCH"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (17, "EEXIST"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (36, "ENAMETOOLONG"),
    (38, "ENOSYS"),
    (40, "ELOOP"),
    (93, "EPROTONOSUPPORT"),
    (94, "ESOCKTNOSUPPORT"),
    (95, "EOPNOTSUPP"),
    (97, "EAFNOSUPPORT"),
    (111, "ECONNREFUSED"),
];
const SIGNAL_NAMES: &[(i32, &str)] = &[(4, "SIGILL"), (11, "SIGSEGV"), (31, "SIGSYS")];

#[cfg(target_arch = "x86_64")]
mod number {
    pub const GETPID: u64 = 39;
    pub const SOCKET: u64 = 41;
    pub const SOCKETPAIR: u64 = 53;
    pub const CLONE: u64 = 56;
    pub const PTRACE: u64 = 101;
    pub const IOCTL: u64 = 16;
    pub const UNSHARE: u64 = 272;
    pub const SETNS: u64 = 308;
    pub const MOUNT: u64 = 165;
    pub const UMOUNT2: u64 = 166;
    pub const PIVOT_ROOT: u64 = 155;
    pub const CHROOT: u64 = 161;
    pub const ADD_KEY: u64 = 248;
    pub const REQUEST_KEY: u64 = 249;
    pub const KEYCTL: u64 = 250;
    pub const BPF: u64 = 321;
    pub const PERF_EVENT_OPEN: u64 = 298;
    pub const USERFAULTFD: u64 = 323;
    pub const PRLIMIT64: u64 = 302;
    pub const PROCESS_VM_READV: u64 = 310;
    pub const PROCESS_VM_WRITEV: u64 = 311;
    pub const KCMP: u64 = 312;
    pub const FCHMOD: u64 = 91;
    pub const FCHMODAT: u64 = 268;
    pub const FCNTL: u64 = 72;
    pub const SETPRIORITY: u64 = 141;
    pub const SCHED_SETPARAM: u64 = 142;
    pub const SCHED_SETSCHEDULER: u64 = 144;
    pub const SCHED_SETAFFINITY: u64 = 203;
    pub const SCHED_SETATTR: u64 = 314;
    pub const IOPRIO_SET: u64 = 251;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const GETPID: u64 = 172;
    pub const SOCKET: u64 = 198;
    pub const SOCKETPAIR: u64 = 199;
    pub const CLONE: u64 = 220;
    pub const PTRACE: u64 = 117;
    pub const IOCTL: u64 = 29;
    pub const UNSHARE: u64 = 97;
    pub const SETNS: u64 = 268;
    pub const MOUNT: u64 = 40;
    pub const UMOUNT2: u64 = 39;
    pub const PIVOT_ROOT: u64 = 41;
    pub const CHROOT: u64 = 51;
    pub const ADD_KEY: u64 = 217;
    pub const REQUEST_KEY: u64 = 218;
    pub const KEYCTL: u64 = 219;
    pub const BPF: u64 = 280;
    pub const PERF_EVENT_OPEN: u64 = 241;
    pub const USERFAULTFD: u64 = 282;
    pub const PRLIMIT64: u64 = 261;
    pub const PROCESS_VM_READV: u64 = 270;
    pub const PROCESS_VM_WRITEV: u64 = 271;
    pub const KCMP: u64 = 272;
    pub const FCHMOD: u64 = 52;
    pub const FCHMODAT: u64 = 53;
    pub const FCNTL: u64 = 25;
    pub const SETPRIORITY: u64 = 140;
    pub const SCHED_SETPARAM: u64 = 118;
    pub const SCHED_SETSCHEDULER: u64 = 119;
    pub const SCHED_SETAFFINITY: u64 = 122;
    pub const SCHED_SETATTR: u64 = 274;
    pub const IOPRIO_SET: u64 = 30;
}

/// A bit in the upper half of a register, which the kernel does not read of an `int`.
const UPPER: u64 = 1 << 32;
/// No descriptor has this number, and no call knows all of these flags.
const WRONG: u64 = u32::MAX as u64;
/// No socket type has this flag: the kernel answers `EINVAL` before it looks for the family, so that it loads no
/// module for it.
const WRONG_FLAG: u64 = 0x10;
const CLOEXEC: u64 = 0o2_000_000;
const NONBLOCK: u64 = 0o4_000;
const SIGCHLD: u64 = 17;
/// Without shared memory, which is never among the flags here, the kernel answers `EINVAL` and makes no child.
const SHARED_SIGNALS: u64 = 0x800;

const CLONE_NEWUSER: u64 = 0x1000_0000;
const CLONE_NEWTIME: u64 = 0x80;
const NAMESPACES: [(&str, u64); 7] = [
    ("newns", 0x0002_0000),
    ("newcgroup", 0x0200_0000),
    ("newuts", 0x0400_0000),
    ("newipc", 0x0800_0000),
    ("newuser", CLONE_NEWUSER),
    ("newpid", 0x2000_0000),
    ("newnet", 0x4000_0000),
];

const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
const TIOCGWINSZ: u64 = 0x5413;

fn attempt(name: &str, number: u64, arguments: &[u64], expected: Answer) -> Attempt {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    Attempt {
        name: name.to_owned(),
        entry: Entry::Native,
        number,
        arguments: all,
        expected,
        with_unix_sockets: expected,
    }
}

/// Every attempt. Names start with the name of the call, or of the entry or the range of numbers for rows that are
/// about no single call.
fn attempts() -> Vec<Attempt> {
    let mut all = namespace_attempts();
    all.extend(mount_attempts());
    all.extend(socket_attempts());
    all.extend(pair_attempts());
    all.extend(other_attempts());
    all.extend(first_process_attempts());
    all.extend(number_attempts());
    #[cfg(target_arch = "x86_64")]
    all.extend(x86_attempts());
    all
}

fn namespace_attempts() -> Vec<Attempt> {
    use number::{CLONE, SETNS, UNSHARE};
    // `unshare` knows no signal number in its flags.
    const WRONG_UNSHARE: u64 = 1;
    let mut all = vec![
        attempt("unshare", UNSHARE, &[0], EPERM),
        attempt("unshare-newtime", UNSHARE, &[CLONE_NEWTIME | WRONG_UNSHARE], EPERM),
        attempt("unshare-upper-half", UNSHARE, &[UPPER], EPERM),
        attempt("unshare-upper-half-of-number", UNSHARE | UPPER, &[0], EPERM),
        attempt("setns", SETNS, &[WRONG], EPERM),
        attempt("clone", CLONE, &[SIGCHLD], Answer::Passed),
        attempt("clone-newtime", CLONE, &[CLONE_NEWTIME | SHARED_SIGNALS], EINVAL),
        attempt("clone3", 435, &[], ENOSYS),
    ];
    for (name, flag) in NAMESPACES {
        let cloned = flag | SHARED_SIGNALS | SIGCHLD;
        all.push(attempt(&format!("unshare-{name}"), UNSHARE, &[flag | WRONG_UNSHARE], EPERM));
        all.push(attempt(&format!("clone-{name}"), CLONE, &[cloned], EPERM));
        all.push(attempt(&format!("clone-{name}-upper-half"), CLONE, &[cloned | UPPER], EPERM));
    }
    all
}

fn mount_attempts() -> Vec<Attempt> {
    use number::{CHROOT, MOUNT, PIVOT_ROOT, UMOUNT2};
    vec![
        attempt("mount", MOUNT, &[], EPERM),
        attempt("umount2", UMOUNT2, &[0, WRONG], EPERM),
        attempt("pivot_root", PIVOT_ROOT, &[], EPERM),
        attempt("chroot", CHROOT, &[], EPERM),
        attempt("open_tree", 428, &[WRONG, 0, WRONG], EPERM),
        attempt("move_mount", 429, &[WRONG, 0, WRONG, 0, WRONG], EPERM),
        attempt("fsopen", 430, &[0, WRONG], EPERM),
        attempt("fsconfig", 431, &[WRONG, WRONG], EPERM),
        attempt("fsmount", 432, &[WRONG, WRONG], EPERM),
        attempt("fspick", 433, &[WRONG, 0, WRONG], EPERM),
        attempt("mount_setattr", 442, &[WRONG, 0, WRONG], EPERM),
    ]
}

const UNIX: u64 = 1;
const INET: u64 = 2;
const INET6: u64 = 10;
const NETLINK: u64 = 16;
const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;
const RAW: u64 = 3;
const SEQPACKET: u64 = 5;
const PACKET_TYPE: u64 = 10;

fn socket_attempts() -> Vec<Attempt> {
    use number::SOCKET;
    const KOBJECT_UEVENT: u64 = 15;
    const AUDIT: u64 = 9;
    let mut all = vec![
        attempt("socket-inet-stream", SOCKET, &[INET, STREAM | CLOEXEC | NONBLOCK], Answer::Passed),
        attempt("socket-inet-datagram", SOCKET, &[INET, DATAGRAM], Answer::Passed),
        attempt("socket-inet6", SOCKET, &[INET6, STREAM | WRONG_FLAG], EINVAL),
        attempt("socket-inet-upper-half", SOCKET, &[INET | UPPER, STREAM], EPERM),
        attempt("socket-inet-packet", SOCKET, &[INET, PACKET_TYPE | WRONG_FLAG], EPERM),
        attempt("socket-inet-packet-upper-half", SOCKET, &[INET, PACKET_TYPE | WRONG_FLAG | UPPER], EPERM),
        attempt("socket-netlink-route", SOCKET, &[NETLINK, RAW], Answer::Passed),
        attempt("socket-netlink-uevent", SOCKET, &[NETLINK, RAW | WRONG_FLAG, KOBJECT_UEVENT], EPERM),
        attempt("socket-netlink-audit", SOCKET, &[NETLINK, RAW | WRONG_FLAG, AUDIT], EPERM),
        attempt("socket-netlink-upper-half", SOCKET, &[NETLINK, RAW, UPPER], EPERM),
        attempt("socket-unix-upper-half", SOCKET, &[UNIX | UPPER, STREAM], EPERM),
    ];
    let types = [("stream", STREAM), ("datagram", DATAGRAM), ("raw", RAW), ("seqpacket", SEQPACKET)];
    all.extend(types.map(|(name, kind)| {
        attempt(&format!("socket-unix-{name}"), SOCKET, &[UNIX, kind], EPERM)
            .or_with_unix_sockets(Answer::Passed)
    }));
    let families = [
        ("unspec", 0),
        ("ax25", 3),
        ("key", 15),
        ("packet", 17),
        ("can", 29),
        ("tipc", 30),
        ("bluetooth", 31),
        ("alg", 38),
        ("nfc", 39),
        ("vsock", 40),
        ("qipcrtr", 42),
        ("smc", 43),
        ("xdp", 44),
        ("unheard-of", 200),
        ("negative", WRONG),
    ];
    all.extend(families.map(|(name, family)| {
        attempt(&format!("socket-{name}"), SOCKET, &[family, STREAM | WRONG_FLAG], EPERM)
    }));
    all
}

fn pair_attempts() -> Vec<Attempt> {
    // Where the kernel writes the two descriptors. The addresses in the arguments outlive every attempt.
    let pair = Box::leak(Box::new([0_i32; 2])).as_mut_ptr() as u64;
    let make = |name: &str, family, kind, answer| {
        attempt(&format!("socketpair-{name}"), number::SOCKETPAIR, &[family, kind, 0, pair], answer)
    };
    let flags = CLOEXEC | NONBLOCK;
    vec![
        make("stream", UNIX, STREAM, Answer::Passed),
        make("stream-flags", UNIX, STREAM | flags, Answer::Passed),
        make("seqpacket", UNIX, SEQPACKET | flags, Answer::Passed),
        make("datagram", UNIX, DATAGRAM, EPERM).or_with_unix_sockets(Answer::Passed),
        make("datagram-flags", UNIX, DATAGRAM | flags, EPERM).or_with_unix_sockets(Answer::Passed),
        make("datagram-upper-half", UNIX, DATAGRAM | UPPER, EPERM).or_with_unix_sockets(Answer::Passed),
        make("raw", UNIX, RAW, EPERM).or_with_unix_sockets(Answer::Passed),
        make("upper-half", UNIX | UPPER, STREAM, EPERM),
        make("inet", INET, STREAM | WRONG_FLAG, EPERM),
        make("tipc", 30, STREAM | WRONG_FLAG, EPERM),
    ]
}

fn other_attempts() -> Vec<Attempt> {
    use number::{ADD_KEY, BPF, FCHMOD, FCHMODAT, FCNTL, IOCTL, KEYCTL, PERF_EVENT_OPEN, PTRACE, REQUEST_KEY, USERFAULTFD};
    const USER_MODE_ONLY: u64 = 1;
    const CONTINUE: u64 = 7;
    vec![
        attempt("io_uring_setup", 425, &[], EPERM),
        attempt("io_uring_enter", 426, &[WRONG, 0, 0, WRONG], EPERM),
        attempt("io_uring_register", 427, &[WRONG, WRONG], EPERM),
        attempt("add_key", ADD_KEY, &[], EPERM),
        attempt("request_key", REQUEST_KEY, &[], EPERM),
        attempt("keyctl", KEYCTL, &[WRONG], EPERM),
        attempt("bpf", BPF, &[WRONG], EPERM),
        attempt("perf_event_open", PERF_EVENT_OPEN, &[0, 0, WRONG, WRONG, WRONG], EPERM),
        attempt("userfaultfd", USERFAULTFD, &[USER_MODE_ONLY | 0x4000_0000], EPERM),
        attempt("ioctl-tiocsti", IOCTL, &[WRONG, TIOCSTI], EPERM),
        attempt("ioctl-tiocsti-upper-half", IOCTL, &[WRONG, TIOCSTI | UPPER], EPERM),
        attempt("ioctl-tioclinux", IOCTL, &[WRONG, TIOCLINUX], EPERM),
        attempt("ioctl-tioclinux-upper-half", IOCTL, &[WRONG, TIOCLINUX | 7 << 60], EPERM),
        attempt("ioctl-tiocexcl", IOCTL, &[WRONG, 0x540c], EPERM),
        attempt("ioctl-tiocsetd", IOCTL, &[WRONG, 0x5423], EPERM),
        attempt("fcntl-setlease", FCNTL, &[WRONG, 1024], EPERM),
        attempt("fcntl-setlease-upper-half", FCNTL, &[WRONG, 1024 | UPPER], EPERM),
        attempt("fcntl-setdeleg", FCNTL, &[WRONG, 1040], EPERM),
        attempt("fchmod-setuid", FCHMOD, &[WRONG, 0o4755], EPERM),
        attempt("fchmod-setuid-upper-half", FCHMOD, &[WRONG, 0o4755 | UPPER], EPERM),
        attempt("fchmod-setgid", FCHMOD, &[WRONG, 0o2755], EBADF),
        attempt("fchmodat-setuid", FCHMODAT, &[WRONG, 0, 0o4000], EPERM),
        attempt("fchmodat2", 452, &[WRONG, 0, 0o644, 0], ENOSYS),
        attempt("fcntl-getlease", FCNTL, &[WRONG, 1025], EBADF),
        attempt("ioctl-tiocgwinsz", IOCTL, &[WRONG, TIOCGWINSZ], EBADF),
        attempt("ptrace", PTRACE, &[CONTINUE, 0], ESRCH),
    ]
}

/// What reaches the sandbox's first process, and the same of one that does not exist.
fn first_process_attempts() -> Vec<Attempt> {
    use number::{IOPRIO_SET, KCMP, PRLIMIT64, PROCESS_VM_READV, PROCESS_VM_WRITEV, PTRACE};
    use number::{SCHED_SETAFFINITY, SCHED_SETATTR, SCHED_SETPARAM, SCHED_SETSCHEDULER, SETPRIORITY};
    const FIRST: u64 = 1;
    const CONTINUE: u64 = 7;
    vec![
        attempt("first-ptrace", PTRACE, &[CONTINUE, FIRST], EPERM),
        attempt("first-ptrace-upper-half", PTRACE, &[CONTINUE, FIRST | UPPER], EPERM),
        attempt("first-process_vm_readv", PROCESS_VM_READV, &[FIRST, 0, 0, 0, 0, WRONG], EPERM),
        attempt("first-process_vm_writev", PROCESS_VM_WRITEV, &[FIRST, 0, 0, 0, 0, WRONG], EPERM),
        attempt("first-process_vm_writev-upper-half", PROCESS_VM_WRITEV, &[FIRST | UPPER], EPERM),
        attempt("first-kcmp", KCMP, &[FIRST, WRONG], EPERM),
        attempt("first-kcmp-other", KCMP, &[WRONG, FIRST], EPERM),
        attempt("first-prlimit64", PRLIMIT64, &[FIRST, WRONG], EPERM),
        attempt("first-sched_setparam", SCHED_SETPARAM, &[FIRST], EPERM),
        attempt("first-sched_setscheduler", SCHED_SETSCHEDULER, &[FIRST], EPERM),
        attempt("first-sched_setattr", SCHED_SETATTR, &[FIRST], EPERM),
        attempt("first-sched_setaffinity", SCHED_SETAFFINITY, &[FIRST], EPERM),
        attempt("first-setpriority", SETPRIORITY, &[0, FIRST, 19], EPERM),
        attempt("first-ioprio_set", IOPRIO_SET, &[1, FIRST, WRONG], EPERM),
        attempt("group-setpriority", SETPRIORITY, &[1, WRONG >> 1, 0], EPERM),
        attempt("user-setpriority", SETPRIORITY, &[2, WRONG >> 1, 0], EPERM),
        attempt("group-ioprio_set", IOPRIO_SET, &[2, WRONG >> 1, WRONG], EPERM),
        attempt("user-ioprio_set", IOPRIO_SET, &[3, WRONG >> 1, WRONG], EPERM),
        attempt("other-setpriority", SETPRIORITY, &[0, WRONG >> 1, 0], ESRCH),
        attempt("pidfd_getfd", 438, &[WRONG, 0, WRONG], EPERM),
        attempt("other-process_vm_writev", PROCESS_VM_WRITEV, &[WRONG, 0, 0, 0, 0, WRONG], EINVAL),
        attempt("other-kcmp", KCMP, &[WRONG, WRONG], ESRCH),
    ]
}

/// Numbers that no row names. −1 is the one that no kernel knows and no filter must answer.
fn number_attempts() -> Vec<Attempt> {
    let top_bit = if cfg!(target_arch = "x86_64") { EPERM } else { ENOSYS };
    vec![
        attempt("unreviewed-gap", 400, &[], ENOSYS),
        attempt("unreviewed-open_tree_attr", 467, &[WRONG, 0, WRONG], ENOSYS),
        attempt("unreviewed-file_getattr", 468, &[WRONG, 0, 0, 0, WRONG], ENOSYS),
        attempt("unreviewed-file_setattr", 469, &[WRONG, 0, 0, 0, WRONG], ENOSYS),
        attempt("unreviewed-x32-ioctl-without-its-bit", 514, &[WRONG, TIOCSTI], ENOSYS),
        attempt("unreviewed-1023", 1023, &[], ENOSYS),
        attempt("number-with-top-bit", 0x8000_0000 | number::GETPID, &[], top_bit),
        attempt("number-minus-one", WRONG, &[], ENOSYS),
    ]
}

/// The same calls by x32's numbers and by the entry of 32-bit programs, with that entry's own numbers.
#[cfg(target_arch = "x86_64")]
fn x86_attempts() -> Vec<Attempt> {
    use number::{CLONE, GETPID, MOUNT, SOCKET, UNSHARE};
    const X32: u64 = 0x4000_0000;
    let user = CLONE_NEWUSER | SHARED_SIGNALS | SIGCHLD;
    let int80 = |name: &str, number, arguments: &[u64]| {
        let made = attempt(&format!("int80-{name}"), number, arguments, EPERM);
        Attempt { entry: Entry::Int80, ..made }
    };
    vec![
        attempt("x32-getpid", X32 | GETPID, &[], EPERM),
        attempt("x32-unshare", X32 | UNSHARE, &[], EPERM),
        attempt("x32-clone-newuser", X32 | CLONE, &[user], EPERM),
        attempt("x32-mount", X32 | MOUNT, &[], EPERM),
        attempt("x32-socket-unix", X32 | SOCKET, &[UNIX, STREAM], EPERM),
        attempt("x32-ioctl-tiocsti", X32 | 514, &[WRONG, TIOCSTI], EPERM),
        int80("getpid", 20, &[]),
        int80("unshare", 310, &[]),
        int80("clone-newuser", 120, &[user]),
        int80("mount", 21, &[]),
        int80("socket-unix", 359, &[UNIX, STREAM]),
        int80("socketcall", 102, &[]),
        int80("ipc", 117, &[WRONG]),
        int80("keyctl", 288, &[WRONG]),
    ]
}

/// Enters the kernel with all 64 bits of each register as given; a negative result is an error's number.
///
/// # Safety
/// The kernel does what the registers say.
#[cfg(target_arch = "x86_64")]
unsafe fn enter(number: u64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel keeps every register but these three.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
unsafe fn enter(number: u64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel keeps every register but the first.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, in("x5") f, options(nostack));
    }
    result
}

/// Enters the kernel as a 32-bit program does. The sixth argument's register stays as it is.
///
/// # Safety
/// The kernel does what the registers say.
#[cfg(target_arch = "x86_64")]
unsafe fn enter_by_int80(number: u32, arguments: [u32; 6]) -> i64 {
    let [a, b, c, d, e, _] = arguments;
    let result: i32;
    // SAFETY: rbx, which the compiler keeps for itself, is put back; kernels before 4.17 clear r8 to r11.
    unsafe {
        asm!("xchg rbx, {first}", "int 0x80", "xchg rbx, {first}", first = inout(reg) u64::from(a) => _,
            inlateout("eax") number => result, in("ecx") b, in("edx") c, in("esi") d, in("edi") e,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _, options(nostack));
    }
    result.into()
}

unsafe extern "C" {
    fn fork() -> i32;
    fn _exit(status: i32) -> !;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn faccessat(directory: i32, path: *const std::ffi::c_char, mode: i32, flags: i32) -> i32;
}

/// All descriptors but the one that the listing itself needs.
fn print_descriptors() {
    let own = format!("/proc/{}/fd", process::id());
    let entries = fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    let mut open: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, fs::read_link(entry.path()).ok()?))
        })
        .filter(|(_, target)| target.as_os_str() != own.as_str())
        .collect();
    open.sort();
    for (number, target) in open {
        println!("{number} {}", target.display());
    }
}

fn print_capabilities() {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    status.lines().filter(|line| line.starts_with("Cap")).for_each(|line| println!("{line}"));
}

#[cfg(target_arch = "x86_64")]
mod flag {
    pub const DIRECTORY: i32 = 0o200_000;
    pub const NO_FOLLOW: i32 = 0o400_000;
}

#[cfg(target_arch = "aarch64")]
mod flag {
    pub const DIRECTORY: i32 = 0o40_000;
    pub const NO_FOLLOW: i32 = 0o100_000;
}

/// Neither waits for the other end of a pipe nor takes a terminal over.
const CALM: i32 = 0o4_000 | 0o400;
const UNNAMED_FILE: i32 = 0o20_000_000 | flag::DIRECTORY;

fn is_writable(path: &Path) -> bool {
    if path.is_dir() { can_write_into(path) } else { open_for_writing(path, CALM).is_ok() }
}

/// Opens as it is: nothing is made, nothing cut short.
fn open_for_writing(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(flags).open(path)
}

fn can_write_into(directory: &Path) -> bool {
    if open_for_writing(directory, UNNAMED_FILE).is_ok() {
        return true;
    }
    let unlikely = directory.join(format!(".attempt-{}-of-writing", process::id()));
    fs::create_dir(&unlikely).and_then(|()| fs::remove_dir(&unlikely)).is_ok()
}

/// Below `root`, ordinary files are opened. Of everything else the kernel is only asked whether it could be written:
/// to open a device can do something (a watchdog starts), and so can a directory made in a control file system.
fn walk(root: PathBuf) {
    let mut waiting = vec![root];
    while let Some(path) = waiting.pop() {
        let Ok(kind) = fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else { continue };
        let writable = if kind.is_symlink() {
            false
        } else if kind.is_file() {
            open_for_writing(&path, CALM | flag::NO_FOLLOW).is_ok()
        } else {
            may_write(&path)
        };
        if writable {
            print(&path);
        }
        if kind.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
            waiting.extend(entries.filter(|entry| !is_process(entry)));
        }
    }
}

fn may_write(path: &Path) -> bool {
    const HERE: i32 = -100;
    const WRITE: i32 = 2;
    const AS_EFFECTIVE_USER: i32 = 0x200;
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a live string that ends with a NUL.
    unsafe { faccessat(HERE, path.as_ptr(), WRITE, AS_EFFECTIVE_USER) == 0 }
}

/// What a process may write of itself is no business of the host.
fn is_process(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    path.parent() == Some(Path::new("/proc"))
        && (name == "self" || name == "thread-self" || name.bytes().all(|byte| byte.is_ascii_digit()))
}
