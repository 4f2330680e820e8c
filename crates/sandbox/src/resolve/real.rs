//! Where a path really leads: the kernel's answer, with the missing end of the path put back on.

use super::way::{MOST_LINKS, Way};
use crate::error::Error;
use palisade_policy::{AbsPath, Node};
use std::collections::HashMap;
use std::io::ErrorKind;

/// Where `path` really leads: every link followed, as far as it exists. What rules are judged by is always such a path.
pub fn real_path(path: &AbsPath) -> Result<AbsPath, Error> {
    Real::of(path).map(|real| real.path)
}

/// A path with every link followed, as far as it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Real {
    /// The real path; its end may be missing.
    pub(crate) path: AbsPath,
    /// What stands there; `None` when nothing does.
    pub(crate) node: Option<Node>,
    /// The first component that does not exist, when its parent is a directory.
    pub(crate) first_missing: Option<AbsPath>,
    /// Whether `path` is not the place itself but the directory on the way to it that this user cannot search:
    /// what is below cannot be known, nor reached by the command unless it opens that directory.
    pub(crate) is_closed: bool,
}

impl Real {
    /// Follows `path`, as far as this user can. A link loop and the like are errors: what cannot be looked at cannot
    /// be confined. So is a path that is longer than what the kernel takes.
    pub(crate) fn of(path: &AbsPath) -> Result<Self, Error> {
        if path.is_too_long() {
            return Err(Error::Path { path: path.clone(), error: nix::errno::Errno::ENAMETOOLONG.into() });
        }
        Self::follow(path, MOST_LINKS)
    }

    fn follow(path: &AbsPath, links_left: usize) -> Result<Self, Error> {
        let mut missing: Vec<Vec<u8>> = Vec::new();
        let mut is_closed = false;
        for above in path.ancestors() {
            // Most protected paths are missing, which one look tells, at the last component at least.
            if is_missing_at(&above) {
                missing.push(above.file_name().unwrap_or_default().to_vec());
                continue;
            }
            match std::fs::canonicalize(above.as_path()) {
                Ok(real) if is_closed => {
                    return Ok(Real { is_closed, ..Self::put_back(&real, path, Vec::new())? });
                }
                Ok(real) => match Self::put_back(&real, path, missing) {
                    // It has gone since: the stand-in of a command that has just ended, as a rule.
                    Err(Error::Path { error, .. }) if is_missing(&error) && links_left > 0 => {
                        return Self::follow(path, links_left - 1);
                    }
                    real => return real,
                },
                Err(error) if leads_nowhere_yet(&error) => {
                    // A link to something missing: what is made through it comes to be where it leads.
                    if let Some(target) = target_of(&above)? {
                        let left = links_left.checked_sub(1).ok_or_else(|| too_many_links(path))?;
                        let rest = &path.as_bytes()[above.as_bytes().len()..];
                        let whole = AbsPath::new([target.as_bytes(), rest].concat());
                        return Self::follow(&whole.map_err(|_| too_many_links(path))?, left);
                    }
                    is_closed |= error.kind() == ErrorKind::PermissionDenied;
                    missing.push(above.file_name().unwrap_or_default().to_vec());
                }
                Err(error) => return Err(Error::Path { path: path.clone(), error }),
            }
        }
        Err(Error::Path { path: path.clone(), error: ErrorKind::NotFound.into() })
    }

    fn put_back(real: &std::path::Path, path: &AbsPath, missing: Vec<Vec<u8>>) -> Result<Self, Error> {
        let fault = |error: std::io::Error| Error::Path { path: path.clone(), error };
        let invalid = |_| fault(ErrorKind::InvalidData.into());
        let existing = AbsPath::try_from(real).map_err(invalid)?;
        let node = if real.metadata().map_err(fault)?.is_dir() { Node::Directory } else { Node::File };
        let Some(first) = missing.last() else {
            return Ok(Real { path: existing, node: Some(node), first_missing: None, is_closed: false });
        };
        let first_missing = existing.join(first).map_err(invalid)?;
        let rest: Vec<u8> =
            missing.iter().rev().skip(1).flat_map(|name| [b"/", name.as_slice()].concat()).collect();
        let whole = AbsPath::new([first_missing.as_bytes(), &rest].concat()).map_err(invalid)?;
        let first_missing = (node == Node::Directory).then_some(first_missing);
        Ok(Real { path: whole, node: None, first_missing, is_closed: false })
    }
}

/// Directories and where they really lead, each found out once. Of a hundred protected names nearly all are missing, and
/// lie in a few directories.
///
/// For one resolving only. Should a command in another sandbox exchange a directory meanwhile, that is no other moment
/// than the one right after: what is made or mounted is reached without following links, and where one has come to
/// be on the way, the command is resolved anew.
#[derive(Debug, Default)]
pub(super) struct Directories(HashMap<AbsPath, Real>);

