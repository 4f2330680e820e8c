//! Whether an allowed path opens something that is hidden, and whether its rule has a say in that.
//!
//! The attacker is an earlier command, which makes links, and the repository's author, who writes allows. Everything is
//! compared where it really is, and after all denies were expanded: a match of a wildcard may be a link.

use super::real::Real;
use super::warnings::Kind;
use super::{Resolver, links_on};
use crate::cover::Covers;
use crate::error::Error;
use palisade_policy::{AbsPath, Access, Effect, FileRule, FileSets, Layer, Origin, Policy};
use std::collections::BTreeMap;

/// What is hidden, by the place that it really has, with who says so. Thousands may be, and thousands may be opened.
pub(super) struct Denied(BTreeMap<AbsPath, Vec<Origin>>);

impl Denied {
    /// What `rules`, which are resolved, hide.
    pub(super) fn by(rules: &[FileRule]) -> Self {
        let mut denied: BTreeMap<AbsPath, Vec<Origin>> = BTreeMap::new();
        for FileRule { pattern, origin } in rules {
            denied.entry(pattern.as_literal().clone()).or_default().push(origin.clone());
        }
        Denied(denied)
    }

    /// The places at or above `path` that are hidden, each with those who say so.
    fn covering(&self, path: &AbsPath) -> Vec<(&AbsPath, &[Origin])> {
        let at = |above: AbsPath| self.0.get_key_value(&above).map(|(place, by)| (place, &**by));
        path.ancestors().filter_map(at).collect()
    }
}

impl Resolver {
    /// The real place of an allowed path, unless only a link leads from it into a hidden region, or the rule has no say
    /// in what hides it.
    pub(super) fn reopened(
        &mut self,
        path: &AbsPath,
        rule: &FileRule,
        policy: &Policy,
        denied: &Denied,
    ) -> Result<Option<AbsPath>, Error> {
        let real = match Real::of(path).map_err(|error| error.of_rule(&rule.origin)) {
            // Nothing is reached by it.
            Err(Error::Unenforceable { rule, reason }) => {
                self.warnings.push(Kind::Closed, format!("{rule} is left out: {reason}"));
                return Ok(None);
            }
            real => real?,
        };
        if real.is_closed {
            self.warnings.push(
                Kind::Closed,
                format!("{} is left out: {} cannot be looked into", rule.origin, real.path),
            );
            return Ok(None);
        }
        let Some(node) = real.node.filter(|_| Covers::is_uncovered(&real.path)) else {
            return Ok(None);
        };
        let hiding = denied.covering(&real.path);
        let mut by = hiding.iter().flat_map(|(_, by)| *by);
        if let Some(deny) = by.find(|deny| policy.stays_hidden(deny, &rule.origin)) {
            self.warn_of_shut(&rule.origin, &real.path, deny);
            return Ok(None);
        }
        let is_named = || {
            Ok::<_, Error>(
                names_it_inside(path, &real.path, &policy.files.deny_read)?
                    || (hiding.iter().all(|(place, _)| place.is_root()) && is_link_at_top(path)?),
            )
        };
        if !hiding.is_empty() && !is_named()? {
            self.warnings.push(
                Kind::Link,
                format!(
                    "{} is left out: only a symbolic link leads from {path} to {}, which a rule hides",
                    rule.origin, real.path
                ),
            );
            return Ok(None);
        }
        self.nodes.insert(real.path.clone(), node);
        Ok(Some(real.path))
    }

    /// Says once of two rules that the one opens nothing of what the other hides.
    fn warn_of_shut(&mut self, allow: &Origin, path: &AbsPath, deny: &Origin) {
        if self.shut.insert([allow, deny].map(Origin::clone)) {
            self.warnings.push(Kind::Shut, format!("{allow} does not open {path}, which {deny} hides"));
        }
    }
}

/// Refuses a root that an administrator hides where only he may open that: a root is writable, and so readable.
pub(super) fn refuse_locked_root(policy: &Policy, root: &AbsPath, files: &FileSets) -> Result<(), Error> {
    let (Some(lock), Some(deny)) = (&policy.read_lock, locked_at(policy, root, files)) else { return Ok(()) };
    Err(Error::Directory {
        what: "the root",
        path: root.as_path().to_owned(),
        reason: format!(
            "is hidden by {deny}, and only managed settings open what they hide, by {lock}; start somewhere else"
        ),
    })
}

/// The administrator's rule that hides `path` where only he may open that. What he opens is not hidden.
pub(super) fn locked_at(policy: &Policy, path: &AbsPath, files: &FileSets) -> Option<Origin> {
    policy.read_lock.as_ref()?;
    let is_his = |rule: &&FileRule| rule.origin.layer == Layer::Managed;
    let his = |rules: &[FileRule]| rules.iter().filter(is_his).cloned().collect();
    let sets = FileSets {
        allow_write: his(&files.allow_write),
        deny_read: his(&files.deny_read),
        allow_read: his(&files.allow_read),
        deny_write: Vec::new(),
    };
    let verdict = sets.judge(Access::Read, path);
    verdict.rule.filter(|_| verdict.effect == Effect::Deny).map(|rule| rule.origin.clone())
}

/// Whether `path` reaches its real place `real` without a link, or without one below a hidden directory that
/// covers it as written.
fn names_it_inside(path: &AbsPath, real: &AbsPath, denies: &[FileRule]) -> Result<bool, Error> {
    if path == real {
        return Ok(true);
    }
    for above in path.ancestors() {
        let named = denies.iter().any(|deny| deny.pattern.names(&above));
        let below = &path.as_bytes()[above.as_bytes().len()..];
        if named && !above.is_root() && real.as_bytes() == [Real::of(&above)?.path.as_bytes(), below].concat()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether no link leads on from `path` but such as lie directly in `/`, where no command can make one: what hides `/`
/// hides the link as well as the place, and `/bin` is named inside it.
fn is_link_at_top(path: &AbsPath) -> Result<bool, Error> {
    Ok(links_on(path)?.iter().all(|link| link.parent().is_some_and(|at| at.is_root())))
}
