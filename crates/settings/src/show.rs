//! What is in force, value by value, each with who said it: for people to read, or as data for a program.

use crate::{Loaded, Options, Setting};
use palisade_permissions::Mode;
use palisade_policy::{FileRule, HostRule, Origin};
use std::fmt;

/// One value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The key that holds such values, such as `sandbox.filesystem.denyRead`; the origin's key is another one where a
    /// permission rule or a credential says it.
    pub key: &'static str,
    /// The value.
    pub value: Shown,
    /// Who said so; `None` for a default.
    pub origin: Option<Origin>,
}

/// A value to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Of a switch.
    Switch(bool),
    /// One entry of a list, or a mode, in its normal spelling: paths are absolute, patterns as they are compared.
    Text(String),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Switch(on) => on.fmt(f),
            Shown::Text(text) => text.fmt(f),
        }
    }
}

impl Loaded {
    /// Every switch, and every entry of every list, in the order of the specification page.
    pub fn in_force(&self) -> Vec<InForce> {
        let mut all = self.switches();
        let (files, network, rules) = (&self.policy.files, &self.policy.network, &self.rules);
        let mut add = |key, value: String, origin: &Origin| {
            all.push(InForce { key, value: Shown::Text(value), origin: Some(origin.clone()) });
        };
        for (key, list) in [
            ("sandbox.filesystem.allowWrite", &files.allow_write),
            ("sandbox.filesystem.denyWrite", &files.deny_write),
            ("sandbox.filesystem.denyRead", &files.deny_read),
            ("sandbox.filesystem.allowRead", &files.allow_read),
            ("sandbox.network.allowUnixSockets", &self.options.network.allow_unix_sockets),
        ] {
            list.iter().for_each(|rule: &FileRule| add(key, rule.pattern.to_string(), &rule.origin));
        }
        for (key, list) in [
            ("sandbox.network.allowedDomains", &network.allowed),
            ("sandbox.network.deniedDomains", &network.denied),
        ] {
            list.iter().for_each(|rule: &HostRule| add(key, rule.pattern.to_string(), &rule.origin));
        }
        for rule in &self.policy.hidden_variables {
            add("sandbox.credentials.envVars", rule.name.to_string(), &rule.origin);
        }
        for rule in &self.policy.ignore_violations {
            add("sandbox.ignoreViolations", format!("{}: {}", rule.command, rule.violation), &rule.origin);
        }
        for (key, program) in
            [("sandbox.bwrapPath", &self.policy.bwrap), ("sandbox.socatPath", &self.policy.socat)]
        {
            program.iter().for_each(|program| add(key, program.path.to_string(), &program.origin));
        }
        for excluded in &rules.excluded {
            add("sandbox.excludedCommands", excluded.pattern.to_string(), &excluded.origin);
        }
        for (key, list) in [
            ("permissions.deny", &rules.deny),
            ("permissions.ask", &rules.ask),
            ("permissions.allow", &rules.allow),
        ] {
            list.iter().for_each(|rule| add(key, rule.rule.to_string(), &rule.origin));
        }
        for directory in &rules.directories {
            add("permissions.additionalDirectories", directory.path.to_string(), &directory.origin);
        }
        for mode in rules.mode.iter() {
            add("permissions.defaultMode", mode.mode.to_string(), &mode.origin);
        }
        for disabled in &rules.disabled_modes {
            let key = match disabled.mode {
                Mode::Auto => "permissions.disableAutoMode",
                _ => "permissions.disableBypassPermissionsMode",
            };
            add(key, "disable".into(), &disabled.origin);
        }
        all
    }

    /// The switches, those that nobody set among them.
    fn switches(&self) -> Vec<InForce> {
        let Options { filesystem, network, permissions, .. } = &self.options;
        let (policy, rules) = (&self.policy, &self.rules);
        let strict =
            network.strict_allowlist.as_ref().filter(|setting| setting.value == policy.network.strict);
        let lock = network.allow_managed_domains_only.as_ref().filter(|setting| setting.value);
        let strict = strict.or(lock);
        let options = &self.options;
        [
            ("sandbox.enabled", policy.enabled, options.enabled.as_ref()),
            ("sandbox.failIfUnavailable", policy.fail_if_unavailable, options.fail_if_unavailable.as_ref()),
            (
                "sandbox.autoAllowBashIfSandboxed",
                policy.auto_allow,
                options.auto_allow_bash_if_sandboxed.as_ref(),
            ),
            (
                "sandbox.allowUnsandboxedCommands",
                rules.allow_unsandboxed,
                options.allow_unsandboxed_commands.as_ref(),
            ),
            ("sandbox.filesystem.disabled", policy.files_disabled, filesystem.disabled.as_ref()),
            ("sandbox.network.strictAllowlist", policy.network.strict, strict),
            locked("sandbox.network.allowManagedDomainsOnly", &network.allow_managed_domains_only),
            locked("sandbox.filesystem.allowManagedReadPathsOnly", &filesystem.allow_managed_read_paths_only),
            locked("allowManagedPermissionRulesOnly", &permissions.allow_managed_rules_only),
            locked("sandbox.network.allowAllUnixSockets", &network.allow_all_unix_sockets),
            locked("sandbox.network.allowLocalBinding", &network.allow_local_binding),
        ]
        .map(|(key, value, setting)| InForce {
            key,
            value: Shown::Switch(value),
            origin: setting.map(|setting| setting.origin.clone()),
        })
        .into()
    }
}

/// A switch that is off unless it is set.
fn locked<'a>(
    key: &'static str,
    setting: &'a Option<Setting<bool>>,
) -> (&'static str, bool, Option<&'a Setting<bool>>) {
    (key, setting.as_ref().is_some_and(|setting| setting.value), setting.as_ref())
}
