//! Permission modes: how much runs without asking. This module names them; what each one lets through is the
//! judge's table.

use std::fmt;

/// A permission mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Asks for whatever no rule allows.
    #[default]
    Default,
    /// Edits of files in the working directories go through too.
    AcceptEdits,
    /// Nothing is changed: edits and shell writes ask, whatever rules allow.
    Plan,
    /// A classifier decides what would ask.
    Auto,
    /// What would ask is denied.
    DontAsk,
    /// Only deny rules, ask rules and removals of critical paths are heeded.
    BypassPermissions,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 6] =
        [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Auto, Mode::DontAsk, Mode::BypassPermissions];

    /// The mode of that name, as in `permissions.defaultMode`; `manual` is another name of `default`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "manual" => Some(Mode::Default),
            _ => Self::ALL.into_iter().find(|mode| mode.name() == name),
        }
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::Plan => "plan",
            Mode::Auto => "auto",
            Mode::DontAsk => "dontAsk",
            Mode::BypassPermissions => "bypassPermissions",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_found_by_its_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.name()), Some(mode));
        }
        assert_eq!(Mode::parse("manual"), Some(Mode::Default));
        assert_eq!(Mode::parse("Plan"), None);
    }
}
