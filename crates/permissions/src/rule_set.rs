//! The rules in force once all layers are merged. This module holds them; it does not judge by them.

use crate::{CommandPattern, Mode, Rule};
use palisade_policy::{AbsPath, Origin};

/// The permission rules in force. The order within a list has no meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Calls that are refused in every mode.
    pub deny: Vec<PermissionRule>,
    /// Calls that a person is asked about in every mode.
    pub ask: Vec<PermissionRule>,
    /// Calls that go through without asking.
    pub allow: Vec<PermissionRule>,
    /// The mode to start in, where settings name one.
    pub mode: Option<DefaultMode>,
    /// Modes that nobody may choose, also not by an option or by what a client says.
    pub disabled_modes: Vec<DefaultMode>,
    /// Directories to work in besides the root.
    pub directories: Vec<AdditionalDirectory>,
    /// Commands that run outside the sandbox. They are not thereby approved.
    pub excluded: Vec<Excluded>,
    /// Whether a call may ask to run outside the sandbox (`dangerouslyDisableSandbox`).
    pub allow_unsandboxed: bool,
}

impl RuleSet {
    /// The entry that disables `mode`. [`judge`](crate::judge()) takes a disabled mode for [`Mode::Default`].
    pub fn disabling(&self, mode: Mode) -> Option<&DefaultMode> {
        self.disabled_modes.iter().find(|disabled| disabled.mode == mode)
    }

    /// `mode`, or `default` where it is disabled.
    pub fn mode_for(&self, mode: Mode) -> Mode {
        if self.disabling(mode).is_some() { Mode::Default } else { mode }
    }
}

/// One entry of `permissions.deny`, `permissions.ask` or `permissions.allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// Which calls.
    pub rule: Rule,
    /// Who said so.
    pub origin: Origin,
}

/// A mode that settings name: that of `permissions.defaultMode`, or one that is disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultMode {
    /// The mode.
    pub mode: Mode,
    /// Who said so.
    pub origin: Origin,
}

/// One entry of `permissions.additionalDirectories`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdditionalDirectory {
    /// The directory, as written and made absolute: links in it are not followed.
    pub path: AbsPath,
    /// Who said so.
    pub origin: Origin,
}

/// One line of `excludedCommands`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// Which commands.
    pub pattern: CommandPattern,
    /// Who said so.
    pub origin: Origin,
}
