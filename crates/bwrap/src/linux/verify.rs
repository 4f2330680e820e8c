//! Whether the sandbox that was built is the one that was planned.
//!
//! bubblewrap mounts by path, a moment after the paths were resolved. What the attacker controls in that moment: a
//! command that is already running, in another sandbox, may swap a directory below a root that both share, or in a
//! `/tmp` that a rule opened to it, for a link to a place that this command must not write. The mounts are fixed
//! once they are made, so they are looked at then, before the command starts, from outside: each planned one is
//! where it was planned, a writable one shows the very directory that was resolved, and nothing else is writable.

use crate::mounts::prefixes;
use palisade_policy::AbsPath;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, fstat, openat2, statat};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

/// One planned mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Where it is.
    pub path: AbsPath,
    /// Whether the command may write there.
    pub is_writable: bool,
    /// What is to be seen there, where that was looked at.
    pub identity: Option<Identity>,
}

/// A file or directory, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// What stands at `path`, on the way to which is no link.
    ///
    /// # Errors
    /// `ELOOP` when a link is on the way after all.
    pub fn of(path: &AbsPath) -> io::Result<Self> {
        Self::look(path, OFlags::empty())
    }

    /// The symbolic link at `path`, on the way to which is no other.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_link(path: &AbsPath) -> io::Result<Self> {
        Self::look(path, OFlags::NOFOLLOW)
    }

    fn look(path: &AbsPath, last: OFlags) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | last;
        let stat = match openat2(CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(file) => fstat(&file)?,
            // Before Linux 5.6 only the last component can be kept from being a link.
            Err(rustix::io::Errno::NOSYS) => statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW)?,
            Err(error) => return Err(error.into()),
        };
        Ok(Identity(stat.st_dev, stat.st_ino))
    }
}

/// The mounts of process `pid` that can be seen, by where they are: whether each can be written.
fn mounts_of(pid: u32) -> io::Result<BTreeMap<Vec<u8>, bool>> {
    Ok(visible(&std::fs::read(format!("/proc/{pid}/mountinfo"))?))
}

/// The mounts of a `mountinfo` that can be seen, by where they are: whether each can be written.
pub(super) fn visible(table: &[u8]) -> BTreeMap<Vec<u8>, bool> {
    seen(&table.split(|&byte| byte == b'\n').filter_map(Mounted::read).collect::<Vec<_>>())
}

/// The numbers of the mounts of a `mountinfo` that are at or below a path that `is_sought`.
pub(super) fn mounts_below(table: &[u8], is_sought: impl Fn(&[u8]) -> bool) -> HashSet<u64> {
    let mounts = table.split(|&byte| byte == b'\n').filter_map(Mounted::read);
    let is_below =
        |mount: &Mounted| AbsPath::new(mount.at.clone()).is_ok_and(|at| prefixes(&at).any(&is_sought));
    mounts.filter(is_below).map(|mount| mount.id).collect()
}

/// Where process `pid` has something mounted.
pub(super) fn mount_points(pid: u32) -> io::Result<BTreeSet<AbsPath>> {
    Ok(mounts_of(pid)?.into_keys().filter_map(|at| AbsPath::new(at).ok()).collect())
}

/// One line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    id: u64,
    /// The mount that it stands in.
    parent: u64,
    at: Vec<u8>,
    is_writable: bool,
}

impl Mounted {
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let mut number = || str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (id, parent) = (number()?, number()?);
        let mut fields = fields.skip(2);
        let (at, options) = (fields.next()?, fields.next()?);
        let is_writable = options.split(|&byte| byte == b',').any(|option| option == b"rw");
        Some(Mounted { id, parent, at: unescaped(at), is_writable })
    }
}

/// Those that another does not cover: what was mounted below a directory before something else was mounted at that very
/// directory stays in the table, as it was, and nobody can reach it.
fn seen(all: &[Mounted]) -> BTreeMap<Vec<u8>, bool> {
    let by_id: HashMap<u64, &Mounted> = all.iter().map(|mount| (mount.id, mount)).collect();
    let places: HashSet<(u64, &[u8])> = all.iter().map(|mount| (mount.parent, mount.at.as_slice())).collect();
    let is_covered = |mount: &Mounted| {
        let Ok(at) = AbsPath::new(mount.at.clone()) else { return false };
        // Nothing that stands in the same mount is above its top.
        let top = by_id.get(&mount.parent).map_or(0, |parent| parent.at.len());
        let mut inside = prefixes(&at).take_while(|above| above.len() >= top);
        inside.any(|above| above != mount.at && places.contains(&(mount.parent, above)))
    };
    let covered: HashSet<u64> = all.iter().filter(|mount| is_covered(mount)).map(|mount| mount.id).collect();
    let is_seen = |mount: &&Mounted| {
        // No chain of parents is longer than the table.
        let chain = std::iter::successors(Some(*mount), |mount| {
            by_id.get(&mount.parent).copied().filter(|parent| parent.id != mount.id)
        });
        !chain.take(all.len()).any(|mount| covered.contains(&mount.id))
    };
    // Of several at one place the last is on top.
    all.iter().filter(is_seen).map(|mount| (mount.at.clone(), mount.is_writable)).collect()
}

/// White space and backslashes stand as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|digits| byte == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        rest = match octal {
            Some(digits) => {
                out.push(
                    digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                &after[3..]
            }
            None => {
                out.push(byte);
                after
            }
        };
    }
    out
}

