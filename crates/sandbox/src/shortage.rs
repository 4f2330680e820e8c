//! Limits that are used up at this moment.
//!
//! They say nothing about whether the sandbox works here, and an attacker can use some of them up: a command that runs
//! as the same user may start processes without end. So a shortage never counts as a sandbox that is unavailable, for
//! which the settings may let commands run without one.

use nix::errno::Errno;
use std::io;

/// A limit that is used up. The text says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// Of this process.
    #[error("this process may open too few files; raise that limit (`ulimit -n`) to 64 or more")]
    Descriptors,
    /// Of the whole machine.
    #[error("the machine has too many files open; raise the kernel setting fs.file-max")]
    Files,
    /// Of this user, or of a control group.
    #[error("this user has as many processes as it may; end some, or raise that limit (`ulimit -u`)")]
    Processes,
    /// Of the machine, or of a control group.
    #[error("there is too little memory")]
    Memory,
    /// Of this process.
    #[error("this process may write no file of the size that is needed; raise that limit (`ulimit -f`)")]
    FileSize,
    /// Of a mount namespace.
    #[error("a sandbox has as many mounts as the kernel allows; raise the kernel setting fs.mount-max")]
    Mounts,
    /// Of a disk, or of this user on it.
    #[error("there is no room left on that disk, or this user's share of it is used up")]
    Space,
}

impl Shortage {
    /// The limit that an operation failed for.
    pub fn of(error: &io::Error) -> Option<Self> {
        match Errno::from_raw(number_of(error)?) {
            Errno::EMFILE => Some(Shortage::Descriptors),
            Errno::ENFILE => Some(Shortage::Files),
            Errno::EAGAIN => Some(Shortage::Processes),
            Errno::ENOMEM | Errno::ENOBUFS => Some(Shortage::Memory),
            Errno::EFBIG => Some(Shortage::FileSize),
            Errno::ENOSPC | Errno::EDQUOT => Some(Shortage::Space),
            _ => None,
        }
    }

    /// The limit that a mount failed for. It takes no room on a disk.
    pub(crate) fn of_mounting(error: &io::Error) -> Option<Self> {
        Self::of(error).map(|shortage| if shortage == Shortage::Space { Shortage::Mounts } else { shortage })
    }

    /// The limit that is named in what bubblewrap said, or the shell of a bridge. (Neither writes to a disk: what
    /// bubblewrap finds no space on is the number of namespaces, which is zero where they are switched off.)
    pub(crate) fn said(said: &str) -> Option<Self> {
        let all = [Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::ENOMEM, Errno::ENOBUFS, Errno::EFBIG];
        let words = |errno: &Errno| io::Error::from(*errno).to_string();
        let is_said =
            |words: &str| words.split(" (os error").next().is_some_and(|words| said.contains(words));
        let errno = all.into_iter().find(|errno| is_said(&words(errno)));
        // dash says no more.
        let is_forkless = said.contains("Cannot fork").then_some(Shortage::Processes);
        errno.and_then(|errno| Self::of(&errno.into())).or(is_forkless)
    }
}

/// What the system said, also where the error adds to it and has it as its source.
fn number_of(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| number_of(error.get_ref()?.source()?.downcast_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_found_behind_what_is_said_of_it() {
        #[derive(Debug, thiserror::Error)]
        #[error("while binding: {0}")]
        struct While(#[source] io::Error);
        let around = |errno: Errno| io::Error::other(While(errno.into()));
        assert_eq!(Shortage::of(&around(Errno::ENFILE)), Some(Shortage::Files));
        assert_eq!(Shortage::of(&around(Errno::EPERM)), None);
        assert_eq!(Shortage::of(&io::Error::other("nothing of the system's")), None);
    }

    #[test]
    fn no_space_for_a_mount_is_none_on_a_disk() {
        let of = |errno: Errno| Shortage::of_mounting(&errno.into());
        assert_eq!(of(Errno::ENOSPC), Some(Shortage::Mounts));
        assert_eq!(of(Errno::EMFILE), Some(Shortage::Descriptors));
        assert_eq!(of(Errno::EPERM), None);
    }

    #[test]
    fn what_bubblewrap_says_names_the_limit() {
        for (said, expected) in [
            (
                "bwrap: Creating new namespace failed: Resource temporarily unavailable",
                Some(Shortage::Processes),
            ),
            ("sh: 1: Cannot fork", Some(Shortage::Processes)),
            ("bwrap: Can't open /proc: Too many open files", Some(Shortage::Descriptors)),
            ("bwrap: Out of memory: Cannot allocate memory", Some(Shortage::Memory)),
            ("bwrap: setting up uid map: Permission denied", None),
            ("bwrap: Creating new namespace failed: No space left on device", None),
            ("", None),
        ] {
            assert_eq!(Shortage::said(said), expected, "{said}");
        }
    }
}
