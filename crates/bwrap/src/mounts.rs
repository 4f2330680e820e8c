//! The mount plan: a confinement's file rules as an ordered list of bubblewrap mounts, and a judge over it.
//!
//! The host's whole tree is bound read-only first. Then [`FileSets::judge`] is asked at each path that a rule
//! names, and a mount is made only where its answer differs from the answer that the mounts so far give.
//! Broad comes before narrow, so a mask always lands on top of every bind of a directory above it.
//!
//! What the attacker controls: everything below a writable root. He can therefore rename a directory above a
//! denied path and put another in its place, unless that directory is a mount point, which the kernel lets
//! nobody rename or remove: hence [`Mount::Pin`]. Paths are real (resolved before the plan is made), so no
//! mount point is reached through a link of his.
//!
//! Pure: whether a path exists is known from the confinement.

use palisade_policy::{AbsPath, Access, Confinement, Effect, FileSets, Node};
use std::collections::{BTreeMap, BTreeSet};

/// One step of the plan. Steps are carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// The path as on the host, read-only, with everything mounted below it.
    ReadOnly(AbsPath),
    /// The path as on the host, writable.
    Writable(AbsPath),
    /// A writable directory bound over itself, for the sole reason that a mount point cannot be renamed.
    Pin(AbsPath),
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
            Mount::ReadOnly(at) | Mount::Writable(at) | Mount::Pin(at) | Mount::HideFile(at) => at,
            Mount::HideDirectory(at) | Mount::SearchOnly(at) | Mount::Passage(at) | Mount::Seal(at) => at,
        }
    }
}

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
    /// Plans the mounts for `confinement`.
    pub fn plan(confinement: &Confinement) -> Self {
        if confinement.files_disabled {
            return Mounts { steps: Vec::new(), root_writable: true };
        }
        let planner = Planner { files: &confinement.files, nodes: &confinement.nodes };
        let points = planner.points();
        let pins = planner.pins(&points);
        let mut steps = Vec::new();
        planner.visit(&points, &pins, &mut steps);
        Mounts { steps, root_writable: false }
    }

    /// The steps, in the order in which they must be carried out, after the host's tree was bound.
    pub fn steps(&self) -> &[Mount] {
        &self.steps
    }

    /// Whether the host's tree itself is bound writable, since no file rule holds.
    pub fn root_is_writable(&self) -> bool {
        self.root_writable
    }

    /// What happens to an access on a real path, by folding the steps: the last one that covers it decides.
    pub fn judge(&self, access: Access, path: &AbsPath) -> Effect {
        let mut state = if self.root_writable { State::Writable } else { State::ReadOnly };
        for step in &self.steps {
            let (at, new) = match step {
                Mount::ReadOnly(at) => (at, State::ReadOnly),
                Mount::Writable(at) | Mount::Pin(at) => (at, State::Writable),
                Mount::HideFile(at) | Mount::HideDirectory(at) => (at, State::Hidden),
                Mount::SearchOnly(at) | Mount::Passage(at) => (at, State::Hidden),
                Mount::Seal(_) => continue,
            };
            if at.covers(path) {
                state = new;
            }
        }
        match (access, state) {
            (_, State::Hidden) | (Access::Write, State::ReadOnly) => Effect::Deny,
            _ => Effect::Allow,
        }
    }
}

struct Planner<'a> {
    files: &'a FileSets,
    nodes: &'a BTreeMap<AbsPath, Node>,
}

