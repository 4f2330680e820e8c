//! A table of descriptors of a thread's own.
//!
//! What the attacker controls here: by as many connections as it likes a command makes its host use up the descriptors
//! that a process may have. What must be done all the same, to remove what the command leaves, then cannot open
//! anything. The limit counts each table by itself, though, and a thread can have one of its own.

use nix::libc;
use nix::sys::signal::SigSet;
use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Does `act` where 0, 1, 2 and `kept` are the only descriptors that are open, so that it can open more however many
/// this process has open. Where that cannot be had (Linux before 5.9, no more threads) it is done as anywhere.
///
/// `act` uses no other descriptors than these and those that it opens. That counts for what it calls too: what the host
/// does with an event of `tracing` may need one of the host's.
pub fn with_own_descriptors<T: Send>(kept: &[BorrowedFd<'_>], act: impl Fn() -> T + Sync) -> T {
    let kept: BTreeSet<RawFd> = [0, 1, 2].into_iter().chain(kept.iter().map(AsRawFd::as_raw_fd)).collect();
    let apart = || {
        // Handlers of the host's, which write to descriptors of its own, run in its other threads.
        if SigSet::all().thread_block().is_ok() {
            close_in_own_table(&kept);
        }
        act()
    };
    scope(|scope| match Builder::new().spawn_scoped(scope, apart) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => act(),
    })
}

/// Gives this thread a table of its own with nothing but `kept` in it. The first call makes the table, so that where it
/// fails nothing is closed.
fn close_in_own_table(kept: &BTreeSet<RawFd>) {
    let mut last = RawFd::MAX;
    for first in kept.iter().rev().map(|fd| fd + 1) {
        if first <= last {
            // SAFETY: no memory is touched. The descriptors that are closed are copies, in a table that no other
            // thread uses, and the caller of `with_own_descriptors` promises that this one needs none of them.
            let closed =
                unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_UNSHARE) };
            if closed != 0 {
                return;
            }
        }
        last = first - 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn is_open(file: &File) -> bool {
        file.metadata().is_ok()
    }

    #[test]
    fn only_what_is_kept_is_open_there_and_everything_here() {
        let files: Vec<File> =
            (0..20).map(|_| File::open("/dev/null").expect("every system has it")).collect();
        let kept = [files[3].as_fd(), files[4].as_fd(), files[17].as_fd()];
        let open = with_own_descriptors(&kept, || {
            let open = files.iter().enumerate().filter(|(_, file)| is_open(file));
            open.map(|(number, _)| number).collect::<Vec<_>>()
        });
        assert_eq!(open, [3, 4, 17]);
        assert!(files.iter().all(is_open));
    }

    #[test]
    fn a_panic_is_the_callers() {
        let panics = || with_own_descriptors(&[], || panic!("as it should"));
        assert!(std::panic::catch_unwind(panics).is_err());
    }
}
