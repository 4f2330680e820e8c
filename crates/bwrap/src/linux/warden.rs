//! The warden: a process that outlives this one for a moment, to end the sandboxes that it leaves.
//!
//! bubblewrap asks the kernel to die with its parent (`--die-with-parent`), but the sandbox's first process asks for
//! that only once it has started the command. When Palisade is killed before, bubblewrap's outer process dies and the
//! rest, perhaps with the command, goes on for ever. So each bubblewrap makes its process group known to the
//! warden before it is executed, and before the command is released the warden is handed the sandbox's first process: a
//! handle of it, not a number. The warden does nothing but wait for the end of this process, and then kills what
//! it knows of; killed with its first process, a sandbox is empty.
//!
//! What the attacker controls: nothing here. A command sees neither the warden, which is outside of its process
//! namespace, nor the socket. Should it get the first process to leave its group and to ask no more to die with its
//! parent (the filter and a mount keep it from that one), the handle still leads there. The warden has a session of its
//! own, so that a signal to the caller's process group, or the hang-up of its terminal, does not end it first. Somebody
//! of the same user outside may kill it; then every further launch fails.
//!
//! What this does not do: it does not watch over the sandboxes of a living Palisade, which ends them itself.

use super::sys;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most sandboxes that one warden can watch over at once.
pub(super) const MOST_SANDBOXES: usize = 16_384;

/// Ends the sandboxes launched with it when this process ends, however that happens, or when it is dropped.
#[derive(Debug)]
pub struct Warden {
    socket: Arc<OwnedFd>,
    process: Pid,
    launches: AtomicU64,
}

impl Warden {
    /// Starts the process, and waits until it has a session of its own. It holds no descriptor of this one's open.
    pub fn start() -> io::Result<Self> {
        let (process, socket) = sys::fork_warden()?;
        Ok(Warden { socket: Arc::new(socket), process, launches: AtomicU64::new(1) })
    }

    /// Watches over one launch, as soon as its process has made itself known.
    pub(super) fn watch_over(&self) -> Watch {
        Watch { socket: Arc::clone(&self.socket), launch: self.launches.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Warden {
    /// Has the warden do its last work and end. Nothing can be launched with it any more.
    pub fn dismiss(&self) {
        use nix::sys::socket::{Shutdown, shutdown};
        use std::os::fd::AsRawFd;
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Write);
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.dismiss();
        let _ = sys::wait_for(self.process);
    }
}

/// One launch that the warden watches over. Dropped when nothing of it is left.
#[derive(Debug)]
pub(super) struct Watch {
    socket: Arc<OwnedFd>,
    pub(super) launch: u64,
}

impl Watch {
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Watches over the sandbox's first process from now on.
    pub(super) fn hand_over(&self, first: BorrowedFd<'_>) -> io::Result<()> {
        sys::hand_over(self.socket(), self.launch, first)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A warden that is gone has nothing to forget.
        let _ = sys::forget(self.socket(), self.launch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;
    use nix::sys::signal::kill;

    fn is_gone(process: Pid) -> bool {
        kill(process, None) == Err(Errno::ESRCH)
    }

    /// A process in a group of its own that registers as bubblewrap does.
    fn registered(watch: &Watch) -> std::process::Child {
        let mut command = std::process::Command::new("sleep");
        command.arg("3600");
        sys::prepare_child(&mut command, Vec::new(), sys::Signals::ForBoth, (watch.socket(), watch.launch));
        command.spawn().expect("sleep starts")
    }

    #[test]
    fn its_end_ends_what_it_watches_over_and_nothing_else() {
        use std::os::unix::process::ExitStatusExt;
        let warden = Warden::start().expect("a process");
        let (kept, forgotten) = (warden.watch_over(), warden.watch_over());
        let mut watched = registered(&kept);
        let mut free = registered(&forgotten);
        drop(forgotten);
        let process = warden.process;
        drop(warden);
        assert!(is_gone(process), "it was waited for");
        assert_eq!(watched.wait().expect("own child").signal(), Some(9));
        assert!(free.try_wait().expect("own child").is_none());
        free.kill().expect("own child");
        free.wait().expect("own child");
    }

    /// As a sandbox that has got its first process to leave its group.
    #[test]
    fn its_end_ends_the_first_process_wherever_that_has_gone() {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let warden = Warden::start().expect("a process");
        let [kept, forgotten] = [warden.watch_over(), warden.watch_over()];
        let launches: Vec<_> = [&kept, &forgotten]
            .map(|watch| {
                let launched = registered(watch);
                let first = std::process::Command::new("sleep").arg("3600").process_group(0).spawn();
                let first = first.expect("sleep starts");
                let handle = pidfd_open(Pid::from_child(&first), PidfdFlags::empty()).expect("own child");
                watch.hand_over(handle.as_fd()).expect("the warden is there");
                [launched, first]
            })
            .into();
        drop(forgotten);
        drop(warden);
        let [watched, free] = <[_; 2]>::try_from(launches).expect("two");
        for mut child in watched {
            assert_eq!(child.wait().expect("own child").signal(), Some(9));
        }
        for mut child in free {
            assert!(child.try_wait().expect("own child").is_none());
            child.kill().expect("own child");
            child.wait().expect("own child");
        }
    }

    /// Else what kills the caller's group at that moment kills it too, and leaves what was launched.
    #[test]
    fn it_has_a_session_of_its_own_once_it_is_started() {
        for _ in 0..100 {
            let warden = Warden::start().expect("a process");
            assert_eq!(nix::unistd::getsid(Some(warden.process)), Ok(warden.process));
        }
    }

    #[test]
    fn nothing_is_launched_without_it() {
        let warden = Warden::start().expect("a process");
        let watch = warden.watch_over();
        drop(warden);
        let mut command = std::process::Command::new("true");
        sys::prepare_child(&mut command, Vec::new(), sys::Signals::ForBoth, (watch.socket(), watch.launch));
        let error = command.spawn().expect_err("nobody would end it");
        assert_eq!(error.raw_os_error(), Some(nix::libc::EPIPE));
    }
}
