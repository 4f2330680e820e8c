//! Violations: accesses that were stopped, laid to the command that made them.

use crate::{AbsPath, Endpoint, Printable};
use std::fmt;

/// What was attempted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// A connection to a host.
    Network(Endpoint),
    /// A connection whose target could not be read as a host: its text, made printable.
    UnreadableHost(Box<str>),
    /// A file access; whether it was a read or a write is not always known.
    File(Box<str>),
}

/// How a violation is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The proxy refused it itself: can be trusted.
    Proxy,
    /// Read from what the command wrote to its standard error: a command can hide one or invent one.
    Stderr,
}

/// One access that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    /// What was attempted.
    pub kind: ViolationKind,
    /// Why it was stopped, for a person to read; one line.
    pub reason: Box<str>,
    /// How it is known.
    pub evidence: Evidence,
    /// What would allow it, for a person to act on; `None` where nothing should.
    pub remedy: Option<Box<str>>,
}

impl Violation {
    /// A file access that the command's own error output tells of.
    pub fn file(path: &AbsPath, line: &str, remedy: Option<String>) -> Self {
        Violation {
            kind: ViolationKind::File(path.to_string().into()),
            reason: Printable(line).to_string().into(),
            evidence: Evidence::Stderr,
            remedy: remedy.map(Into::into),
        }
    }

    /// What was denied, in the word of a violation block.
    pub fn action(&self) -> &'static str {
        match self.kind {
            ViolationKind::Network(_) | ViolationKind::UnreadableHost(_) => "network-outbound",
            ViolationKind::File(_) => "file-access",
        }
    }

    /// The path or the endpoint that was stopped.
    pub fn target(&self) -> String {
        match &self.kind {
            ViolationKind::Network(endpoint) => endpoint.to_string(),
            ViolationKind::UnreadableHost(text) | ViolationKind::File(text) => text.to_string(),
        }
    }
}

/// `deny network-outbound example.com:443 (not on the allow list)`: one line of a violation block.
///
/// Characters that cannot be seen are escaped (see [`Printable`]), so that it is one line and reads as it
/// is stored. A `<` stays one: that no text ends the block or passes for another is for whoever writes the
/// block.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deny {} {} ({})", self.action(), Printable(&self.target()), Printable(&self.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_in_which_everything_can_be_seen() {
        let path = AbsPath::new(b"/p/a\n\\\xff\xe2\x80\xae").expect("absolute");
        let violation = Violation::file(&path, "cat: a\r\n\u{200b}\u{1b}[2J<b>: Permission denied", None);
        assert_eq!(&*violation.reason, r"cat: a\r\n\u{200b}\u{1b}[2J<b>: Permission denied");
        assert_eq!(
            violation.to_string(),
            r"deny file-access /p/a\n\\\xff\u{202e} (cat: a\r\n\u{200b}\u{1b}[2J<b>: Permission denied)"
        );

        let raw = Violation {
            kind: ViolationKind::UnreadableHost("a\u{2066}b".into()),
            reason: "x\ny\u{2029}".into(),
            evidence: Evidence::Proxy,
            remedy: None,
        };
        assert_eq!(raw.to_string(), r"deny network-outbound a\u{2066}b (x\ny\u{2029})");
    }
}
