//! Links inside protected directories: a hook, a skill or a command of an agent's that is a link.
//!
//! Such a link cannot be replaced, but what it leads to may lie in the root (`.git/hooks/pre-commit` is often a link to
//! a script of the project's), and is run as if it lay in the protected directory. So it is protected too, and what
//! links lead to from there.
//!
//! The attacker made none of these links while he was confined; but the repository may have come with them. They never
//! close a root: what a link leads to is then left writable, with a warning. Nor do they keep a command from starting: one
//! that leads in a circle leads nowhere, and past a limit the rest is not looked at, with a warning.

use super::warnings::Kind;
use super::{Real, Resolver, Way};
use crate::cover::StandIn;
use crate::error::Error;
use crate::protected::{Inside, Missing, Protected};
use palisade_policy::{AbsPath, Access, Effect, FileSets, Node, Origin};
use std::collections::BTreeSet;
use walkdir::WalkDir;

/// How deep below a protected directory links are looked for: a plugin's skill lies so deep.
const MOST_DEPTH: usize = 4;

/// How many entries are looked at for one command. It happens at the start of each.
const MOST_ENTRIES: usize = 5_000;

/// What was looked into so far, and what is to be.
#[derive(Debug, Default)]
pub(super) struct LookedInto {
    /// The directories that no link may close.
    pub(super) roots: Vec<AbsPath>,
    known: BTreeSet<AbsPath>,
    open: Vec<AbsPath>,
    entries: usize,
}

impl LookedInto {
    /// There may be links in `directory`, which is real.
    pub(super) fn look_into(&mut self, directory: &AbsPath) {
        if self.known.insert(directory.clone()) {
            self.open.push(directory.clone());
        }
    }
}

impl Resolver {
    /// Protects what links lead to that lie in protected directories.
    pub(super) fn protect_linked(&mut self, files: &mut FileSets) -> Result<(), Error> {
        while let Some(directory) = self.inside.open.pop() {
            for link in self.links_in(&directory) {
                self.protect_target(link, files)?;
            }
        }
        Ok(())
    }

    fn links_in(&mut self, directory: &AbsPath) -> Vec<AbsPath> {
        let mut links = Vec::new();
        for entry in
            WalkDir::new(directory.as_path()).min_depth(1).max_depth(MOST_DEPTH).into_iter().flatten()
        {
            if self.inside.entries == MOST_ENTRIES {
                self.warnings.push(Kind::Protected, format!(
                    "{directory} and other protected directories hold too much to be looked through for symbolic \
                     links, which may lead to what a command can write"
                ));
            }
            self.inside.entries += 1;
            if self.inside.entries > MOST_ENTRIES {
                break;
            }
            if entry.path_is_symlink() {
                links.extend(AbsPath::try_from(entry.path()));
            }
        }
        links
    }

    fn protect_target(&mut self, path: AbsPath, files: &mut FileSets) -> Result<(), Error> {
        let origin = Origin::builtin("protected", &path.to_string());
        let Ok(real) = Real::of(&path) else {
            self.hold(&Way::of(&path), &origin, files);
            return Ok(());
        };
        if let Some(root) = self.inside.roots.iter().find(|root| real.path.covers(root)) {
            self.warnings.push(Kind::Protected, format!(
                "{path} leads to {}, and so to all that a command writes in {root}: whoever loads the one runs the other",
                real.path
            ));
            return Ok(());
        }
        if files.judge(Access::Write, &real.path).effect == Effect::Allow {
            let missing = Missing::Cover(StandIn::Socket);
            return self.protect(&Protected { path, missing, inside: Inside::Code }, files);
        }
        self.hold(&Way::of(&path), &origin, files);
        if real.node == Some(Node::Directory) {
            self.inside.look_into(&real.path);
        }
        Ok(())
    }
}
