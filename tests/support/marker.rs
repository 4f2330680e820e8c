//! Finding the processes of one test among all of the machine.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::atomic::{AtomicU32, Ordering};

/// A number of seconds, about a day, that stands on no command line but those that a test puts it on: `sleep` takes it.
///
/// Processes that still have it at the end of the test are killed.
#[derive(Debug)]
pub struct Marker(String);

impl Marker {
    /// One that nobody else has.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Marker(format!("86400.{:08}{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The number.
    pub fn seconds(&self) -> &str {
        &self.0
    }

    /// The processes that have it on their command line.
    pub fn processes(&self) -> Vec<Pid> {
        let all = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
        all.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = std::fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&words).contains(&self.0).then_some(Pid::from_raw(pid))
        })
        .collect()
    }
}

impl Default for Marker {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        for process in self.processes() {
            let _ = kill(process, Signal::SIGKILL);
        }
    }
}
