//! The share of `cargo xtask bench` that needs no sandbox: what it costs to read the rules, and to ask them.
//!
//! `rules` prints one line for each thing measured, `NAME`, `SECONDS` and `BUDGET` in seconds, apart by tabs. It judges
//! nothing; the bench does that.
#![forbid(unsafe_code)]

mod figure;
mod loading;
mod permissions;
mod verdicts;

use std::process::ExitCode;

fn main() -> ExitCode {
    match loading::figures() {
        Ok(figures) => {
            figures
                .iter()
                .chain(&verdicts::figures())
                .chain(&permissions::figures())
                .for_each(|figure| println!("{figure}"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("rules: {reason}");
            ExitCode::FAILURE
        }
    }
}
