//! Merging layers: what a higher layer says together with what a lower one says.
//!
//! Laws, which property tests hold: [`Combine::combine`] is associative, and options that say nothing change
//! nothing on either side. Each implementation for a struct takes it apart without `..`, so that a key that is
//! added cannot be forgotten here.

use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, Setting};

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
            filesystem,
            network,
            credentials,
        } = self;
        Options {
            enabled: enabled.combine(lower.enabled),
            fail_if_unavailable: fail_if_unavailable.combine(lower.fail_if_unavailable),
            auto_allow_bash_if_sandboxed: auto_allow_bash_if_sandboxed
                .combine(lower.auto_allow_bash_if_sandboxed),
            allow_unsandboxed_commands: allow_unsandboxed_commands.combine(lower.allow_unsandboxed_commands),
            excluded_commands: excluded_commands.combine(lower.excluded_commands),
            filesystem: filesystem.combine(lower.filesystem),
            network: network.combine(lower.network),
            credentials: credentials.combine(lower.credentials),
        }
    }
}

impl Combine for FilesystemOptions {
    fn combine(self, lower: Self) -> Self {
        let FilesystemOptions { allow_write, deny_write, deny_read, allow_read, disabled } = self;
        FilesystemOptions {
            allow_write: allow_write.combine(lower.allow_write),
            deny_write: deny_write.combine(lower.deny_write),
            deny_read: deny_read.combine(lower.deny_read),
            allow_read: allow_read.combine(lower.allow_read),
            disabled: disabled.combine(lower.disabled),
        }
    }
}

impl Combine for NetworkOptions {
    fn combine(self, lower: Self) -> Self {
        let NetworkOptions {
            allowed_domains,
            denied_domains,
            strict_allowlist,
            allow_unix_sockets,
            allow_all_unix_sockets,
            allow_local_binding,
        } = self;
        NetworkOptions {
            allowed_domains: allowed_domains.combine(lower.allowed_domains),
            denied_domains: denied_domains.combine(lower.denied_domains),
            strict_allowlist: strict_allowlist.combine(lower.strict_allowlist),
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
