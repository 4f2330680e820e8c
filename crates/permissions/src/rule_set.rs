//! The rules in force once all layers are merged. This module holds them; it does not judge by them.

use crate::CommandPattern;
use palisade_policy::Origin;

/// The permission rules in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Commands that run outside the sandbox. They are not thereby approved.
    pub excluded: Vec<Excluded>,
    /// Whether a call may ask to run outside the sandbox (`dangerouslyDisableSandbox`).
    pub allow_unsandboxed: bool,
}

/// One line of `excludedCommands`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// Which commands.
    pub pattern: CommandPattern,
    /// Who said so.
    pub origin: Origin,
}
