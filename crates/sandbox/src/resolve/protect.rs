//! Protected paths, made into rules: what stands at each name, what must stand in where nothing does, and which links
//! lead there.

use super::warnings::Kind;
use super::{Places, Real, Resolver, Way, literal, real::is_ours, reopen::locked_at};
use crate::cover::{Covers, StandIn};
use crate::error::Error;
use crate::protected::{self, Group, Inside, Missing, Owner, Protected, git};
use palisade_bwrap::linux::can_attach;
use palisade_policy::{AbsPath, Access, Effect, FileRule, FileSets, Node, Origin, Policy};
use std::os::unix::fs::PermissionsExt;

impl Resolver {
    /// What belongs to git in `roots`; opens what git must write outside a root to work in it. To be called before any
    /// write is denied.
    pub(super) fn repositories(
        &mut self,
        policy: &Policy,
        roots: &[AbsPath],
        owner: &Owner,
        files: &mut FileSets,
    ) -> Result<Vec<Protected>, Error> {
        let git::Repository { mut protected, mut ways, names_hooks, warnings, excerpts, .. } =
            git::of_owner(roots, owner)?;
        warnings.into_iter().for_each(|warning| self.warnings.push(Kind::Git, warning));
        self.excerpts.extend(excerpts.into_iter().filter(|_| !names_hooks));
        for root in roots {
            let found = git::around(root, owner.home.as_ref())?;
            protected.extend(found.protected);
            found.warnings.into_iter().for_each(|warning| self.warnings.push(Kind::Git, warning));
            self.excerpts.extend(found.excerpts.into_iter().filter(|_| !names_hooks));
            ways.extend(found.ways);
            for path in found.writable {
                if let Some(deny) = stays_hidden(policy, root, &path, files) {
                    let warning =
                        format!("{path}, the git directory of {root}, is not opened to git: {deny} hides it");
                    self.warnings.push(Kind::Git, warning);
                    continue;
                }
                self.nodes.insert(path.clone(), Node::Directory);
                let origin = Origin::builtin("git", &format!("the git directory of {root}"));
                files.allow_write.push(literal(path, origin));
            }
        }
        ways.extend(owner.ways().cloned());
        for way in ways {
            self.hold(&way, &Origin::builtin("protected", &way.place().to_string()), files);
        }
        Ok(protected)
    }

    /// Protects all that is protected, by name and by git.
    pub(super) fn protect_all(
        &mut self,
        roots: &[AbsPath],
        owner: &Owner,
        of_git: &[Protected],
        files: &mut FileSets,
    ) -> Result<(), Error> {
        self.inside.roots = roots.to_vec();
        let mut groups = protected::of_owner(owner)?;
        for root in roots {
            groups.extend(protected::in_root(root, owner));
        }
        for group in &groups {
            self.protect_group(group, files)?;
        }
        for one in of_git {
            self.protect(one, files)?;
        }
        self.protect_linked(files)?;
        for root in roots {
            self.warn_of_closed_root(root, files);
        }
        Ok(())
    }

    /// The directories that are roots in their own right: the root, and what else is writable and in none of them.
    pub(super) fn roots(&self, places: &Places, files: &FileSets) -> Vec<AbsPath> {
        let others = files.allow_write.iter().map(|rule| rule.pattern.as_literal());
        let is_one = |path: &AbsPath| {
            *path != places.root
                && *path != places.temporary
                && self.nodes.get(path) == Some(&Node::Directory)
        };
        let mut roots = vec![places.root.clone()];
        for path in others.filter(|path| is_one(path) && !is_shared(path)) {
            let is_below = |root: &AbsPath| root.covers(path);
            if !roots.iter().any(is_below) {
                roots.push(path.clone());
            }
        }
        roots
    }

    fn protect_group(&mut self, group: &Group, files: &mut FileSets) -> Result<(), Error> {
        let exists = |path: &AbsPath| path.as_path().symlink_metadata().is_ok();
        // Where nothing is yet, a link on the way may be all that must stay so.
        let way = Way::of(&group.directory);
        self.hold(&way, &Origin::builtin("protected", &group.directory.to_string()), files);
        let place = way.walk().end;
        let is_open = self.can_be_made(&place, files);
        if !exists(&group.directory) && (group.must_exist || !is_open) {
            return Ok(());
        }
        let is_looked_into = is_open || !group.may_be_shared || !is_of_system(&place);
        for one in &group.rows {
            if is_open || exists(&one.path) || self.can_be_made(&one.path, files) {
                let inside = if is_looked_into { one.inside } else { Inside::Data };
                self.protect(&Protected { inside, ..one.clone() }, files)?;
            }
        }
        Ok(())
    }

    /// Whether the command could bring about something where nothing is, links aside.
    fn can_be_made(&self, path: &AbsPath, files: &FileSets) -> bool {
        files.judge(Access::Write, path).effect == Effect::Allow
    }

