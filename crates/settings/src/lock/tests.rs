//! Law 3 on random settings, its counterpart for trust, and the table of keys held to what trust does.

use crate::dropped::Record;
use crate::keys::{KEYS, Kind, Layers as From, Support, Tightens};
use crate::load::Layers;
use crate::lock::tighten;
use crate::testing::{abs, options, read};
use crate::trust::distrust;
use crate::{Options, Trust};
use palisade_permissions::RuleSet;
use palisade_policy::{AbsPath, Access, Effect, Endpoint, FileRule, HostVerdict, Layer, Policy};
use proptest::prelude::*;

fn as_written(path: &AbsPath) -> Option<AbsPath> {
    Some(path.clone())
}

/// What is in force, of all layers or of those that no repository's author writes.
fn in_force(layers: &Layers, trust: Trust) -> (Policy, RuleSet) {
    tighten(layers.clone(), trust, &as_written).0.in_force()
}

fn without_repository(layers: &Layers) -> Layers {
    layers.iter().filter(|(layer, _)| !layer.is_of_repository()).cloned().collect()
}

/// All layers, highest first.
fn layers() -> impl Strategy<Value = Layers> {
    [Layer::Managed, Layer::Flag, Layer::Local, Layer::Project, Layer::User]
        .map(|layer| options(layer).prop_map(move |options| (layer, options)))
        .prop_map(Vec::from)
}

fn paths() -> Vec<AbsPath> {
    [
        "/", "/h", "/h/s", "/h/s/x", "/h/s/x/y", "/h/t", "/h/t/s/z", "/p", "/p/a", "/p/a/s", "/p/a/x",
        "/p/b/x/s", "/q/a",
    ]
    .map(abs)
    .into()
}

fn endpoints() -> Vec<Endpoint> {
    ["a.test:443", "b.a.test:443", "b.a.test:80", "a.b.test:1", "x.org:443", "127.0.0.1:80"]
        .map(|text| Endpoint::parse(text, None).expect(text))
        .into()
}

/// What comes of an access. What wildcards match, those of allows among them, each command compares with what is hidden.
fn effect(policy: &Policy, access: Access, path: &AbsPath) -> Effect {
    let mut files = policy.files.clone();
    let denies: Vec<_> =
        policy.files.deny_read.iter().filter(|deny| deny.pattern.covers(path).is_some()).collect();
    let stays_hidden =
        |allow: &FileRule| denies.iter().any(|deny| policy.stays_hidden(&deny.origin, &allow.origin));
    for list in [&mut files.allow_read, &mut files.allow_write] {
        list.retain(|allow| !allow.pattern.has_wildcards() || !stays_hidden(allow));
    }
    files.judge(access, path).effect
}

/// Whether nothing is readable under `tighter` that is not under `looser`.
fn check_reads(tighter: &Policy, looser: &Policy) -> Result<(), TestCaseError> {
    for path in paths() {
        let judge = |policy: &Policy| effect(policy, Access::Read, &path);
        prop_assert!(judge(tighter) == Effect::Deny || judge(looser) == Effect::Allow, "reading {path}");
    }
    Ok(())
}

/// Whether the sandbox of `tighter` lets nothing through that the one of `looser` does not.
fn check_sandbox(
    (tighter, rules): &(Policy, RuleSet),
    (looser, looser_rules): &(Policy, RuleSet),
) -> Result<(), TestCaseError> {
    check_reads(tighter, looser)?;
    for path in paths() {
        let judge = |policy: &Policy| effect(policy, Access::Write, &path);
        prop_assert!(judge(tighter) == Effect::Deny || judge(looser) == Effect::Allow, "writing {path}");
    }
    for endpoint in endpoints() {
        prop_assert!(rank(tighter, &endpoint) <= rank(looser, &endpoint), "reaching {endpoint}");
    }
    for (what, tighter, looser) in [
        ("no sandbox", !tighter.enabled, !looser.enabled),
        ("running without a sandbox", !tighter.fail_if_unavailable, !looser.fail_if_unavailable),
        ("no file rules", tighter.files_disabled, looser.files_disabled),
        ("Unix sockets", tighter.network.unix_sockets, looser.network.unix_sockets),
        ("asking to run outside", rules.allow_unsandboxed, looser_rules.allow_unsandboxed),
    ] {
        prop_assert!(!tighter || looser, "{what}");
    }
    let is_hidden = |name: &str| tighter.hidden_variables.iter().any(|rule| &*rule.name == name);
    prop_assert!(looser.hidden_variables.iter().all(|rule| is_hidden(&rule.name)));
    prop_assert!(rules.excluded.iter().all(|rule| looser_rules.excluded.contains(rule)));
    prop_assert!(tighter.ignore_violations.iter().all(|rule| looser.ignore_violations.contains(rule)));
    prop_assert!(rules.directories.iter().all(|rule| looser_rules.directories.contains(rule)));
    Ok(())
}

