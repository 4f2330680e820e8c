//! What some layers hide, and whether a path of another layer would open any of it.
//!
//! The attacker writes the path, and may have put symbolic links on its way. So a path is compared as written and as it
//! really is, with what is hidden as written and as it really is. He may also change a link afterwards: the resolver of
//! each command looks again, and leaves out what only a link leads into a hidden region. A path with wildcards is
//! compared by the directory that all its matches lie in, and by all below: what it may match cannot be known now.

use crate::dropped::Reason;
use palisade_policy::{AbsPath, FileRule, PathPattern};

/// Where a path really leads; `None` where that cannot be found out.
pub(crate) type Real<'a> = dyn Fn(&AbsPath) -> Option<AbsPath> + 'a;

/// Hidden regions.
pub(crate) struct Hidden<'a> {
    regions: Vec<Region>,
    real: &'a Real<'a>,
}

struct Region {
    rule: FileRule,
    /// What the rule names, or the directory that all it matches lies in.
    root: AbsPath,
    /// The same with links followed.
    real_root: AbsPath,
}

impl<'a> Hidden<'a> {
    /// The regions of `rules`.
    pub(crate) fn by<'r>(rules: impl Iterator<Item = &'r FileRule>, real: &'a Real<'a>) -> Self {
        let region = |rule: &FileRule| {
            let root = root(&rule.pattern).clone();
            // What cannot be looked at is where it is written, for all that is known.
            let real_root = real(&root).unwrap_or_else(|| root.clone());
            Region { rule: rule.clone(), root, real_root }
        };
        Hidden { regions: rules.map(region).collect(), real }
    }

    /// Why `pattern` must not open anything, if so.
    pub(crate) fn opened_by(&self, pattern: &PathPattern) -> Option<Reason> {
        if self.regions.is_empty() {
            return None;
        }
        let written = [root(pattern), pattern.as_literal()];
        for written in written {
            let Some(real) = (self.real)(written) else { return Some(Reason::Unknown) };
            let region = self.regions.iter().find(|region| {
                region.covers(written)
                    || region.covers(&real)
                    || (pattern.has_wildcards() && (region.is_below(written) || region.is_below(&real)))
            });
            if let Some(region) = region {
                return Some(Reason::Hidden { by: region.rule.origin.clone(), path: real });
            }
        }
        None
    }
}

impl Region {
    fn covers(&self, path: &AbsPath) -> bool {
        if !self.rule.pattern.has_wildcards() {
            return covers(&self.root, path) || covers(&self.real_root, path);
        }
        let below_real =
            self.real_root.covers(path).then(|| &path.as_bytes()[self.real_root.as_bytes().len()..]);
        let as_written =
            below_real.and_then(|below| AbsPath::new([self.root.as_bytes(), b"/", below].concat()).ok());
        [Some(path), as_written.as_ref()]
            .into_iter()
            .flatten()
            .any(|path| self.rule.pattern.covers(path).is_some())
    }

    /// Whether something of the region may lie below the directory `path`, or the other way round.
    fn is_below(&self, path: &AbsPath) -> bool {
        [&self.root, &self.real_root].into_iter().any(|root| covers(path, root) || covers(root, path))
    }
}

/// The path that a pattern names, or with wildcards the directory that all its matches lie in.
fn root(pattern: &PathPattern) -> &AbsPath {
    pattern.search_root().unwrap_or_else(|| pattern.as_literal())
}

/// Whether `outer` is `inner` or above it. The file systems of macOS take small and capital letters for the same.
fn covers(outer: &AbsPath, inner: &AbsPath) -> bool {
    let fold = |path: &AbsPath| {
        let text = String::from_utf8_lossy(path.as_bytes()).to_lowercase();
        AbsPath::new(text).unwrap_or_else(|_| path.clone())
    };
    outer.covers(inner) || (cfg!(target_os = "macos") && fold(outer).covers(&fold(inner)))
}
