//! `cargo xtask oracle`: bash's own parser as the judge of the reader of shell lines, over many made-up lines.
//!
//! The comparison itself is a test of `palisade-permissions` that ordinary runs make short; this runs it long, in a
//! release build, with as many lines as the caller wants, and where the oracle cannot be built it fails.

use crate::cargo::{self, step};
use crate::failure::{Failure, Result};
use crate::setup::{Purpose, ensure};
use std::ffi::OsString;
use std::process::ExitCode;

/// What is asked when the caller names no number.
const LINES: u64 = 1_000_000;

/// `cargo xtask oracle [--lines N] [--seed S]`.
pub(crate) fn oracle(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    ensure(Purpose::Test)?;
    step(
        cargo::cargo()
            .args(["test", "--release", "--package=palisade-permissions", "--test=shell"])
            .args(["oracle::bash_agrees_for_long", "--", "--ignored", "--exact", "--nocapture"])
            .env("PALISADE_ORACLE_LINES", options.lines.to_string())
            .env("PALISADE_ORACLE_SEED", options.seed.to_string())
            .env("SANDBOX_MUST_WORK", "1"),
    )?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    lines: u64,
    seed: u64,
}

impl Options {
    fn parse(arguments: &[OsString]) -> Result<Self> {
        let mut options = Options { lines: LINES, seed: 1 };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let number = rest.next().and_then(|value| value.to_str()).and_then(|value| value.parse().ok());
            let number =
                number.ok_or_else(|| Failure::usage("oracle takes --lines N and --seed S, both numbers"));
            match name.to_str() {
                Some("--lines") => options.lines = number?,
                Some("--seed") => options.seed = number?,
                _ => return Err(Failure::usage(format!("oracle has no option {}", name.display()))),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Option<Options> {
        Options::parse(&words.iter().map(OsString::from).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn options() {
        assert_eq!(parse(&[]), Some(Options { lines: LINES, seed: 1 }));
        assert_eq!(parse(&["--seed", "7", "--lines", "10"]), Some(Options { lines: 10, seed: 7 }));
        assert_eq!(parse(&["--lines"]), None);
        assert_eq!(parse(&["--lines", "many"]), None);
        assert_eq!(parse(&["10"]), None);
    }
}