/// How open the network is to `endpoint`.
fn rank(policy: &Policy, endpoint: &Endpoint) -> u8 {
    match policy.network.judge(endpoint) {
        HostVerdict::Deny(_) => 0,
        HostVerdict::Ask => 1,
        HostVerdict::Allow(_) => 2,
    }
}

fn drop_origins(rules: &[palisade_permissions::PermissionRule]) -> Vec<&palisade_permissions::Rule> {
    rules.iter().map(|rule| &rule.rule).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Law 3: where the administrator requires the sandbox, a repository loosens nothing of it.
    #[test]
    fn a_repository_does_not_loosen_a_sandbox_that_is_required(
        mut layers in layers(),
        lock in prop::sample::select(&[
            r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#,
            r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true}}}"#,
        ][..]),
    ) {
        let managed = std::mem::take(&mut layers[0].1);
        layers[0].1 = crate::Combine::combine(read(Layer::Managed, lock), managed);
        let without = in_force(&without_repository(&layers), Trust::Trusted);
        check_sandbox(&in_force(&layers, Trust::Trusted), &without)?;
    }

    /// Law 3, whatever the locks: what others than the repository hide stays hidden, and a sandbox that cannot be left
    /// stays so.
    #[test]
    fn a_repository_opens_nothing_that_others_hide(layers in layers()) {
        let (with, rules) = in_force(&layers, Trust::Trusted);
        let others = without_repository(&layers);
        let (without, other_rules) = in_force(&others, Trust::Trusted);
        check_reads(&with, &without)?;
        let said_false = |(_, options): &(Layer, Options)| {
            options.allow_unsandboxed_commands.as_ref().is_some_and(|setting| !setting.value)
        };
        if others.iter().any(said_false) && !other_rules.allow_unsandboxed {
            prop_assert!(!rules.allow_unsandboxed);
        }
        prop_assert!(!with.files_disabled || without.files_disabled);
    }

    /// Law 3: a project that is not trusted only tightens.
    #[test]
    fn a_project_that_is_not_trusted_only_tightens(layers in layers()) {
        let with = in_force(&layers, Trust::Untrusted);
        let without = in_force(&without_repository(&layers), Trust::Trusted);
        check_sandbox(&with, &without)?;
        let waives = |policy: &Policy| policy.enabled && policy.auto_allow;
        prop_assert!(!waives(&with.0) || waives(&without.0));
        let ((_, with), (_, without)) = (&with, &without);
        prop_assert!(drop_origins(&with.allow).iter().all(|rule| drop_origins(&without.allow).contains(rule)));
        prop_assert!(drop_origins(&without.ask).iter().all(|rule| drop_origins(&with.ask).contains(rule)));
        prop_assert!(drop_origins(&without.deny).iter().all(|rule| drop_origins(&with.deny).contains(rule)));
        prop_assert!(with.mode.is_none() || with.mode == without.mode);
    }

    /// What the administrator keeps to himself comes from him alone, whoever else speaks of it.
    #[test]
    fn what_is_kept_to_the_administrator_comes_from_him(mut layers in layers()) {
        let lock = r#"{"allowManagedPermissionRulesOnly": true, "sandbox": {
            "network": {"allowManagedDomainsOnly": true}, "filesystem": {"allowManagedReadPathsOnly": true}}}"#;
        let managed = std::mem::take(&mut layers[0].1);
        layers[0].1 = crate::Combine::combine(read(Layer::Managed, lock), managed);
        let (policy, rules) = in_force(&layers, Trust::Trusted);
        prop_assert!(policy.network.allowed.iter().all(|rule| rule.origin.layer == Layer::Managed));
        prop_assert!(policy.network.strict);
        prop_assert!(policy.files.allow_read.iter().all(|rule| rule.origin.layer == Layer::Managed));
        prop_assert!([&rules.allow, &rules.ask, &rules.deny].into_iter().flatten()
            .all(|rule| rule.origin.layer == Layer::Managed));
        let (own, _) = in_force(&layers[..1].to_vec(), Trust::Trusted);
        check_reads(&policy, &own)?;
    }

    /// Law 9: the order of a list has no meaning.
    #[test]
    fn the_order_of_lists_makes_no_difference(options in options(Layer::User), turn in 0..4usize) {
        let (policy, _) = options.in_force();
        let mut turned = options;
        let turn_files = |list: &mut Vec<_>| {
            list.reverse();
            let by = turn.min(list.len());
            list.rotate_left(by);
        };
        turn_files(&mut turned.filesystem.allow_write);
        turn_files(&mut turned.filesystem.deny_write);
        turn_files(&mut turned.filesystem.deny_read);
        turn_files(&mut turned.filesystem.allow_read);
        turned.network.allowed_domains.reverse();
        turned.network.denied_domains.reverse();
        let (turned, _) = turned.in_force();
        for path in paths() {
            for access in [Access::Read, Access::Write] {
                let judge = |policy: &Policy| policy.files.judge(access, &path).effect;
                prop_assert_eq!(judge(&policy), judge(&turned), "{:?} {}", access, path);
            }
        }
        for endpoint in endpoints() {
            prop_assert_eq!(rank(&policy, &endpoint), rank(&turned, &endpoint), "{}", endpoint);
        }
    }
}

