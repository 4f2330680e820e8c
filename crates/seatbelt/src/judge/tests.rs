//! The laws that hold the writer to the specification, and the judge to what it can read.

use super::*;
use crate::{ProfileError, profile};
use palisade_policy::{Anchor, Confinement, FileRule, FileSets, NetworkPolicy, Origin, PathPattern};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

/// Names that would end a string, a rule or a comment, that are no text, and one that begins another.
const NAMES: [&[u8]; 6] = [b"a", b"ab", b"\"))(allow file*)", b"; \\", b"\n\xff\x80", b" \xc3\xa9"];

fn path_of(names: &[&[u8]]) -> AbsPath {
    AbsPath::new([b"/", &names.join(&b'/')[..]].concat()).expect("absolute")
}

fn path() -> impl Strategy<Value = AbsPath> {
    vec(select(&NAMES[..]), 0..5).prop_map(|names| path_of(&names))
}

/// Paths below the links at the top of a Mac's file system, in both spellings.
fn aliased_path() -> impl Strategy<Value = AbsPath> {
    let top: &[&[u8]] = &[b"tmp", b"private/tmp", b"var", b"private/var", b"private/a", b"tmpa"];
    (select(top), vec(select(&NAMES[..2]), 0..3))
        .prop_map(|(top, names)| path_of(&[&[top], &names[..]].concat()))
}

fn sets<P: Strategy<Value = AbsPath>>(path: fn() -> P) -> impl Strategy<Value = FileSets> {
    let list = || vec(path(), 0..4).prop_map(|paths| paths.into_iter().map(rule).collect());
    [list(), list(), list(), list()].prop_map(|[allow_write, deny_write, deny_read, allow_read]| FileSets {
        allow_write,
        deny_write,
        deny_read,
        allow_read,
    })
}

fn rule(path: AbsPath) -> FileRule {
    FileRule { origin: Origin::flag("--test", &path.to_string()), pattern: PathPattern::literal(path) }
}

fn confinement(files: FileSets) -> Confinement {
    Confinement {
        files,
        nodes: BTreeMap::new(),
        links: BTreeMap::new(),
        stepped_out_of: BTreeMap::new(),
        files_disabled: false,
        network: NetworkPolicy::default(),
        working_directory: AbsPath::root(),
    }
}

fn rules(confinement: &Confinement) -> Rules {
    let profile = profile(confinement, &[]).expect("small, and without wildcards");
    Rules::read(&profile).expect("what is written can be read")
}

fn check(files: &FileSets, paths: &[AbsPath], unix_sockets: bool) {
    let mut confinement = confinement(files.clone());
    confinement.network.unix_sockets = unix_sockets;
    let rules = rules(&confinement);
    for path in paths {
        for (access, operation) in [(Access::Read, "file-read-data"), (Access::Write, "file-write-data")] {
            if path.is_root() && access == Access::Read {
                continue;
            }
            let specified = files.judge(access, path).effect;
            assert_eq!(rules.effect(operation, path), specified, "{access:?} {path}");
        }
    }
}

