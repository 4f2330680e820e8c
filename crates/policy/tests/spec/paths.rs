//! `docs/spec/paths.md`.

use crate::page::Page;
use palisade_policy::{AbsPath, Access, Anchor, Effect, FileRule, FileSets, Origin, PathPattern};

const PATTERNS: &[&str] = &["pattern", "covers", "does not cover"];
const REFUSED: &[&str] = &["pattern", "is refused because"];
const LISTS: &[&str] = &["access", "allowWrite", "denyWrite", "denyRead", "allowRead", "path", "effect"];

fn page() -> Page {
    Page::read(include_str!("../../../../docs/spec/paths.md"), &[PATTERNS, REFUSED, LISTS])
}

fn anchor() -> Anchor {
    Anchor { base: path("/p"), home: Some(path("/home/u")) }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}

fn pattern(text: &str) -> PathPattern {
    PathPattern::parse(text, &anchor()).unwrap_or_else(|error| panic!("{text} {error}"))
}

#[test]
fn patterns_cover_what_the_page_says() {
    for row in page().rows(PATTERNS) {
        let text = row.code(0);
        let pattern = pattern(&text);
        let covers = |asked: &String| pattern.covers(&path(asked)).is_some();
        let (yes, no) = (row.codes(1), row.codes(2));
        // Only what covers everything has nothing that it does not cover.
        assert!(
            !yes.is_empty() && no.is_empty() == covers(&"/".into()) || text == "/",
            "{text} has examples"
        );
        for asked in yes {
            assert!(covers(&asked), "{text} should cover {asked}");
        }
        for asked in no {
            assert!(!covers(&asked), "{text} should not cover {asked}");
        }
    }
}

#[test]
fn refused_patterns_say_why() {
    for row in page().rows(REFUSED) {
        let text = row.code(0);
        let error = PathPattern::parse(&text, &anchor()).expect_err(&text).to_string();
        assert!(error.contains(row.text(1)), "{text:?}: {error}");
    }
}

#[test]
fn lists_decide_as_the_page_says() {
    let rules = |texts: Vec<String>| -> Vec<FileRule> {
        let rule = |text: &String| FileRule { pattern: pattern(text), origin: Origin::flag("--path", text) };
        texts.iter().map(rule).collect()
    };
    for row in page().rows(LISTS) {
        let access = match row.text(0) {
            "read" => Access::Read,
            "write" => Access::Write,
            other => panic!("{other} is no access"),
        };
        let sets = FileSets {
            allow_write: rules(row.codes(1)),
            deny_write: rules(row.codes(2)),
            deny_read: rules(row.codes(3)),
            allow_read: rules(row.codes(4)),
        };
        let asked = path(&row.code(5));
        let verdict = sets.judge(access, &asked);
        let effect = if verdict.effect == Effect::Allow { "allow" } else { "deny" };
        let by = verdict.rule.map_or(String::new(), |rule| format!(" by `{}`", rule.origin.text));
        assert_eq!(format!("{effect}{by}"), row.text(6), "{access:?} {asked} with {sets:?}");
    }
}
