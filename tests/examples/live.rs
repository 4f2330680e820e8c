//! The library's share of `cargo xtask bench`: one command after another on one live sandbox.
//!
//! `live N` runs `true` N times with its output captured, as the host of a library does, and prints
//! `live SECONDS_PER_COMMAND PEAK_RSS_KIB`: the median, and the most memory that this process ever held. It compares
//! nothing; the bench does that.
#![forbid(unsafe_code)]

use palisade::{Command, Error, Options, Request, Sandbox};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let count = std::env::args_os().nth(1);
    let count = count.and_then(|count| count.to_str()?.parse().ok()).filter(|&count| count > 0);
    let Some(count) = count else {
        eprintln!("usage: live N, where N is how many commands to run");
        return ExitCode::from(2);
    };
    match measure(count) {
        Ok(median) => {
            println!("live {:.9} {}", median.as_secs_f64(), peak_kib());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("live: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn measure(count: usize) -> Result<Duration, String> {
    let root = tempfile::tempdir().map_err(|error| format!("no directory to run in: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(async {
        let sandbox = Sandbox::create(Options::default()).map_err(|error| error.to_string())?;
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            times.push(time_one(&sandbox, root.path()).await.map_err(|error| error.to_string())?);
        }
        times.sort_unstable();
        Ok(times[count / 2])
    })
}

async fn time_one(sandbox: &Sandbox, root: &Path) -> Result<Duration, Error> {
    let start = Instant::now();
    let outcome = sandbox.run(Request::new(Command::Argv(vec!["true".into()]), root)).await?;
    let time = start.elapsed();
    assert_eq!(outcome.status, 0, "true failed: {outcome:?}");
    Ok(time)
}

/// The peak of this process's resident memory.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}