    pub(super) fn protect(&mut self, one: &Protected, files: &mut FileSets) -> Result<(), Error> {
        let origin = Origin::builtin("protected", &one.path.to_string());
        let real = self.directories.real(&one.path).map_err(|error| error.of_rule(&origin))?;
        if real.path != one.path {
            self.hold(&Way::of(&one.path), &origin, files);
        }
        let stand_in = match one.missing {
            Missing::Cover(stand_in) => stand_in,
            Missing::Remove if self.is_to_be_removed(&real, files) => {
                self.wanted.unwanted.insert(real.path);
                return Ok(());
            }
            Missing::Remove if real.node.is_none() => return Ok(()),
            Missing::Remove => StandIn::Socket,
        };
        self.look_for_other_names(one, &real, &origin);
        if one.inside != Inside::Data && real.node == Some(Node::Directory) {
            self.inside.look_into(&real.path);
        }
        if let Some(path) = self.denied_at(real, stand_in, files) {
            files.deny_write.push(literal(path, origin));
        }
        Ok(())
    }

    /// Whether nothing that is to last stands at the path, and the command could change that.
    fn is_to_be_removed(&self, real: &Real, files: &FileSets) -> bool {
        let is_gap = match real.node {
            Some(_) => !Covers::is_wanted(&real.path),
            None => real.first_missing.as_ref() == Some(&real.path),
        };
        is_gap && files.judge(Access::Write, &real.path).effect == Effect::Allow
    }

    /// A second name of a protected file is a way to write it.
    fn look_for_other_names(&mut self, one: &Protected, real: &Real, origin: &Origin) {
        match real.node {
            Some(Node::File) if Covers::is_uncovered(&real.path) => self.linked.look_at(&real.path, origin),
            Some(Node::Directory) if one.inside == Inside::Scripts => {
                self.linked.look_into(&real.path, origin)
            }
            _ => {}
        }
    }

    fn warn_of_closed_root(&mut self, root: &AbsPath, files: &FileSets) {
        let verdict = files.judge(Access::Write, root);
        if let (Effect::Deny, Some(rule)) = (verdict.effect, verdict.rule)
            && rule.origin.key.as_ref() == "protected"
        {
            let (path, what) = (rule.pattern.as_literal(), &rule.origin.text);
            self.warnings.push(Kind::Protected, format!(
                "nothing in {root} can be written: {path}, which holds it, is protected as {what}, or as what that leads to"
            ));
        }
    }

    /// A link on the way to what may not be written must not be replaced, or the next to follow it comes to what the
    /// command put there; nor one on the way to what is hidden, or the next command's rules hide something else. No more
    /// must what the way steps out of. Before Linux 5.12 nothing can hold a link.
    pub(super) fn hold(&mut self, way: &Way, origin: &Origin, files: &FileSets) {
        let walk = way.walk();
        let is_open = |path: &AbsPath| files.judge(Access::Write, path).effect == Effect::Allow;
        for path in walk.stepped_out_of.into_iter().filter(is_open) {
            self.stepped_out_of.entry(path).or_insert_with(|| origin.clone());
        }
        for link in walk.links.into_iter().filter(is_open) {
            if can_attach() {
                self.links.entry(link).or_insert_with(|| origin.clone());
            } else {
                self.warnings.push(Kind::Protected, format!(
                    "{origin} protects what it leads to, but the command can replace the symbolic link {link} on the way"
                ));
            }
        }
    }

    /// Where a way steps out of what is no directory, or out of one that cannot be looked at, it leads nowhere. So it must
    /// stay: the command could put a directory or a link there.
    pub(super) fn keep_missing(&mut self, files: &mut FileSets) -> Result<(), Error> {
        for (path, origin) in std::mem::take(&mut self.stepped_out_of) {
            let real = Real::of(&path).map_err(|error| error.of_rule(&origin))?;
            if real.node == Some(Node::Directory) && !real.is_closed {
                self.stepped_out_of.insert(real.path, origin);
            } else if let Some(path) = self.denied_at(real, StandIn::Socket, files) {
                files.deny_write.push(literal(path, origin));
            }
        }
        Ok(())
    }
}

/// The rule that keeps the git directory `path` of `root` hidden, whoever opens the root: the lock of an administrator
/// holds for what is built in as well, and what a repository opens brings nothing along that others hide.
fn stays_hidden(policy: &Policy, root: &AbsPath, path: &AbsPath, files: &FileSets) -> Option<Origin> {
    let mut opening = files.allow_write.iter().filter(|allow| allow.pattern.as_literal() == root);
    let is_by_repository = opening.all(|allow| allow.origin.layer.is_of_repository());
    let is_by_others = |deny: &&FileRule| {
        is_by_repository && !deny.origin.layer.is_of_repository() && deny.pattern.covers(path).is_some()
    };
    let by_others = || files.deny_read.iter().find(is_by_others).map(|deny| deny.origin.clone());
    locked_at(policy, path, files).or_else(by_others)
}

/// Whether a directory is the system's, not the user's: where he is root, by its place.
fn is_of_system(directory: &AbsPath) -> bool {
    let is_installed =
        ["/usr/", "/nix/"].iter().any(|above| directory.as_bytes().starts_with(above.as_bytes()));
    is_installed || !is_ours(directory)
}

/// Whether everybody may make files there, as in `/tmp`: then nobody loads anything from there by its name.
fn is_shared(path: &AbsPath) -> bool {
    path.as_path().metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o1002 == 0o1002)
}
