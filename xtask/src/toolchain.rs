//! The Rust toolchain, for a user who cannot read the caller's.
//!
//! rustup keeps root's toolchain under root's home directory, which others may not enter. [`mirror`] makes
//! the parts that `cargo build` needs readable at another place: by hard links, which cost a few milliseconds
//! and no space, and by copying what another file system keeps. It changes no permission of the original. The
//! mirror's files must be treated as the originals: they may share their content.

use crate::failure::{Context, Failure, Result};
use crate::machine::{ask, is_open_to_everyone};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the toolchain in use: `bin/cargo` and `bin/rustc` are below it.
pub(crate) fn sysroot() -> Result<PathBuf> {
    let (succeeded, path) =
        ask(Command::new(rustc()).args(["--print", "sysroot"])).cannot("ask rustc for its sysroot")?;
    let sysroot = PathBuf::from(path);
    if succeeded && sysroot.join("bin/cargo").is_file() {
        return Ok(sysroot);
    }
    Err(Failure::new(format!("there is no cargo in the toolchain's folder {}", sysroot.display())))
}

/// The compiler that cargo would use.
pub(crate) fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// A toolchain with what `sysroot` has that everyone can read: `sysroot` itself, or else a mirror of it that
/// is made at `place`, which must not exist yet.
pub(crate) fn open_to_everyone(sysroot: &Path, place: &Path) -> Result<PathBuf> {
    if ["bin/cargo", "bin/rustc", "lib/rustlib"].iter().all(|part| is_open_to_everyone(&sysroot.join(part))) {
        return Ok(sysroot.to_owned());
    }
    mirror(sysroot, place).cannot(format_args!(
        "mirror the toolchain {} at {}",
        sysroot.display(),
        place.display()
    ))?;
    Ok(place.to_owned())
}

fn mirror(sysroot: &Path, place: &Path) -> io::Result<()> {
    make_open_folder(place)?;
    make_open_folder(&place.join("bin"))?;
    for program in ["bin/cargo", "bin/rustc"] {
        mirror_entry(&sysroot.join(program), &place.join(program))?;
    }
    mirror_entry(&sysroot.join("lib"), &place.join("lib"))
}

fn mirror_entry(from: &Path, to: &Path) -> io::Result<()> {
    let entry = fs::symlink_metadata(from)?;
    if entry.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if entry.is_file() {
        return mirror_file(from, &entry, to);
    }
    make_open_folder(to)?;
    for child in fs::read_dir(from)? {
        let name = child?.file_name();
        mirror_entry(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

fn mirror_file(from: &Path, entry: &fs::Metadata, to: &Path) -> io::Result<()> {
    let is_open = entry.mode() & 0o004 != 0;
    if is_open && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(entry.mode() | 0o444))
}

/// Makes a folder that everyone may read, whatever the caller's umask.
fn make_open_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_has_what_cargo_build_needs_and_leaves_the_original_alone() {
        let folder = std::env::temp_dir().join(format!("xtask-toolchain-{}", std::process::id()));
        let (original, place) = (folder.join("original"), folder.join("mirror"));
        for inner in ["bin", "lib/rustlib/host/lib", "share/doc"] {
            fs::create_dir_all(original.join(inner)).expect("a temporary folder");
        }
        for (file, mode) in [
            ("bin/cargo", 0o755),
            ("bin/rustc", 0o755),
            ("bin/other", 0o755),
            ("lib/rustlib/host/lib/x.rlib", 0o600),
        ] {
            fs::write(original.join(file), file).expect("our own folder");
            fs::set_permissions(original.join(file), fs::Permissions::from_mode(mode)).expect("our own file");
        }
        symlink("rustlib", original.join("lib/link")).expect("our own folder");

        mirror(&original, &place).expect("both are in one folder");

        let mode = |path: PathBuf| fs::symlink_metadata(path).map(|entry| entry.mode() & 0o777).ok();
        assert_eq!(fs::read_to_string(place.join("bin/cargo")).ok().as_deref(), Some("bin/cargo"));
        assert_eq!(mode(place.join("lib/rustlib/host/lib/x.rlib")), Some(0o644), "a private file is copied");
        assert_eq!(mode(original.join("lib/rustlib/host/lib/x.rlib")), Some(0o600));
        assert_eq!(fs::read_link(place.join("lib/link")).ok(), Some("rustlib".into()));
        assert_eq!(mode(place.join("bin/other")), None, "only what is needed");
        assert_eq!(mode(place.join("share")), None);
        fs::remove_dir_all(&folder).expect("our own folder");
    }
}