impl Directories {
    /// As [`Real::of`].
    pub(super) fn real(&mut self, path: &AbsPath) -> Result<Real, Error> {
        let missing = is_missing_at(path) && !path.is_too_long();
        let (Some(above), Some(name), true) = (path.parent(), path.file_name(), missing) else {
            return Real::of(path);
        };
        let directory = match self.0.get(&above) {
            Some(directory) => directory,
            None => {
                let real = Real::of(&above)?;
                self.0.entry(above).or_insert(real)
            }
        };
        if directory.node != Some(Node::Directory) || directory.is_closed {
            return Real::of(path);
        }
        let invalid = |_| Error::Path { path: path.clone(), error: ErrorKind::InvalidData.into() };
        let real = directory.path.join(name).map_err(invalid)?;
        Ok(Real { path: real.clone(), node: None, first_missing: Some(real), is_closed: false })
    }
}

fn is_missing_at(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Whether the path ends before its last component: that is missing, or out of this user's reach.
fn leads_nowhere_yet(error: &std::io::Error) -> bool {
    is_missing(error) || error.kind() == ErrorKind::PermissionDenied
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether this user may make files in a directory, as its permissions are now.
pub(crate) fn may_write(directory: &AbsPath) -> bool {
    rustix::fs::access(directory.as_bytes(), rustix::fs::Access::WRITE_OK).is_ok()
}

/// Whether this user, and so a command, can change a directory's permissions.
pub(crate) fn is_ours(directory: &AbsPath) -> bool {
    rustix::fs::stat(directory.as_bytes())
        .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

/// Where the link at `path` leads, if one is there.
fn target_of(path: &AbsPath) -> Result<Option<AbsPath>, Error> {
    if std::fs::read_link(path.as_path()).is_err() {
        return Ok(None);
    }
    let walk = Way::of(path).walk();
    if walk.is_endless { Err(too_many_links(path)) } else { Ok(Some(walk.end)) }
}

pub(super) fn too_many_links(path: &AbsPath) -> Error {
    Error::Path { path: path.clone(), error: nix::errno::Errno::ELOOP.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// As stand-ins do when the commands that they are for begin and end.
    #[test]
    fn what_comes_and_goes_meanwhile_is_there_or_is_not() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(std::fs::canonicalize(directory.path()).expect("exists").as_path())
            .expect("absolute");
        let [file, below] = ["f", "f/below"].map(|name| base.join(name).expect("no NUL"));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::write(file.as_path(), "").expect("writable");
                    std::fs::remove_file(file.as_path()).expect("it is there");
                }
            });
            let looks: Vec<_> = (0..10_000).map(|_| (Real::of(&file), Real::of(&below))).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            for (file, below) in looks {
                assert!(file.is_ok(), "{file:?}");
                assert_eq!(below.expect("it may be missing").node, None);
            }
        });
    }

    #[test]
    fn links_are_followed_and_missing_ends_kept() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(std::fs::canonicalize(directory.path()).expect("exists").as_path())
            .expect("absolute");
        let at = |relative: &str| base.join(relative).expect("no NUL");
        std::fs::create_dir(at("real").as_path()).expect("writable");
        std::fs::write(at("real/f").as_path(), "").expect("writable");
        symlink("real", at("link").as_path()).expect("writable");
        symlink("gone", at("dangling").as_path()).expect("writable");
        symlink("loop", at("loop").as_path()).expect("writable");
        std::fs::create_dir(at("real/in").as_path()).expect("writable");
        symlink("real/in", at("to-in").as_path()).expect("writable");
        symlink("to-in/../new", at("beside").as_path()).expect("writable");

        assert_eq!(Real::of(&at("link/f")).expect("exists").path, at("real/f"));
        let missing = Real::of(&at("link/a/b")).expect("may be missing");
        assert_eq!((missing.path, missing.node), (at("real/a/b"), None));
        assert_eq!(missing.first_missing, Some(at("real/a")));
        assert_eq!(Real::of(&at("real/f/below")).expect("may be missing").first_missing, None);
        assert!(Real::of(&at("loop")).is_err() && Real::of(&at(&"a/".repeat(40_000))).is_err());
        assert_eq!(Real::of(&at("dangling")).expect("may be missing").first_missing, Some(at("gone")));
        assert_eq!(Real::of(&at("beside")).expect("may be missing").path, at("real/new"));
        assert_eq!(Real::of(&at("dangling/x")).expect("may be missing").path, at("gone/x"));

        let mut known = Directories::default();
        let below =
            ["real/f", "real/new", "link/new", "link/f", "dangling/x", "loop/x", "real/f/below", "none/x"];
        for name in ["beside", "none", "none/a/b"].iter().chain(&below).chain(&below) {
            let (path, said) =
                (at(name), |real: Result<Real, Error>| real.map_err(|error| error.to_string()));
            assert_eq!(said(known.real(&path)), said(Real::of(&path)), "{name}");
        }
    }
}
