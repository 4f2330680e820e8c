//! What this machine offers: programs on the search path, and who is asking.
//!
//! A program may be there for the caller and not for others: a Python or a Rust under root's home directory
//! does not exist for an ordinary user. [`Reach`] says for whom something is looked up. Access lists beyond
//! the mode bits are not looked at.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// For whom something must be usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whoever runs this.
    Caller,
    /// Any user of the machine.
    Everyone,
}

/// Whether the caller is root.
pub(crate) fn is_root() -> bool {
    // The standard library cannot ask for the user; a process owns its own entry in /proc.
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// The program `name`, looked up on the search path.
pub(crate) fn program(name: &str, reach: Reach) -> Option<PathBuf> {
    programs(name, reach).next()
}

/// Every program `name` on the search path, in its order.
pub(crate) fn programs(name: &str, reach: Reach) -> impl Iterator<Item = PathBuf> {
    let paths = search_path(reach).into_iter().map(move |folder| folder.join(name));
    paths.filter(move |path| is_usable(path, reach))
}

/// The folders of the search path that `reach` can use, in order, each once.
pub(crate) fn search_path(reach: Reach) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(&path) {
        let fits = folder.is_absolute() && (reach == Reach::Caller || is_open_to_everyone(&folder));
        if fits && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Whether any user can read (and, if it is a folder or a program, use) what stands at `path`.
pub(crate) fn is_open_to_everyone(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let allows = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|entry| entry.mode() & bits == bits);
    allows(&real, 0o004) && real.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

/// Runs `command` for its exit code and what it prints, with nothing to read.
pub(crate) fn ask(command: &mut Command) -> io::Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned()))
}

fn is_usable(path: &Path, reach: Reach) -> bool {
    let bits = match reach {
        Reach::Caller => 0o111,
        Reach::Everyone => 0o001,
    };
    let is_program =
        fs::metadata(path).is_ok_and(|entry| entry.is_file() && entry.permissions().mode() & bits != 0);
    is_program && (reach == Reach::Caller || is_open_to_everyone(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_there_for_everyone() {
        let shell = program("sh", Reach::Everyone).expect("every machine has a shell");
        assert!(is_open_to_everyone(&shell));
        assert!(search_path(Reach::Everyone).iter().any(|folder| shell.starts_with(folder)));
    }

    #[test]
    fn what_lies_below_a_private_folder_is_not_open() {
        let folder = std::env::temp_dir().join(format!("xtask-machine-{}", std::process::id()));
        let inner = folder.join("inner");
        fs::create_dir_all(&inner).expect("a temporary folder");
        let open = |mode| {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("our own folder");
            is_open_to_everyone(&inner)
        };
        // Where the temporary directory itself is private, so is all below it.
        assert_eq!(open(0o755), is_open_to_everyone(&std::env::temp_dir()));
        assert!(!open(0o700));
        fs::remove_dir_all(&folder).expect("our own folder");
    }

    #[test]
    fn a_name_that_nothing_has_is_not_found() {
        assert_eq!(program("no-program-has-this-name", Reach::Caller), None);
    }
}
