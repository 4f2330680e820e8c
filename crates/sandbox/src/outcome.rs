//! How a command ended, and what was stopped on the way.

use crate::outside::UnsandboxedReason;
use palisade_policy::Violation;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The command's exit status; 128 + n when signal n ended it.
    pub status: u8,
    /// What it wrote to standard output, where that was captured: its own violation tags neutralised.
    pub stdout: Captured,
    /// What it wrote to standard error, where that was captured: its own violation tags neutralised, the violation
    /// block appended.
    pub stderr: Captured,
    /// What the sandbox did.
    pub sandbox: Report,
}

/// Captured output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes, up to [`Captured::LIMIT`] of them.
    pub bytes: Vec<u8>,
    /// Whether there were more.
    pub truncated: bool,
}

impl Captured {
    /// How many bytes of one stream are kept (16 MiB): the command decides how much it writes, the host how much
    /// memory it has.
    pub const LIMIT: usize = 16 << 20;

    pub(crate) fn add(&mut self, chunk: &[u8]) {
        let room = Self::LIMIT - self.bytes.len();
        self.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        self.truncated |= chunk.len() > room;
    }
}

/// What the sandbox did for one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Whether the command ran inside.
    pub sandboxed: bool,
    /// Why it did not, if it did not.
    pub unsandboxed_reason: Option<UnsandboxedReason>,
    /// What was stopped: first the proxy's refusals, then what the captured standard error tells of.
    /// Without what [`Policy::ignore_violations`](palisade_policy::Policy) silences.
    pub violations: Vec<Violation>,
    /// How many refusals of the proxy's there were beyond those, which are bounded in number.
    pub left_out: u64,
    /// As [`Process::warnings`](crate::Process::warnings) says in the end.
    pub warnings: Vec<String>,
}
