//! The mount plan: a confinement's file rules as an ordered list of bubblewrap mounts, and a judge over it.
//!
//! The host's whole tree is bound read-only first, unless a rule hides `/`: then there is an empty tree instead, in which
//! only what is opened comes to be. Then the rules are asked, as
//! [`FileSets::judge`](palisade_policy::FileSets::judge) answers, at each path that one names, and a mount is made only
//! where the answer differs from the answer that the mounts so far give. Broad comes before narrow, so a mask always lands on top of every bind of a directory above it.
//!
//! What the attacker controls: everything below a writable root. He can therefore rename a directory above a
//! denied path and put another in its place, unless that directory is a mount point, which the kernel lets
//! nobody rename or remove: hence [`Mount::Pin`], and [`Mount::PinLink`] for a link that leads to a denied path. Paths
//! are real (resolved before the plan is made), so no mount point is reached through a link of his.
//!
//! Pure: whether a path exists is known from the confinement.

use palisade_policy::{AbsPath, Access, Confinement, Effect, FileIndex, Node};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// One step of the plan. Steps are carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// The path as on the host, read-only, with everything mounted below it.
    ReadOnly(AbsPath),
    /// The path as on the host, writable.
    Writable(AbsPath),
    /// A file that may only be read, with another file to be seen in its place.
    Substitute {
        /// Where.
        at: AbsPath,
        /// The file that is seen there.
        with: AbsPath,
    },
    /// A writable directory bound over itself, for the sole reason that a mount point cannot be renamed.
    Pin(AbsPath),
    /// A symbolic link mounted over itself, for the same reason. bubblewrap cannot do that.
    PinLink(AbsPath),
    /// A hidden file.
    HideFile(AbsPath),
    /// A hidden directory, empty and without any permission.
    HideDirectory(AbsPath),
    /// A hidden directory that can be searched but not listed, since something below it is visible.
    SearchOnly(AbsPath),
    /// A directory between a search-only one and something visible below it.
    Passage(AbsPath),
    /// The end of what began with [`Mount::SearchOnly`]: from here on nothing can be changed in it.
    Seal(AbsPath),
}

impl Mount {
    /// The path that the step is about.
    pub fn path(&self) -> &AbsPath {
        match self {
            Mount::ReadOnly(at) | Mount::Substitute { at, .. } => at,
            Mount::Writable(at) | Mount::Pin(at) | Mount::PinLink(at) => at,
            Mount::HideFile(at) | Mount::HideDirectory(at) | Mount::SearchOnly(at) => at,
            Mount::Passage(at) | Mount::Seal(at) => at,
        }
    }
}

/// For people, without the path's line breaks and the like.
impl std::fmt::Display for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self {
            Mount::ReadOnly(_) => "read-only",
            Mount::Substitute { .. } => "substituted",
            Mount::Writable(_) => "writable",
            Mount::Pin(_) => "pinned",
            Mount::PinLink(_) => "pinned link",
            Mount::HideFile(_) => "hidden file",
            Mount::HideDirectory(_) => "hidden directory",
            Mount::SearchOnly(_) => "search-only",
            Mount::Passage(_) => "passage",
            Mount::Seal(_) => "sealed",
        };
        write!(f, "{what} {}", self.path())
    }
}

/// What the sandbox has of its own.
const OWN: [&str; 2] = ["/dev", "/proc"];

/// The mount plan of one confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounts {
    steps: Vec<Mount>,
    root_writable: bool,
}

/// What a path is inside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hidden,
    ReadOnly,
    Writable,
}

impl Mounts {
    /// Plans the mounts for `confinement`. Takes time in proportion to the number of rules and the depth of their paths.
    pub fn plan(confinement: &Confinement) -> Self {
        if confinement.files_disabled {
            return Mounts { steps: Vec::new(), root_writable: true };
        }
        let steps = Planner::new(confinement).plan();
        Mounts { steps, root_writable: false }
    }