/// Values for a key, each with whether it stands in the place of a `true`.
fn examples(kind: Kind) -> Vec<(&'static str, Option<bool>)> {
    match kind {
        Kind::Section => vec![],
        Kind::Switch(_) => vec![("true", Some(true)), ("false", Some(false))],
        Kind::Commands => vec![(r#"["make"]"#, None)],
        Kind::Paths | Kind::Directories => vec![(r#"["/x"]"#, None)],
        Kind::Hosts => vec![(r#"["a.test"]"#, None)],
        Kind::Files => vec![(r#"[{"path": "/x", "mode": "deny"}]"#, None)],
        Kind::Variables => vec![(r#"[{"name": "X", "mode": "deny"}]"#, None)],
        Kind::Ignored => vec![(r#"{"*": ["x"]}"#, None)],
        Kind::Program => vec![(r#""/x""#, None)],
        Kind::Rules => vec![(r#"["Bash(make)"]"#, None)],
        Kind::Mode => vec![(r#""plan""#, None), (r#""dontAsk""#, None)],
        Kind::Disable => vec![(r#""disable""#, None)],
    }
}

/// What the table says of each key is what becomes of it where the project is not trusted.
#[test]
fn the_table_of_keys_is_what_trust_does() {
    for key in KEYS {
        let Support::Read(kind, from, tightens) = key.support else { continue };
        for (value, truth) in examples(kind) {
            let name = key.full_name();
            let text =
                name.rsplit('.').fold(value.to_owned(), |inner, name| format!("{{\"{name}\": {inner}}}"));
            // Some keys do not count from a repository anyhow; taken for such, they must tighten all the same.
            let layer = if from == From::Any { Layer::Project } else { Layer::Managed };
            let mut options = read(layer, &text);
            // That there is a section says nothing where it is a repository's.
            options.filesystem.section = None;
            assert_ne!(options, Options::default(), "{name} is read");
            let said = options.clone();
            distrust(&mut options, &mut Record::default());
            let is_kept = match tightens {
                Tightens::Always => true,
                Tightens::Never => false,
                Tightens::WhenTrue => truth == Some(true),
                Tightens::WhenFalse => truth == Some(false),
                Tightens::ByKey => panic!("{name} has keys of its own"),
            };
            let expected = if is_kept { said } else { Options::default() };
            assert_eq!(options, expected, "{name} {value}");
        }
    }
}
