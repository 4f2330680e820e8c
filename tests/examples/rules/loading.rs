//! Reading and merging settings files: five of everyday size, and one that is full of entries.

use crate::figure::{Figure, least};
use palisade_policy::AbsPath;
use palisade_settings::{Flags, ManagedPlaces, Places, Trust, load};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) fn figures() -> Result<[Figure; 2], String> {
    let everyday = Files::create(&[
        ("managed/managed-settings.json", 10),
        ("managed/managed-settings.d/50.json", 10),
        ("home/.claude/settings.json", 40),
        ("project/.claude/settings.json", 60),
        ("project/.claude/settings.local.json", 20),
    ])?;
    let full = Files::create(&[("home/.claude/settings.json", 10_000)])?;
    Ok([
        Figure {
            name: "five settings files, loaded and merged",
            time: everyday.time_of_loading()?,
            budget: Duration::from_millis(1),
        },
        Figure {
            name: "a settings file of 10,000 entries",
            time: full.time_of_loading()?,
            budget: Duration::from_millis(50),
        },
    ])
}

/// Settings files in a directory of their own.
struct Files {
    places: Places,
    /// Removed when dropped.
    _folder: TempDir,
}

impl Files {
    /// Writes each of these files, with so many entries.
    fn create(files: &[(&str, usize)]) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no directory for settings: {error}"))?;
        for (name, entries) in files {
            let path = folder.path().join(name);
            write(&path, &settings(*entries)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let at =
            |name: &str| AbsPath::try_from(&*folder.path().join(name)).map_err(|error| error.to_string());
        let places = Places {
            managed: ManagedPlaces {
                directories: vec![at("managed")?],
                owner: nix::unistd::geteuid().as_raw(),
            },
            root: at("project")?,
            trust: Trust::Trusted,
            home: Some(at("home")?),
            account_home: None,
            config_dir: None,
            working_directory: at("project")?,
        };
        Ok(Files { places, _folder: folder })
    }

    fn time_of_loading(&self) -> Result<Duration, String> {
        let load = || load(&self.places, &[], &Flags::default());
        let loaded = load().map_err(|error| error.to_string())?;
        if loaded.policy.files.rules().next().is_none() {
            return Err("the settings that are measured say nothing".into());
        }
        Ok(least(load))
    }
}

/// Readable and writable by the owner alone, whatever the umask: else settings of an administrator do not count.
fn write(path: &Path, settings: &Value) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(path))?;
    fs::write(path, settings.to_string())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// `count` entries, spread over the lists that settings of everyday have.
fn settings(count: usize) -> Value {
    let list =
        |share: usize, entry: fn(usize) -> String| -> Vec<String> { (0..count / share).map(entry).collect() };
    json!({
        "sandbox": {
            "enabled": true,
            "filesystem": {
                "allowWrite": list(10, |number| format!("~/work{number}")),
                "denyRead": list(5, |number| format!("~/**/secret{number}.*")),
            },
            "network": {
                "allowedDomains": list(5, |number| format!("*.open{number}.example.com")),
                "deniedDomains": list(10, |number| format!("shut{number}.example.com:443")),
            },
        },
        "permissions": {
            "allow": list(5, |number| format!("Bash(tool{number} run *)")),
            "deny": list(5, |number| format!("Read(./hidden{number}/**)")),
        },
    })
}