    /// The steps, in the order in which they must be carried out, after the host's tree was bound.
    pub fn steps(&self) -> &[Mount] {
        &self.steps
    }

    /// The same plan in two: what bubblewrap is to mount, and what is to be mounted once it has. The second is empty
    /// unless there are more than `most` steps, or links, which bubblewrap cannot mount. What lies in `/dev` and `/proc`
    /// stays with bubblewrap: the sandbox has its own there, and only bubblewrap can reach the host's.
    pub fn split(self, most: usize) -> (Mounts, Mounts) {
        let is_short = self.steps.len() <= most || self.steps.iter().any(|step| step.path().is_root());
        let bubblewraps =
            |step: &Mount| !matches!(step, Mount::PinLink(_)) && (is_short || is_own(step.path()));
        let (first, then) = self.steps.into_iter().partition(bubblewraps);
        let root_writable = self.root_writable;
        (Mounts { steps: first, root_writable }, Mounts { steps: then, root_writable })
    }

    /// Whether the plan leaves the very file `at` to be read and not to be written.
    pub fn shows_read_only(&self, at: &AbsPath) -> bool {
        self.steps.iter().any(|step| matches!(step, Mount::ReadOnly(path) if path == at))
    }

    /// Has the file `with` be seen at `at`, if the plan [leaves that to be read](Self::shows_read_only). What may be
    /// read and written stays the same.
    pub fn substitute(&mut self, at: &AbsPath, with: AbsPath) {
        let step = self.steps.iter_mut().find(|step| matches!(step, Mount::ReadOnly(path) if path == at));
        if let Some(step) = step {
            *step = Mount::Substitute { at: at.clone(), with };
        }
    }

    /// Whether the host's tree itself is bound writable, since no file rule holds.
    pub fn root_is_writable(&self) -> bool {
        self.root_writable
    }

    /// Whether the sandbox's tree is made anew, since a rule hides the host's, and has only what is opened.
    pub fn hides_root(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Mount::SearchOnly(at) if at.is_root()))
    }

    /// What happens to an access on a real path, by folding the steps: the last one that covers it decides.
    pub fn judge(&self, access: Access, path: &AbsPath) -> Effect {
        let mut state = if self.root_writable { State::Writable } else { State::ReadOnly };
        for step in &self.steps {
            let (at, new) = match step {
                Mount::ReadOnly(at) | Mount::Substitute { at, .. } => (at, State::ReadOnly),
                Mount::Writable(at) | Mount::Pin(at) => (at, State::Writable),
                Mount::HideFile(at) | Mount::HideDirectory(at) => (at, State::Hidden),
                Mount::SearchOnly(at) | Mount::Passage(at) => (at, State::Hidden),
                Mount::PinLink(_) | Mount::Seal(_) => continue,
            };
            if at.covers(path) {
                state =
                    if at.is_root() && new == State::Hidden && is_own(path) { State::ReadOnly } else { new };
            }
        }
        match (access, state) {
            (_, State::Hidden) | (Access::Write, State::ReadOnly) => Effect::Deny,
            _ => Effect::Allow,
        }
    }
}

/// Whether the path lies in what the sandbox has of its own, whatever is hidden.
fn is_own(at: &AbsPath) -> bool {
    OWN.iter().any(|own| prefixes(at).any(|above| above == own.as_bytes()))
}

fn state(rules: &FileIndex<'_>, path: &AbsPath) -> State {
    match (rules.judge(Access::Read, path).effect, rules.judge(Access::Write, path).effect) {
        (Effect::Deny, _) => State::Hidden,
        (Effect::Allow, Effect::Allow) => State::Writable,
        (Effect::Allow, Effect::Deny) => State::ReadOnly,
    }
}

/// Why the plan comes to a path.
enum Place {
    Point(State),
    Link,
    Pin,
}

