//! `cargo xtask bench`: what the sandbox costs, measured on whole commands, and what a question to the rules
//! costs.
//!
//! One run interleaves a plain command, the same command in bare bubblewrap with the arguments that confine
//! it equally, and the same under `palisade run`, so that whatever else the machine does falls on all of
//! them. What counts is the ratios to bare bubblewrap; the milliseconds are this machine's. The library's
//! share (one more command on a live sandbox) is measured by an example of the tests, in a process of its
//! own.
//!
//! Memory is the peak of every process of a command, read while the command waits inside for leave to end:
//! all that confines it is in place by then. Pages that processes share are counted in each.
//!
//! Questions to the rules need no sandbox. They are measured by another example of the tests, and have budgets
//! in microseconds.

mod curve;
mod memory;
mod rules;
mod subject;

use crate::cargo;
use crate::failure::{Context, Failure, Result};
use crate::setup::{Purpose, ensure};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use subject::Subject;

/// Runs of each command when the caller names no number.
const RUNS: usize = 200;
/// The library is measured after each of so many parts of the runs.
const BATCHES: usize = 5;
/// Runs of each command that are not counted: they bring files into memory.
const WARM_UP: usize = 2;
/// Where bare bubblewrap stands among the subjects.
const BARE: usize = 1;
/// And where `palisade run` does.
const PALISADE: usize = 2;
/// What `palisade run` may take, in times of bare bubblewrap.
const PROGRAM_BUDGET: f64 = 1.6;
/// What one more command on a live sandbox may take, in times of bare bubblewrap.
const LIBRARY_BUDGET: f64 = 1.3;

/// `cargo xtask bench [RUNS]`.
pub(crate) fn bench(arguments: &[OsString]) -> Result<ExitCode> {
    let runs = parse(arguments)?;
    ensure(Purpose::Run)?;
    let folder = subject::Folder::create()?;
    let subjects = [subject::plain(&folder), subject::bare_bubblewrap(&folder)?, subject::palisade(&folder)?];
    let library = Library::build()?;
    let measured = measure(&subjects, &library, runs)?;
    print_times(&subjects, &measured);
    print_memory(&subjects, &measured)?;
    curve::print(&folder, &subjects[PALISADE], &subjects[BARE])?;
    rules::Rules::build()?.print()?;
    Ok(ExitCode::SUCCESS)
}

/// The times of every subject, in their order, and those of the library.
struct Measured {
    times: Vec<Times>,
    live: Times,
    live_peak_kib: u64,
}

fn measure(subjects: &[Subject], library: &Library, runs: usize) -> Result<Measured> {
    let mut times = vec![Vec::new(); subjects.len()];
    let (mut live, mut live_peak_kib) = (Vec::new(), 0);
    for _ in 0..BATCHES {
        measure_batch(subjects, runs.div_ceil(BATCHES), &mut times)?;
        let answer = library.measure(runs.div_ceil(BATCHES))?;
        live.push(answer.per_command);
        live_peak_kib = answer.peak_kib.max(live_peak_kib);
    }
    Ok(Measured { times: times.into_iter().map(Times::new).collect(), live: Times::new(live), live_peak_kib })
}

/// One after another and over again, so that whatever else the machine does falls on all of them.
fn measure_batch(subjects: &[Subject], runs: usize, times: &mut [Vec<Duration>]) -> Result<()> {
    for round in 0..WARM_UP + runs {
        for (subject, times) in subjects.iter().zip(times.iter_mut()) {
            let time = time(subject)?;
            if round >= WARM_UP {
                times.push(time);
            }
        }
    }
    Ok(())
}

