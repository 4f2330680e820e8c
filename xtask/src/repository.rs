//! A copy of this project for the tests that work on it: its history, and the sources of all that it depends on. A user
//! who can reach neither the checkout nor the caller's cargo can read it.

use crate::cargo::{self, step};
use crate::failure::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the copy at `folder`, in place of an older one: `repository.bundle`, which is the history of what is checked
/// out, and `vendor`.
pub(crate) fn copy_to(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).cannot(format_args!("remove the old copy {}", folder.display()))?;
    }
    fs::create_dir_all(folder).cannot(format_args!("make the folder {}", folder.display()))?;
    let bundle = folder.join("repository.bundle");
    step(
        Command::new("git")
            .args(["bundle", "create", "--quiet"])
            .arg(bundle)
            .arg("HEAD")
            .current_dir(cargo::root()),
    )?;
    step(cargo::cargo().args(["vendor", "--quiet", "--locked"]).arg(folder.join("vendor")))?;
    step(Command::new("chmod").args(["-R", "go+rX"]).arg(folder))
}
