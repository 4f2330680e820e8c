//! What some layers hide, and whether a path of another layer would open any of it.
//!
//! The attacker writes the path, and may have put symbolic links on its way. So a path is compared as written and as it
//! really is, with what is hidden as written and as it really is. He may also change a link afterwards: the resolver of
//! each command looks again, and leaves out what only a link leads into a hidden region. A path with wildcards is
//! compared by the directory that all its matches lie in, and by all below: what it may match cannot be known now.
//!
//! He may write thousands of paths where others hide thousands: what is hidden by name is looked up by name.

use crate::dropped::Reason;
use palisade_policy::{AbsPath, FileRule, PathPattern};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Where a path really leads; `None` where that cannot be found out.
pub(crate) type Real<'a> = dyn Fn(&AbsPath) -> Option<AbsPath> + 'a;

/// What some rules hide.
pub(crate) struct Hidden<'a> {
    rules: Vec<FileRule>,
    real: &'a Real<'a>,
    /// Made when something is first compared with it: most repositories open nothing.
    regions: OnceCell<Regions>,
}

#[derive(Default)]
struct Regions {
    /// The hidden paths that have names, as written and as they are, each with its rule.
    named: BTreeMap<AbsPath, FileRule>,
    wild: Vec<Wild>,
}

/// A rule with wildcards.
struct Wild {
    rule: FileRule,
    /// The directory that all it matches lies in.
    root: AbsPath,
    /// The same with links followed.
    real_root: AbsPath,
}

impl<'a> Hidden<'a> {
    /// What `rules` hide.
    pub(crate) fn by<'r>(rules: impl Iterator<Item = &'r FileRule>, real: &'a Real<'a>) -> Self {
        Hidden { rules: rules.cloned().collect(), real, regions: OnceCell::new() }
    }

    /// Why `pattern` must not open anything, if so.
    pub(crate) fn opened_by(&self, pattern: &PathPattern) -> Option<Reason> {
        if self.rules.is_empty() {
            return None;
        }
        let regions = self.regions.get_or_init(|| Regions::of(&self.rules, self.real));
        let root = pattern.search_root();
        for written in root.into_iter().chain([pattern.as_literal()]) {
            let Some(real) = (self.real)(written) else { return Some(Reason::Unknown) };
            let rule = [written, &real].into_iter().find_map(|path| {
                let covering = regions.covering(path);
                covering.or_else(|| root.and_then(|_| regions.below(path)))
            });
            if let Some(rule) = rule {
                return Some(Reason::Hidden { by: rule.origin.clone(), path: real });
            }
        }
        None
    }
}

impl Regions {
    fn of(rules: &[FileRule], real: &Real<'_>) -> Self {
        let mut regions = Regions::default();
        for rule in rules {
            let root = rule.pattern.search_root().unwrap_or_else(|| rule.pattern.as_literal()).clone();
            // What cannot be looked at is where it is written, for all that is known.
            let real_root = real(&root).unwrap_or_else(|| root.clone());
            if rule.pattern.has_wildcards() {
                regions.wild.push(Wild { rule: rule.clone(), root, real_root });
            } else {
                for path in [root, real_root] {
                    regions.named.entry(fold(&path)).or_insert_with(|| rule.clone());
                }
            }
        }
        regions
    }

    /// The rule that hides `path`.
    fn covering(&self, path: &AbsPath) -> Option<&FileRule> {
        let named = fold(path).ancestors().find_map(|above| self.named.get(&above));
        named.or_else(|| self.wild.iter().find(|wild| wild.covers(path)).map(|wild| &wild.rule))
    }

    /// The rule that hides something below the directory `path`, or may do so above it.
    fn below(&self, path: &AbsPath) -> Option<&FileRule> {
        let path = fold(path);
        // What is below a directory comes right behind it.
        let named = self.named.range(&path..).next().filter(|(hidden, _)| path.covers(hidden));
        let is_near = |root: &AbsPath| path.covers(&fold(root)) || fold(root).covers(&path);
        let wild = || self.wild.iter().find(|wild| is_near(&wild.root) || is_near(&wild.real_root));
        named.map(|(_, rule)| rule).or_else(|| wild().map(|wild| &wild.rule))
    }
}

impl Wild {
    fn covers(&self, path: &AbsPath) -> bool {
        self.rule.pattern.covers(path).is_some()
            || self.as_written(path).is_some_and(|path| self.rule.pattern.covers(&path).is_some())
    }

    /// `path`, which lies where the rule's directory really is, as if it lay where that is written.
    fn as_written(&self, path: &AbsPath) -> Option<AbsPath> {
        if self.root == self.real_root || !self.real_root.covers(path) {
            return None;
        }
        let below = &path.as_bytes()[self.real_root.as_bytes().len()..];
        AbsPath::new([self.root.as_bytes(), b"/", below].concat()).ok()
    }
}

/// `path` in small letters where those and capital ones are the same to the file system: on macOS.
fn fold(path: &AbsPath) -> AbsPath {
    if !cfg!(target_os = "macos") {
        return path.clone();
    }
    let text = String::from_utf8_lossy(path.as_bytes()).to_lowercase();
    AbsPath::new(text).unwrap_or_else(|_| path.clone())
}
