//! `cargo xtask run …`: from a fresh machine to a command in the sandbox.
//!
//! It understands none of the options: everything after `run` is palisade's.

use crate::cargo;
use crate::failure::{Failure, Result};
use crate::setup::{Purpose, ensure};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// What palisade ends with when the sandbox could not run a command, of which a failed build is one more
/// reason.
const COULD_NOT_RUN: u8 = 125;

/// Sets up, builds, and becomes `palisade run …`, in the caller's folder.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    become_palisade(arguments).map_err(|failure| failure.with_exit_code(COULD_NOT_RUN))
}

fn become_palisade(arguments: &[OsString]) -> Result<ExitCode> {
    ensure(Purpose::Run)?;
    let [program] = cargo::build(&["--release", "--package", "palisade-cli"], ["palisade"])?;
    // Becoming the program, rather than waiting for it, leaves the terminal, signals and exit code to it
    // alone.
    let error = cargo::leave(&mut Command::new(program)).arg("run").args(arguments).exec();
    Err(Failure::new(format!("cannot run palisade: {error}")))
}
