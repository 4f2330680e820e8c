//! Runs every row of the tables of `docs/spec/settings.md`, so that the page cannot say what is not so.

use crate::dropped::Dropped;
use crate::keys::{KEYS, Kind, Layers, Support, Tightens};
use crate::lock::tighten;
use crate::page::{Page, Row};
use crate::testing::{abs, places, read};
use crate::{Findings, Loaded, Options, Trust};
use palisade_policy::Layer;

const KEYS_TABLE: &[&str] = &["key", "type", "default", "counts from", "tightens"];
const LEFT_OUT: &[&str] = &["left out"];
const MERGED: &[&str] = &["managed", "user", "project", "key", "in force"];
const FOUND: &[&str] = &["layer", "text", "found"];
const TWO_MANAGED: &[&str] = &["managed, higher", "managed, lower", "key", "in force"];
const UNTRUSTED: &[&str] = &["user", "project, not trusted", "key", "in force"];

fn page() -> Page {
    let text = include_str!("../../../docs/spec/settings.md");
    Page::read(text, &[KEYS_TABLE, LEFT_OUT, FOUND, MERGED, TWO_MANAGED, UNTRUSTED])
}

#[test]
fn every_key_that_is_read() {
    let page = page();
    let cells = |row: &Row| std::array::from_fn(|column| row.text(column).to_owned());
    let rows: Vec<[String; 5]> = page.rows(KEYS_TABLE).into_iter().map(cells).collect();
    let keys: Vec<[String; 5]> = KEYS.iter().filter_map(described).collect();
    assert_eq!(rows, keys);
}

#[test]
fn every_key_that_is_left_out() {
    let page = page();
    let rows: Vec<String> = page.rows(LEFT_OUT).into_iter().map(|row| row.code(0)).collect();
    let is_left_out = |key: &&crate::keys::Key| matches!(key.support, Support::LeftOut(_));
    let keys: Vec<String> = KEYS.iter().filter(is_left_out).map(|key| key.full_name().into()).collect();
    assert_eq!(rows, keys);
}

#[test]
fn keys_that_are_none() {
    for row in page().rows(FOUND) {
        let layers = [Layer::Managed, Layer::User, Layer::Project];
        let layer = layers.into_iter().find(|layer| layer.to_string() == row.text(0)).expect("a layer");
        let mut findings = Findings::default();
        let source = places().source(layer, &abs("/h/.claude/settings.json"));
        Options::read(&source, &row.code(1), &mut findings);
        let errors = findings.errors.iter().map(|error| format!("error: {error}"));
        let warnings = findings.warnings.iter().map(|warning| format!("warning: {warning}"));
        let found: Vec<String> = errors.chain(warnings).collect();
        let (kind, words) = row.text(2).split_once(": ").unwrap_or((row.text(2), ""));
        let is_right = match &found[..] {
            [] => kind == "nothing",
            [found] => {
                let meant = words.trim_matches('`');
                let says = [format!("; write {meant}"), format!("; did you mean {meant}?")];
                let ends = found.ends_with(&says[0]) || found.ends_with(&says[1]);
                found.starts_with(&format!("{kind}: "))
                    && (ends || found.contains(meant) && !words.starts_with('`'))
            }
            _ => false,
        };
        assert!(is_right, "{} {}: {found:?}", row.code(1), row.text(2));
    }
}

#[test]
fn two_files_of_an_administrator() {
    for row in page().rows(TWO_MANAGED) {
        check(row, &[(Layer::Managed, 0), (Layer::Managed, 1)], Trust::Trusted, 2);
    }
}

#[test]
fn files_that_meet() {
    for row in page().rows(MERGED) {
        let layers = [(Layer::Managed, 0), (Layer::Project, 2), (Layer::User, 1)];
        check(row, &layers, Trust::Trusted, 3);
    }
}

#[test]
fn a_project_that_is_not_trusted() {
    for row in page().rows(UNTRUSTED) {
        check(row, &[(Layer::Project, 1), (Layer::User, 0)], Trust::Untrusted, 2);
    }
}

/// Merges the texts in the columns of `layers` and compares the key in the column `key` with the one behind.
fn check(row: &Row, layers: &[(Layer, usize)], trust: Trust, key: usize) {
    let layers = layers.iter().map(|(layer, column)| (*layer, read(*layer, &row.code(*column)))).collect();
    let (options, dropped): (_, Vec<Dropped>) = tighten(layers, trust, &|path| Some(path.clone()));
    let (policy, rules) = options.in_force();
    let loaded = Loaded { policy, rules, options, dropped, warnings: Vec::new() };
    let name = row.code(key);
    assert!(KEYS.iter().any(|known| *known.full_name() == *name), "{name} is a key");
    let values =
        loaded.in_force().into_iter().filter(|value| value.key == name).map(|value| value.value.to_string());
    assert_eq!(values.collect::<Vec<_>>(), row.codes(key + 1), "{name} with {}", row.code(key - 1));
}

/// A row of the table of keys.
fn described(key: &crate::keys::Key) -> Option<[String; 5]> {
    let Support::Read(kind, layers, tightens) = key.support else { return None };
    let (kind, default) = match kind {
        Kind::Section => return None,
        Kind::Switch(default) => ("switch", format!("`{default}`")),
        Kind::Commands => ("command patterns", "none".into()),
        Kind::Paths => ("paths", "none".into()),
        Kind::Hosts => ("hosts", "none".into()),
        Kind::Files => ("files", "none".into()),
        Kind::Variables => ("variables", "none".into()),
        Kind::Ignored => ("texts by text", "none".into()),
        Kind::Program => ("absolute path", "none".into()),
        Kind::Rules => ("rules", "none".into()),
        Kind::Directories => ("directories", "none".into()),
        Kind::Mode => ("mode", "none".into()),
        Kind::Disable => ("`disable`", "none".into()),
    };
    let layers = match layers {
        Layers::Any => "any",
        Layers::User => "user, option, managed",
        Layers::Managed => "managed",
    };
    let tightens = match tightens {
        Tightens::Always => "yes",
        Tightens::Never => "no",
        Tightens::WhenTrue => "as `true`",
        Tightens::WhenFalse => "as `false`",
        Tightens::ByKey => return None,
    };
    Some([format!("`{}`", key.full_name()), kind.into(), default, layers.into(), tightens.into()])
}
