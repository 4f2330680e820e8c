//! Laws of the file lists and the host lists, on random rules and questions: an index answers as the
//! specification does, a further deny never opens anything, and the order within a list means nothing.
//!
//! What a single pattern means is not asked here: the pages of the specification and the tests beside the
//! code do that.
#![forbid(unsafe_code)]

use palisade_policy::{
    AbsPath, Access, Anchor, Effect, Endpoint, FileIndex, FileRule, FileSets, FileVerdict, HostPattern,
    HostRule, HostVerdict, IndexedNetwork, LocalAddresses, NetworkPolicy, Origin, PathPattern,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers the rules, so that two with the same pattern are told apart.
fn origin(number: usize, text: &str) -> Origin {
    Origin { line: u32::try_from(number).ok(), ..Origin::flag("--rule", text) }
}

fn file_rules(texts: &[String]) -> Vec<FileRule> {
    let anchor = Anchor { base: AbsPath::root(), home: None };
    let rule = |(number, text): (usize, &String)| FileRule {
        pattern: PathPattern::parse(text, &anchor).expect("valid"),
        origin: origin(number, text),
    };
    texts.iter().enumerate().map(rule).collect()
}

fn host_rules(texts: &[String]) -> Vec<HostRule> {
    let rule = |(number, text): (usize, &String)| HostRule {
        pattern: HostPattern::parse(text).expect("valid"),
        origin: origin(number, text),
    };
    texts.iter().enumerate().map(rule).collect()
}

/// Few names and little depth, so that rules meet; every kind of last name that an index tells apart.
fn path_text() -> impl Strategy<Value = String> {
    let names = select(vec![
        "a", "a", "ab", "b", "é", "**", "*", "*b", "a*", "?b", "a?", "[ab]", "*é", "é*", "a*b", "[a]b", "*a*",
    ]);
    proptest::collection::vec(names, 0..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn asked_path() -> impl Strategy<Value = AbsPath> {
    let names = select(vec!["a", "ab", "b", "bb", "aé", "éb", "é", "*", "**", "[ab]", "aab", "[a]b"]);
    proptest::collection::vec(names, 0..6)
        .prop_map(|names| AbsPath::new(format!("/{}", names.join("/"))).expect("absolute"))
}

fn file_list() -> impl Strategy<Value = Vec<FileRule>> {
    proptest::collection::vec(path_text(), 0..6).prop_map(|texts| file_rules(&texts))
}

fn file_sets() -> impl Strategy<Value = FileSets> {
    [file_list(), file_list(), file_list(), file_list()].prop_map(
        |[allow_write, deny_write, deny_read, allow_read]| FileSets {
            allow_write,
            deny_write,
            deny_read,
            allow_read,
        },
    )
}

fn access() -> impl Strategy<Value = Access> {
    select(vec![Access::Read, Access::Write])
}

/// Hosts that are the start, the end or the middle of one another, and addresses that carry one another.
fn host_text() -> impl Strategy<Value = String> {
    let host = prop_oneof![
        "(\\*\\.)?([ab]\\.){0,2}[ab]",
        "[ab]\\.\\*(\\.[ab]){1,2}|a\\.b\\.\\*\\.a",
        "(\\*\\.)?(a\\.)?localhost",
        "10\\.0\\.0\\.[12]|127\\.0\\.0\\.1|\\[::1\\]|\\[64:ff9b::a00:1\\]|\\*",
    ];
    (host, "(:[12])?").prop_map(|(host, port)| host + &port)
}

fn asked_endpoint() -> impl Strategy<Value = Endpoint> {
    let hosts = "([ab]\\.){0,4}[ab]|(a\\.)?localhost|10\\.0\\.0\\.[123]|127\\.0\\.0\\.1|\\[::1\\]|\\[64:ff9b::a00:[12]\\]";
    (hosts, "[123]")
        .prop_map(|(host, port)| Endpoint::parse(&format!("{host}:{port}"), None).expect("an endpoint"))
}

fn host_list() -> impl Strategy<Value = Vec<HostRule>> {
    proptest::collection::vec(host_text(), 0..8).prop_map(|texts| host_rules(&texts))
}

fn network() -> impl Strategy<Value = NetworkPolicy> {
    (host_list(), host_list(), any::<bool>()).prop_map(|(allowed, denied, strict)| NetworkPolicy {
        allowed,
        denied,
        strict,
        ..NetworkPolicy::default()
    })
}

/// What of a verdict may not depend on the order of the rules: two that name the same path, one of them by a
/// wildcard, are equally good reasons.
fn reason(verdict: FileVerdict<'_>, path: &AbsPath) -> (Effect, Option<usize>) {
    (verdict.effect, verdict.rule.and_then(|rule| rule.pattern.covers(path)))
}

/// The same for hosts, where equally narrow rules are equal.
fn host_reason(verdict: HostVerdict<'_>) -> (&'static str, Option<&HostPattern>) {
    match verdict {
        HostVerdict::Allow(rule) => ("allow", Some(&rule.pattern)),
        HostVerdict::Ask => ("ask", None),
        HostVerdict::Deny(rule) => ("deny", rule.map(|rule| &rule.pattern)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn a_file_index_answers_as_the_specification(sets in file_sets(), paths in proptest::collection::vec(asked_path(), 1..12)) {
        let index = FileIndex::new(&sets);
        for path in &paths {
            for access in [Access::Read, Access::Write] {
                prop_assert_eq!(index.judge(access, path), sets.judge(access, path), "{:?} {}", access, path);
            }
        }
    }

    #[test]
    fn an_indexed_network_answers_as_the_specification(network in network(), endpoints in proptest::collection::vec(asked_endpoint(), 1..12)) {
        let indexed = IndexedNetwork::new(network.clone());
        let own = LocalAddresses::default();
        let addresses = ["127.0.0.1", "::1", "10.0.0.1", "64:ff9b::a00:2"].map(|text| text.parse().expect("an address"));
        for endpoint in &endpoints {
            prop_assert_eq!(indexed.judge(endpoint), network.judge(endpoint), "{}", endpoint);
            prop_assert_eq!(indexed.vet(endpoint, &addresses, &own), network.vet(endpoint, &addresses, &own), "{}", endpoint);
        }
    }

    /// Law 2 for files.
    #[test]
    fn a_further_deny_opens_no_path(sets in file_sets(), more in file_list(), access in access(), path in asked_path()) {
        let unreadable = FileSets { deny_read: [&sets.deny_read[..], &more].concat(), ..sets.clone() };
        let unwritable = FileSets { deny_write: [&sets.deny_write[..], &more].concat(), ..sets.clone() };
        for tighter in [unreadable, unwritable] {
            if sets.judge(access, &path).effect == Effect::Deny {
                prop_assert_eq!(tighter.judge(access, &path).effect, Effect::Deny);
            }
        }
    }

    /// Law 2 for hosts.
    #[test]
    fn a_further_deny_opens_no_host(network in network(), more in host_list(), endpoint in asked_endpoint()) {
        let mut tighter = network.clone();
        tighter.denied.extend(more);
        match (network.judge(&endpoint), tighter.judge(&endpoint)) {
            (HostVerdict::Deny(_), after) => prop_assert!(matches!(after, HostVerdict::Deny(_)), "{:?}", after),
            (HostVerdict::Ask, after) => prop_assert!(!matches!(after, HostVerdict::Allow(_)), "{:?}", after),
            (HostVerdict::Allow(_), _) => {}
        }
        let own = LocalAddresses::default();
        let address = ["127.0.0.1".parse().expect("an address")];
        if network.vet(&endpoint, &address, &own).is_err() {
            prop_assert!(tighter.vet(&endpoint, &address, &own).is_err());
        }
    }

    /// Law 9 for files.
    #[test]
    fn the_order_of_file_rules_means_nothing(
        (sets, shuffled) in file_sets().prop_flat_map(|sets| {
            let lists = [&sets.allow_write, &sets.deny_write, &sets.deny_read, &sets.allow_read];
            let shuffled = lists.map(|list| Just(list.clone()).prop_shuffle());
            (Just(sets), shuffled)
        }),
        access in access(),
        path in asked_path(),
    ) {
        let [allow_write, deny_write, deny_read, allow_read] = shuffled;
        let other = FileSets { allow_write, deny_write, deny_read, allow_read };
        prop_assert_eq!(reason(sets.judge(access, &path), &path), reason(other.judge(access, &path), &path));
    }

    /// Law 9 for hosts.
    #[test]
    fn the_order_of_host_rules_means_nothing(
        (network, allowed, denied) in network().prop_flat_map(|network| {
            let allowed = Just(network.allowed.clone()).prop_shuffle();
            let denied = Just(network.denied.clone()).prop_shuffle();
            (Just(network), allowed, denied)
        }),
        endpoint in asked_endpoint(),
    ) {
        let other = NetworkPolicy { allowed, denied, ..network.clone() };
        prop_assert_eq!(host_reason(network.judge(&endpoint)), host_reason(other.judge(&endpoint)));
    }
}
