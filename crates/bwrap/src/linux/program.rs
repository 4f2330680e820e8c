//! The programs that Palisade itself starts, looked up once and held open.
//!
//! The attacker may own directories on `PATH` (the project's `node_modules/.bin`, `~/bin`, `.`) and plant a
//! `bwrap` there, which would then run outside every sandbox. So a candidate counts only when no directory
//! on its real path, nor itself, can be changed by anyone but root, and when the policy lets no command write
//! it. The file found is opened then and there and run by that descriptor, so it cannot be swapped later.

use palisade_policy::AbsPath;
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where to look when `PATH` holds no trusted candidate.
const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// A program file that only root can change, held open.
#[derive(Debug)]
pub struct Program {
    path: AbsPath,
    file: OwnedFd,
}

/// Why there is no such program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Nothing of that name anywhere.
    #[error("{name} is not installed")]
    Missing {
        /// The program's name.
        name: String,
    },
    /// Files of that name exist, but others than root could have put them there.
    #[error("{name} is not installed where only root can write; not used: {}", .passed_over.join(", "))]
    Untrusted {
        /// The program's name.
        name: String,
        /// Each candidate with what is wrong with it.
        passed_over: Vec<String>,
    },
    /// A limit kept the program from being looked at, so that nothing can be said about it.
    #[error("{path}: {error}")]
    Shortage {
        /// The candidate.
        path: String,
        /// What the system said.
        error: Errno,
    },
}

/// Why a candidate does not count.
enum Refusal {
    Because(String),
    Shortage(Errno),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Refusal::Because(reason)
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        match error {
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Refusal::Shortage(error),
            _ => Refusal::Because(error.to_string()),
        }
    }
}

impl Program {
    /// Looks `name` up in the directories of `path` (as in the variable `PATH`), then in the system's own. A
    /// candidate that `is_writable` says a confined command may write is passed over.
    pub fn find(
        name: &str,
        path: Option<&OsStr>,
        is_writable: impl Fn(&AbsPath) -> bool,
    ) -> Result<Self, ProgramError> {
        let from_path = path.map(std::env::split_paths).into_iter().flatten();
        let directories = from_path.chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from));
        let mut passed_over: Vec<String> = Vec::new();
        for directory in directories.filter(|directory| directory.is_absolute()) {
            let candidate = directory.join(name);
            match Self::open(&candidate, &is_writable) {
                Ok(Some(program)) => return Ok(program),
                Ok(None) => {}
                Err(Refusal::Shortage(error)) => {
                    return Err(ProgramError::Shortage { path: candidate.display().to_string(), error });
                }
                Err(Refusal::Because(reason)) => {
                    let note = format!("{} ({reason})", candidate.display());
                    if !passed_over.contains(&note) {
                        passed_over.push(note);
                    }
                }
            }
        }
        let name = name.to_owned();
        Err(if passed_over.is_empty() {
            ProgramError::Missing { name }
        } else {
            ProgramError::Untrusted { name, passed_over }
        })
    }

    /// The program at `path`, which an administrator names: by the same rules as one that is looked up.
    pub fn at(path: &AbsPath, is_writable: impl Fn(&AbsPath) -> bool) -> Result<Self, ProgramError> {
        match Self::open(path.as_path(), is_writable) {
            Ok(Some(program)) => Ok(program),
            Ok(None) => Err(ProgramError::Missing { name: path.to_string() }),
            Err(Refusal::Shortage(error)) => Err(ProgramError::Shortage { path: path.to_string(), error }),
            Err(Refusal::Because(reason)) => {
                let passed_over = vec![format!("{path} ({reason})")];
                Err(ProgramError::Untrusted { name: path.to_string(), passed_over })
            }
        }
    }

    /// The real path of the file.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// A path that leads to the very file that was looked at, for as long as `self` lives.
    pub(super) fn handle(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    fn open(candidate: &Path, is_writable: impl Fn(&AbsPath) -> bool) -> Result<Option<Self>, Refusal> {
        let Ok(real) = std::fs::canonicalize(candidate) else { return Ok(None) };
        let path = AbsPath::try_from(real.as_path()).map_err(|error| error.to_string())?;
        if is_writable(&path) {
            return Err(Refusal::Because("a confined command may write it".into()));
        }
        for directory in path.ancestors().skip(1) {
            let handle = open_path(directory.as_path(), OFlags::DIRECTORY)?;
            refuse_if_others_write(handle.as_fd(), &directory)?;
        }
        let file = open_path(path.as_path(), OFlags::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        refuse_if_others_write(file.as_fd(), &path)?;
        let may_run = rustix::fs::accessat(CWD, path.as_path(), Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        Ok(may_run.then_some(Program { path, file }))
    }
}

fn open_path(path: &Path, also: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | also, Mode::empty())
}

/// A directory that everyone may write but nobody else's files be renamed in (`/tmp`) is refused as well: its
/// entries are whoever's was first.
fn refuse_if_others_write(handle: BorrowedFd<'_>, path: &AbsPath) -> Result<(), String> {
    let stat = rustix::fs::fstat(handle).map_err(io::Error::from).map_err(|error| error.to_string())?;
    if stat.st_mode & 0o022 != 0 {
        return Err(format!("{path} can be written by others than its owner"));
    }
    let euid = rustix::process::geteuid();
    if stat.st_uid == 0 {
        return Ok(());
    }
    // Root sees other users' files here; anyone else sees files of users that his user namespace does not map.
    let writable = euid.is_root()
        || stat.st_uid == euid.as_raw()
        || rustix::fs::accessat(CWD, path.as_path(), Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    if writable { Err(format!("{path} does not belong to root")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn plant(directory: &Path) {
        let file = directory.join("sh");
        std::fs::write(&file, "#!/bin/true\n").expect("a temporary directory is writable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("own file");
    }

    #[test]
    fn a_planted_program_is_passed_over() {
        let planted = tempfile::tempdir().expect("a temporary directory");
        plant(planted.path());
        let mut path = planted.path().as_os_str().to_owned();
        path.push(":relative:.:");
        let found = Program::find("sh", Some(&path), |_| false).expect("every system has sh");
        assert!(!found.path().as_path().starts_with(planted.path()), "{:?}", found.path());
    }

    #[test]
    fn what_a_command_may_write_is_passed_over_with_a_reason() {
        let error = Program::find("sh", None, |_| true).expect_err("all are writable");
        assert!(error.to_string().contains("a confined command may write it"), "{error}");
        let sh = AbsPath::new("/bin/sh").expect("absolute");
        let error = Program::at(&sh, |_| true).expect_err("it is writable");
        assert!(error.to_string().contains("a confined command may write it"), "{error}");
        let none = AbsPath::new("/none/such").expect("absolute");
        let error = Program::at(&none, |_| false).expect_err("it is not there");
        assert_eq!(error.to_string(), "/none/such is not installed");
        let missing = Program::find("no-such-program", None, |_| false).expect_err("no such program");
        assert_eq!(missing.to_string(), "no-such-program is not installed");
    }
}
