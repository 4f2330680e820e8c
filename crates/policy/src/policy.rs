//! What is in force once all layers are merged.

use crate::{AbsPath, FileSets, Layer, NetworkPolicy, Origin};

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
    /// By whom only an administrator may open what he hides (`filesystem.allowManagedReadPathsOnly`).
    pub read_lock: Option<Origin>,
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

impl Policy {
    /// Whether what the rule of `deny` hides stays hidden whatever the rule of `allow` says. A repository opens nothing
    /// that others hide; under the [lock](Self::read_lock) nobody opens what an administrator does, and neither does
    /// what is built in.
    ///
    /// [`FileSets::judge`] does not ask this: whoever makes a [`Confinement`](crate::Confinement) leaves such an allow
    /// out wherever it comes to lie at or below what the deny comes to hide.
    pub fn stays_hidden(&self, deny: &Origin, allow: &Origin) -> bool {
        let is_locked = self.read_lock.is_some() && deny.layer == Layer::Managed;
        let is_overruled = allow.layer.is_of_repository() && !deny.layer.is_of_repository();
        is_overruled || (is_locked && allow.layer < Layer::Managed)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            enabled: false,
            fail_if_unavailable: true,
            auto_allow: true,
            files: FileSets::default(),
            read_lock: None,
            files_disabled: false,
            network: NetworkPolicy::default(),
            hidden_variables: Vec::new(),
            ignore_violations: Vec::new(),
            bwrap: None,
            socat: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_opens_what_whom_hides() {
        use Layer::{Builtin, Flag, Local, Managed, Project, User};
        let of = |layer| Origin { layer, ..Origin::flag("--test", "x") };
        let others = [Builtin, User, Flag, Managed];
        let opens = |policy: &Policy, deny, allow| !policy.stays_hidden(&of(deny), &of(allow));
        let policy = Policy::default();
        let locked = Policy { read_lock: Some(of(Managed)), ..Policy::default() };
        for policy in [&policy, &locked] {
            for repository in [Project, Local] {
                assert!(others.iter().all(|deny| !opens(policy, *deny, repository)), "{repository}");
                assert!(others.iter().all(|allow| opens(policy, repository, *allow)), "{repository}");
                assert!(opens(policy, Project, repository) && opens(policy, Local, repository));
            }
            assert!(others.iter().all(|allow| opens(policy, User, *allow) && opens(policy, Flag, *allow)));
            assert!(opens(policy, Managed, Managed));
        }
        for below in [Builtin, User, Flag] {
            assert!(opens(&policy, Managed, below) && !opens(&locked, Managed, below), "{below}");
        }
    }
}