/// What of the mounts of process `pid` is not as planned, in words; `None` when all is.
pub(super) fn difference(pid: u32, expected: &[Expected]) -> io::Result<Option<String>> {
    let mounts = mounts_of(pid)?;
    for plan in expected {
        let is_writable = mounts.get(plan.path.as_bytes());
        // What the host itself has mounted read-only stays so.
        if is_writable.is_none_or(|is_writable| *is_writable && !plan.is_writable) {
            return Ok(Some(format!("{} is not mounted as planned", plan.path)));
        }
        let seen = plan.identity.map(|identity| (identity, seen_at(pid, &plan.path)));
        if seen.is_some_and(|(identity, seen)| seen.ok() != Some(identity)) {
            return Ok(Some(format!("{} is not what it was", plan.path)));
        }
    }
    let writable: HashSet<&[u8]> =
        expected.iter().filter(|plan| plan.is_writable).map(|plan| plan.path.as_bytes()).collect();
    let surprise = mounts.iter().find(|(at, is_writable)| **is_writable && !may_be_writable(at, &writable));
    Ok(surprise.map(|(at, _)| format!("{} is writable", at.escape_ascii())))
}

fn seen_at(pid: u32, path: &AbsPath) -> io::Result<Identity> {
    let inside = [format!("/proc/{pid}/root").as_bytes(), path.as_bytes()].concat();
    let inside = AbsPath::new(inside).map_err(io::Error::other)?;
    let stat = statat(CWD, inside.as_path(), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Identity(stat.st_dev, stat.st_ino))
}

/// The sandbox's own `/dev` and `/proc`, what was planned, and what the host has mounted below that.
fn may_be_writable(at: &[u8], planned: &HashSet<&[u8]>) -> bool {
    let Ok(at) = AbsPath::new(at) else { return false };
    let is_own = at.as_bytes() == b"/proc" || at.as_bytes() == b"/dev" || at.as_bytes().starts_with(b"/dev/");
    is_own || prefixes(&at).any(|above| planned.contains(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_mount_table_are_read() {
        let line = br"40 29 254:0 /tmp/a\040b /tmp/a\040b\134\012 rw,relatime master:1 - ext4 /dev/vda rw";
        let mounted =
            |id, parent, at: &[u8], is_writable| Some(Mounted { id, parent, at: at.to_vec(), is_writable });
        assert_eq!(Mounted::read(line), mounted(40, 29, b"/tmp/a b\\\n", true));
        let line = b"40 29 254:0 / /x ro,nosuid - ext4 /dev/vda rw";
        assert_eq!(Mounted::read(line), mounted(40, 29, b"/x", false));
        assert_eq!(Mounted::read(b""), None);
        assert_eq!(unescaped(br"\9\04"), br"\9\04");
    }

    #[test]
    fn what_is_mounted_over_is_not_seen() {
        let mount = |id, parent, at: &str, is_writable| Mounted { id, parent, at: at.into(), is_writable };
        let table = [
            mount(1, 0, "/", false),
            mount(2, 1, "/sys", false),
            mount(3, 2, "/sys/fs/cgroup", true),
            mount(4, 3, "/sys/fs/cgroup/deep", true),
            mount(5, 1, "/a/b", true),
            mount(6, 1, "/ab", true),
            // Over `/sys` itself, over what holds `/a/b`, and one on top of another.
            mount(7, 2, "/sys", false),
            mount(8, 1, "/a", false),
            mount(9, 1, "/top", true),
            mount(10, 9, "/top", false),
            mount(11, 10, "/top/below", true),
            mount(12, 8, "/a/b", true),
        ];
        let expected = [("/", false), ("/a", false), ("/a/b", true), ("/ab", true), ("/sys", false)];
        let expected = expected.into_iter().chain([("/top", false), ("/top/below", true)]);
        assert_eq!(seen(&table), expected.map(|(at, is)| (at.into(), is)).collect());
        let without = |id| table.iter().filter(|mount| mount.id != id).cloned().collect::<Vec<_>>();
        assert!(seen(&without(7)).contains_key(&b"/sys/fs/cgroup/deep"[..]));
        assert!(!seen(&without(12)).contains_key(&b"/a/b"[..]));
    }

    #[test]
    fn a_link_on_the_way_has_no_identity() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = std::fs::canonicalize(directory.path()).expect("exists");
        let at = |name: &str| AbsPath::try_from(base.join(name).as_path()).expect("absolute");
        std::fs::create_dir(at("real").as_path()).expect("own");
        std::fs::create_dir(at("real/below").as_path()).expect("own");
        std::os::unix::fs::symlink("real", at("link").as_path()).expect("own");
        let own = Identity::of_link(&at("link")).expect("a link");
        assert!(own != Identity::of(&at("real")).expect("exists"), "the link itself");
        assert!(Identity::of_link(&at("link/below")).is_err());
        assert!(Identity::of(&at("link")).is_err() && Identity::of(&at("link/below")).is_err());
        assert_eq!(Identity::of(&at("real")).expect("exists"), Identity::of(&at("real")).expect("exists"));
        assert_ne!(
            Identity::of(&at("real")).expect("exists"),
            Identity::of(&at("real/below")).expect("exists")
        );
    }

    /// A command can leave a tree that is hundreds of directories deep, and each is a mount to the next one.
    #[test]
    fn deep_mounts_are_seen_in_time() {
        let at = |depth: usize| "/d".repeat(depth).into_bytes();
        let nested = |depth: usize| Mounted {
            id: depth as u64 + 1,
            parent: depth as u64,
            at: if depth == 0 { b"/".to_vec() } else { at(depth) },
            is_writable: true,
        };
        let mut table: Vec<Mounted> = (0..1000).map(nested).collect();
        assert_eq!(seen(&table).len(), 1000);
        // Over the tenth, in the same mount as that: what was below it is out of reach.
        table.push(Mounted { id: 2000, parent: 10, at: at(10), is_writable: false });
        table.push(Mounted { id: 2001, parent: 11, at: at(10), is_writable: false });
        assert_eq!(seen(&table).len(), 11);
    }
}
