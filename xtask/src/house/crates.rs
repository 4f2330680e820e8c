//! Rules about whole crates: who may depend on whom, who may hold unsafe code, and that each has its place in
//! the guide.

use crate::cargo::{metadata, root};
use crate::failure::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// One row of the table of crates.
pub(super) struct Crate {
    pub(super) folder: &'static str,
    package: &'static str,
    /// The packages of the workspace that it may use, outside its tests.
    may_use: &'static [&'static str],
    /// Where it may perform I/O.
    pub(super) io: Io,
    /// Whether it may hold unsafe code, in modules called `sys` and nowhere else.
    may_be_unsafe: bool,
}

/// Where a crate may perform I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Io {
    Nowhere,
    /// In these modules, which exist on one platform.
    InModules(&'static [&'static str]),
    Anywhere,
}

const POLICY: &str = "palisade-policy";
const PERMISSIONS: &str = "palisade-permissions";
const SETTINGS: &str = "palisade-settings";
const PROXY: &str = "palisade-proxy";
const SEATBELT: &str = "palisade-seatbelt";
const BWRAP: &str = "palisade-bwrap";
const SANDBOX: &str = "palisade";

/// The table of crates; `ARCHITECTURE.md` says what is in each.
pub(super) const CRATES: &[Crate] = &[
    Crate { folder: "crates/policy", package: POLICY, may_use: &[], io: Io::Nowhere, may_be_unsafe: false },
    Crate {
        folder: "crates/permissions",
        package: PERMISSIONS,
        may_use: &[POLICY],
        io: Io::Nowhere,
        may_be_unsafe: false,
    },
    Crate {
        folder: "crates/settings",
        package: SETTINGS,
        may_use: &[POLICY, PERMISSIONS],
        io: Io::Anywhere,
        may_be_unsafe: false,
    },
    Crate {
        folder: "crates/proxy",
        package: PROXY,
        may_use: &[POLICY],
        io: Io::Anywhere,
        may_be_unsafe: false,
    },
    Crate {
        folder: "crates/seatbelt",
        package: SEATBELT,
        may_use: &[POLICY],
        io: Io::Nowhere,
        may_be_unsafe: false,
    },
    Crate {
        folder: "crates/bwrap",
        package: BWRAP,
        may_use: &[POLICY],
        // libseccomp hands its program out through a descriptor only.
        io: Io::InModules(&["linux", "filter/program"]),
        may_be_unsafe: true,
    },
    Crate {
        folder: "crates/sandbox",
        package: SANDBOX,
        may_use: &[POLICY, PERMISSIONS, PROXY, SEATBELT, BWRAP],
        io: Io::Anywhere,
        may_be_unsafe: false,
    },
    Crate {
        folder: "crates/cli",
        package: "palisade-cli",
        may_use: &[POLICY, PERMISSIONS, SETTINGS, PROXY, SEATBELT, BWRAP, SANDBOX],
        io: Io::Anywhere,
        may_be_unsafe: false,
    },
    Crate { folder: "xtask", package: "xtask", may_use: &[], io: Io::Anywhere, may_be_unsafe: false },
    Crate {
        folder: "tests",
        package: "palisade-tests",
        may_use: &[POLICY, PERMISSIONS, SETTINGS, PROXY, SEATBELT, BWRAP, SANDBOX],
        io: Io::Anywhere,
        may_be_unsafe: false,
    },
];

/// Where the table and the workspace differ.
pub(super) fn dependencies() -> Result<Vec<String>> {
    let packages = packages()?;
    let mut complaints = Vec::new();
    for row in CRATES {
        match packages.iter().find(|package| package["name"] == row.package) {
            Some(package) => complaints.extend(differences(row, package)),
            None => complaints.push(format!("{}: stands in the table but not in the workspace", row.package)),
        }
    }
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        if !CRATES.iter().any(|row| row.package == name) {
            complaints.push(format!("{name}: stands in the workspace but not in the table"));
        }
    }
    Ok(complaints)
}

/// Roots of crates that neither forbid unsafe code nor may hold it, and files that allow it outside a `sys`
/// module.
pub(super) fn unsafe_code() -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for package in packages()? {
        let may_be_unsafe = CRATES.iter().any(|row| package["name"] == row.package && row.may_be_unsafe);
        let attribute = if may_be_unsafe { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
        for root in target_roots(&package) {
            let text = fs::read_to_string(&root).cannot(format_args!("read {}", root.display()))?;
            // The targets of a crate besides its library (tests, examples) have no reason to be unsafe in any
            // crate.
            if !text.contains(attribute) && !text.contains("#![forbid(unsafe_code)]") {
                complaints.push(format!("{}: lacks {attribute}", root.display()));
            }
        }
    }
    for source in super::source::all()? {
        if allows_unsafe_code(&source.code()) && !is_in_sys(&source.path) {
            let path = source.path.display();
            complaints.push(format!("{path}: allows unsafe code, which only a module called sys may"));
        }
    }
    Ok(complaints)
}

