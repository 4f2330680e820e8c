//! `docs/spec/hosts.md`.

use crate::page::{Page, Row};
use palisade_policy::{Endpoint, Host, HostPattern, HostRule, HostVerdict, NetworkPolicy, Origin};

const HOSTS: &[&str] = &["host", "also written"];
const NO_HOSTS: &[&str] = &["text", "is no host because"];
const PATTERNS: &[&str] = &["pattern", "covers", "does not cover"];
const REFUSED: &[&str] = &["pattern", "is refused because"];
const READINGS: &[&str] = &["text", "denied, it covers", "denied, it does not cover", "allowed, it covers"];
const LISTS: &[&str] = &["allowed", "denied", "strict", "endpoint", "verdict"];

fn page() -> Page {
    let text = include_str!("../../../../docs/spec/hosts.md");
    Page::read(text, &[HOSTS, NO_HOSTS, PATTERNS, REFUSED, READINGS, LISTS])
}

fn covers(patterns: &[HostPattern], endpoint: &str) -> bool {
    let Ok(endpoint) = Endpoint::parse(endpoint, None) else { return false };
    patterns.iter().any(|pattern| pattern.matches(&endpoint))
}

#[track_caller]
fn check_covers(patterns: &[HostPattern], row: &Row, yes: usize, no: usize) {
    let (yes, no) = (row.codes(yes), row.codes(no));
    assert!(!yes.is_empty() && !no.is_empty(), "{patterns:?} has an example of either kind");
    for endpoint in yes {
        assert!(covers(patterns, &endpoint), "{patterns:?} should cover {endpoint}");
    }
    for endpoint in no {
        assert!(!covers(patterns, &endpoint), "{patterns:?} should not cover {endpoint}");
    }
}

#[test]
fn each_host_has_one_spelling() {
    for row in page().rows(HOSTS) {
        let normal = row.code(0);
        for text in [vec![normal.clone()], row.codes(1)].concat() {
            let host = Host::parse(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(host.to_string(), normal, "{text:?}");
        }
    }
}

#[test]
fn what_is_no_host_says_why_and_is_matched_by_nothing() {
    let everything = [HostPattern::parse("*").expect("valid")];
    for row in page().rows(NO_HOSTS) {
        let text = row.code(0);
        let error = Host::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(row.text(1)), "{text:?}: {error}");
        assert!(!covers(&everything, &format!("{text}:80")), "{text:?}");
    }
}

#[test]
fn patterns_cover_what_the_page_says() {
    for row in page().rows(PATTERNS) {
        let pattern =
            HostPattern::parse(&row.code(0)).unwrap_or_else(|error| panic!("{}: {error}", row.text(0)));
        let shown = HostPattern::parse(&pattern.to_string());
        assert_eq!(shown.as_ref(), Ok(&pattern), "what is shown reads back");
        if row.text(0) == "`*`" {
            // Everything is covered but what is no host.
            assert!(row.codes(2).iter().all(|text| Endpoint::parse(text, None).is_err()));
        }
        check_covers(&[pattern], row, 1, 2);
    }
}

#[test]
fn refused_patterns_say_why() {
    for row in page().rows(REFUSED) {
        let text = row.code(0);
        let error = HostPattern::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(row.text(1)), "{text:?}: {error}");
    }
}

#[test]
fn a_denial_covers_every_reading_and_an_allow_none_beyond_what_is_written() {
    for row in page().rows(READINGS) {
        let text = row.code(0);
        let readings = HostPattern::parse_deny(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        check_covers(&readings, row, 1, 2);
        let allowed: Vec<HostPattern> = HostPattern::parse(&text).into_iter().collect();
        for endpoint in [row.codes(1), row.codes(2)].concat() {
            assert_eq!(covers(&allowed, &endpoint), row.codes(3).contains(&endpoint), "{text} {endpoint}");
        }
        assert_eq!(allowed.is_empty(), row.text(3) == "nothing", "{text}");
    }
}

/// A denial that is refused as an allow, and has no other reading, is refused as well.
#[test]
fn a_malformed_denial_does_not_disappear() {
    let readings: Vec<String> = page().rows(READINGS).iter().map(|row| row.code(0)).collect();
    for row in page().rows(REFUSED) {
        let text = row.code(0);
        let is_ambiguous = readings.contains(&text);
        assert_eq!(HostPattern::parse_deny(&text).is_ok(), is_ambiguous, "{text:?}");
    }
}

#[test]
fn lists_decide_as_the_page_says() {
    let rules = |texts: Vec<String>| -> Vec<HostRule> {
        let rule = |text: &String| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--host", text),
        };
        texts.iter().map(rule).collect()
    };
    for row in page().rows(LISTS) {
        let network = NetworkPolicy {
            allowed: rules(row.codes(0)),
            denied: rules(row.codes(1)),
            strict: row.text(2) == "yes",
            ..NetworkPolicy::default()
        };
        let endpoint = Endpoint::parse(&row.code(3), None).expect("an endpoint");
        let verdict = match network.judge(&endpoint) {
            HostVerdict::Allow(rule) => format!("allow by `{}`", rule.origin.text),
            HostVerdict::Ask => "ask".into(),
            HostVerdict::Deny(Some(rule)) => format!("deny by `{}`", rule.origin.text),
            HostVerdict::Deny(None) => "deny".into(),
        };
        assert_eq!(verdict, row.text(4), "{endpoint} with {network:?}");
    }
}