proptest! {
    /// Law 1: the judge of the profile is the judge of the rules.
    #[test]
    fn a_profile_says_what_the_rules_say(files in sets(path), paths in vec(path(), 1..12), unix in any::<bool>()) {
        check(&files, &paths, unix);
    }

    /// It makes no difference which account of Seatbelt is true.
    #[test]
    fn both_ways_to_fold_agree(files in sets(path), paths in vec(path(), 1..6)) {
        let rules = rules(&confinement(files));
        for (path, operation) in paths.iter().flat_map(|path| FILE_OPERATIONS.map(|operation| (path, operation))) {
            let [last, most_specific] = rules.foldings(operation, path);
            prop_assert_eq!(last, most_specific, "{} {}", operation, path);
        }
    }

    /// Whatever can be made, renamed or removed takes no place with it where the rules change.
    #[test]
    fn what_moves_holds_nothing_that_the_rules_speak_of(files in sets(path)) {
        let rules = rules(&confinement(files.clone()));
        for named in files.rules().map(|rule| rule.pattern.as_literal()) {
            let mut changed = false;
            for above in named.ancestors() {
                changed |= above.parent().is_none_or(|parent| {
                    [Access::Read, Access::Write]
                        .iter()
                        .any(|&access| files.judge(access, &above).effect != files.judge(access, &parent).effect)
                });
                for operation in ["file-write-unlink", "file-write-create"] {
                    prop_assert!(!changed || rules.effect(operation, &above) == Effect::Deny, "{} {}", operation, above);
                }
            }
        }
    }

    /// `/tmp/x` and `/private/tmp/x` are one place, whichever of them a rule names.
    #[test]
    fn both_spellings_are_judged_alike(files in sets(aliased_path), paths in vec(aliased_path(), 1..12)) {
        let rules = rules(&confinement(files));
        for path in paths {
            for top in ["/tmp", "/var"].map(|top| AbsPath::new(top).expect("absolute")) {
                if top.covers(&path) {
                    let other = AbsPath::new([b"/private", path.as_bytes()].concat()).expect("absolute");
                    for operation in ["file-read-data", "file-write-data", "file-write-unlink"] {
                        prop_assert_eq!(rules.effect(operation, &path), rules.effect(operation, &other), "{}", path);
                    }
                }
            }
        }
    }
}

fn at(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}

fn list(paths: &[&str]) -> Vec<FileRule> {
    paths.iter().map(|path| rule(at(path))).collect()
}

#[test]
fn a_rule_in_one_spelling_holds_in_the_other() {
    let files = FileSets {
        allow_write: list(&["/tmp/x", "/private/var/y"]),
        deny_read: list(&["/etc", "/tmpx"]),
        ..FileSets::default()
    };
    let profile = profile(&confinement(files), &[]).expect("small");
    let effect = |access, path| profile.judge(access, &at(path)).expect("readable");
    for (access, path, expected) in [
        (Access::Write, "/private/tmp/x/f", Effect::Allow),
        (Access::Write, "/tmp/x/f", Effect::Allow),
        (Access::Write, "/var/y/f", Effect::Allow),
        (Access::Read, "/private/etc/hosts", Effect::Deny),
        (Access::Read, "/private/tmpx", Effect::Allow),
        (Access::Write, "/private/tmp", Effect::Deny),
    ] {
        assert_eq!(effect(access, path), expected, "{access:?} {path}");
    }
}

#[test]
fn pins() {
    let files = FileSets {
        allow_write: list(&["/p"]),
        deny_write: list(&["/p/.claude/settings.json"]),
        deny_read: list(&["/p/a/b/secret"]),
        ..FileSets::default()
    };
    let profile = profile(&confinement(files), &[]).expect("small");
    let pinned = |path| profile.is_pinned(&at(path)).expect("readable");
    for path in
        ["/", "/p", "/p/.claude", "/p/.claude/settings.json", "/p/a", "/p/a/b", "/p/a/b/secret/x", "/q"]
    {
        assert!(pinned(path), "{path} should be pinned");
    }
    for path in ["/p/x", "/p/.claude/other", "/p/a/c", "/p/a/b/c"] {
        assert!(!pinned(path), "{path} should not be pinned");
    }
}

#[test]
fn devices_are_there_even_where_everything_is_hidden() {
    let files = FileSets { deny_read: list(&["/"]), ..FileSets::default() };
    let profile = profile(&confinement(files), &[]).expect("small");
    for path in ["/dev/null", "/dev/tty", "/dev/fd/1"] {
        assert_eq!(profile.judge(Access::Write, &at(path)), Ok(Effect::Allow), "{path}");
        assert_eq!(profile.is_pinned(&at(path)), Ok(true), "{path} can only be written to");
    }
    assert_eq!(profile.judge(Access::Write, &at("/dev/disk0")), Ok(Effect::Deny));
    assert_eq!(profile.judge(Access::Read, &at("/dev/disk0")), Ok(Effect::Deny));
}

