//! A command's standard streams: which of the caller's it may be given, what it may leave of their permissions, and the
//! pipes of those that are captured.
//!
//! What the attacker controls here: through `/proc/self/fd` a stream leads to what the caller opened by the host's own
//! mounts, to be opened again in another way, and a descriptor is enough to change the mode of what its user owns. An
//! [entry](palisade_bwrap::linux::Entry) exchanges what can be exchanged for the same by the sandbox's mounts. Left are
//! files that were opened for writing, and terminals that the sandbox has no node of. They can be read, so none may be
//! one that a rule hides; and in the end they are no more open to others than before.
//!
//! What this does not do: keep others out while the command runs, or put back anything where this process is killed.

use crate::error::{Error, system};
use crate::request::Stream;
use nix::unistd::{Gid, fchown};
use palisade_policy::{AbsPath, Access, Confinement, Effect};
use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fgetxattr, fremovexattr, fstat, lstat};
use rustix::stdio;
use std::fs::{File, Permissions};
use std::io::{self, IsTerminal, PipeReader};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

/// A directory that the caller has open leads, through `/proc/self/fd`, to the host's whole tree by the host's own
/// mounts. A file on standard input leads to itself, for writing, and so does one that was opened for reading on the other
/// two; an entry sees to that.
pub(crate) fn refuse_ways_around(streams: [Stream; 3], has_entry: bool) -> Result<(), Error> {
    for (stream, fd) in inherited(streams) {
        // What is closed leads nowhere.
        let Ok(stat) = fstat(fd) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_path = fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::PATH));
        let is_input = stream == "standard input" || !is_for_writing(fd);
        let refused = |what: &str, remedy| Err(Error::Stream { stream, what: what.to_owned(), remedy });
        if kind.is_dir() || is_path {
            return refused("a directory, or a mere path", "give the command something else there");
        }
        if is_input && kind.is_file() && !has_entry {
            let remedy = "pass it through a pipe, or give the sandbox an entry";
            return refused("a file, which the command could write", remedy);
        }
    }
    Ok(())
}

/// A file that was opened for writing can be read as well, and so can a named pipe.
pub(crate) fn refuse_hidden(streams: [Stream; 3], confinement: &Confinement) -> Result<(), Error> {
    if confinement.files_disabled {
        return Ok(());
    }
    for (stream, fd) in inherited(streams) {
        let Ok(stat) = fstat(fd) else { continue };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let Some(path) = name_of(fd, &stat).filter(|_| kind.is_file() || kind.is_fifo()) else { continue };
        let verdict = confinement.files.judge(Access::Read, &path);
        if let (Effect::Deny, Some(rule)) = (verdict.effect, verdict.rule) {
            let what = format!("{path}, which is hidden by {}", rule.origin);
            let remedy =
                "pass it through a pipe, with another program to read or write the file (… | cat > FILE)";
            return Err(Error::Stream { stream, what, remedy });
        }
    }
    Ok(())
}

/// The caller's streams that a command is given.
fn inherited(streams: [Stream; 3]) -> impl Iterator<Item = (&'static str, BorrowedFd<'static>)> {
    let all = [
        ("standard input", stdio::stdin()),
        ("standard output", stdio::stdout()),
        ("standard error", stdio::stderr()),
    ];
    all.into_iter().zip(streams).filter(|(_, leads)| *leads == Stream::Inherit).map(|(named, _)| named)
}

fn is_for_writing(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfl(fd).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
}

/// The name under which it was opened, if it still has that.
fn name_of(fd: BorrowedFd<'_>, stat: &Stat) -> Option<AbsPath> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    let path = AbsPath::try_from(path.as_path()).ok()?;
    let named = lstat(path.as_path()).ok()?;
    ((named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino)).then_some(path)
}

/// Who may use the caller's terminals, devices and files outside the sandbox's writable places, as far as the command can
/// change that. When this ends no more users may than before.
pub(crate) struct Given(Vec<Before>);

