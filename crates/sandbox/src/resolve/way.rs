//! Ways: what the kernel passes until it is where a path's text leads.
//!
//! Others follow the same text again, when the command is over: git what its configuration names, a shell what a variable
//! names, everybody the target of a link. The attacker is the command, which in between may replace what is passed: a
//! link by another one, and by a link also a directory that a `..` steps out of again, since the kernel then steps out of
//! where that link leads. So a way tells all of that, for it to be held. What comes behind a missing directory is taken by
//! its letters; such a directory is told too, since the command could make it.
//!
//! Nothing is held or judged here.

use super::real::too_many_links;
use crate::error::Error;
use palisade_policy::AbsPath;
use std::collections::BTreeSet;

/// How many links are followed for one path; the kernel's own limit.
pub(super) const MOST_LINKS: usize = 40;

/// A path as somebody follows it: absolute, with every `..` that its text has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way(Vec<u8>);

/// What is passed on a way.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Where it leads: every link followed, as far as anything exists.
    pub(crate) end: AbsPath,
    /// The links, in the order in which they are followed: each by the real path of the directory that it lies in, and
    /// its name.
    pub(crate) links: Vec<AbsPath>,
    /// What a `..` steps out of, by its real path: a directory, or what the command could make one.
    pub(crate) stepped_out_of: BTreeSet<AbsPath>,
    /// Whether there are more links than the kernel follows: then the way leads nowhere.
    pub(crate) is_endless: bool,
}

impl Way {
    /// What `text` names to somebody in the directory `anchor`. As everywhere in C, it ends at the first NUL byte.
    pub(crate) fn from(anchor: &AbsPath, text: &[u8]) -> Self {
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        Way(match text.first() {
            Some(b'/') => text.to_vec(),
            _ => [anchor.as_bytes(), b"/", text].concat(),
        })
    }

    /// The way that an absolute path without `..` is.
    pub(crate) fn of(path: &AbsPath) -> Self {
        Way(path.as_bytes().to_vec())
    }

    /// The path by its letters: every `..` takes a name away, whether that is a link's or not. So some programs read it.
    pub(crate) fn by_letter(&self) -> AbsPath {
        AbsPath::new(&self.0).unwrap_or_else(|_| AbsPath::root())
    }

    /// What the way is to: its last name in the real directory that the kernel finds it in. A link there is not followed.
    pub(crate) fn place(&self) -> AbsPath {
        let end = self.0.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
        let text = &self.0[..end];
        let slash = text.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        match text.get(slash + 1..) {
            None | Some(b"" | b"." | b"..") => self.walk().end,
            Some(name) => {
                let directory = Way(text[..=slash].to_vec()).walk().end;
                directory.join(name).unwrap_or(directory)
            }
        }
    }

    /// The paths that programs make of the text: the kernel's, and where there is a `..` in it the one by its letters.
    pub(crate) fn readings(&self) -> BTreeSet<AbsPath> {
        let mut readings = BTreeSet::from([self.by_letter()]);
        if names(&self.0).any(|name| name == b"..") {
            readings.insert(self.place());
        }
        readings
    }

    /// Goes it, as far as this user can look.
    pub(crate) fn walk(&self) -> Walk {
        let mut walk = Walk::default();
        let mut rest: Vec<Vec<u8>> = names(&self.0).rev().map(<[u8]>::to_vec).collect();
        while let Some(name) = rest.pop() {
            let Some(target) = walk.step(&name) else { continue };
            if walk.links.len() > MOST_LINKS {
                walk.is_endless = true;
                break;
            }
            rest.extend(names(&target).rev().map(<[u8]>::to_vec));
        }
        walk
    }
}

impl Default for Walk {
    fn default() -> Self {
        Walk { end: AbsPath::root(), links: Vec::new(), stepped_out_of: BTreeSet::new(), is_endless: false }
    }
}

