//! What is in force once all layers are merged.

use crate::{AbsPath, FileSets, NetworkPolicy, Origin};

/// The rules and switches in force. The defaults differ from Claude Code's on the safe
/// side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Whether an agent's commands run in the sandbox at all. `palisade run` always confines.
    pub enabled: bool,
    /// Refuse to start when the sandbox cannot run here, instead of running commands without it.
    pub fail_if_unavailable: bool,
    /// Commands that run inside skip the approval they would need.
    pub auto_allow: bool,
    /// The file rules. Patterns may still have wildcards and lead through links; relative ones are anchored.
    pub files: FileSets,
    /// Turns file isolation off altogether, protected paths included. The network stays confined.
    pub files_disabled: bool,
    /// The network rules.
    pub network: NetworkPolicy,
    /// Environment variables that commands do not get to see.
    pub hidden_variables: Vec<VariableRule>,
    /// Violations that are expected and not reported. The accesses are stopped all the same.
    pub ignore_violations: Vec<IgnoredViolation>,
    /// The bubblewrap to use, in the place of the one that is found.
    pub bwrap: Option<ProgramRule>,
    /// The socat to use, likewise.
    pub socat: Option<ProgramRule>,
}

/// A program that an administrator names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRule {
    /// The program's file.
    pub path: AbsPath,
    /// Who said so.
    pub origin: Origin,
}

/// One environment variable that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableRule {
    /// The variable: a letter or `_`, then letters, digits and `_`.
    pub name: Box<str>,
    /// Who said so.
    pub origin: Origin,
}

/// A rule that keeps some violations of some commands out of reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredViolation {
    /// A part of the command's text; `*` alone stands for every command. An empty text names none.
    pub command: Box<str>,
    /// A part of the violation as it is [shown](crate::Violation#impl-Display-for-Violation). An empty text
    /// names none.
    pub violation: Box<str>,
    /// Who said so.
    pub origin: Origin,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            enabled: false,
            fail_if_unavailable: true,
            auto_allow: true,
            files: FileSets::default(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            hidden_variables: Vec::new(),
            ignore_violations: Vec::new(),
            bwrap: None,
            socat: None,
        }
    }
}
