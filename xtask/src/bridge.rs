//! `cargo xtask integration --bridge socat`: the integration tests on a machine whose administrator wants that bridge.
//!
//! Palisade heeds `socatPath` in an administrator's settings alone, so the tests run in a mount namespace with such a
//! file laid over the machine's `/etc`. Nothing of the machine is changed. It needs root: to others that `/etc` would
//! be their own, and nothing in it an administrator's.
//!
//! The tests that call the library rather than the program take no settings, and so no other bridge.

use crate::cargo;
use crate::failure::{Context, Failure, Result};
use crate::machine::is_root;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What an administrator who wants the bridge has in `managed-settings.json`.
const SETTINGS: &str = r#"{"sandbox": {"socatPath": "/usr/bin/socat"}}"#;

/// Lays the folder `$0` over `/etc`, and becomes the program that the words behind it name.
const OVERLAY: &str = r#"mount -t overlay overlay -o lowerdir="$0":/etc /etc && exec "$@""#;

/// `program`, to be started where the settings are in place.
pub(crate) fn with_socat(program: &Path) -> Result<Command> {
    if !is_root() {
        return Err(Failure::new("integration tests over socat need root".to_owned()));
    }
    let folder = cargo::target_folder()?.join("xtask/etc");
    let settings = folder.join("claude-code");
    fs::create_dir_all(&settings).cannot(format_args!("make the folder {}", settings.display()))?;
    let file = settings.join("managed-settings.json");
    fs::write(&file, SETTINGS).cannot(format_args!("write {}", file.display()))?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "sh", "-c", OVERLAY]).arg(folder).arg(program);
    Ok(command)
}