struct Planner<'a> {
    nodes: &'a BTreeMap<AbsPath, Node>,
    /// The links that lie in writable directories and must stay.
    links: Vec<&'a AbsPath>,
    /// Every existing path at which the answer may change, with its answer; parents sort before children.
    points: BTreeMap<&'a AbsPath, State>,
    /// The same, to be found by any bytes.
    states: HashMap<&'a [u8], State>,
    steps: Vec<Mount>,
    /// Directories that are made inside hidden ones.
    made: HashSet<AbsPath>,
    /// Search-only directories, in which things are still being made.
    unsealed: Vec<AbsPath>,
}

impl<'a> Planner<'a> {
    fn new(confinement: &'a Confinement) -> Self {
        let Confinement { files, nodes, links, .. } = confinement;
        let index = FileIndex::new(files);
        let named = files.rules().map(|rule| rule.pattern.as_literal());
        let points: BTreeMap<_, _> =
            named.filter(|path| nodes.contains_key(path)).map(|path| (path, state(&index, path))).collect();
        let states = points.iter().map(|(path, state)| (path.as_bytes(), *state)).collect();
        let mut planner = Planner {
            nodes,
            links: Vec::new(),
            points,
            states,
            steps: Vec::new(),
            made: HashSet::new(),
            unsealed: Vec::new(),
        };
        planner.links = links.keys().filter(|link| planner.above(link) == State::Writable).collect();
        planner
    }

    /// The writable directories above each path inside a writable region that may not be written, and above each link.
    fn pins(&self) -> BTreeSet<AbsPath> {
        let mut looked_at = HashSet::new();
        let mut pins = BTreeSet::new();
        let denied = self.points.iter().filter(|(_, state)| **state != State::Writable);
        for path in denied.map(|(path, _)| path).chain(&self.links) {
            // What is above a directory that was looked at was looked at with it.
            if !prefixes(path).nth(1).is_some_and(|parent| looked_at.insert(parent)) {
                continue;
            }
            // From the root on, each is looked up once, however deep the path is.
            let mut state = State::ReadOnly;
            for above in path.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
                state = self.states.get(above.as_bytes()).copied().unwrap_or(state);
                if state == State::Writable {
                    pins.insert(above);
                }
            }
        }
        pins
    }

    /// The state of the first of `paths` that is a point.
    fn nearest<'p>(&self, mut paths: impl Iterator<Item = &'p [u8]>) -> State {
        paths.find_map(|path| self.states.get(path).copied()).unwrap_or(State::ReadOnly)
    }

    fn plan(mut self) -> Vec<Mount> {
        let pins = self.pins();
        let mut all: BTreeMap<&AbsPath, Place> = pins.iter().map(|path| (path, Place::Pin)).collect();
        all.extend(self.links.iter().map(|path| (*path, Place::Link)));
        all.extend(self.points.iter().map(|(path, state)| (*path, Place::Point(*state))));
        for (path, place) in all {
            match place {
                // Named by a rule that changes nothing here, it must stay where it is all the same.
                Place::Point(state) if state == self.above(path) => {
                    self.steps.extend(pins.contains(path).then(|| Mount::Pin(path.clone())));
                }
                Place::Point(state) => self.visit(path, state),
                Place::Link => self.steps.push(Mount::PinLink(path.clone())),
                Place::Pin => self.steps.push(Mount::Pin(path.clone())),
            }
        }
        self.steps.extend(self.unsealed.into_iter().rev().map(Mount::Seal));
        self.steps
    }

    /// What a path is before a step is made for it.
    fn above(&self, path: &AbsPath) -> State {
        let is_top_of_own = OWN.iter().any(|own| own.as_bytes() == path.as_bytes());
        match self.nearest(prefixes(path).skip(1)) {
            State::Hidden if is_top_of_own => State::ReadOnly,
            state => state,
        }
    }

    fn visit(&mut self, path: &AbsPath, state: State) {
        if self.above(path) == State::Hidden {
            self.make_passages(path);
        }
        match state {
            State::ReadOnly => self.steps.push(Mount::ReadOnly(path.clone())),
            State::Writable => self.steps.push(Mount::Writable(path.clone())),
            State::Hidden => self.hide(path),
        }
    }

    fn hide(&mut self, path: &AbsPath) {
        let mut below = self.points.range::<AbsPath, _>(path..).take_while(|(below, _)| path.covers(below));
        let has_visible_below = below.any(|(_, state)| *state != State::Hidden);
        self.steps.push(match self.nodes.get(path) {
            Some(Node::File) => Mount::HideFile(path.clone()),
            _ if has_visible_below || path.is_root() => {
                self.unsealed.push(path.clone());
                self.made.insert(path.clone());
                Mount::SearchOnly(path.clone())
            }
            _ => Mount::HideDirectory(path.clone()),
        });
    }

    /// Makes the directories between the innermost search-only directory and `path`, once each.
    fn make_passages(&mut self, path: &AbsPath) {
        let missing: Vec<AbsPath> =
            path.ancestors().skip(1).take_while(|above| self.made.insert(above.clone())).collect();
        self.steps.extend(missing.into_iter().rev().map(Mount::Passage));
    }
}

