//! From merged options to what is in force: defaults are put in, the lists of credentials join the others, and
//! what was said twice is kept once. Nothing is judged here.

use crate::{CredentialOptions, FilesystemOptions, NetworkOptions, Options, PermissionOptions, Setting};
use palisade_permissions::{PermissionRule, Rule, RuleSet};
use palisade_policy::{
    AbsPath, FileRule, FileSets, HostPattern, HostRule, NetworkPolicy, Origin, Policy, ProgramRule,
};
use std::cmp::Reverse;
use std::collections::HashMap;
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
            read_lock: set(&filesystem.allow_managed_read_paths_only),
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
            allow_write: strongest(allow_write),
            deny_write: strongest(deny_write),
            deny_read: strongest(highest_first(deny_read, credentials)),
            allow_read: strongest(allow_read),
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
            lock: set(allow_managed_domains_only),
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

/// Who set the switch, if it is on.
fn set(switch: &Option<Setting<bool>>) -> Option<Origin> {
    switch.as_ref().filter(|setting| setting.value).map(|setting| setting.origin.clone())
}

/// The rules of two lists, each of which comes from the highest layer down, in that order.
fn highest_first<'a>(one: &'a [FileRule], other: &'a [FileRule]) -> Vec<&'a FileRule> {
    let mut rules: Vec<&FileRule> = one.iter().chain(other).collect();
    rules.sort_by_key(|rule| Reverse(rule.origin.layer));
    rules
}

/// The first of the rules that name the same, but one that is no repository's where there is one: a repository that
/// repeats what others say must not take their place, whose words count for more ([`Policy::stays_hidden`]).
fn strongest<'a>(rules: impl IntoIterator<Item = &'a FileRule>) -> Vec<FileRule> {
    let is_of_repository = |rule: &FileRule| rule.origin.layer.is_of_repository();
    once_but(rules, |rule| &rule.pattern, |first, other| is_of_repository(first) && !is_of_repository(other))
}

/// The first of the rules that are alike, in their order. Rules come from the highest layer down.
fn once<'a, T: Clone + 'a, K: Hash + Eq>(
    rules: impl IntoIterator<Item = &'a T>,
    alike: impl Fn(&'a T) -> K,
) -> Vec<T> {
    once_but(rules, alike, |_, _| false)
}

/// The same, but for a first one that `gives_way` to another that is like it.
fn once_but<'a, T: Clone + 'a, K: Hash + Eq>(
    rules: impl IntoIterator<Item = &'a T>,
    alike: impl Fn(&'a T) -> K,
    gives_way: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for rule in rules {
        let place = *places.entry(alike(rule)).or_insert(kept.len());
        match kept.get_mut(place) {
            None => kept.push(rule.clone()),
            Some(first) if gives_way(first, rule) => *first = rule.clone(),
            Some(_) => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{AbsPath, Anchor, Layer, PathPattern};

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
        assert_eq!(strongest(&rules), rules[..2]);
    }

    /// Else a repository could take a deny over by saying it again, and then open what it hides.
    #[test]
    fn of_rules_that_are_alike_one_stays_that_is_no_repositorys() {
        let rule = |layer| FileRule {
            pattern: PathPattern::literal(AbsPath::new("/x").expect("absolute")),
            origin: Origin { layer, ..Origin::flag("--test", "/x") },
        };
        use Layer::{Flag, Local, Managed, Project, User};
        for (said, kept) in [
            (&[Local, Project, User][..], User),
            (&[Managed, Flag, Local, User], Managed),
            (&[Flag, Project, User], Flag),
            (&[Local, Project], Local),
        ] {
            let rules: Vec<_> = said.iter().copied().map(rule).collect();
            assert_eq!(strongest(&rules), [rule(kept)], "{said:?}");
        }
        let (files, said) =
            ([rule(User)], FilesystemOptions { deny_read: vec![rule(Project)], ..Default::default() });
        assert_eq!(said.file_sets(&files).deny_read, files);
    }
}
