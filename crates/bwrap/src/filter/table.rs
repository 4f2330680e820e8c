//! The table itself: what a row is, and every row.
//!
//! Numbers stand beside names so that the table can be read and judged where libseccomp is not. A test compares
//! them with libseccomp's.

use super::{Arch, FCHMODAT2, NO_CALL, SystemCall};
use std::fmt;

/// One refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which calls.
    pub subject: Subject,
    /// On which arguments: where all hold. Empty: on any.
    pub clauses: &'static [Clause],
    /// What the caller gets.
    pub answer: Errno,
    /// Why, in a sentence.
    pub reason: &'static str,
    /// The row keeps commands from Unix sockets, and is left out where the policy allows them.
    pub only_without_unix_sockets: bool,
}

/// Which calls a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Every call that comes by another architecture's entry.
    ForeignEntry,
    /// Every call with a number of x32 (x86-64 only).
    X32,
    /// Every call with a number that nobody has read for this table.
    Unreviewed,
    /// One call.
    Call(Call),
}

/// A call by name, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The kernel's name for it.
    pub name: &'static str,
    x86_64: u32,
    arm64: u32,
}

/// A condition on one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clause {
    /// Which argument, from 0.
    pub argument: usize,
    /// What the argument means in this call.
    pub name: &'static str,
    /// The condition.
    pub test: Test,
}

/// What an argument is compared with, and which of its 64 bits are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The lower 32 bits, which are all the kernel reads, are this value.
    Is(Value),
    /// The lower 32 bits, which are all the kernel reads, have a bit of at least one of these.
    HasAny(&'static [Value]),
    /// All 64 bits together are none of these values.
    IsNone(&'static [Value]),
    /// The low 4 bits are this value: a socket's type without its flags, as the kernel takes it apart.
    TypeIs(Value),
    /// The low 4 bits are none of these values.
    TypeIsNone(&'static [Value]),
}

/// A number with the name that the kernel's headers give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The name.
    pub name: &'static str,
    /// The number.
    pub number: u32,
}

/// The error that a refused call fails with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errno {
    /// Operation not permitted.
    Eperm,
    /// The kernel has no such call: programs then use an older one.
    Enosys,
}

impl Row {
    /// Whether the row refuses `call` on a kernel of `arch`.
    pub fn covers(&self, arch: Arch, call: &SystemCall) -> bool {
        self.subject.covers(arch, call) && self.clauses.iter().all(|clause| clause.holds(&call.arguments))
    }

    const fn on(mut self, clauses: &'static [Clause]) -> Self {
        self.clauses = clauses;
        self
    }

    const fn only_without_unix_sockets(mut self) -> Self {
        self.only_without_unix_sockets = true;
        self
    }
}

impl Subject {
    fn covers(self, arch: Arch, call: &SystemCall) -> bool {
        let is_native = call.entry == arch.entry();
        match self {
            Subject::ForeignEntry => !is_native,
            Subject::X32 => is_native && arch.is_x32(call.number),
            Subject::Unreviewed => {
                is_native
                    && !arch.has_reviewed(call.number)
                    && !arch.is_x32(call.number)
                    && call.number != NO_CALL
            }
            Subject::Call(named) => is_native && named.is_on(arch) && call.number == named.number(arch),
        }
    }
}

impl Call {
    /// Whether `arch` has the call.
    pub(super) fn is_on(self, arch: Arch) -> bool {
        self.number(arch) != NO_CALL
    }

    /// The call's number on `arch`; −1 where there is none.
    pub fn number(self, arch: Arch) -> u32 {
        match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Arm64 => self.arm64,
        }
    }
}

impl Clause {
    fn holds(&self, arguments: &[u64; 6]) -> bool {
        self.test.holds(arguments[self.argument])
    }
}

/// Which bits of an argument hold a socket's type; those above are flags.
pub(super) const TYPE_BITS: u64 = 0xf;

impl Test {
    fn holds(&self, argument: u64) -> bool {
        let low = argument & u64::from(u32::MAX);
        let kind = argument & TYPE_BITS;
        match self {
            Test::Is(value) => low == value.wide(),
            Test::HasAny(values) => values.iter().any(|value| low & value.wide() != 0),
            Test::IsNone(values) => values.iter().all(|value| argument != value.wide()),
            Test::TypeIs(value) => kind == value.wide(),
            Test::TypeIsNone(values) => values.iter().all(|value| kind != value.wide()),
        }
    }
}

impl Value {
    pub(super) const fn wide(self) -> u64 {
        self.number as u64
    }
}