fn time(subject: &Subject) -> Result<Duration> {
    let mut command = subject.command(&["true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().cannot(format_args!("run {}", subject.name))?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(Failure::new(format!("{} failed ({status})", subject.name))) }
}

fn print_times(subjects: &[Subject], measured: &Measured) {
    let bare = &measured.times[BARE];
    println!("{} runs of each, interleaved; ratios are to bare bubblewrap", bare.0.len());
    println!("{:<36} {:>10} {:>10} {:>8} {:>8}", "", "median", "least", "median", "least");
    for (subject, times) in subjects.iter().zip(&measured.times) {
        let budget = (subject.name == subject::PALISADE).then_some(PROGRAM_BUDGET);
        print_row(subject.name, times, bare, budget);
    }
    print_row("one more command on a live sandbox", &measured.live, bare, Some(LIBRARY_BUDGET));
}

fn print_row(name: &str, times: &Times, bare: &Times, budget: Option<f64>) {
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let ratio = |time: Duration, bare: Duration| time.as_secs_f64() / bare.as_secs_f64();
    let by_median = ratio(times.median(), bare.median());
    let verdict = match budget {
        None => String::new(),
        Some(budget) if by_median <= budget => format!("  within {budget}"),
        Some(budget) => format!("  OVER {budget}"),
    };
    println!(
        "{name:<36} {:>10} {:>10} {by_median:>7.2}× {:>7.2}×{verdict}",
        milliseconds(times.median()),
        milliseconds(times.least()),
        ratio(times.least(), bare.least())
    );
}

fn print_memory(subjects: &[Subject], measured: &Measured) -> Result<()> {
    println!("\nPeak memory in KiB\n{:<36} {:>10} {:>10} {:>10}", "", "processes", "largest", "sum");
    for subject in subjects {
        println!("{:<36} {}", subject.name, memory::peaks(subject)?);
    }
    println!("{:<36} {:>10} {:>10}", "the host of a live sandbox", 1, measured.live_peak_kib);
    Ok(())
}

fn parse(arguments: &[OsString]) -> Result<usize> {
    match arguments {
        [] => Ok(RUNS),
        [number] => match number.to_str().and_then(|number| number.parse().ok()) {
            Some(runs) if runs > 0 => Ok(runs),
            _ => Err(Failure::usage(format!("{} is no number of runs", number.display()))),
        },
        _ => Err(Failure::usage("bench takes one number at most, that of the runs")),
    }
}

/// How long a command took, in ascending order.
struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Times(times)
    }

    fn median(&self) -> Duration {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    fn least(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }
}

/// The measurement of the library, which is an example of the tests: it runs commands one after another on
/// one live sandbox.
struct Library(PathBuf);

/// What it answers.
struct Answer {
    per_command: Duration,
    peak_kib: u64,
}

impl Library {
    fn build() -> Result<Self> {
        let [program] =
            cargo::build(&["--release", "--package", "palisade-tests", "--example", "live"], ["live"])?;
        Ok(Library(program))
    }

    fn measure(&self, runs: usize) -> Result<Answer> {
        let mut command = Command::new(&self.0);
        cargo::leave(&mut command).arg(runs.to_string()).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().cannot("run the measurement of a live sandbox")?;
        let text = String::from_utf8_lossy(&output.stdout);
        Answer::parse(&text)
            .ok_or_else(|| Failure::new(format!("a live sandbox's measurement says {:?}", text.trim())))
    }
}

impl Answer {
    /// `live SECONDS_PER_COMMAND PEAK_RSS_KIB`.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["live", seconds, peak] = words.as_slice() else { return None };
        let per_command = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
        Some(Answer { per_command, peak_kib: peak.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_library() {
        let answer = Answer::parse("live 0.0071 5120\n").expect("well-formed");
        assert_eq!((answer.per_command, answer.peak_kib), (Duration::from_micros(7100), 5120));
        for text in ["", "live", "live x 1", "live -1 1", "live 1 1 1", "dead 1 1"] {
            assert!(Answer::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn median_and_least() {
        let times = Times::new([3, 1, 2].map(Duration::from_millis).into());
        assert_eq!((times.median(), times.least()), (Duration::from_millis(2), Duration::from_millis(1)));
    }
}
