//! What is measured: ways to run one command, in a folder that it may write.

use crate::cargo;
use crate::failure::{Context, Failure, Result};
use crate::machine::{Reach, is_root, program};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of the subject that has a budget.
pub(super) const PALISADE: &str = "palisade run";

/// One way to run a command.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// The program and its arguments, up to where the command begins.
    words: Vec<OsString>,
    folder: PathBuf,
}

impl Subject {
    /// The same with more options.
    pub(super) fn with(&self, options: impl IntoIterator<Item = OsString>) -> Self {
        let (mark, words) =
            self.words.split_last().map_or((None, &[][..]), |(mark, words)| (Some(mark), words));
        let words = words.iter().cloned().chain(options).chain(mark.cloned()).collect();
        Subject { name: self.name, words, folder: self.folder.clone() }
    }

    /// `command`, run this way.
    pub(super) fn command(&self, command: &[&str]) -> Command {
        let mut words =
            self.words.iter().map(OsString::as_os_str).chain(command.iter().map(|word| word.as_ref()));
        let mut process = Command::new(words.next().unwrap_or_default());
        cargo::leave(&mut process).args(words).current_dir(&self.folder);
        process
    }
}

/// The folder that the commands run in, and what hides files in bare bubblewrap. Removed when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn create() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("xtask-bench-{}-{number}", std::process::id()));
        fs::create_dir(&path).cannot(format_args!("make the folder {}", path.display()))?;
        let folder = Folder(path);
        folder.furnish().cannot("prepare the folder of the measurement")?;
        Ok(folder)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    /// Where the settings that deny files are.
    pub(super) fn denied(&self) -> PathBuf {
        self.0.join("denied")
    }

    fn temporary(&self) -> PathBuf {
        self.0.join("temporary")
    }

    pub(super) fn hidden(&self, is_folder: bool) -> PathBuf {
        self.0.join(if is_folder { "hidden-folder" } else { "hidden-file" })
    }

    fn furnish(&self) -> std::io::Result<()> {
        fs::create_dir(self.work())?;
        fs::create_dir(self.temporary())?;
        fs::create_dir(self.denied())?;
        fs::create_dir(self.hidden(true))?;
        fs::write(self.hidden(false), "")?;
        for is_folder in [true, false] {
            fs::set_permissions(self.hidden(is_folder), fs::Permissions::from_mode(0o000))?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("xtask: cannot remove {}: {error}", self.0.display());
        }
    }
}

/// The command as it is.
pub(super) fn plain(folder: &Folder) -> Subject {
    Subject { name: "plain", words: Vec::new(), folder: folder.work() }
}

/// The command in bubblewrap called directly, with the arguments that confine it as `palisade run` does: the
/// same namespaces, capabilities, and mounts, but no filter, no proxy, and nobody to watch over it.
pub(super) fn bare_bubblewrap(folder: &Folder) -> Result<Subject> {
    let bwrap = program("bwrap", Reach::Caller).ok_or_else(|| Failure::new("there is no bwrap here"))?;
    let mut words = vec![bwrap.into_os_string()];
    words.extend(
        [
            "--unshare-user --disable-userns --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup",
            "--die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --chmod 1777 /dev/shm --proc /proc",
        ]
        .iter()
        .flat_map(|line| line.split(' '))
        .map(OsString::from),
    );
    for (source, at) in proc_binds(folder).cannot("look at /proc")? {
        words.extend(["--ro-bind".into(), source.into(), at.into()]);
    }
    for writable in [folder.work(), folder.temporary()] {
        words.extend(["--bind".into(), writable.clone().into(), writable.into()]);
    }
    words.extend(["--chdir".into(), folder.work().into(), "--".into()]);
    Ok(Subject { name: "bare bubblewrap", words, folder: folder.work() })
}

/// The command under `palisade run`.
pub(super) fn palisade(folder: &Folder) -> Result<Subject> {
    let [program] = cargo::build(&["--release", "--package", "palisade-cli"], ["palisade"])?;
    Ok(Subject {
        name: PALISADE,
        words: vec![program.into(), "run".into(), "--".into()],
        folder: folder.work(),
    })
}

/// What must be shut of a fresh `/proc`, as pairs of what is bound and where: what belongs to no process and could be
/// written, or read by root alone. Chosen by the same rule as the sandbox's own, but not by its code: a measurement
/// that shares the code would not notice when it starts to do too much.
fn proc_binds(folder: &Folder) -> std::io::Result<Vec<(PathBuf, PathBuf)>> {
    let is_root = is_root();
    let mut binds = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        // A process may have ended by now.
        if entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let (metadata, at) = (entry.metadata()?, entry.path());
        if metadata.is_symlink() {
            continue;
        }
        let mode = metadata.permissions().mode();
        if is_root && (mode & 0o004 == 0 || TELLS_OF_THE_HOST.iter().any(|name| at.ends_with(name))) {
            binds.push((folder.hidden(metadata.is_dir()), at));
        } else if (is_root && metadata.is_dir()) || is_writable(&at, if is_root { 0o222 } else { 0o022 }) {
            binds.push((at.clone(), at));
        }
    }
    Ok(binds)
}

/// Whether these bits say that the entry, or one in it, may be written. `/proc/sys` always counts.
fn is_writable(at: &Path, bits: u32) -> bool {
    let has_bits =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|entry| entry.permissions().mode() & bits != 0);
    at.ends_with("sys")
        || has_bits(at)
        || fs::read_dir(at).is_ok_and(|entries| entries.flatten().any(|entry| has_bits(&entry.path())))
}

/// Entries of `/proc` that are hidden although everyone may read them.
const TELLS_OF_THE_HOST: [&str; 7] =
    ["acpi", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_gone_after_use() {
        let folder = Folder::create().expect("a temporary directory");
        let (path, work) = (folder.0.clone(), folder.work());
        assert!(work.is_dir());
        drop(folder);
        assert!(fs::symlink_metadata(path).is_err());
    }
}
