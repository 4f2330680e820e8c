//! Waiting for what has no event to wait for.

use std::time::{Duration, Instant};

/// Far longer than anything that is waited for takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits until `holds` says so.
///
/// # Panics
/// When that has not come to be in two minutes: `what` says what was waited for.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONGEST;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}