/// What a stream was like before the command started.
struct Before {
    stream: File,
    mode: u32,
    group: u32,
    has_access_list: bool,
}

/// The extended attribute by which single users and groups have access.
const ACCESS_LIST: &str = "system.posix_acl_access";

impl Given {
    /// As they are now.
    pub(crate) fn remember(streams: [Stream; 3], confinement: &Confinement) -> Self {
        let can_be_changed = |fd: BorrowedFd<'_>| {
            let Ok(stat) = fstat(fd) else { return false };
            let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
            is_own
                && match FileType::from_raw_mode(stat.st_mode) {
                    FileType::CharacterDevice => fd.is_terminal() || !confinement.files_disabled,
                    // What the command may write by its name is the command's to change.
                    FileType::RegularFile => is_for_writing(fd) && !may_be_written(fd, &stat, confinement),
                    _ => false,
                }
        };
        let streams = inherited(streams).filter(|(_, fd)| can_be_changed(*fd));
        Given(streams.filter_map(|(_, fd)| Before::of(fd).ok()).collect())
    }
}

fn may_be_written(fd: BorrowedFd<'_>, stat: &Stat, confinement: &Confinement) -> bool {
    let may_be = |path: AbsPath| confinement.files.judge(Access::Write, &path).effect == Effect::Allow;
    confinement.files_disabled || name_of(fd, stat).is_some_and(may_be)
}

impl Drop for Given {
    fn drop(&mut self) {
        self.0.iter().for_each(Before::put_back);
    }
}

impl Before {
    fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let stream = File::from(fd.try_clone_to_owned()?);
        let metadata = stream.metadata()?;
        let has_access_list = fgetxattr(&stream, ACCESS_LIST, &mut [0; 0]).is_ok();
        Ok(Before { mode: metadata.mode(), group: metadata.gid(), has_access_list, stream })
    }

    /// Nobody gets access back that somebody took away meanwhile, but for the owner: two commands may have one terminal,
    /// and what the second one found was perhaps the first one's doing. A group that only root could put back loses its
    /// access.
    fn put_back(&self) {
        const OWNER: u32 = 0o700;
        if !self.has_access_list {
            let _ = fremovexattr(&self.stream, ACCESS_LIST);
        }
        let Ok(now) = self.stream.metadata() else { return };
        let is_groups =
            now.gid() == self.group || fchown(&self.stream, None, Some(Gid::from_raw(self.group))).is_ok();
        let before = self.mode & if is_groups { 0o7777 } else { 0o5707 };
        let mode = before & (now.mode() | OWNER);
        if now.mode() & 0o7777 != mode {
            let _ = self.stream.set_permissions(Permissions::from_mode(mode));
        }
    }
}

/// The command's ends of its streams, and ours of those that are captured.
pub(crate) struct Pipes {
    pub(crate) inner: [Stdio; 3],
    pub(crate) outer: [Option<PipeReader>; 2],
}

impl Pipes {
    pub(crate) fn make([stdin, stdout, stderr]: [Stream; 3]) -> Result<Self, Error> {
        let stdin = if stdin == Stream::Inherit { Stdio::inherit() } else { Stdio::null() };
        let (stdout, from_stdout) = Self::output(stdout)?;
        let (stderr, from_stderr) = Self::output(stderr)?;
        Ok(Pipes { inner: [stdin, stdout, stderr], outer: [from_stdout, from_stderr] })
    }

    fn output(stream: Stream) -> Result<(Stdio, Option<PipeReader>), Error> {
        Ok(match stream {
            Stream::Inherit => (Stdio::inherit(), None),
            Stream::Null => (Stdio::null(), None),
            Stream::Capture => {
                let (reader, writer) = io::pipe().map_err(system("making a pipe"))?;
                (writer.into(), Some(reader))
            }
        })
    }
}
