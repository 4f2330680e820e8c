//! What the tests inside this crate share: a place without files, and settings of random content.

use crate::{Findings, ManagedPlaces, Options, Places, Trust};
use palisade_policy::{AbsPath, Layer};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

pub(crate) fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).expect("absolute")
}

/// A project at `/p`, a home directory at `/h`.
pub(crate) fn places() -> Places {
    Places {
        managed: ManagedPlaces { directories: Vec::new(), owner: 0 },
        root: abs("/p"),
        trust: Trust::Trusted,
        home: Some(abs("/h")),
        account_home: None,
        config_dir: None,
        working_directory: abs("/p"),
    }
}

/// What a file of `layer` with this content says.
pub(crate) fn read(layer: Layer, text: &str) -> Options {
    let mut findings = Findings::default();
    let source = places().source(layer, &abs("/h/.claude/settings.json"));
    let options = Options::read(&source, text, &mut findings);
    assert!(findings.errors.is_empty(), "{text}: {findings:?}");
    options
}

/// Settings of any layer but an administrator's.
pub(crate) fn any_options() -> BoxedStrategy<Options> {
    select(vec![Layer::User, Layer::Project, Layer::Local, Layer::Flag]).prop_flat_map(options).boxed()
}

/// Settings of `layer`, read from a text with any of the keys.
pub(crate) fn options(layer: Layer) -> BoxedStrategy<Options> {
    vec(key(), 0..12).prop_map(move |keys| read(layer, &text(keys).to_string())).boxed()
}

/// One value by the names of the sections and the key that lead to it.
type Keyed = (Vec<&'static str>, Value);

/// The object with all `keys`; of two equal ones the last.
pub(crate) fn text(keys: Vec<Keyed>) -> Value {
    let mut text = Value::Object(Map::new());
    for (names, value) in keys {
        let place = names.iter().fold(&mut text, |place, name| &mut place[*name]);
        *place = value;
    }
    text
}

const SWITCHES: &[&[&str]] = &[
    &["sandbox", "enabled"],
    &["sandbox", "failIfUnavailable"],
    &["sandbox", "autoAllowBashIfSandboxed"],
    &["sandbox", "allowUnsandboxedCommands"],
    &["sandbox", "filesystem", "disabled"],
    &["sandbox", "filesystem", "allowManagedReadPathsOnly"],
    &["sandbox", "network", "strictAllowlist"],
    &["sandbox", "network", "allowManagedDomainsOnly"],
    &["sandbox", "network", "allowAllUnixSockets"],
    &["sandbox", "network", "allowLocalBinding"],
    &["allowManagedPermissionRulesOnly"],
];
/// Patterns that meet each other often. None is relative, so that an administrator may write them.
const PATHS: &[&str] =
    &["/h", "/h/s", "~/s/x", "/p", "/p/a", "/p/a/s", "/", "/h/*", "/h/**/s", "/p/**/x", "/**/a", "//h/s/"];
const PATH_LISTS: &[&[&str]] = &[
    &["sandbox", "filesystem", "allowWrite"],
    &["sandbox", "filesystem", "denyWrite"],
    &["sandbox", "filesystem", "denyRead"],
    &["sandbox", "filesystem", "allowRead"],
    &["sandbox", "credentials", "files"],
    &["sandbox", "network", "allowUnixSockets"],
    &["permissions", "additionalDirectories"],
];
const HOSTS: &[&str] = &["a.test", "*.a.test", "b.a.test", "*", "*.test:443", "127.0.0.1", "a.*.test"];
const RULES: &[&str] = &[
    "Bash",
    "Bash(npm *)",
    "Edit(~/s/**)",
    "Edit(//p/a)",
    "Edit(src/**)",
    "Read(~/s)",
    "Read(//p/a/x)",
    "WebFetch",
    "WebFetch(domain:b.a.test)",
    "WebFetch(domain:*.test)",
];

fn key() -> BoxedStrategy<Keyed> {
    let list = |lists: &'static [&'static [&'static str]], texts: &'static [&'static str]| {
        (select(lists), vec(select(texts), 0..4)).prop_map(|(names, texts)| (names.to_vec(), json!(texts)))
    };
    let modes = &["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"][..];
    prop_oneof![
        3 => (select(SWITCHES), any::<bool>()).prop_map(|(names, value)| (names.to_vec(), json!(value))),
        4 => list(PATH_LISTS, PATHS),
        2 => list(&[&["sandbox", "network", "allowedDomains"], &["sandbox", "network", "deniedDomains"]], HOSTS),
        2 => list(&[&["permissions", "allow"], &["permissions", "ask"], &["permissions", "deny"]], RULES),
        1 => list(&[&["sandbox", "excludedCommands"]], &["docker *", "make", "*"]),
        1 => list(&[&["sandbox", "credentials", "envVars"]], &["A", "B"]),
        1 => list(&[&["sandbox", "ignoreViolations", "*"]], &["x", "y"]),
        1 => select(modes).prop_map(|mode| (vec!["permissions", "defaultMode"], json!(mode))),
        1 => Just((vec!["permissions", "disableBypassPermissionsMode"], json!("disable"))),
    ]
    .boxed()
}
