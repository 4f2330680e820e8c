//! Paths against rules: what `Read` and `Edit` rules say about a place, links followed.

use super::Context;
use super::access::Touch;
use super::place::{Place, may_lie_below, may_meet};
use crate::path_rule::fold;
use crate::{PathRule, Pattern, PermissionRule, RuleSet};
use palisade_policy::{AbsPath, Access};

/// Whether a rule covers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hit {
    No,
    /// It cannot be told.
    Maybe,
    Yes,
}

/// The rules about paths, and what is needed to ask them.
#[derive(Clone, Copy)]
pub(super) struct Files<'a, 'c> {
    pub(super) rules: &'a RuleSet,
    pub(super) context: &'c Context<'c>,
}

impl<'a> Files<'a, '_> {
    /// Whether a deny or an ask rule about paths covers what is touched: any path of it, as written or where
    /// its links lead.
    pub(super) fn hit(&self, paths: &PathRule, touch: &Touch) -> Hit {
        let covers = |path: &AbsPath| {
            paths.covers(path) || (self.context.folds_case && paths.covers_folded(&fold(path)))
        };
        match &touch.place {
            _ if touch.reached.iter().any(covers) => Hit::Yes,
            Place::Paths(_) => Hit::No,
            Place::Wildcard(found) => {
                let meets = |found: &AbsPath| self.any(paths, found, may_meet);
                if found.iter().any(meets) { Hit::Maybe } else { Hit::No }
            }
            Place::Below { hidden, .. } => {
                let lies = |found: &AbsPath| {
                    self.any(paths, found, |found, rule| may_lie_below(found, rule, *hidden))
                };
                if touch.reached.iter().any(lies) { Hit::Maybe } else { Hit::No }
            }
            Place::Unknown => Hit::Maybe,
        }
    }

    /// Whether `meets` is true of what is found and some pattern of a rule, as written, or in small letters where case
    /// does not tell files apart.
    fn any(&self, paths: &PathRule, found: &AbsPath, meets: impl Fn(&AbsPath, &AbsPath) -> bool) -> bool {
        let folded = self.context.folds_case.then(|| fold(found));
        paths
            .patterns()
            .iter()
            .map(|rule| rule.as_literal())
            .any(|rule| meets(found, rule) || folded.as_ref().is_some_and(|found| meets(found, &fold(rule))))
    }

    /// The allow rule that lets `access` to `path` through: it covers the path as written and where its links
    /// lead.
    pub(super) fn allowing(&self, access: Access, path: &AbsPath) -> Option<&'a PermissionRule> {
        let real = (self.context.follow)(path);
        self.rules.allow.iter().find(|rule| match &rule.rule.pattern {
            Some(Pattern::Path(paths)) if grants(&rule.rule.tool, access) => {
                paths.covers(path) && paths.covers(&real)
            }
            _ => false,
        })
    }

    /// Whether `path`, and where its links lead, lie in the directories that are worked in.
    pub(super) fn is_inside(&self, path: &AbsPath) -> bool {
        let real = (self.context.follow)(path);
        [path, &real].into_iter().all(|path| self.directories().any(|directory| self.holds(directory, path)))
    }

    fn holds(&self, directory: &AbsPath, path: &AbsPath) -> bool {
        directory.covers(path) || (self.context.follow)(directory).covers(path)
    }

    fn directories(&self) -> impl Iterator<Item = &AbsPath> {
        let own = [self.context.root, self.context.working_directory];
        own.into_iter()
            .chain(self.context.directories)
            .chain(self.rules.directories.iter().map(|added| &added.path))
    }
}

/// Whether an allow rule of `tool` is about `access`: what may be edited may be read.
fn grants(tool: &str, access: Access) -> bool {
    tool == "Edit" || (tool == "Read" && access == Access::Read)
}

/// Whether a deny or an ask rule of `tool` is about `access`: what must not be read must not be edited.
pub(super) fn refuses(tool: &str, access: Access) -> bool {
    match tool {
        "Read" => true,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => access == Access::Write,
        "Grep" | "Glob" | "LS" | "NotebookRead" => access == Access::Read,
        _ => false,
    }
}
