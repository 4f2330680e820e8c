//! The mount plan's own tests, and the law that it judges as the rules do.

use super::*;
use palisade_policy::{FileRule, FileSets, NetworkPolicy, Origin, PathPattern};
use proptest::prelude::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}

fn rules(paths: &[&str]) -> Vec<FileRule> {
    paths
        .iter()
        .map(|text| FileRule {
            pattern: PathPattern::literal(path(text)),
            origin: Origin::flag("--test", text),
        })
        .collect()
}

fn confinement(files: FileSets, file_nodes: &[&str]) -> Confinement {
    let nodes = files
        .rules()
        .map(|rule| {
            let at = rule.pattern.as_literal().clone();
            let is_file = file_nodes.iter().any(|file| at == path(file));
            (at, if is_file { Node::File } else { Node::Directory })
        })
        .collect();
    Confinement {
        files,
        nodes,
        links: BTreeMap::new(),
        stepped_out_of: BTreeMap::new(),
        files_disabled: false,
        network: NetworkPolicy::default(),
        working_directory: path("/p"),
    }
}

fn plan(files: FileSets, file_nodes: &[&str]) -> Vec<String> {
    let mounts = Mounts::plan(&confinement(files, file_nodes));
    mounts.steps().iter().map(|step| format!("{step:?}")).collect()
}

