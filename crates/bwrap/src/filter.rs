//! The seccomp filter: which system calls are refused to everything inside the sandbox, and why.
//!
//! [`TABLE`] is the filter as data, a row for each refusal with its reason. [`Filter::judge`] reads the table
//! naively and is the specification; `program` (on Linux) turns the same table into the BPF program that
//! bubblewrap loads. The tests run that program for both architectures and compare it with the specification.
//! Nothing here loads a filter, and nothing here says which files or hosts a command may reach.
//!
//! # What the command controls
//!
//! Everything that it hands to the kernel: the number, all 64 bits of six registers, which of the kernel's
//! entries it uses, and the memory that arguments point to. Therefore:
//!
//! - **No pointer is judged.** The memory behind it can change between the filter and the kernel. What cannot
//!   be told from registers alone is refused as a whole: `clone3` and io_uring take their orders from memory.
//! - **Upper halves.** The kernel reads an `int` argument from the lower half of a register, so a comparison
//!   that looked at 64 bits would miss `TIOCSTI` with a bit set in the upper half. Rows that *refuse* values
//!   look only at the bits that the kernel looks at; rows that *let through* a few values and refuse the rest
//!   look at all 64 bits, so anything odd in the upper half is refused. [`Test`] says which does which.
//! - **Entries.** `int 0x80` on x86-64, and a 32-bit program on either architecture, number their calls
//!   differently and have calls of their own that bundle others (`socketcall`, `ipc`). None of that is
//!   understood: every call that comes by such an entry is refused, so those need no rows. x32 shares the entry
//!   of x86-64 and marks its numbers with bit 30; all of them are refused, too.
//! - **New numbers.** Kernels keep adding calls, and some undo a filter written before them: `open_tree_attr`
//!   (Linux 6.15) mounts. Numbers that nobody has read for this table answer `ENOSYS`, and programs fall back
//!   as they do on an older kernel. Among these are 512 to 547, by which kernels before 5.4 could be
//!   made to run x32's variants of `ioctl`, `ptrace` and others without bit 30.
//! - **Number −1** passes, since it is how a tracer tells the kernel to run nothing at all; the kernel runs
//!   nothing for it, and refusing it would overwrite the result that the tracer chose.
//!
//! # What is not in the table, and why
//!
//! - What needs a capability in the host's user namespace: `init_module`, `kexec_load`, `reboot`, `swapon`,
//!   `open_by_handle_at`, setting clocks and host names, and so on. A command has no capability, cannot gain one by
//!   running a program (`no_new_privs`) and cannot make a namespace to have them in. Calls that mount are in
//!   the table all the same: they alone would undo the file rules, so they have a second wall.
//! - `ptrace`, `process_vm_readv` and `_writev`, `kcmp` of any process but the first: they reach what lies in the same
//!   process namespace, and all that lies there is under this filter. A tracer cannot change a call after the filter has
//!   seen it (the kernel runs the filter after the tracer since 4.8), and to suspend a filter takes a
//!   capability and a tracer without one. The *first* process is confined as well, but what is outside relies on it: made
//!   to call `prctl` and `setsid` it would go on after Palisade was killed, and its `/proc/1/exe` is bubblewrap's file in
//!   the host's own mount, writable to root. So it has rows, and `/proc/1` is hidden (see `proc_guards`).
//! - `seccomp` and `prctl`: further filters can only refuse more. A refusal is stronger than any answer that a
//!   supervisor or a tracer could give by a later filter.
//! - `open`, `mknod` and the like with a set-user-ID mode: the new file is empty, and the kernel takes the bit away from
//!   whoever writes to it, lengthens or allocates it without a capability. What is in a file already gets the bit by
//!   `chmod` and its kin only, which have rows.
//! - `fork`, `vfork`: they take no flags. `umount`: neither architecture has it, only `umount2`.
//! - Protocols inside `AF_INET` and `AF_INET6`: all that they reach is the sandbox's own empty network
//!   namespace.
//! - A socket that was there before: if standard input is a Unix datagram socket of the host, the command can
//!   send from it to any path. Whoever starts the command decides what its standard streams are.

mod table;

#[cfg(target_os = "linux")]
mod program;

#[cfg(all(test, target_os = "linux"))]
mod interpreter;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
pub use program::program;
pub use table::{Call, Clause, Errno, Row, Subject, TABLE, Test, Value};

use std::fmt;