/// The path and each directory above it, from the longest on, without a copy.
pub(crate) fn prefixes(path: &AbsPath) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path.as_bytes()), |at| {
        let slash = at.iter().rposition(|&byte| byte == b'/')?;
        (at.len() > 1).then(|| &at[..slash.max(1)])
    })
}

#[cfg(test)]
mod tests {
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
    fn a_link_is_pinned_with_the_directories_above_it_where_it_could_be_replaced() {
        let files = FileSets {
            allow_write: rules(&["/p", "/h/w"]),
            deny_write: rules(&["/p/shut"]),
            deny_read: rules(&["/h"]),
            ..FileSets::default()
        };
        let origin = Origin::builtin("protected", "x");
        let links = ["/p/a/b/link", "/p/shut/link", "/h/link", "/h/w/link", "/etc/link"];
        let links = links.map(|link| (path(link), origin.clone())).into();
        let mounts = Mounts::plan(&Confinement { links, ..confinement(files, &[]) });
        let (first, then) = mounts.split(usize::MAX);
        let lines = |mounts: Mounts| {
            mounts.steps.iter().map(|step| format!("{step:?}")).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(first), @r"
        SearchOnly(/h)
        Writable(/h/w)
        Writable(/p)
        Pin(/p/a)
        Pin(/p/a/b)
        ReadOnly(/p/shut)
        Seal(/h)
        ");
        insta::assert_snapshot!(lines(then), @r"
        PinLink(/h/w/link)
        PinLink(/p/a/b/link)
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
        let mounts = Mounts::plan(&confinement(files, &["/dev/x"]));
        let (bubblewraps, attached) = mounts.clone().split(0);
        assert!(mounts.hides_root() && bubblewraps == mounts && attached.steps.is_empty());
        let own = ["/dev/null", "/dev/x", "/proc/self"].map(|text| mounts.judge(Access::Read, &path(text)));
        assert_eq!(own, [Effect::Allow, Effect::Deny, Effect::Allow]);
        let lines: Vec<String> = mounts.steps().iter().map(|step| format!("{step:?}")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        SearchOnly(/)
        HideFile(/dev/x)
        Passage(/home)
        Passage(/home/u)
        Writable(/home/u/p)
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
        let (first, then) = mounts.clone().split(4);
        assert_eq!(
            (paths(&first), paths(&then)),
            ("/dev/shm/x /proc/version".into(), "/p /p/a /process".into())
        );
        let (all, none) = mounts.clone().split(5);
        assert!(all == mounts && none.steps().is_empty(), "a plan of five steps is not too long for five");
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
            let (first, then) = mounts.clone().split(3);
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
}