#[test]
fn a_root_with_denies() {
    let files = FileSets {
        allow_write: rules(&["/p"]),
        deny_write: rules(&["/p/a/b/c.conf", "/etc"]),
        deny_read: rules(&["/home/u/.ssh", "/home/u/.netrc"]),
        ..FileSets::default()
    };
    insta::assert_snapshot!(plan(files, &["/p/a/b/c.conf", "/home/u/.netrc"]).join("\n"), @r"
    HideFile(/home/u/.netrc)
    HideDirectory(/home/u/.ssh)
    Writable(/p)
    Pin(/p/a)
    Pin(/p/a/b)
    ReadOnly(/p/a/b/c.conf)
    ");
}

/// A directory that is named writable for its own sake is no less a directory above what must stay.
#[test]
fn a_directory_that_is_allowed_once_more_is_pinned() {
    let files = FileSets {
        allow_write: rules(&["/p", "/p/a", "/p/a/b", "/p/c"]),
        deny_write: rules(&["/p/a/b/keep"]),
        ..FileSets::default()
    };
    insta::assert_snapshot!(plan(files, &[]).join("\n"), @r"
    Writable(/p)
    Pin(/p/a)
    Pin(/p/a/b)
    ReadOnly(/p/a/b/keep)
    ");
}

#[test]
fn what_is_passed_is_pinned_with_the_directories_above_it_where_it_could_be_replaced() {
    let files = FileSets {
        allow_write: rules(&["/p", "/h/w"]),
        deny_write: rules(&["/p/shut"]),
        deny_read: rules(&["/h"]),
        ..FileSets::default()
    };
    let origin = Origin::builtin("protected", "x");
    let links = ["/p/a/b/link", "/p/shut/link", "/h/link", "/h/w/link", "/etc/link"];
    let links = links.map(|link| (path(link), origin.clone())).into();
    let left = ["/p/a/c/d", "/p/shut/d", "/h/d", "/h/w/d", "/etc/d", "/p"];
    let stepped_out_of = left.map(|directory| (path(directory), origin.clone())).into();
    let mounts = Mounts::plan(&Confinement { links, stepped_out_of, ..confinement(files, &[]) });
    let lines: Vec<String> = mounts.steps().iter().map(|step| format!("{step:?}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    SearchOnly(/h)
    Writable(/h/w)
    Pin(/h/w/d)
    PinLink(/h/w/link)
    Writable(/p)
    Pin(/p/a)
    Pin(/p/a/b)
    PinLink(/p/a/b/link)
    Pin(/p/a/c)
    Pin(/p/a/c/d)
    ReadOnly(/p/shut)
    Seal(/h)
    ");
}

#[test]
fn something_visible_below_something_hidden() {
    let files = FileSets {
        allow_write: rules(&["/home/u/x/work"]),
        deny_read: rules(&["/home/u", "/home/u/x/work/secret"]),
        allow_read: rules(&["/home/u/x/docs"]),
        ..FileSets::default()
    };
    insta::assert_snapshot!(plan(files, &[]).join("\n"), @r"
    SearchOnly(/home/u)
    Passage(/home/u/x)
    ReadOnly(/home/u/x/docs)
    Writable(/home/u/x/work)
    HideDirectory(/home/u/x/work/secret)
    Seal(/home/u)
    ");
}

#[test]
fn with_everything_hidden_the_tree_is_made_anew() {
    let files = FileSets {
        allow_write: rules(&["/home/u/p"]),
        deny_read: rules(&["/", "/dev/x"]),
        allow_read: rules(&["/dev", "/proc", "/usr"]),
        ..FileSets::default()
    };
    let links = [(path("/home/u/p/link"), Origin::builtin("protected", "x"))].into();
    let mounts = Mounts::plan(&Confinement { links, ..confinement(files, &["/dev/x"]) });
    let (bubblewraps, attached) = mounts.clone().split();
    assert!(mounts.hides_root() && attached.steps == [Mount::PinLink(path("/home/u/p/link"))]);
    assert_eq!(bubblewraps.steps.len() + 1, mounts.steps.len());
    let own = ["/dev/null", "/dev/x", "/proc/self"].map(|text| mounts.judge(Access::Read, &path(text)));
    assert_eq!(own, [Effect::Allow, Effect::Deny, Effect::Allow]);
    let lines: Vec<String> = mounts.steps().iter().map(|step| format!("{step:?}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    SearchOnly(/)
    HideFile(/dev/x)
    Passage(/home)
    Passage(/home/u)
    Writable(/home/u/p)
    PinLink(/home/u/p/link)
    ReadOnly(/usr)
    Seal(/)
    ");
}

#[test]
fn only_what_may_be_read_and_not_written_has_a_substitute() {
    let files = FileSets {
        allow_write: rules(&["/p"]),
        deny_write: rules(&["/p/config", "/p/hidden"]),
        deny_read: rules(&["/p/hidden"]),
        ..FileSets::default()
    };
    let mut mounts = Mounts::plan(&confinement(files, &["/p/config", "/p/hidden"]));
    for at in ["/p/config", "/p/hidden", "/p", "/q"].map(path) {
        assert_eq!(mounts.shows_read_only(&at), at == path("/p/config"), "{at}");
        mounts.substitute(&at, path("/s"));
    }
    insta::assert_snapshot!(mounts.steps().iter().map(Mount::to_string).collect::<Vec<_>>().join("\n"), @r"
    writable /p
    substituted /p/config
    hidden file /p/hidden
    ");
}

#[test]
fn without_file_rules_everything_is_writable() {
    let mut all = confinement(FileSets::default(), &[]);
    all.files_disabled = true;
    let mounts = Mounts::plan(&all);
    assert!(mounts.root_is_writable() && mounts.steps().is_empty());
    assert_eq!(mounts.judge(Access::Write, &path("/etc/passwd")), Effect::Allow);
}

#[test]
fn what_the_sandbox_has_of_its_own_stays_with_bubblewrap() {
    let files = FileSets {
        allow_write: rules(&["/dev/shm/x", "/p"]),
        deny_read: rules(&["/proc/version", "/p/a", "/process"]),
        ..FileSets::default()
    };
    let mounts = Mounts::plan(&confinement(files, &[]));
    let paths = |mounts: &Mounts| {
        let paths: Vec<_> = mounts.steps().iter().map(|step| step.path().to_string()).collect();
        paths.join(" ")
    };
    let (first, then) = mounts.split();
    assert_eq!((paths(&first), paths(&then)), ("/dev/shm/x /proc/version".into(), "/p /p/a /process".into()));
}

/// Whoever mounts there does it first, so that no rule is undone.
#[test]
fn what_shuts_proc_comes_before_what_a_rule_opens_there() {
    let split = |opened: &str| {
        let files = FileSets { allow_write: rules(&[opened, "/p"]), ..FileSets::default() };
        let hidden = [(path("/proc/acpi"), Node::Directory), (path("/proc/kmsg"), Node::File)];
        let mounts = Mounts::plan(&confinement(files, &[])).guarded(&[path("/proc/sys")], &hidden);
        let (first, then) = mounts.split();
        [first, then].map(|mounts| mounts.steps().iter().map(Mount::to_string).collect::<Vec<_>>().join(", "))
    };
    let guards = "read-only /proc/sys, hidden directory /proc/acpi, hidden file /proc/kmsg";
    assert_eq!(split("/q"), [String::new(), format!("{guards}, writable /p, writable /q")]);
    let opened = "/proc/sys/kernel/ns_last_pid";
    assert_eq!(split(opened), [format!("{guards}, writable {opened}"), "writable /p".into()]);
}

/// Names of which one begins another, and files, which have nothing below.
fn any_path() -> impl Strategy<Value = String> {
    (proptest::collection::vec("(a|b|ab)", 0..5), any::<bool>()).prop_map(|(mut parts, is_file)| {
        parts.extend(is_file.then(|| "file".to_owned()));
        format!("/{}", parts.join("/"))
    })
}

fn any_list() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(any_path(), 0..5)
}

fn list(texts: &[String]) -> Vec<FileRule> {
    rules(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// 10,000 cases, or as many as `PROPTEST_CASES` says.
fn many_cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 10_000 };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(many_cases())]

    /// Law 1: the plan answers as the specification does, for every path at, below and between the rules, whether
    /// bubblewrap makes all of it or what is left is attached.
    #[test]
    fn the_plan_judges_as_the_rules_do(
        lists in (any_list(), any_list(), any_list(), any_list()),
        asked in proptest::collection::vec(any_path(), 1..12),
    ) {
        let (allow_write, deny_write, deny_read, allow_read) =
            (list(&lists.0), list(&lists.1), list(&lists.2), list(&lists.3));
        let files = FileSets { allow_write, deny_write, deny_read, allow_read };
        let named: Vec<String> = files.rules().map(|rule| rule.pattern.as_literal().to_string()).collect();
        let is_file: Vec<&str> =
            named.iter().map(String::as_str).filter(|path| path.ends_with("file")).collect();
        let confinement = confinement(files, &is_file);
        let mut mounts = Mounts::plan(&confinement);
        for text in &is_file {
            mounts.substitute(&path(text), path("/a/substitute"));
        }
        let (first, then) = mounts.clone().split();
        let in_order = Mounts { steps: [first.steps, then.steps].concat(), ..mounts.clone() };
        for text in asked.iter().chain(&named) {
            let asked = path(text);
            for access in [Access::Read, Access::Write] {
                let meant = confinement.files.judge(access, &asked).effect;
                for mounts in [&mounts, &in_order] {
                    prop_assert_eq!(
                        mounts.judge(access, &asked), meant,
                        "{:?} {} by {:?}", access, text, mounts.steps()
                    );
                }
            }
        }
    }

    /// What may not be written cannot be moved away either: every writable directory above it is a mount point.
    #[test]
    fn whatever_lies_above_a_denied_path_is_a_mount_point(lists in (any_list(), any_list(), any_list())) {
        let files = FileSets {
            allow_write: list(&lists.0), deny_write: list(&lists.1), deny_read: list(&lists.2), ..FileSets::default()
        };
        let mounts = Mounts::plan(&confinement(files, &[]));
        let at: BTreeSet<&AbsPath> = mounts.steps().iter().map(Mount::path).collect();
        for denied in lists.1.iter().chain(&lists.2).map(|text| path(text)) {
            for above in denied.ancestors().skip(1) {
                let is_writable = mounts.judge(Access::Write, &above) == Effect::Allow;
                prop_assert!(!is_writable || at.contains(&above), "{above} by {:?}", mounts.steps());
            }
        }
    }
}