impl Walk {
    /// Takes one name further; what is next where that is a link.
    fn step(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        if name == b".." {
            if let Some(parent) = self.end.parent() {
                self.stepped_out_of.insert(std::mem::replace(&mut self.end, parent));
            }
            return None;
        }
        let next = self.end.join(name).ok()?;
        let Ok(target) = std::fs::read_link(next.as_path()) else {
            self.end = next;
            return None;
        };
        self.links.push(next);
        if target.is_absolute() {
            self.end = AbsPath::root();
        }
        Some(target.into_os_string().into_encoded_bytes())
    }
}

/// The links that lead from `path` to its real place, in the order in which the kernel follows them: each by the
/// real path of the directory that it lies in, and its name.
pub fn links_on(path: &AbsPath) -> Result<Vec<AbsPath>, Error> {
    let walk = Way::of(path).walk();
    if walk.is_endless { Err(too_many_links(path)) } else { Ok(walk.links) }
}

/// The names in a path, one for each step.
fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, AbsPath) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = std::fs::canonicalize(directory.path()).expect("exists");
        let base = AbsPath::try_from(base.as_path()).expect("absolute");
        let at = |relative: &str| base.join(relative).expect("no NUL");
        std::fs::create_dir_all(at("a/b").as_path()).expect("writable");
        std::fs::write(at("file").as_path(), "").expect("writable");
        for (target, link) in [
            ("./a//b/", "to-b"),
            ("../../to-b", "a/b/back"),
            (&at("a").to_string(), "whole"),
            ("loop", "loop"),
            ("a/b/../../a/x", "out"),
            ("to-b/../y", "beside"),
            ("none/../file/../a", "nowhere"),
        ] {
            symlink(target, at(link).as_path()).expect("writable");
        }
        (directory, base)
    }

    #[test]
    fn what_is_passed_is_told_where_it_lies() {
        let (_directory, base) = tree();
        for (text, end, links, stepped_out_of) in [
            ("a/b/f", "a/b/f", &[][..], &[][..]),
            ("to-b/f", "a/b/f", &["to-b"], &[]),
            ("a/b/back/f", "a/b/f", &["a/b/back", "to-b"], &["a", "a/b"]),
            ("whole/b/back", "a/b", &["whole", "a/b/back", "to-b"], &["a", "a/b"]),
            ("none/such", "none/such", &[], &[]),
            ("none/../a", "a", &[], &["none"]),
            ("out", "a/x", &["out"], &["a", "a/b"]),
            ("beside", "a/y", &["beside", "to-b"], &["a/b"]),
            ("nowhere/f", "a/f", &["nowhere"], &["file", "none"]),
            ("to-b/..//./f\0/../x", "a/f", &["to-b"], &["a/b"]),
        ] {
            let walk = Way::from(&base, text.as_bytes()).walk();
            let at = |names: &[&str]| names.iter().map(|name| base.join(name).expect("no NUL")).collect();
            let passed: (Vec<_>, BTreeSet<_>) = (at(links), at(stepped_out_of).into_iter().collect());
            assert_eq!(walk.end, base.join(end).expect("no NUL"), "{text}");
            assert_eq!((walk.links, walk.stepped_out_of), passed, "{text}");
        }
        assert!(links_on(&base.join("loop").expect("no NUL")).is_err());
        assert_eq!(Way::from(&base, b"/../..").walk().stepped_out_of, BTreeSet::new());
    }

    #[test]
    fn a_place_is_real_but_for_its_last_name() {
        let (_directory, base) = tree();
        for (text, place, by_letter) in [
            ("to-b", "to-b", "to-b"),
            ("to-b/", "to-b", "to-b"),
            ("to-b/.", "a/b", "to-b"),
            ("to-b/..", "a", "."),
            ("to-b/../h", "a/h", "h"),
            ("to-b/../b/back", "a/b/back", "b/back"),
            ("none/h", "none/h", "none/h"),
        ] {
            let way = Way::from(&base, text.as_bytes());
            let [place, by_letter] = [place, by_letter].map(|name| base.join(name).expect("no NUL"));
            assert_eq!((way.place(), way.by_letter()), (place.clone(), by_letter.clone()), "{text}");
            let both =
                if text.contains("..") { BTreeSet::from([place, by_letter]) } else { [by_letter].into() };
            assert_eq!(way.readings(), both, "{text}");
        }
    }
}
