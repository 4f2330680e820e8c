//! File rules lowered into one ordered list, broad to narrow, in which the last match decides.
//!
//! Four lists with two different precedences are easy to state and awkward to enforce: a backend wants one
//! list of paths, each with what happens there. [`FileSets::lower`] makes that list by judging every path
//! that a rule names; it knows no precedence of its own, so it cannot get one wrong. Between named paths nothing changes, because a literal rule covers a path exactly when it
//! names that path or a directory above it.
//!
//! It deliberately does not expand wildcards: what a pattern matches is known only on the machine, so rules
//! that still have them are refused.

use crate::path_tree::{PathTree, Placed};
use crate::{AbsPath, Access, Effect, FileIndex, FileSets, FileVerdict, Origin};
use std::collections::BTreeSet;

/// What happens at one path and below it, down to the next path of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedRule<'a> {
    /// The path.
    pub path: AbsPath,
    /// What happens to reads.
    pub read: FileVerdict<'a>,
    /// What happens to writes.
    pub write: FileVerdict<'a>,
}

impl<'a> OrderedRule<'a> {
    /// What happens to `access`.
    pub fn verdict(&self, access: Access) -> FileVerdict<'a> {
        match access {
            Access::Read => self.read,
            Access::Write => self.write,
        }
    }
}

impl Placed for OrderedRule<'_> {
    fn path(&self) -> &AbsPath {
        &self.path
    }
}

/// File rules as one list. The last entry that covers a path decides; `/` heads the list, so that one always
/// does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedRules<'a> {
    root: OrderedRule<'a>,
    below: PathTree<OrderedRule<'a>>,
}

/// A rule that still has wildcards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} has wildcards, which cannot be enforced before they are replaced by what they match")]
pub struct WildcardError(
    /// The rule.
    pub Box<Origin>,
);

impl FileSets {
    /// The same rules as one ordered list, which [judges](OrderedRules::judge) every path as
    /// [`judge`](Self::judge) does. A rule with wildcards is an error.
    pub fn lower(&self) -> Result<OrderedRules<'_>, WildcardError> {
        if let Some(rule) = self.rules().find(|rule| rule.pattern.has_wildcards()) {
            return Err(WildcardError(Box::new(rule.origin.clone())));
        }
        let mut named: BTreeSet<&AbsPath> = self.rules().map(|rule| rule.pattern.as_literal()).collect();
        let root = AbsPath::root();
        named.remove(&root);
        let index = FileIndex::new(self);
        let ordered_rule = |path: &AbsPath| OrderedRule {
            path: path.clone(),
            read: index.judge(Access::Read, path),
            write: index.judge(Access::Write, path),
        };
        let below = named.into_iter().map(ordered_rule).collect();
        Ok(OrderedRules { root: ordered_rule(&root), below: PathTree::new(below) })
    }
}

impl<'a> OrderedRules<'a> {
    /// What happens to one access on `path`.
    pub fn judge(&self, access: Access, path: &AbsPath) -> FileVerdict<'a> {
        self.last_match(path).verdict(access)
    }

    /// The entries, broad to narrow: `/`, then every path that a rule names.
    pub fn iter(&self) -> impl Iterator<Item = &OrderedRule<'a>> {
        std::iter::once(&self.root).chain(self.below.iter())
    }

    /// The entries, broad to narrow, at which the effect on `access` is another one than in the directory
    /// above. Above `/` reads are allowed and writes denied, as where there are no rules.
    pub fn changes(&self, access: Access) -> impl Iterator<Item = &OrderedRule<'a>> {
        let outermost = match access {
            Access::Read => Effect::Allow,
            Access::Write => Effect::Deny,
        };
        self.iter().filter(move |rule| {
            let above = rule.path.parent().map_or(outermost, |above| self.judge(access, &above).effect);
            rule.verdict(access).effect != above
        })
    }

    fn last_match(&self, path: &AbsPath) -> &OrderedRule<'a> {
        self.below.covering(path).next().unwrap_or(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anchor, FileRule, PathPattern};
    use proptest::prelude::*;

    /// Few names and little depth, so that rules meet; one name is the beginning of another.
    fn path() -> impl Strategy<Value = AbsPath> {
        let name = proptest::sample::select(&["a", "ab", "b", "\u{7f}"][..]);
        proptest::collection::vec(name, 0..5)
            .prop_map(|names| AbsPath::new(format!("/{}", names.join("/"))).expect("absolute"))
    }

    fn list() -> impl Strategy<Value = Vec<FileRule>> {
        proptest::collection::vec(path(), 0..4).prop_map(|paths| {
            let rule = |path: AbsPath| FileRule {
                origin: Origin::flag("--test", &path.to_string()),
                pattern: PathPattern::literal(path),
            };
            paths.into_iter().map(rule).collect()
        })
    }

    fn sets() -> impl Strategy<Value = FileSets> {
        [list(), list(), list(), list()].prop_map(|[allow_write, deny_write, deny_read, allow_read]| {
            FileSets { allow_write, deny_write, deny_read, allow_read }
        })
    }

    proptest! {
        /// Law 1, for this list: the effect and the rule that is named are those of the specification.
        #[test]
        fn judges_as_the_specification_does(sets in sets(), paths in proptest::collection::vec(path(), 1..20)) {
            let ordered = sets.lower().expect("literal rules");
            for path in &paths {
                for access in [Access::Read, Access::Write] {
                    prop_assert_eq!(ordered.judge(access, path), sets.judge(access, path), "{:?} {}", access, path);
                }
            }
        }

        /// Walking down to a path through the changes alone arrives at its effect.
        #[test]
        fn the_changes_alone_tell_every_effect(sets in sets(), path in path()) {
            let ordered = sets.lower().expect("literal rules");
            for (access, outermost) in [(Access::Read, Effect::Allow), (Access::Write, Effect::Deny)] {
                let last = ordered.changes(access).filter(|rule| rule.path.covers(&path)).last();
                let effect = last.map_or(outermost, |rule| rule.verdict(access).effect);
                prop_assert_eq!(effect, sets.judge(access, &path).effect);
            }
        }
    }

    #[test]
    fn a_wildcard_is_refused_by_its_rule() {
        let anchor = Anchor { base: AbsPath::root(), home: None };
        let rule = FileRule {
            pattern: PathPattern::parse("/a/*.pem", &anchor).expect("valid"),
            origin: Origin::flag("--deny-read", "/a/*.pem"),
        };
        let sets = FileSets { deny_read: vec![rule], ..FileSets::default() };
        let error = sets.lower().expect_err("has wildcards").to_string();
        assert!(error.starts_with("--deny-read \"/a/*.pem\" has wildcards"), "{error}");
    }
}
