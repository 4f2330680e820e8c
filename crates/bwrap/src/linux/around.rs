//! Whether a sandbox's processes have hold of something by another way than what was mounted on it since.
//!
//! A mount covers a name. Who had opened the file, or gone into the directory, before it was mounted on, is beneath the
//! mount: through `/proc/self/fd` he opens the file once more, in any way, and from the directory he comes to all that is
//! in it. So each descriptor of each process is looked at, where it works and what it has mapped to be shared: by which
//! mount it leads where it leads.
//!
//! What the attacker controls: the processes that are looked at, one after the other. A descriptor that is on its way
//! between two of them counts as one that leads anywhere; who hands it on all the time may be missed by one look, and so
//! there should be more than one. A process may forbid that it is looked at (`PR_SET_DUMPABLE`), which is an error then,
//! unless this user is root.
//!
//! What this does not do: look at processes outside. Who has something open there had it without a sandbox.

use super::verify::mounts_below;
use crate::mounts::prefixes;
use palisade_policy::AbsPath;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::fs::read_link;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to look at processes. One who has more open than can be looked at must not keep the watch from its work.
const MOST_TIME: Duration = Duration::from_millis(500);

/// What leads around a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// Whatever is at its path or below.
    Anything,
    /// Directories there: what is in them may be written anyway, but for what has a mount of its own, upon this one.
    Directories,
}

/// Mounts, by where they are, with what leads around each.
#[derive(Debug)]
pub(super) struct Around<'a> {
    at: HashMap<&'a [u8], (&'a AbsPath, Leads)>,
    /// They themselves, and all that is mounted below them.
    mounts: HashSet<u64>,
    deadline: Instant,
}

impl<'a> Around<'a> {
    /// Those at `paths`, by the `mountinfo` of their sandbox.
    pub(super) fn new(paths: impl Iterator<Item = (&'a AbsPath, Leads)>, table: &[u8]) -> Self {
        let at: HashMap<_, _> = paths.map(|(path, leads)| (path.as_bytes(), (path, leads))).collect();
        let mounts = mounts_below(table, |above| at.contains_key(above));
        Around { at, mounts, deadline: Instant::now() + MOST_TIME }
    }

    /// The path of one that some process in the mount namespace of process `pid` has a way around.
    ///
    /// # Errors
    /// Where a process cannot be looked at that is there, or all of them not in time.
    pub(super) fn find(&self, pid: u32) -> io::Result<Option<&'a AbsPath>> {
        let Some(sandbox) = unless_gone(read_link(format!("/proc/{pid}/ns/mnt")))? else { return Ok(None) };
        for process in entries(Path::new("/proc"))? {
            let is_number = process.file_name().is_some_and(|name| name.as_bytes()[0].is_ascii_digit());
            if is_number && read_link(process.join("ns/mnt")).is_ok_and(|namespace| namespace == sandbox) {
                let found = self.in_process(&process)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    fn in_process(&self, process: &Path) -> io::Result<Option<&'a AbsPath>> {
        let mut found = self.mapped(&process.join("maps"))?.or(self.by(&process.join("exe"))?);
        // Threads may have descriptors and a working directory of their own.
        for thread in entries(&process.join("task"))? {
            found = found.or(self.by(&thread.join("cwd"))?);
            for descriptor in entries(&thread.join("fd"))? {
                found = found.or(self.by(&descriptor)?);
            }
        }
        Ok(found)
    }

    /// What one of a process's links in `/proc` leads around.
    fn by(&self, link: &Path) -> io::Result<Option<&'a AbsPath>> {
        if Instant::now() > self.deadline {
            return Err(io::Error::other("they have too much open"));
        }
        let Some(to) = unless_gone(read_link(link))? else { return Ok(None) };
        let to = to.as_os_str().as_bytes();
        if to.starts_with(b"socket:") {
            return Ok(if carries_descriptors(link)? { self.any() } else { None });
        }
        let Some((path, leads)) = self.over(to) else { return Ok(None) };
        let flags = AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let found = match statx(CWD, link, flags, StatxFlags::MNT_ID | StatxFlags::TYPE) {
            Err(Errno::NOENT | Errno::SRCH) => return Ok(None),
            found => found?,
        };
        let is_directory = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
        let counts = leads == Leads::Anything || is_directory;
        Ok((counts && !self.mounts.contains(&found.stx_mnt_id)).then_some(path))
    }

    /// What is mapped by a process, to be shared with the file, at one of the paths. By which mount is not told.
    fn mapped(&self, maps: &Path) -> io::Result<Option<&'a AbsPath>> {
        let text = unless_gone(std::fs::read(maps))?.unwrap_or_default();
        let shared = text.split(|&byte| byte == b'\n').filter_map(shared_file);
        let mut over = shared.filter_map(|file| self.over(file));
        Ok(over.find_map(|(path, leads)| (leads == Leads::Anything).then_some(path)))
    }

