//! Violations: accesses that were stopped, laid to the command that made them.

use crate::{AbsPath, Endpoint};
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
            reason: printable(line).into(),
            evidence: Evidence::Stderr,
            remedy: remedy.map(Into::into),
        }
    }

    /// The denied verb, as the source documents name it.
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
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deny {} {} ({})", self.action(), self.target(), self.reason)
    }
}

/// `text` on one line, without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
