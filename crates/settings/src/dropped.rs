//! What was said and does not count, and why: nothing goes missing without a word.

use crate::Setting;
use palisade_permissions::{AdditionalDirectory, DefaultMode, Excluded, PermissionRule};
use palisade_policy::{AbsPath, FileRule, HostRule, IgnoredViolation, Origin, VariableRule};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

/// One value that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The value, and who said it.
    pub origin: Origin,
    /// Whether the value is a permission rule that counts all the same: it only adds nothing to the sandbox's lists.
    pub is_still_a_rule: bool,
    /// Why it does not count.
    pub reason: Reason,
}

/// See [`Dropped`]. Completes "… is left out: …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A managed lock keeps this to the administrator.
    ManagedOnly {
        /// The lock.
        lock: Origin,
    },
    /// Only managed permission rules count.
    ManagedRules {
        /// The lock.
        lock: Origin,
    },
    /// The administrator requires the sandbox, and this comes from a repository and would loosen it.
    AdminRequired {
        /// What requires it.
        by: Origin,
    },
    /// The repository would open, through a link or not, what managed or user settings or an option hide.
    Hidden {
        /// The rule that hides it.
        by: Origin,
        /// What it would open.
        path: AbsPath,
    },
    /// The repository would open something that may be hidden: where it leads could not be found out.
    Unknown,
    /// A `false` of `allowUnsandboxedCommands` holds against a repository's `true`.
    HeldFalse {
        /// The `false`.
        by: Origin,
    },
    /// The administrator says what holds for files, so only he can turn that off.
    FilesManaged {
        /// The first thing that he says.
        by: Origin,
    },
    /// The mode was disabled.
    ModeDisabled {
        /// Who did.
        by: Origin,
    },
    /// The project is not trusted, and this does not tighten.
    Untrusted,
    /// The sandbox was switched on by a project that is not trusted alone, so it waives no approvals.
    UntrustedSandbox {
        /// The switch.
        by: Origin,
    },
}

/// `permissions.allow "Bash" in /p/.claude/settings.json:3 is left out: …`, on one line.
impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_still_a_rule { "opens nothing to commands" } else { "is left out" };
        write!(f, "{} {what}: {}", self.origin, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::ManagedOnly { lock } => write!(f, "only managed settings count here, by {lock}"),
            Reason::ManagedRules { lock } => {
                write!(
                    f,
                    "only managed rules count, by {lock}; what a deny closes to the sandbox stays closed"
                )
            }
            Reason::AdminRequired { by } => {
                write!(f, "a repository cannot loosen the sandbox that managed settings require, by {by}")
            }
            Reason::Hidden { by, path } => write!(f, "it would open {path}, which {by} hides"),
            Reason::Unknown => {
                f.write_str("where it leads cannot be found out, and other rules hide something")
            }
            Reason::HeldFalse { by } => write!(f, "a repository cannot undo {by}"),
            Reason::FilesManaged { by } => {
                write!(
                    f,
                    "managed settings say what holds for files, by {by}, so only they can turn that off"
                )
            }
            Reason::ModeDisabled { by } => write!(f, "the mode is disabled by {by}"),
            Reason::Untrusted => f.write_str("the project is not trusted, so only what tightens counts"),
            Reason::UntrustedSandbox { by } => {
                write!(
                    f,
                    "{by} of a project that is not trusted switched the sandbox on, so that waives no approval"
                )
            }
        }
    }
}

/// What has an origin.
pub(crate) trait Said {
    fn origin(&self) -> &Origin;

    /// Whether it is an entry of the sandbox's file or host lists, to which rules may have added it.
    fn is_of_list(&self) -> bool {
        false
    }
}

macro_rules! said {
    ($is_of_list:literal, $($type:ty),*) => {
        $(impl Said for $type {
            fn origin(&self) -> &Origin {
                &self.origin
            }

            fn is_of_list(&self) -> bool {
                $is_of_list
            }
        })*
    };
}

said!(true, FileRule, HostRule);
said!(false, VariableRule, IgnoredViolation, Excluded, PermissionRule, AdditionalDirectory, DefaultMode);

impl<T> Said for Setting<T> {
    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// What is left out so far.
#[derive(Debug, Default)]
pub(crate) struct Record(Vec<Dropped>);

impl Record {
    /// Takes out of `list` each value for which there is a reason.
    pub(crate) fn retain<T: Said>(&mut self, list: &mut Vec<T>, reason: impl Fn(&T) -> Option<Reason>) {
        list.retain(|value| self.keeps(value, reason(value)));
    }

    /// Takes `setting` away where there is a reason.
    pub(crate) fn keep<T: Said>(&mut self, setting: &mut Option<T>, reason: impl Fn(&T) -> Option<Reason>) {
        *setting = setting.take().filter(|value| self.keeps(value, reason(value)));
    }

    fn keeps(&mut self, value: &impl Said, reason: Option<Reason>) -> bool {
        let is_kept = reason.is_none();
        let origin = value.origin();
        let is_still_a_rule = value.is_of_list() && &*origin.key == "permissions.allow";
        self.0.extend(reason.map(|reason| Dropped { origin: origin.clone(), is_still_a_rule, reason }));
        is_kept
    }

    /// All of it, from the highest layer down. A value that several lists hold is told once, and of a rule first that it
    /// does not count at all.
    pub(crate) fn finish(mut self) -> Vec<Dropped> {
        self.0.sort_by_key(|dropped| dropped.is_still_a_rule);
        let mut seen = HashSet::new();
        self.0.retain(|dropped| seen.insert(dropped.origin.clone()));
        self.0.sort_by_key(|dropped| Reverse(dropped.origin.layer));
        self.0
    }
}
