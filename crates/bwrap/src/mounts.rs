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
    /// How many of the steps, the first ones, shut what the sandbox's own `/proc` has of the host.
    guards: usize,
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
            return Mounts { steps: Vec::new(), guards: 0, root_writable: true };
        }
        let steps = Planner::new(confinement).plan();
        Mounts { steps, guards: 0, root_writable: false }
    }

    /// Shuts these entries of `/proc` before anything else is done: root owns them and would need no capability to write
    /// them, or they tell of the host as a whole.
    #[must_use]
    pub fn guarded(self, read_only: &[AbsPath], hidden: &[(AbsPath, Node)]) -> Self {
        let read_only = read_only.iter().map(|at| Mount::ReadOnly(at.clone()));
        let hidden = hidden.iter().map(|(at, node)| match node {
            Node::File => Mount::HideFile(at.clone()),
            Node::Directory => Mount::HideDirectory(at.clone()),
        });
        let guards: Vec<_> = read_only.chain(hidden).collect();
        Mounts { guards: guards.len(), steps: guards.into_iter().chain(self.steps).collect(), ..self }
    }

    /// These steps, in this order.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(steps: Vec<Mount>) -> Self {
        Mounts { steps, guards: 0, root_writable: false }
    }

    /// The steps that keep a command from something, on what lies on the host itself: what somebody does there can undo
    /// them. (Where they lie in a tree that is made anew, nobody can.)
    #[cfg(target_os = "linux")]
    pub(crate) fn into_detachable(self) -> Vec<Mount> {
        let keeps = |step: &Mount| {
            let opens = matches!(step, Mount::Writable(_) | Mount::Passage(_) | Mount::Seal(_));
            !opens && !is_own(step.path())
        };
        self.steps.into_iter().filter(keeps).collect()
    }

    /// The steps, in the order in which they must be carried out, after the host's tree was bound.
    pub fn steps(&self) -> &[Mount] {
        &self.steps
    }

    /// The same plan in two: what bubblewrap is to mount, and what is to be mounted once it has. What a rule names in
    /// `/dev` and `/proc` stays with bubblewrap: the sandbox has its own there, and only bubblewrap can reach the host's.
    /// So does everything where a rule hides `/`, but for links, which bubblewrap cannot mount.
    pub fn split(self) -> (Mounts, Mounts) {
        let hides_root = self.hides_root();
        let Mounts { mut steps, guards, root_writable } = self;
        let bubblewraps =
            |step: &Mount| !matches!(step, Mount::PinLink(_)) && (hides_root || is_own(step.path()));
        let (first, then): (Vec<_>, Vec<_>) = steps.split_off(guards).into_iter().partition(bubblewraps);
        // What a rule opens must not be shut again.
        let is_opened = !first.is_empty();
        let [first, then] = [(first, is_opened), (then, !is_opened)].map(|(others, has_guards)| {
            let guards = if has_guards { std::mem::take(&mut steps) } else { Vec::new() };
            Mounts { guards: guards.len(), steps: guards.into_iter().chain(others).collect(), root_writable }
        });
        (first, then)
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
    /// The directories that must stay, whether or not they can be written.
    stepped_out_of: Vec<&'a AbsPath>,
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
        let Confinement { files, nodes, links, stepped_out_of, .. } = confinement;
        let index = FileIndex::new(files);
        let named = files.rules().map(|rule| rule.pattern.as_literal());
        let points: BTreeMap<_, _> =
            named.filter(|path| nodes.contains_key(path)).map(|path| (path, state(&index, path))).collect();
        let states = points.iter().map(|(path, state)| (path.as_bytes(), *state)).collect();
        let mut planner = Planner {
            nodes,
            links: Vec::new(),
            stepped_out_of: stepped_out_of.keys().collect(),
            points,
            states,
            steps: Vec::new(),
            made: HashSet::new(),
            unsealed: Vec::new(),
        };
        planner.links = links.keys().filter(|link| planner.above(link) == State::Writable).collect();
        planner
    }

    /// The writable directories above each path inside a writable region that may not be written, and above each link;
    /// and those that are stepped out of, with all above.
    fn pins(&self) -> BTreeSet<AbsPath> {
        let mut looked_at = HashSet::new();
        let mut pins = BTreeSet::new();
        let denied = self.points.iter().filter(|(_, state)| **state != State::Writable);
        let in_directories =
            denied.map(|(path, _)| *path).chain(self.links.iter().copied()).map(|path| (path, 1));
        for (path, up) in in_directories.chain(self.stepped_out_of.iter().map(|path| (*path, 0))) {
            // What is above a directory that was looked at was looked at with it.
            if !prefixes(path).nth(up).is_some_and(|directory| looked_at.insert(directory)) {
                continue;
            }
            // From the root on, each is looked up once, however deep the path is.
            let mut state = State::ReadOnly;
            for above in path.ancestors().skip(up).collect::<Vec<_>>().into_iter().rev() {
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
mod tests;