/// Whether an attribute takes back what the root of the crate denies.
fn allows_unsafe_code(code: &str) -> bool {
    code.match_indices("unsafe_code").any(|(at, _)| {
        let attribute = &code[code[..at].rfind(['#', ']']).unwrap_or(0)..at];
        attribute.starts_with('#') && ["allow", "expect", "warn"].iter().any(|word| attribute.contains(word))
    })
}

fn is_in_sys(path: &Path) -> bool {
    path.components().any(|part| ["sys", "sys.rs"].iter().any(|name| part.as_os_str() == *name))
}

/// Clippy reads the nearest `clippy.toml` only, so each below `crates` must repeat the bans that hold for all
/// of them.
pub(super) fn clippy_files() -> Result<Vec<String>> {
    let common = bans(&root().join("crates/clippy.toml"))?;
    let mut complaints = Vec::new();
    for row in CRATES {
        let file = root().join(row.folder).join("clippy.toml");
        if row.io == Io::Nowhere && !file.is_file() {
            complaints.push(format!("{}: has no clippy.toml that bans I/O", row.folder));
        }
        if row.folder.starts_with("crates/") && file.is_file() {
            let own = bans(&file)?;
            let lacking = common.iter().filter(|ban| !own.contains(ban));
            complaints.extend(lacking.map(|ban| format!("{}: lacks the ban {ban}", file.display())));
        }
    }
    Ok(complaints)
}

/// Crates that `ARCHITECTURE.md` has no section for, or another row in its table.
pub(super) fn guide() -> Result<Vec<String>> {
    let guide = fs::read_to_string(root().join("ARCHITECTURE.md")).cannot("read ARCHITECTURE.md")?;
    let mut complaints = Vec::new();
    for row in CRATES {
        for line in [format!("### `{}`", row.folder), row.line_of_the_guide()] {
            if !guide.lines().any(|other| other == line) {
                complaints.push(format!("ARCHITECTURE.md: lacks the line {line}"));
            }
        }
    }
    Ok(complaints)
}

impl Crate {
    fn line_of_the_guide(&self) -> String {
        let used: Vec<String> = self.may_use.iter().map(|package| format!("`{package}`")).collect();
        let used = if used.is_empty() { "–".to_owned() } else { used.join(", ") };
        format!("| `{}` | {used} |", self.folder)
    }
}

fn packages() -> Result<Vec<Value>> {
    let metadata = metadata(&["--no-deps"])?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

fn differences(row: &Crate, package: &Value) -> Vec<String> {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let mut complaints = Vec::new();
    if Path::new(manifest).parent() != Some(&root().join(row.folder)) {
        complaints.push(format!("{}: is not in {}", row.package, row.folder));
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let name = dependency["name"].as_str().unwrap_or_default();
        // Tests may look wherever they need to; `kind` is null for what the crate itself is built from.
        let is_built_from = dependency["kind"] != "dev";
        if is_built_from && dependency["path"].is_string() && !row.may_use.contains(&name) {
            complaints.push(format!("{}: depends on {name}, which the table does not allow", row.package));
        }
    }
    complaints
}

fn target_roots(package: &Value) -> Vec<PathBuf> {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.filter_map(|target| target["src_path"].as_str()).map(PathBuf::from).collect()
}

fn bans(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).cannot(format_args!("read {}", file.display()))?;
    Ok(text.lines().map(str::trim).filter(|line| line.starts_with("{ path")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_dependency_that_the_table_does_not_allow_is_named() {
        let row = CRATES.iter().find(|row| row.package == SEATBELT).expect("a row");
        let package = json!({
            "manifest_path": root().join("crates/seatbelt/Cargo.toml"),
            "dependencies": [
                { "name": POLICY, "path": "…", "kind": null },
                { "name": "thiserror", "kind": null },
                { "name": BWRAP, "path": "…", "kind": "dev" },
                { "name": PROXY, "path": "…", "kind": null },
            ],
        });
        assert_eq!(
            differences(row, &package),
            ["palisade-seatbelt: depends on palisade-proxy, which the table does not allow"]
        );
    }

    #[test]
    fn taking_a_denial_back_is_seen_in_every_spelling() {
        for (code, allows) in [
            ("#![forbid(unsafe_code)]", false),
            ("#![deny(unsafe_code)]", false),
            ("#[allow(unsafe_code)] fn f() {}", true),
            ("#[test] fn allow_unsafe_code() {}", false),
            ("#![deny(unsafe_code)]\n#[expect(dead_code, unsafe_code, reason = \" \")]", true),
        ] {
            assert_eq!(allows_unsafe_code(code), allows, "{code}");
        }
        assert!(
            is_in_sys(Path::new("crates/bwrap/src/linux/sys.rs"))
                && !is_in_sys(Path::new("crates/x/system.rs"))
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        // A crate uses only what stands above it.
        for (index, row) in CRATES.iter().enumerate() {
            for used in row.may_use {
                assert!(
                    CRATES[..index].iter().any(|above| above.package == *used),
                    "{} uses {used}",
                    row.package
                );
            }
        }
    }
}