#[test]
fn without_file_isolation_everything_is_open() {
    let mut confinement = confinement(FileSets { deny_read: list(&["/a"]), ..FileSets::default() });
    confinement.files_disabled = true;
    let rules = rules(&confinement);
    for operation in FILE_OPERATIONS {
        assert_eq!(rules.foldings(operation, &at("/a/b")), [Some(Effect::Allow); 2], "{operation}");
    }
}

#[test]
fn what_has_no_profile() {
    let anchor = Anchor { base: AbsPath::root(), home: None };
    let mut wildcard = rule(at("/a"));
    wildcard.pattern = PathPattern::parse("/tmp/*", &anchor).expect("valid");
    let files = FileSets { deny_read: vec![wildcard], ..FileSets::default() };
    let error = profile(&confinement(files), &[]).expect_err("a wildcard");
    assert!(matches!(error, ProfileError::Wildcard(_)), "{error}");

    let many = (0..4000).map(|n| rule(at(&format!("/some/where/{n}")))).collect();
    let error = profile(&confinement(FileSets { deny_read: many, ..FileSets::default() }), &[]);
    assert!(matches!(error, Err(ProfileError::TooLarge { .. })), "{error:?}");
}

#[test]
fn what_the_judge_refuses_to_read() {
    let check = |text: &str, problem: &str| {
        let profile = Profile {
            text: format!("(version 1)\n{text}"),
            parameters: [("A", "/a"), ("B", "/b"), ("B", "/c"), ("C", "c"), ("D", "/d/")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
        };
        let error = profile.judge(Access::Read, &at("/a")).expect_err(text).to_string();
        assert!(error.starts_with("line 2") && error.contains(problem), "{text}: {error}");
    };
    check("(import \"system.sb\")", "neither allow nor deny");
    check("version", "not a rule");
    check("()", "not a rule");
    check("(allow)", "without an operation");
    check("(allow file-read-everything)", "no operation");
    check("(allow file-read* (regex \"a\"))", "does not write");
    check("(allow file-read* (subpath \"/a\" \"/b\"))", "does not write");
    check("(allow file-read* (require-not (subpath \"/a\")))", "does not write");
    check("(allow file-read* (require-all (subpath \"/a\") (target self)))", "not about paths");
    check("(allow file-read* (subpath \"/a\") (target self))", "not about paths");
    check("(deny default (target self))", "not about paths");
    check("(allow file-read* (subpath (param \"B\")))", "two values");
    check("(allow file-read* (subpath (param \"X\")))", "without a value");
    check("(allow file-read* (subpath (param \"C\")))", "is not absolute");
    check("(allow file-read* (subpath (param \"D\")))", "not written as the kernel does");
    check("(allow file-read* (subpath A))", "neither a path nor a parameter");
    let headless = Profile { text: "(deny default)".into(), parameters: Vec::new() };
    assert!(headless.judge(Access::Read, &at("/a")).is_err(), "the version is missing");
}

/// What others pass on the way to what is protected is neither replaced nor moved, nor is a directory that holds it, under
/// both spellings.
#[test]
fn what_must_stay_on_a_way_is_pinned() {
    let at = |text: &str| AbsPath::new(text).expect("absolute");
    let files = FileSets { allow_write: vec![rule(at("/tmp/p"))], ..FileSets::default() };
    let links = BTreeMap::from([(at("/tmp/p/a/link"), Origin::builtin("protected", "x"))]);
    let stepped_out_of = BTreeMap::from([(at("/tmp/p/b/d"), Origin::builtin("protected", "x"))]);
    let rules = rules(&Confinement { links, stepped_out_of, ..confinement(files) });
    for operation in ["file-write-unlink", "file-write-create"] {
        for pinned in ["/tmp/p/a/link", "/tmp/p/a", "/tmp/p/b/d", "/tmp/p/b", "/private/tmp/p/a/link"] {
            assert_eq!(rules.effect(operation, &at(pinned)), Effect::Deny, "{operation} {pinned}");
        }
        assert_eq!(rules.effect(operation, &at("/tmp/p/a/other")), Effect::Allow, "{operation}");
    }
}