    /// The innermost of the mounts that `file` would be in by its name.
    fn over(&self, file: &[u8]) -> Option<(&'a AbsPath, Leads)> {
        let file = AbsPath::new(file).ok()?;
        prefixes(&file).find_map(|above| self.at.get(above).copied())
    }

    fn any(&self) -> Option<&'a AbsPath> {
        self.at.values().map(|(path, _)| *path).min()
    }
}

/// The file of a line of `/proc/PID/maps` that is mapped to be shared.
fn shared_file(line: &[u8]) -> Option<&[u8]> {
    let permissions = line.split(|&byte| byte == b' ').nth(1)?;
    let start = line.iter().position(|&byte| byte == b'/')?;
    permissions.ends_with(b"s").then(|| &line[start..])
}

/// Whether descriptors wait in a socket to be received. (Since Linux 5.6 it says how many.)
fn carries_descriptors(link: &Path) -> io::Result<bool> {
    let (Some(number), Some(thread)) = (link.file_name(), link.parent().and_then(Path::parent)) else {
        return Ok(false);
    };
    let said = unless_gone(std::fs::read_to_string(thread.join("fdinfo").join(number)))?.unwrap_or_default();
    Ok(said.lines().filter_map(|line| line.strip_prefix("scm_fds:")).any(|count| count.trim() != "0"))
}

/// What is in a directory of `/proc`; nothing, where its process has gone.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = unless_gone(std::fs::read_dir(directory))? else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| unless_gone(entry.map(|entry| entry.path())));
    paths.filter_map(Result::transpose).collect()
}

/// `None` where the process has gone.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{
        AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair,
    };
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::AsRawFd;

    fn link(file: &impl AsRawFd) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    #[test]
    fn what_leads_to_a_path_by_another_mount_is_found() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = directory.path().canonicalize().expect("just made");
        let at = |name: &str| AbsPath::try_from(base.join(name).as_path()).expect("absolute");
        std::fs::create_dir_all(base.join("d/e")).expect("own directory");
        for name in ["d/file", "d/e/f", "d2"] {
            std::fs::write(base.join(name), "").expect("own directory");
        }
        let mounts =
            [(at("d"), Leads::Anything), (at("d"), Leads::Directories), (at("d/file"), Leads::Anything)];
        for (name, flags, expected) in [
            ("d2", OFlags::RDWR, [false; 3]),
            (".", OFlags::PATH, [false; 3]),
            ("d", OFlags::PATH, [true, true, false]),
            ("d/e", OFlags::RDONLY, [true, true, false]),
            ("d/e/f", OFlags::WRONLY, [true, false, false]),
            ("d/file", OFlags::RDONLY, [true, false, true]),
            ("d/file", OFlags::PATH, [true, false, true]),
        ] {
            let file = open(base.join(name), flags, Mode::empty()).expect("own directory");
            let found = |table: &[u8]| {
                mounts.each_ref().map(|(path, leads)| {
                    let around = Around::new([(path, *leads)].into_iter(), table);
                    around.by(&link(&file)).expect("own descriptor").is_some()
                })
            };
            assert_eq!(found(b""), expected, "{name}");
            let mount = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).expect("open").stx_mnt_id;
            let mounted = |at: &str| found(format!("{mount} 1 0:1 / {at} rw - tmpfs none rw").as_bytes());
            assert_eq!(mounted(&at("d/file").to_string()), [false; 3], "{name}, by that very mount");
            assert_eq!(mounted(&at(".").to_string()), expected, "{name}, by one above");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_in_time_is_an_error() {
        let around = Around { at: HashMap::new(), mounts: HashSet::new(), deadline: Instant::now() };
        while Instant::now() <= around.deadline {}
        assert!(around.find(std::process::id()).is_err());
    }

    #[test]
    fn descriptors_on_their_way_are_seen() {
        let kind = (AddressFamily::Unix, SockType::Stream);
        let (one, other) = socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC).expect("sockets");
        let carries = |socket| carries_descriptors(&link(socket)).expect("own descriptor");
        assert!(!carries(&one) && !carries(&other));
        let message = [ControlMessage::ScmRights(&[one.as_raw_fd()])];
        let bytes = [io::IoSlice::new(b"x")];
        sendmsg::<()>(one.as_raw_fd(), &bytes, &message, MsgFlags::empty(), None).expect("room for it");
        assert!(!carries(&one) && carries(&other));
    }

    #[test]
    fn shared_mappings_of_files_are_told_from_others() {
        for (line, file) in [
            ("7f00-7f01 rw-s 00000000 fe:00 42      /root/a b", Some("/root/a b")),
            ("7f00-7f01 r--s 00000000 fe:00 42      /root/a (deleted)", Some("/root/a (deleted)")),
            ("7f00-7f01 r--p 00000000 fe:00 42      /root/a", None),
            ("7f00-7f01 rw-s 00000000 00:01 42      anon_inode:[perf_event]", None),
            ("", None),
        ] {
            assert_eq!(shared_file(line.as_bytes()), file.map(str::as_bytes), "{line}");
        }
    }
}
