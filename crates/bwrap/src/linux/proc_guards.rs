//! What of a fresh `/proc` must be shut: a confined root owns its files, and an owner needs no capability to
//! write them. `/proc/sys/kernel/core_pattern` alone is a way to run a program outside the sandbox.
//!
//! No list of names can be complete (drivers add entries), so the host's `/proc` is looked at: for root every
//! directory that belongs to no process, and every file with a write bit, is bound read-only, and every file
//! that an ordinary user could not read is hidden. For anyone else the kernel's own permissions do this;
//! `/proc/sys` is bound read-only all the same.

use palisade_policy::{AbsPath, Node};
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

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

/// What must be shut for a command that runs as root (`true`) or as anyone else.
pub fn proc_guards(root: bool) -> io::Result<ProcGuards> {
    let mut guards = ProcGuards::default();
    if !root {
        guards.read_only.extend(AbsPath::new("/proc/sys"));
        return Ok(guards);
    }
    for entry in std::fs::read_dir("/proc")? {
        guards.shut(&entry?)?;
    }
    guards.read_only.sort();
    guards.hidden.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(guards)
}

impl ProcGuards {
    fn shut(&mut self, entry: &DirEntry) -> io::Result<()> {
        let name = entry.file_name();
        if name.as_bytes().iter().all(u8::is_ascii_digit) {
            return Ok(());
        }
        // Links (`self`, `net`) lead into a process's own directory. An entry may vanish with its driver.
        let metadata = match entry.metadata() {
            Ok(metadata) if !metadata.is_symlink() => metadata,
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let Ok(path) = AbsPath::try_from(entry.path().as_path()) else { return Ok(()) };
        let node = if metadata.is_dir() { Node::Directory } else { Node::File };
        if HIDDEN_BY_NAME.contains(&name.as_bytes()) || is_for_root_alone(&metadata) {
            self.hidden.push((path, node));
        } else if metadata.is_dir() || metadata.permissions().mode() & 0o222 != 0 {
            self.read_only.push(path);
        }
        Ok(())
    }
}

fn is_for_root_alone(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o004 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_ways_out_are_shut() {
        let guards = proc_guards(true).expect("a /proc to look at");
        let sys = AbsPath::new("/proc/sys").expect("absolute");
        assert!(guards.read_only.contains(&sys), "{guards:?}");
        assert_eq!(proc_guards(false).expect("no look needed").read_only, [sys]);
        let shut: Vec<String> = guards
            .read_only
            .iter()
            .chain(guards.hidden.iter().map(|(path, _)| path))
            .map(AbsPath::to_string)
            .collect();
        for name in ["sysrq-trigger", "irq", "kcore", "kmsg", "timer_list"] {
            let path = format!("/proc/{name}");
            assert!(!std::path::Path::new(&path).exists() || shut.contains(&path), "{path} is open: {shut:?}");
        }
        assert!(!shut.iter().any(|path| path.contains("self")), "{shut:?}");
    }
}
