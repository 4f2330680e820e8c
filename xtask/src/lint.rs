//! `cargo xtask lint`: everything that is checked without running a command in the sandbox.
//!
//! All checks run, so that one call shows all there is to do. A check that this machine cannot make is named
//! as not made, with what would make it possible; it is never counted as passed.

use crate::cargo::{cargo, step};
use crate::failure::{Failure, Result};
use crate::machine::ask;
use crate::{house, toolchain};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// A platform that nothing here can run on, for which the code is type-checked.
struct Platform {
    target: &'static str,
    /// The packages that build there; none means all.
    packages: &'static [&'static str],
}

const PLATFORMS: &[Platform] = &[
    Platform {
        target: "aarch64-apple-darwin",
        packages: &["palisade-policy", "palisade-permissions", "palisade-seatbelt", "palisade-bwrap"],
    },
    Platform { target: "aarch64-unknown-linux-gnu", packages: &[] },
];

/// `cargo xtask lint`.
pub(crate) fn lint(arguments: &[OsString]) -> Result<ExitCode> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!("lint takes no argument, but got {}", argument.display())));
    }
    let mut failures = Vec::new();
    let mut check = |result: Result<()>| failures.extend(result.err());
    check(formatting());
    check(clippy(None));
    check(documentation());
    check(house_rules());
    for platform in PLATFORMS {
        check(type_check(platform));
    }
    for failure in &failures {
        eprintln!("xtask: {failure}");
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn formatting() -> Result<()> {
    step(cargo().args(["fmt", "--all", "--check"])).map_err(|failure| {
        with_remedy(failure, "run `cargo fmt --all`; the tool comes by `rustup component add rustfmt`")
    })
}

fn clippy(platform: Option<&Platform>) -> Result<()> {
    let mut command = cargo();
    command.arg("clippy");
    match platform {
        None => command.args(["--workspace", "--all-targets"]),
        Some(platform) => {
            command.args(["--target", platform.target]);
            let packages = platform.packages.iter().flat_map(|package| ["--package", package]);
            if platform.packages.is_empty() { command.arg("--workspace") } else { command.args(packages) }
        }
    };
    step(command.args(["--", "--deny=warnings"]))
        .map_err(|failure| with_remedy(failure, "the tool comes by `rustup component add clippy`"))
}

/// The program is left out: it has the library's name, so both would be written to one place.
fn documentation() -> Result<()> {
    let mut command = cargo();
    command.args([
        "doc",
        "--workspace",
        "--exclude",
        "palisade-cli",
        "--no-deps",
        "--document-private-items",
    ]);
    step(command.env("RUSTDOCFLAGS", "--deny=warnings"))
}

fn house_rules() -> Result<()> {
    eprintln!("xtask: house rules");
    let complaints = house::complaints()?;
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} house rules broken", complaints.len())))
    }
}

fn type_check(platform: &Platform) -> Result<()> {
    if has_standard_library(platform.target) {
        return clippy(Some(platform));
    }
    let target = platform.target;
    eprintln!(
        "xtask: NOT CHECKED for {target}, whose standard library is not here: `rustup target add {target}`"
    );
    Ok(())
}

fn has_standard_library(target: &str) -> bool {
    ask(Command::new(toolchain::rustc()).args(["--print", "target-libdir", "--target", target]))
        .is_ok_and(|(succeeded, folder)| succeeded && Path::new(&folder).is_dir())
}

fn with_remedy(failure: Failure, remedy: &str) -> Failure {
    Failure::new(format!("{failure}; {remedy}"))
}
