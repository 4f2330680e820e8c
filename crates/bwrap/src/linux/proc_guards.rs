//! What of a fresh `/proc` must be shut: a confined root owns its files, and an owner needs no capability to
//! write them. `/proc/sys/kernel/core_pattern` alone is a way to run a program outside the sandbox.
//!
//! No list of names can be complete (drivers add entries), so the host's `/proc` is looked at: for root
//! everything that belongs to no process is bound read-only (a mode that its owner changes is changed for every `/proc` of
//! the machine), and every file that an ordinary user could not read is hidden. For anyone else the kernel's own permissions do this, but
//! for what somebody other than root may write (`/proc/pressure`, where a trigger costs the host work): each
//! entry of `/proc` that holds such a file is bound read-only, and `/proc/sys` always.
//!
//! `/proc/1` is hidden from everyone. In the sandbox that is bubblewrap's process. Its memory can be written there (to
//! keep the sandbox from ending with Palisade), and `exe` leads to bubblewrap's file in the host's own mount, which a
//! confined root may chmod and, once it does not run, write. The filter has the system calls that do the same.

use palisade_policy::{AbsPath, Node};
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The entries of `/proc` to shut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcGuards {
    /// To bind read-only.
    pub read_only: Vec<AbsPath>,
    /// To hide.
    pub hidden: Vec<(AbsPath, Node)>,
}

/// Hidden from root although everyone may read them, as container runtimes do: they tell of the host as a whole.
const HIDDEN_BY_NAME: [&[u8]; 7] =
    [b"acpi", b"keys", b"latency_stats", b"sched_debug", b"scsi", b"timer_list", b"timer_stats"];

/// How many entries of one directory of `/proc` are looked at. On a large machine `/proc/irq` holds tens of
/// thousands; what is not looked through is shut.
const MOST_LOOKED_AT: usize = 2_000;

/// What must be shut for a command that runs as root (`true`) or as anyone else.
pub fn proc_guards(root: bool) -> io::Result<ProcGuards> {
    let first = AbsPath::new("/proc/1").map_err(io::Error::other)?;
    let mut guards = ProcGuards { read_only: Vec::new(), hidden: vec![(first, Node::Directory)] };
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        match host_wide(&entry)? {
            Some(metadata) if root => guards.shut_to_root(&entry, &metadata),
            Some(metadata) => guards.shut_to_others(&entry, &metadata),
            None => {}
        }
    }
    guards.read_only.sort();
    guards.hidden.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(guards)
}

impl ProcGuards {
    fn shut_to_root(&mut self, entry: &DirEntry, metadata: &Metadata) {
        let Ok(path) = AbsPath::try_from(entry.path().as_path()) else { return };
        if HIDDEN_BY_NAME.contains(&entry.file_name().as_bytes()) || is_for_root_alone(metadata) {
            let node = if metadata.is_dir() { Node::Directory } else { Node::File };
            self.hidden.push((path, node));
        } else {
            self.read_only.push(path);
        }
    }

    fn shut_to_others(&mut self, entry: &DirEntry, metadata: &Metadata) {
        let mut left = MOST_LOOKED_AT;
        if entry.file_name() == "sys" || is_open(&entry.path(), metadata, &mut left) {
            self.read_only.extend(AbsPath::try_from(entry.path().as_path()));
        }
    }
}

/// What an entry of `/proc` is, unless it belongs to a process.
fn host_wide(entry: &DirEntry) -> io::Result<Option<Metadata>> {
    if entry.file_name().as_bytes().iter().all(u8::is_ascii_digit) {
        return Ok(None);
    }
    // Links (`self`, `net`) lead into a process's own directory. An entry may vanish with its driver.
    match entry.metadata() {
        Ok(metadata) => Ok(Some(metadata).filter(|metadata| !metadata.is_symlink())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_for_root_alone(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o004 == 0
}

/// Whether somebody other than root may write to `path` or below it, or more than `left` entries would have to
/// be looked at to know. Which groups the user is in is not asked.
fn is_open(path: &Path, metadata: &Metadata, left: &mut usize) -> bool {
    if *left == 0 || metadata.permissions().mode() & 0o022 != 0 {
        return true;
    }
    *left -= 1;
    if !metadata.is_dir() {
        return false;
    }
    // What this user cannot look into the command cannot either, and an entry that vanished is written by nobody.
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    entries.flatten().any(|entry| match entry.metadata() {
        Ok(metadata) => !metadata.is_symlink() && is_open(&entry.path(), &metadata, left),
        Err(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_ways_out_are_shut() {
        let guards = proc_guards(true).expect("a /proc to look at");
        let sys = AbsPath::new("/proc/sys").expect("absolute");
        assert!(guards.read_only.contains(&sys), "{guards:?}");
        let others = proc_guards(false).expect("a /proc to look at");
        assert!(others.read_only.contains(&sys) && others.hidden.len() == 1, "{others:?}");
        let shut: Vec<String> = guards
            .read_only
            .iter()
            .chain(guards.hidden.iter().map(|(path, _)| path))
            .map(AbsPath::to_string)
            .collect();
        for name in ["1", "sysrq-trigger", "irq", "kcore", "kmsg", "timer_list"] {
            let path = format!("/proc/{name}");
            let is_there = std::fs::symlink_metadata(&path).is_ok();
            assert!(!is_there || shut.contains(&path), "{path} is open: {shut:?}");
        }
        assert!(!shut.iter().any(|path| path.contains("self")), "{shut:?}");
    }

    #[test]
    fn what_others_may_write_is_open_at_any_depth_and_so_is_what_is_too_large_to_look_through() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let deep = directory.path().join("a/b");
        std::fs::create_dir_all(&deep).expect("own directory");
        for above in [&deep, &directory.path().join("a")] {
            std::fs::set_permissions(above, PermissionsExt::from_mode(0o755)).expect("own directory");
        }
        let file = deep.join("f");
        let opened = |mode, mut left| {
            std::fs::write(&file, "").expect("own directory");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("own file");
            let metadata = std::fs::metadata(directory.path()).expect("exists");
            is_open(directory.path(), &metadata, &mut left)
        };
        for (mode, left, open) in [(0o644, 4, false), (0o646, 4, true), (0o664, 4, true), (0o644, 3, true)] {
            assert_eq!(opened(mode, left), open, "{mode:o} {left}");
        }
    }
}