impl Errno {
    /// The number on Linux, for both architectures.
    pub fn number(self) -> u16 {
        match self {
            Errno::Eperm => 1,
            Errno::Enosys => 38,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Subject::ForeignEntry => "any call by another architecture's entry",
            Subject::X32 => "any call of x32",
            Subject::Unreviewed => "any call with an unreviewed number",
            Subject::Call(call) => call.name,
        })
    }
}

/// `family is none of AF_UNIX, AF_INET`.
impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match self.test {
            Test::Is(value) | Test::TypeIs(value) => write!(f, " is {}", value.name),
            Test::HasAny(values) => write!(f, " has any of {}", Names(values)),
            Test::IsNone([value]) | Test::TypeIsNone([value]) => write!(f, " is not {}", value.name),
            Test::IsNone(values) | Test::TypeIsNone(values) => write!(f, " is none of {}", Names(values)),
        }
    }
}

struct Names(&'static [Value]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(value.name)?;
        }
        Ok(())
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Errno::Eperm => "EPERM",
            Errno::Enosys => "ENOSYS",
        })
    }
}

/// `socket where family is AF_UNIX: EPERM. The reason.`
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.subject)?;
        for (index, clause) in self.clauses.iter().enumerate() {
            write!(f, " {} {clause}", if index == 0 { "where" } else { "and" })?;
        }
        write!(f, ": {}. {}", self.answer, self.reason)
    }
}

const fn value(name: &'static str, number: u32) -> Value {
    Value { name, number }
}

const AF_UNIX: Value = value("AF_UNIX", 1);
const AF_INET: Value = value("AF_INET", 2);
const AF_INET6: Value = value("AF_INET6", 10);
const AF_NETLINK: Value = value("AF_NETLINK", 16);
const NETLINK_ROUTE: Value = value("NETLINK_ROUTE", 0);
const SOCK_STREAM: Value = value("SOCK_STREAM", 1);
const SOCK_SEQPACKET: Value = value("SOCK_SEQPACKET", 5);
const SOCK_PACKET: Value = value("SOCK_PACKET", 10);
const S_ISUID: Value = value("S_ISUID", 0o4000);
const TIOCSTI: Value = value("TIOCSTI", 0x5412);
/// The sandbox's first process, which is bubblewrap's.
const FIRST: Value = value("1", 1);
const PRIO_PROCESS: Value = value("PRIO_PROCESS", 0);
/// Process groups, and all of a user's processes: the first one may be among them.
const PRIO_MANY: [Value; 2] = [value("PRIO_PGRP", 1), value("PRIO_USER", 2)];
const IOPRIO_WHO_PROCESS: Value = value("IOPRIO_WHO_PROCESS", 1);
/// The same.
const IOPRIO_WHO_MANY: [Value; 2] = [value("IOPRIO_WHO_PGRP", 2), value("IOPRIO_WHO_USER", 3)];
const F_SETLEASE: Value = value("F_SETLEASE", 1024);
const F_SETDELEG: Value = value("F_SETDELEG", 1040);
const TIOCEXCL: Value = value("TIOCEXCL", 0x540c);
const TIOCSETD: Value = value("TIOCSETD", 0x5423);
const TIOCLINUX: Value = value("TIOCLINUX", 0x541c);

/// `CLONE_NEWTIME` (0x80) is not among them: the old `clone` takes the low byte of its flags as the number of
/// the signal that tells of the child's end, so there the bit makes no namespace.
const NAMESPACE_FLAGS: &[Value] = &[
    value("CLONE_NEWNS", 0x0002_0000),
    value("CLONE_NEWCGROUP", 0x0200_0000),
    value("CLONE_NEWUTS", 0x0400_0000),
    value("CLONE_NEWIPC", 0x0800_0000),
    value("CLONE_NEWUSER", 0x1000_0000),
    value("CLONE_NEWPID", 0x2000_0000),
    value("CLONE_NEWNET", 0x4000_0000),
];

const fn row(subject: Subject, answer: Errno, reason: &'static str) -> Row {
    Row { subject, clauses: &[], answer, reason, only_without_unix_sockets: false }
}

/// A row for the call with these numbers on x86-64 and on arm64.
const fn refuse(name: &'static str, x86_64: u32, arm64: u32, reason: &'static str) -> Row {
    row(Subject::Call(Call { name, x86_64, arm64 }), Errno::Eperm, reason)
}

const fn clause(argument: usize, name: &'static str, test: Test) -> Clause {
    Clause { argument, name, test }
}

const MOUNTS: &str = "Would change what the command sees under a path, and so undo the file rules.";
const MOUNTS_BY_DESCRIPTOR: &str =
    "A step of mounting through descriptors, which would change what the command sees under a path.";
