//! Merging layers: what a higher layer says together with what a lower one says.
//!
//! Laws, which property tests hold: [`Combine::combine`] is associative, and options that say nothing change
//! nothing on either side. Each implementation for a struct takes it apart without `..`, so that a key that is
//! added cannot be forgotten here.

use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, PermissionOptions, Setting};
use palisade_permissions::DefaultMode;

/// What two layers say together.
pub trait Combine {
    /// Puts `self` above `lower`.
    #[must_use]
    fn combine(self, lower: Self) -> Self;
}

/// The highest layer that sets it.
impl<T> Combine for Option<Setting<T>> {
    fn combine(self, lower: Self) -> Self {
        self.or(lower)
    }
}

/// The highest layer that names one.
impl Combine for Option<DefaultMode> {
    fn combine(self, lower: Self) -> Self {
        self.or(lower)
    }
}

/// All entries, those of the higher layer first. What is said twice stays until the policy is made.
impl<T> Combine for Vec<T> {
    fn combine(mut self, lower: Self) -> Self {
        self.extend(lower);
        self
    }
}

impl Combine for Options {
    fn combine(self, lower: Self) -> Self {
        let Options {
            enabled,
            fail_if_unavailable,
            auto_allow_bash_if_sandboxed,
            allow_unsandboxed_commands,
            excluded_commands,
            ignore_violations,
            bwrap_path,
            socat_path,
            filesystem,
            network,
            credentials,
            permissions,
        } = self;
        Options {
            enabled: enabled.combine(lower.enabled),
            fail_if_unavailable: fail_if_unavailable.combine(lower.fail_if_unavailable),
            auto_allow_bash_if_sandboxed: auto_allow_bash_if_sandboxed
                .combine(lower.auto_allow_bash_if_sandboxed),
            allow_unsandboxed_commands: allow_unsandboxed_commands.combine(lower.allow_unsandboxed_commands),
            excluded_commands: excluded_commands.combine(lower.excluded_commands),
            ignore_violations: ignore_violations.combine(lower.ignore_violations),
            bwrap_path: bwrap_path.combine(lower.bwrap_path),
            socat_path: socat_path.combine(lower.socat_path),
            filesystem: filesystem.combine(lower.filesystem),
            network: network.combine(lower.network),
            credentials: credentials.combine(lower.credentials),
            permissions: permissions.combine(lower.permissions),
        }
    }
}

impl Combine for FilesystemOptions {
    fn combine(self, lower: Self) -> Self {
        let FilesystemOptions {
            allow_write,
            deny_write,
            deny_read,
            allow_read,
            disabled,
            allow_managed_read_paths_only,
            section,
        } = self;
        FilesystemOptions {
            allow_write: allow_write.combine(lower.allow_write),
            deny_write: deny_write.combine(lower.deny_write),
            deny_read: deny_read.combine(lower.deny_read),
            allow_read: allow_read.combine(lower.allow_read),
            disabled: disabled.combine(lower.disabled),
            allow_managed_read_paths_only: allow_managed_read_paths_only
                .combine(lower.allow_managed_read_paths_only),
            section: section.or(lower.section),
        }
    }
}

impl Combine for NetworkOptions {
    fn combine(self, lower: Self) -> Self {
        let NetworkOptions {
            allowed_domains,
            denied_domains,
            strict_allowlist,
            allow_managed_domains_only,
            allow_unix_sockets,
            allow_all_unix_sockets,
            allow_local_binding,
        } = self;
        NetworkOptions {
            allowed_domains: allowed_domains.combine(lower.allowed_domains),
            denied_domains: denied_domains.combine(lower.denied_domains),
            strict_allowlist: strict_allowlist.combine(lower.strict_allowlist),
            allow_managed_domains_only: allow_managed_domains_only.combine(lower.allow_managed_domains_only),
            allow_unix_sockets: allow_unix_sockets.combine(lower.allow_unix_sockets),
            allow_all_unix_sockets: allow_all_unix_sockets.combine(lower.allow_all_unix_sockets),
            allow_local_binding: allow_local_binding.combine(lower.allow_local_binding),
        }
    }
}

impl Combine for CredentialOptions {
    fn combine(self, lower: Self) -> Self {
        let CredentialOptions { files, env_vars } = self;
        CredentialOptions { files: files.combine(lower.files), env_vars: env_vars.combine(lower.env_vars) }
    }
}

impl Combine for PermissionOptions {
    fn combine(self, lower: Self) -> Self {
        let PermissionOptions {
            allow,
            ask,
            deny,
            default_mode,
            additional_directories,
            disabled_modes,
            allow_managed_rules_only,
        } = self;
        PermissionOptions {
            allow: allow.combine(lower.allow),
            ask: ask.combine(lower.ask),
            deny: deny.combine(lower.deny),
            default_mode: default_mode.combine(lower.default_mode),
            additional_directories: additional_directories.combine(lower.additional_directories),
            disabled_modes: disabled_modes.combine(lower.disabled_modes),
            allow_managed_rules_only: allow_managed_rules_only.combine(lower.allow_managed_rules_only),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_options;
    use proptest::prelude::*;

    proptest! {
        /// Law 4.
        #[test]
        fn combining_is_associative_and_nothing_changes_nothing(
            a in any_options(), b in any_options(), c in any_options(),
        ) {
            let left = a.clone().combine(b.clone()).combine(c.clone());
            let right = a.clone().combine(b.combine(c));
            prop_assert_eq!(left, right);
            prop_assert_eq!(a.clone().combine(Options::default()), a.clone());
            prop_assert_eq!(Options::default().combine(a.clone()), a);
        }

        /// Every rule of either layer is in force, and every switch of the higher one.
        #[test]
        fn nothing_that_was_said_gets_lost(high in any_options(), low in any_options()) {
            let (merged, rules) = high.clone().combine(low.clone()).in_force();
            for (policy, own) in [high.in_force(), low.in_force()] {
                let patterns = merged.files.rules().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(policy.files.rules().all(|rule| patterns.contains(&&rule.pattern)));
                let denied = merged.network.denied.iter().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(policy.network.denied.iter().all(|rule| denied.contains(&&rule.pattern)));
                let excluded = rules.excluded.iter().map(|rule| &rule.pattern).collect::<Vec<_>>();
                prop_assert!(own.excluded.iter().all(|rule| excluded.contains(&&rule.pattern)));
                let refused = rules.deny.iter().map(|rule| &rule.rule).collect::<Vec<_>>();
                prop_assert!(own.deny.iter().all(|rule| refused.contains(&&rule.rule)));
            }
            if let Some(enabled) = high.enabled {
                prop_assert_eq!(merged.enabled, enabled.value);
            }
        }
    }
}
