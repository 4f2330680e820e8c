//! From merged options to what is in force: defaults are put in, the lists of credentials join the others, and
//! what was said twice is kept once. Nothing is judged here.

use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, PermissionOptions, Setting};
use palisade_permissions::{PermissionRule, Rule, RuleSet};
use palisade_policy::{
    AbsPath, FileRule, FileSets, HostPattern, HostRule, NetworkPolicy, PathPattern, Policy, ProgramRule,
};
use std::collections::HashSet;
use std::hash::Hash;

impl Options {
    /// The policy and the rules that these options, all layers merged, put in force.
    pub fn in_force(&self) -> (Policy, RuleSet) {
        let Options {
            enabled,
            fail_if_unavailable,
            auto_allow_bash_if_sandboxed,
            allow_unsandboxed_commands,
            excluded_commands,
            filesystem,
            network,
            credentials: CredentialOptions { files, env_vars },
            ignore_violations,
            bwrap_path,
            socat_path,
            permissions,
        } = self;
        let default = Policy::default();
        let policy = Policy {
            enabled: or(enabled, default.enabled),
            fail_if_unavailable: or(fail_if_unavailable, default.fail_if_unavailable),
            auto_allow: or(auto_allow_bash_if_sandboxed, default.auto_allow),
            files: filesystem.file_sets(files),
            files_disabled: or(&filesystem.disabled, default.files_disabled),
            network: network.in_force(default.network),
            hidden_variables: once(env_vars, |rule| &rule.name),
            ignore_violations: once(ignore_violations, |rule| (&rule.command, &rule.violation)),
            bwrap: program(bwrap_path),
            socat: program(socat_path),
        };
        let default = RuleSet::default();
        let rules = RuleSet {
            excluded: once(excluded_commands, |rule| &rule.pattern),
            allow_unsandboxed: or(allow_unsandboxed_commands, default.allow_unsandboxed),
            ..permissions.rule_set()
        };
        (policy, rules)
    }
}

impl FilesystemOptions {
    fn file_sets(&self, credentials: &[FileRule]) -> FileSets {
        let FilesystemOptions {
            allow_write,
            deny_write,
            deny_read,
            allow_read,
            disabled: _,
            allow_managed_read_paths_only: _,
            section: _,
        } = self;
        FileSets {
            allow_write: once(allow_write, path),
            deny_write: once(deny_write, path),
            deny_read: once(deny_read.iter().chain(credentials), path),
            allow_read: once(allow_read, path),
        }
    }
}

impl NetworkOptions {
    fn in_force(&self, default: NetworkPolicy) -> NetworkPolicy {
        let NetworkOptions {
            allowed_domains,
            denied_domains,
            strict_allowlist,
            allow_managed_domains_only,
            allow_unix_sockets,
            allow_all_unix_sockets,
            allow_local_binding: _,
        } = self;
        fn host(rule: &HostRule) -> &HostPattern {
            &rule.pattern
        }
        NetworkPolicy {
            allowed: once(allowed_domains, host),
            denied: once(denied_domains, host),
            strict: or(strict_allowlist, default.strict) || or(allow_managed_domains_only, false),
            lock: allow_managed_domains_only
                .as_ref()
                .filter(|lock| lock.value)
                .map(|lock| lock.origin.clone()),
            unix_sockets: or(allow_all_unix_sockets, default.unix_sockets) || !allow_unix_sockets.is_empty(),
        }
    }
}

impl PermissionOptions {
    /// The rules; what is about the sandbox comes from elsewhere.
    fn rule_set(&self) -> RuleSet {
        let PermissionOptions {
            allow,
            ask,
            deny,
            default_mode,
            additional_directories,
            disabled_modes,
            allow_managed_rules_only: _,
        } = self;
        fn rule(rule: &PermissionRule) -> &Rule {
            &rule.rule
        }
        RuleSet {
            deny: once(deny, rule),
            ask: once(ask, rule),
            allow: once(allow, rule),
            mode: default_mode.clone(),
            disabled_modes: once(disabled_modes, |disabled| disabled.mode),
            directories: once(additional_directories, |directory| &directory.path),
            ..RuleSet::default()
        }
    }
}

fn program(path: &Option<Setting<AbsPath>>) -> Option<ProgramRule> {
    path.as_ref().map(|setting| ProgramRule { path: setting.value.clone(), origin: setting.origin.clone() })
}

fn or(setting: &Option<Setting<bool>>, default: bool) -> bool {
    setting.as_ref().map_or(default, |setting| setting.value)
}

/// The first of the rules that are alike, in their order. Rules come from the highest layer down.
fn once<'a, T: Clone + 'a, K: Hash + Eq>(
    rules: impl IntoIterator<Item = &'a T>,
    alike: impl Fn(&'a T) -> K,
) -> Vec<T> {
    let mut seen = HashSet::new();
    rules.into_iter().filter(|rule| seen.insert(alike(rule))).cloned().collect()
}

fn path(rule: &FileRule) -> &PathPattern {
    &rule.pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{AbsPath, Anchor, Origin};

    /// One base is called `/q*`, the other text has a wildcard there: both show as `/q*/x*`.
    #[test]
    fn patterns_that_look_alike_and_cover_other_paths_are_both_kept() {
        let rule = |base: &str, text: &str| FileRule {
            pattern: PathPattern::parse(
                text,
                &Anchor { base: AbsPath::new(base).expect("absolute"), home: None },
            )
            .expect(text),
            origin: Origin::flag("--deny-read", text),
        };
        let rules = [rule("/q*", "x*"), rule("/", "q*/x*"), rule("/", "/q*/x*/**")];
        assert_eq!(once(&rules, path), rules[..2]);
    }
}