const IO_URING: &str =
    "A ring opens files and makes sockets without a system call that this filter would see.";
const KEYRINGS: &str =
    "The session keyring is inherited, and holds what the user's programs outside keep secret.";

const FIRST_PROCESS: &str = "Whoever controls the sandbox's first process can keep the sandbox from ending with Palisade, and reaches \
     bubblewrap's own file on the host.";

const FIRST_STARVED: &str = "When the command ends, the first process ends the rest; starved of processor time it would let that go on.";
const SET_USER_ID: &str =
    "Another user of the machine who runs the file becomes the command's user, for whom the sandbox is not.";
const LEASES: &str = "Whoever outside opens the file, which need not be writable here, waits until the command gives the lease up.";

/// Every refusal. The order has no meaning but this: where several rows cover a call, the first one is named.
pub const TABLE: &[Row] = &[
    row(
        Subject::ForeignEntry,
        Errno::Eperm,
        "Other entries have other numbers and calls that bundle others; this table does not know them.",
    ),
    row(Subject::X32, Errno::Eperm, "x32 runs the same calls under numbers that the other rows do not name."),
    row(
        Subject::Unreviewed,
        Errno::Enosys,
        "Newer kernels have new ways around this table, such as open_tree_attr; programs do without.",
    ),
    // Namespaces.
    refuse(
        "unshare",
        272,
        97,
        "In a user namespace of its own a command would hold every capability over a copy of the mounts.",
    ),
    refuse(
        "setns",
        308,
        268,
        "Would leave the sandbox's namespaces for any that a descriptor can be had of.",
    ),
    refuse("clone", 56, 220, "A child in new namespaces would hold every capability there, as with unshare.")
        .on(&[clause(0, "flags", Test::HasAny(NAMESPACE_FLAGS))]),
    row(
        Subject::Call(Call { name: "clone3", x86_64: 435, arm64: 435 }),
        Errno::Enosys,
        "Its flags lie in memory, where a filter cannot read them; C libraries then use clone.",
    ),
    // Mounts.
    refuse("mount", 165, 40, MOUNTS),
    refuse("umount2", 166, 39, "Would uncover what a mount hides."),
    refuse("pivot_root", 155, 41, MOUNTS),
    refuse("chroot", 161, 51, MOUNTS),
    refuse("open_tree", 428, 428, MOUNTS_BY_DESCRIPTOR),
    refuse("move_mount", 429, 429, MOUNTS_BY_DESCRIPTOR),
    refuse("fsopen", 430, 430, MOUNTS_BY_DESCRIPTOR),
    refuse("fsconfig", 431, 431, MOUNTS_BY_DESCRIPTOR),
    refuse("fsmount", 432, 432, MOUNTS_BY_DESCRIPTOR),
    refuse("fspick", 433, 433, MOUNTS_BY_DESCRIPTOR),
    refuse("mount_setattr", 442, 442, "Would make a read-only mount writable."),
    // Calls that bypass the filter.
    refuse("io_uring_setup", 425, 425, IO_URING),
    refuse("io_uring_enter", 426, 426, IO_URING),
    refuse("io_uring_register", 427, 427, IO_URING),
    // Sockets.
    refuse("socket", 41, 198, "Reaches a service by its socket's path, such as an SSH agent or Docker.")
        .on(&[clause(0, "family", Test::Is(AF_UNIX))])
        .only_without_unix_sockets(),
    refuse(
        "socket",
        41,
        198,
        "Other families reach what a network namespace does not hide, such as the hypervisor (AF_VSOCK).",
    )
    .on(&[clause(0, "family", Test::IsNone(&[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK]))]),
    refuse("socket", 41, 198, "The kernel takes this old spelling for AF_PACKET.")
        .on(&[clause(0, "family", Test::Is(AF_INET)), clause(1, "type", Test::TypeIs(SOCK_PACKET))]),
    refuse(
        "socket",
        41,
        198,
        "Programs ask NETLINK_ROUTE for their addresses; the other protocols speak to kernel subsystems.",
    )
    .on(&[clause(0, "family", Test::Is(AF_NETLINK)), clause(2, "protocol", Test::IsNone(&[NETLINK_ROUTE]))]),
    refuse("socketpair", 53, 199, "Pairs are for pipes between processes, which need no other family.")
        .on(&[clause(0, "family", Test::IsNone(&[AF_UNIX]))]),
    refuse(
        "socketpair",
        53,
        199,
        "An end of a datagram pair (SOCK_RAW is one, too) can be connected to any socket's path afterwards.",
    )
    .on(&[clause(1, "type", Test::TypeIsNone(&[SOCK_STREAM, SOCK_SEQPACKET]))])
    .only_without_unix_sockets(),
    // The sandbox's first process. What is outside relies on it.
    refuse("ptrace", 101, 117, FIRST_PROCESS).on(&[clause(1, "pid", Test::Is(FIRST))]),
    refuse("process_vm_readv", 310, 270, FIRST_PROCESS).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("process_vm_writev", 311, 271, FIRST_PROCESS).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("kcmp", 312, 272, FIRST_PROCESS).on(&[clause(0, "pid1", Test::Is(FIRST))]),
    refuse("kcmp", 312, 272, FIRST_PROCESS).on(&[clause(1, "pid2", Test::Is(FIRST))]),
    refuse("prlimit64", 302, 261, FIRST_PROCESS).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("sched_setparam", 142, 118, FIRST_STARVED).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("sched_setscheduler", 144, 119, FIRST_STARVED).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("sched_setattr", 314, 274, FIRST_STARVED).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("sched_setaffinity", 203, 122, FIRST_STARVED).on(&[clause(0, "pid", Test::Is(FIRST))]),
    refuse("setpriority", 141, 140, FIRST_STARVED)
        .on(&[clause(0, "which", Test::Is(PRIO_PROCESS)), clause(1, "who", Test::Is(FIRST))]),
    refuse("setpriority", 141, 140, FIRST_STARVED).on(&[clause(0, "which", Test::Is(PRIO_MANY[0]))]),
    refuse("setpriority", 141, 140, FIRST_STARVED).on(&[clause(0, "which", Test::Is(PRIO_MANY[1]))]),
    refuse("ioprio_set", 251, 30, FIRST_STARVED).on(&[clause(0, "which", Test::Is(IOPRIO_WHO_MANY[0]))]),
    refuse("ioprio_set", 251, 30, FIRST_STARVED).on(&[clause(0, "which", Test::Is(IOPRIO_WHO_MANY[1]))]),
    refuse("ioprio_set", 251, 30, FIRST_STARVED)
        .on(&[clause(0, "which", Test::Is(IOPRIO_WHO_PROCESS)), clause(1, "who", Test::Is(FIRST))]),
    refuse(
        "pidfd_getfd",
        438,
        438,
        "Takes descriptors from other processes, the sandbox's first one among them, which a register does not tell.",
    ),
    // What is shared with processes outside.
    refuse("add_key", 248, 217, KEYRINGS),
    refuse("request_key", 249, 218, KEYRINGS),
    refuse("keyctl", 250, 219, KEYRINGS),
    refuse("ioctl", 16, 29, "Types into the terminal, where the shell outside would run it.").on(&[clause(
        1,
        "request",
        Test::Is(TIOCSTI),
    )]),
    refuse("ioctl", 16, 29, "Pastes into a console, where the shell outside would run it.").on(&[clause(
        1,
        "request",
        Test::Is(TIOCLINUX),
    )]),
    refuse("ioctl", 16, 29, "Keeps everybody else from opening the terminal, after the command as well.")
        .on(&[clause(1, "request", Test::Is(TIOCEXCL))]),
    refuse("ioctl", 16, 29, "Gives the terminal another line discipline, which stays.").on(&[clause(
        1,
        "request",
        Test::Is(TIOCSETD),
    )]),
    refuse("fcntl", 72, 25, LEASES).on(&[clause(1, "cmd", Test::Is(F_SETLEASE))]),
    refuse("fcntl", 72, 25, LEASES).on(&[clause(1, "cmd", Test::Is(F_SETDELEG))]),
    refuse("chmod", 90, NO_CALL, SET_USER_ID).on(&[clause(1, "mode", Test::HasAny(&[S_ISUID]))]),
    refuse("fchmod", 91, 52, SET_USER_ID).on(&[clause(1, "mode", Test::HasAny(&[S_ISUID]))]),
    refuse("fchmodat", 268, 53, SET_USER_ID).on(&[clause(2, "mode", Test::HasAny(&[S_ISUID]))]),
    row(
        Subject::Call(Call { name: "fchmodat2", x86_64: FCHMODAT2, arm64: FCHMODAT2 }),
        Errno::Enosys,
        "libseccomp before 2.5.5 cannot look at its mode; C libraries then use fchmodat.",
    ),
    // Parts of the kernel that break often and that builds and tests do not need.
    refuse("bpf", 321, 280, "Loads programs into the kernel."),
    refuse("perf_event_open", 298, 241, "Watches what the kernel and other processes do."),
    refuse(
        "userfaultfd",
        323,
        282,
        "Stops the kernel in the middle of a copy, which makes its races easy to win.",
    ),
];
