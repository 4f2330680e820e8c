//! The list of what was refused: each target and reason once, in order of first occurrence, bounded.
//!
//! The command controls how often it is refused, and by its choice of hosts how many different violations
//! there are and what their text says. So the list has an end, what does not fit is counted (a flood of
//! noise must not hide that there was more), and all text is one printable line.

use crate::limits;
use palisade_policy::{Evidence, Violation, ViolationKind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The violations of one command so far.
#[derive(Debug, Default)]
pub(crate) struct Violations(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    listed: Vec<Violation>,
    left_out: u64,
}

impl Violations {
    /// Adds a violation of the proxy and gives it back.
    pub(crate) fn add(&self, kind: ViolationKind, reason: &str, remedy: Option<String>) -> Violation {
        let reason = one_line(reason).into();
        let violation = Violation { kind, reason, evidence: Evidence::Proxy, remedy: remedy.map(Into::into) };
        let mut inner = self.lock();
        if inner.listed.contains(&violation) {
            return violation;
        }
        if inner.listed.len() < limits::VIOLATIONS {
            inner.listed.push(violation.clone());
        } else {
            inner.left_out += 1;
        }
        violation
    }

    pub(crate) fn listed(&self) -> Vec<Violation> {
        self.lock().listed.clone()
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.lock().left_out
    }

    /// A thread that panicked while it held the lock left a list that is whole all the same.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a target that is no host, so that a person can see them: all but printable ASCII is escaped.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(limits::UNREADABLE_TEXT)];
    let more = if shown.len() < bytes.len() { "…" } else { "" };
    format!("{}{more}", shown.escape_ascii())
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::Endpoint;

    fn network(host: &str) -> ViolationKind {
        ViolationKind::Network(Endpoint::parse(host, Some(443)).expect(host))
    }

    #[test]
    fn each_target_and_reason_once_in_order() {
        let violations = Violations::default();
        for (host, reason) in [("b.test", "x"), ("a.test", "x"), ("b.test", "x"), ("b.test", "y")] {
            violations.add(network(host), reason, None);
        }
        let shown: Vec<String> = violations.listed().iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "deny network-outbound b.test:443 (x)",
                "deny network-outbound a.test:443 (x)",
                "deny network-outbound b.test:443 (y)",
            ]
        );
        assert_eq!(violations.left_out(), 0);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let violations = Violations::default();
        for n in 0..limits::VIOLATIONS + 3 {
            violations.add(network(&format!("h{n}.test")), "x", None);
        }
        violations.add(network("h0.test"), "x", None);
        assert_eq!(violations.listed().len(), limits::VIOLATIONS);
        assert_eq!(violations.left_out(), 3, "one that is listed already is not left out");
    }

    #[test]
    fn text_is_one_printable_line() {
        let violations = Violations::default();
        let shown = violations.add(network("a.test"), "denied by a\nb\u{1b}[31m", None);
        assert_eq!(shown.reason.as_ref(), "denied by a b [31m");
        assert_eq!(printable("a\0.b\r\n\u{202e}ü".as_bytes()), r"a\x00.b\r\n\xe2\x80\xae\xc3\xbc");
        assert_eq!(printable(&[b'a'; 300]).chars().count(), limits::UNREADABLE_TEXT + 1);
    }
}