impl Planner<'_> {
    /// Every existing path at which the answer may change, with its answer; parents sort before children.
    fn points(&self) -> BTreeMap<AbsPath, State> {
        let named = self.files.rules().map(|rule| rule.pattern.as_literal());
        named
            .filter(|path| self.nodes.contains_key(path))
            .map(|path| (path.clone(), self.state(path)))
            .collect()
    }

    fn state(&self, path: &AbsPath) -> State {
        match (self.files.judge(Access::Read, path).effect, self.files.judge(Access::Write, path).effect) {
            (Effect::Deny, _) => State::Hidden,
            (Effect::Allow, Effect::Allow) => State::Writable,
            (Effect::Allow, Effect::Deny) => State::ReadOnly,
        }
    }

    /// The writable directories above each path inside a writable region that may not be written.
    fn pins(&self, points: &BTreeMap<AbsPath, State>) -> BTreeSet<AbsPath> {
        points
            .iter()
            .filter(|(_, state)| **state != State::Writable)
            .flat_map(|(path, _)| path.ancestors().skip(1))
            .filter(|above| enclosing(points, above) == State::Writable)
            .collect()
    }

    fn visit(&self, points: &BTreeMap<AbsPath, State>, pins: &BTreeSet<AbsPath>, steps: &mut Vec<Mount>) {
        let mut sealed: Vec<AbsPath> = Vec::new();
        let mut all: BTreeMap<&AbsPath, Option<State>> = pins.iter().map(|path| (path, None)).collect();
        all.extend(points.iter().map(|(path, state)| (path, Some(*state))));
        for (path, state) in all {
            let Some(state) = state else {
                steps.push(Mount::Pin(path.clone()));
                continue;
            };
            let above = path.parent().map_or(State::ReadOnly, |parent| enclosing(points, &parent));
            if state == above {
                // Named by a rule that changes nothing here, it must stay where it is all the same.
                steps.extend(pins.contains(path).then(|| Mount::Pin(path.clone())));
                continue;
            }
            if above == State::Hidden {
                passages(path, steps);
            }
            match state {
                State::ReadOnly => steps.push(Mount::ReadOnly(path.clone())),
                State::Writable => steps.push(Mount::Writable(path.clone())),
                State::Hidden => self.hide(path, points, &mut sealed, steps),
            }
        }
        steps.extend(sealed.into_iter().rev().map(Mount::Seal));
    }

    fn hide(
        &self,
        path: &AbsPath,
        points: &BTreeMap<AbsPath, State>,
        sealed: &mut Vec<AbsPath>,
        steps: &mut Vec<Mount>,
    ) {
        let mut below = points.range(path..).take_while(|(below, _)| path.covers(below));
        let has_visible_below = below.any(|(_, state)| *state != State::Hidden);
        steps.push(match self.nodes.get(path) {
            Some(Node::File) => Mount::HideFile(path.clone()),
            _ if has_visible_below => {
                sealed.push(path.clone());
                Mount::SearchOnly(path.clone())
            }
            _ => Mount::HideDirectory(path.clone()),
        });
    }
}

/// The state of the nearest point at or above `path`.
fn enclosing(points: &BTreeMap<AbsPath, State>, path: &AbsPath) -> State {
    path.ancestors().find_map(|above| points.get(&above).copied()).unwrap_or(State::ReadOnly)
}

/// Makes the directories between the innermost search-only directory and `path`, once each.
fn passages(path: &AbsPath, steps: &mut Vec<Mount>) {
    let made = |steps: &[Mount], at: &AbsPath| {
        steps.iter().any(|step| matches!(step, Mount::SearchOnly(made) | Mount::Passage(made) if made == at))
    };
    let mut missing: Vec<AbsPath> =
        path.ancestors().skip(1).take_while(|above| !made(steps, above)).collect();
    missing.reverse();
    steps.extend(missing.into_iter().map(Mount::Passage));
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{FileRule, NetworkPolicy, Origin, PathPattern};
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
    fn without_file_rules_everything_is_writable() {
        let mut all = confinement(FileSets::default(), &[]);
        all.files_disabled = true;
        let mounts = Mounts::plan(&all);
        assert!(mounts.root_is_writable() && mounts.steps().is_empty());
        assert_eq!(mounts.judge(Access::Write, &path("/etc/passwd")), Effect::Allow);
    }

    fn any_path() -> impl Strategy<Value = String> {
        proptest::collection::vec("[ab]", 0..5).prop_map(|parts| format!("/{}", parts.join("/")))
    }

    proptest! {
        /// Law 1: the plan answers as the specification does, for every path below and between the rules.
        #[test]
        fn the_plan_judges_as_the_rules_do(
            lists in proptest::collection::vec(proptest::collection::vec(any_path(), 0..4), 4..=4),
            asked in proptest::collection::vec(any_path(), 1..12),
        ) {
            let list = |i: usize| rules(&lists[i].iter().map(String::as_str).collect::<Vec<_>>());
            let files = FileSets {
                allow_write: list(0), deny_write: list(1), deny_read: list(2), allow_read: list(3),
            };
            let confinement = confinement(files, &[]);
            let mounts = Mounts::plan(&confinement);
            for text in &asked {
                let asked = path(text);
                for access in [Access::Read, Access::Write] {
                    prop_assert_eq!(
                        mounts.judge(access, &asked),
                        confinement.files.judge(access, &asked).effect,
                        "{:?} {} by {:?}", access, text, mounts.steps()
                    );
                }
            }
        }
    }
}
