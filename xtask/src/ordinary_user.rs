//! Running programs as an ordinary user, for root: a user without an account, who owns a home directory and a
//! temporary directory of its own and nothing else.
//!
//! Everything lives in one folder that is removed when the [`OrdinaryUser`] is dropped; what a killed run
//! left behind is removed by the next. No account is made and no setting of the machine is changed.

use crate::failure::{Context, Failure, Result};
use crate::machine::{Reach, ask, is_open_to_everyone, program, search_path};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of the user. Below 65534 (`nobody`) and above what systems hand out by themselves.
pub(crate) const UID: u32 = 64321;

/// Names of the folders. Short, for a socket's path must fit into 107 bytes.
const PREFIX: &str = "xtask-";

/// An ordinary user and its folder.
pub(crate) struct OrdinaryUser {
    folder: PathBuf,
    setpriv: PathBuf,
}

impl OrdinaryUser {
    /// Makes the folder. Needs root, and that nobody has this number.
    pub(crate) fn create() -> Result<Self> {
        refuse_if_taken()?;
        let setpriv =
            program("setpriv", Reach::Everyone).ok_or_else(|| Failure::new("there is no setpriv here"))?;
        let above = shared_temporary_folder()?;
        sweep(&above);
        let folder = above.join(format!("{PREFIX}{}", std::process::id()));
        // Fails when anything of that name is there already, so nobody can have prepared it.
        fs::create_dir(&folder).cannot(format_args!("make the folder {}", folder.display()))?;
        let user = OrdinaryUser { folder, setpriv };
        user.furnish().cannot("prepare the ordinary user's folders")?;
        Ok(user)
    }

    /// A path in the folder, which everyone can read and only root can write to.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Copies a program to where the user can run it.
    pub(crate) fn bring(&self, program: &Path) -> Result<PathBuf> {
        let copy = self.folder.join(program.file_name().unwrap_or_default());
        fs::copy(program, &copy)
            .and_then(|_| fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)))
            .cannot(format_args!("copy {} to {}", program.display(), copy.display()))?;
        Ok(copy)
    }

    /// A command that runs `program` as the user, in its home directory, with an environment of its own.
    /// Variables of the caller are left behind but for the few that say how to show output. `begin` makes, of the
    /// program that changes the user, the command that starts it.
    pub(crate) fn command(
        &self,
        begin: impl FnOnce(&Path) -> Result<Command>,
        program: &Path,
    ) -> Result<Command> {
        let mut command = begin(&self.setpriv)?;
        command
            .args([format!("--reuid={UID}"), format!("--regid={UID}")])
            .args(["--clear-groups", "--inh-caps=-all", "--"])
            .arg(program)
            .current_dir(self.home())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_handed_on(name)))
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"));
        if let Ok(path) = std::env::join_paths(search_path(Reach::Everyone)) {
            command.env("PATH", path);
        }
        Ok(command)
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn furnish(&self) -> std::io::Result<()> {
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o755))?;
        for own in [self.home(), self.path("tmp")] {
            fs::create_dir(&own)?;
            fs::set_permissions(&own, fs::Permissions::from_mode(0o700))?;
            chown(&own, Some(UID), Some(UID))?;
        }
        Ok(())
    }
}

impl Drop for OrdinaryUser {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("xtask: cannot remove {}: {error}", self.folder.display());
        }
    }
}

fn is_handed_on(name: &OsStr) -> bool {
    ["CI", "LANG", "TERM", "RUST_BACKTRACE", "RUST_TEST_THREADS"].iter().any(|handed| name == *handed)
}

fn refuse_if_taken() -> Result<()> {
    for database in ["passwd", "group"] {
        let (is_taken, entry) = ask(Command::new("getent").args([database, &UID.to_string()]))
            .cannot("ask whether the number is free")?;
        if is_taken {
            return Err(Failure::new(format!("the number {UID} belongs to somebody here: {entry}")));
        }
    }
    Ok(())
}

/// A temporary folder that the user can get into.
fn shared_temporary_folder() -> Result<PathBuf> {
    [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
        .into_iter()
        .find(|folder| is_open_to_everyone(folder))
        .ok_or_else(|| Failure::new("there is no temporary folder that every user can get into"))
}

/// Removes the folders of runs that were killed.
fn sweep(above: &Path) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten() {
        let is_roots = entry.metadata().is_ok_and(|entry| entry.is_dir() && entry.uid() == 0);
        if is_roots && is_left_behind(&entry.file_name()) {
            // Another run may have swept it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left_behind(name: &OsStr) -> bool {
    let process =
        name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|id| id.parse::<u32>().ok());
    process.is_some_and(|id| fs::symlink_metadata(format!("/proc/{id}")).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_dead_runs_are_left_behind() {
        let own = format!("{PREFIX}{}", std::process::id());
        assert!(!is_left_behind(own.as_ref()), "this run is alive");
        assert!(is_left_behind("xtask-4294967295".as_ref()), "no process has that number");
        for other in ["xtask-", "xtask-1x", "xtask-machine-1", "other-4294967295"] {
            assert!(!is_left_behind(other.as_ref()), "{other}");
        }
    }
}
