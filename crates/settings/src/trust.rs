//! A project that nobody trusts: of what its files say, only what tightens counts.
//!
//! The attacker is the repository's author, and all of it is text of his choice. A value may stay only if no other
//! value anywhere makes it loosen something, since he can combine them. One does: a sandbox that is switched on waives
//! approvals for what runs inside. So where his files alone switch it on, it waives none.

use crate::dropped::{Reason, Record};
use crate::load::Layers;
use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, PermissionOptions, Setting};
use palisade_policy::Origin;

/// Takes out of a repository's `options` what does not tighten. The table of keys says the same of each key.
pub(crate) fn distrust(options: &mut Options, record: &mut Record) {
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
        credentials: CredentialOptions { files: _, env_vars: _ },
        permissions,
    } = options;
    keep_only(true, enabled, record);
    keep_only(true, fail_if_unavailable, record);
    keep_only(false, auto_allow_bash_if_sandboxed, record);
    keep_only(false, allow_unsandboxed_commands, record);
    record.retain(excluded_commands, |_| Some(Reason::Untrusted));
    record.retain(ignore_violations, |_| Some(Reason::Untrusted));
    record.keep(bwrap_path, |_| Some(Reason::Untrusted));
    record.keep(socat_path, |_| Some(Reason::Untrusted));
    distrust_files(filesystem, record);
    distrust_network(network, record);
    distrust_permissions(permissions, record);
}

/// Where, of `layers` with what tightens only, a repository's files alone switch the sandbox on: which value does.
pub(crate) fn untrusted_switch(layers: &Layers) -> Option<Origin> {
    let says = |of_repository: bool| {
        layers
            .iter()
            .filter(move |(layer, _)| layer.is_of_repository() == of_repository)
            .find_map(|(_, options)| options.enabled.as_ref())
    };
    let is_on_anyhow = says(false).is_some_and(|setting| setting.value);
    says(true).filter(|setting| setting.value && !is_on_anyhow).map(|setting| setting.origin.clone())
}

/// Keeps the sandbox, switched on by `by`, from waiving approvals.
pub(crate) fn waive_nothing(merged: &mut Options, by: Origin, record: &mut Record) {
    let auto_allow = &mut merged.auto_allow_bash_if_sandboxed;
    record.keep(auto_allow, |setting| setting.value.then(|| Reason::UntrustedSandbox { by: by.clone() }));
    auto_allow.get_or_insert(Setting { value: false, origin: by });
}

fn distrust_files(filesystem: &mut FilesystemOptions, record: &mut Record) {
    let FilesystemOptions {
        allow_write,
        deny_write: _,
        deny_read: _,
        allow_read,
        disabled,
        allow_managed_read_paths_only,
        section: _,
    } = filesystem;
    record.retain(allow_write, |_| Some(Reason::Untrusted));
    record.retain(allow_read, |_| Some(Reason::Untrusted));
    keep_only(false, disabled, record);
    keep_only(true, allow_managed_read_paths_only, record);
}

fn distrust_network(network: &mut NetworkOptions, record: &mut Record) {
    let NetworkOptions {
        allowed_domains,
        denied_domains: _,
        strict_allowlist,
        allow_managed_domains_only,
        allow_unix_sockets,
        allow_all_unix_sockets,
        allow_local_binding,
    } = network;
    record.retain(allowed_domains, |_| Some(Reason::Untrusted));
    keep_only(true, strict_allowlist, record);
    keep_only(true, allow_managed_domains_only, record);
    record.retain(allow_unix_sockets, |_| Some(Reason::Untrusted));
    keep_only(false, allow_all_unix_sockets, record);
    keep_only(false, allow_local_binding, record);
}

fn distrust_permissions(permissions: &mut PermissionOptions, record: &mut Record) {
    let PermissionOptions {
        allow,
        ask: _,
        deny: _,
        default_mode,
        additional_directories,
        disabled_modes: _,
        allow_managed_rules_only,
    } = permissions;
    record.retain(allow, |_| Some(Reason::Untrusted));
    // Even a strict mode may stand in the place of a stricter one: neither of `plan` and `dontAsk` is always tighter.
    record.keep(default_mode, |_| Some(Reason::Untrusted));
    record.retain(additional_directories, |_| Some(Reason::Untrusted));
    keep_only(true, allow_managed_rules_only, record);
}

fn keep_only(tighter: bool, switch: &mut Option<Setting<bool>>, record: &mut Record) {
    record.keep(switch, |setting| (setting.value != tighter).then_some(Reason::Untrusted));
}