/// The filter for one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The policy lets commands make Unix sockets. The filter cannot tell one socket's path from another's, so
    /// this opens every one that the file rules and the kernel let the command reach.
    pub unix_sockets: bool,
}

impl Filter {
    /// The rows in force.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let unix_sockets = self.unix_sockets;
        TABLE.iter().filter(move |row| !(unix_sockets && row.only_without_unix_sockets))
    }

    /// What happens to one call on a kernel of `arch`: the first row that covers it refuses it, else it goes
    /// through.
    pub fn judge(&self, arch: Arch, call: &SystemCall) -> Action {
        self.rows().find(|row| row.covers(arch, call)).map_or(Action::Allow, Action::Refuse)
    }
}

/// What the filter does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The kernel goes on with it.
    Allow,
    /// It fails at once with the row's [`answer`](Row::answer).
    Refuse(&'static Row),
}

/// One system call as the kernel shows it to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemCall {
    /// The architecture whose entry was used, as an `AUDIT_ARCH_…` number of the kernel.
    pub entry: u32,
    /// The number of the call. The kernel takes it from the lower half of its register.
    pub number: u32,
    /// The argument registers, whole.
    pub arguments: [u64; 6],
}

/// `fchmodat2` on both architectures: libseccomp knows its name since 2.5.5 only.
pub(crate) const FCHMODAT2: u32 = 452;
/// The number by which a tracer makes the kernel skip a call.
pub(crate) const NO_CALL: u32 = u32::MAX;
/// Numbers from here on are x32's on x86-64.
pub(crate) const X32_BIT: u32 = 0x4000_0000;
/// Where the numbers that all architectures share begin.
pub(crate) const FIRST_SHARED: u32 = 424;
/// The last number that has been read for the table: `removexattrat`, the newest call of Linux 6.14. Raise it
/// only after reading what the calls up to the new one do.
pub(crate) const LAST_REVIEWED: u32 = 466;

/// A processor architecture that the filter is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit little-endian Arm.
    Arm64,
}

impl Arch {
    /// The architecture this program runs on.
    ///
    /// # Errors
    /// [`FilterError::Architecture`] where the table has no numbers for it.
    pub fn native() -> Result<Self, FilterError> {
        if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
            Ok(Arch::X86_64)
        } else if cfg!(all(target_arch = "aarch64", target_pointer_width = "64", target_endian = "little")) {
            Ok(Arch::Arm64)
        } else {
            Err(FilterError::Architecture(std::env::consts::ARCH))
        }
    }

    /// The kernel's `AUDIT_ARCH_…` number for the architecture's own entry.
    pub fn entry(self) -> u32 {
        match self {
            Arch::X86_64 => 0xc000_003e,
            Arch::Arm64 => 0xc000_00b7,
        }
    }

    /// The last number below [`FIRST_SHARED`] that has been read for the table: `uprobe` of Linux 6.18 on
    /// x86-64, `kexec_file_load` on arm64.
    pub(crate) fn last_own(self) -> u32 {
        match self {
            Arch::X86_64 => 336,
            Arch::Arm64 => 294,
        }
    }

    fn has_reviewed(self, number: u32) -> bool {
        number <= self.last_own() || (FIRST_SHARED..=LAST_REVIEWED).contains(&number)
    }

    fn is_x32(self, number: u32) -> bool {
        self == Arch::X86_64 && number >= X32_BIT && number != NO_CALL
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::X86_64 => "x86-64",
            Arch::Arm64 => "arm64",
        })
    }
}

/// Why there is no filter. A command must not run without one.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The table has no numbers for this architecture.
    #[error("there is no seccomp filter for {0} processors, only for x86-64 and arm64")]
    Architecture(&'static str),
    /// Releases before 2.5 compare 64-bit arguments wrongly (CVE-2019-9893, before 2.4) or cannot sort calls.
    #[error("libseccomp {found} is too old; install 2.5 or newer")]
    LibraryTooOld {
        /// The release that is installed.
        found: String,
    },
    /// libseccomp refused something that it should take.
    #[error("libseccomp cannot {step}: {reason}")]
    Library {
        /// What was asked of it.
        step: String,
        /// Its own words.
        reason: String,
    },
    /// The finished program could not be taken over from libseccomp, which writes to a descriptor only.
    #[error("cannot read back the seccomp filter")]
    ReadBack(#[source] std::io::Error),
}
