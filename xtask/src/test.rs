//! `cargo xtask test` and `cargo xtask integration`: every test, and the second half of them.
//!
//! The integration tests run real commands in the real sandbox, which behaves differently for root and for
//! others. So root runs them twice: as itself, and as an ordinary user. They find everything they need
//! through variables: `PALISADE_PROGRAM`, `PALISADE_ATTEMPT`, `PALISADE_ATTEMPT_STATIC` (the program that
//! makes one harmless access or system call, and the same linked statically), `PALISADE_TOOLCHAIN` (a Rust
//! that they can read), `PALISADE_REPOSITORY` (a copy of this project, for the long tests), and `SANDBOX_MUST_WORK`,
//! which turns a skip into a failure.

use crate::bridge;
use crate::cargo::{self, step};
use crate::failure::{Context, Failure, Result};
use crate::machine::is_root;
use crate::ordinary_user::{OrdinaryUser, UID};
use crate::setup::{Purpose, ensure};
use crate::{repository, toolchain};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// `cargo xtask test [--must-work] [FILTER…] [-- OPTION…]`.
pub(crate) fn test(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    if options.long {
        return Err(Failure::usage("--long is for integration"));
    }
    ensure(Purpose::Test)?;
    let mut report = Report::default();
    report.add("unit tests", unit_tests(&options));
    run_integration(&options, &mut report)?;
    report.finish()
}

/// `cargo xtask integration [--must-work] [--long] [--bridge socat] [FILTER…] [-- OPTION…]`.
pub(crate) fn integration(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    ensure(Purpose::Test)?;
    let mut report = Report::default();
    run_integration(&options, &mut report)?;
    report.finish()
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    must_work: bool,
    /// The tests that take minutes or the network, which ordinary runs leave out, instead of the others.
    long: bool,
    /// Whether the integration tests run over the bridge of socat.
    over_socat: bool,
    /// For the test programs: filters, and their own options.
    arguments: Vec<OsString>,
}

impl Options {
    fn parse(arguments: &[OsString]) -> Result<Self> {
        let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let mut options = Options { must_work: is_ci, long: false, over_socat: false, arguments: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--must-work" {
                options.must_work = true;
            } else if argument == "--long" {
                options.long = true;
            } else if argument == "--bridge" {
                match rest.next() {
                    Some(bridge) if bridge == "socat" => options.over_socat = true,
                    _ => return Err(Failure::usage("--bridge takes the word `socat`".to_owned())),
                }
            } else if argument == "--" {
                options.arguments.extend(rest.by_ref().cloned());
            } else if argument.as_encoded_bytes().starts_with(b"-") {
                return Err(Failure::usage(format!("test has no option {}", argument.display())));
            } else {
                options.arguments.push(argument.clone());
            }
        }
        Ok(options)
    }

    /// What starts `program`: itself, or what puts it where socat is the bridge.
    fn begin(&self, program: &Path) -> Result<Command> {
        if self.over_socat { bridge::with_socat(program) } else { Ok(Command::new(program)) }
    }

    fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if self.must_work {
            command.env("SANDBOX_MUST_WORK", "1");
        }
        if self.long {
            command.arg("--ignored");
        }
        command
    }

    /// Makes at `folder` what the long tests work on, if they are wanted.
    fn prepare(&self, folder: &Path, command: &mut Command) -> Result<()> {
        if self.long {
            repository::copy_to(folder)?;
            command.env("PALISADE_REPOSITORY", folder);
        }
        Ok(())
    }
}

/// What was run and how it went. A failure in one part does not keep the others from running.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    failed: bool,
}

impl Report {
    fn add(&mut self, name: &str, result: Result<()>) {
        let outcome = match result {
            Ok(()) => "passed".to_owned(),
            Err(failure) => {
                self.failed = true;
                format!("FAILED: {failure}")
            }
        };
        self.lines.push(format!("{name}: {outcome}"));
    }

    fn note(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn finish(self) -> Result<ExitCode> {
        eprintln!();
        for line in &self.lines {
            eprintln!("xtask: {line}");
        }
        Ok(if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn unit_tests(options: &Options) -> Result<()> {
    let mut command = cargo::cargo();
    command.args(["test", "--workspace", "--exclude", "palisade-tests", "--no-fail-fast", "--"]);
    step(options.apply(command.args(&options.arguments)))
}

fn run_integration(options: &Options, report: &mut Report) -> Result<()> {
    if !cfg!(target_os = "linux") {
        report.note("integration tests: NOT RUN, palisade launches commands on Linux only");
        return Ok(());
    }
    let programs = Programs::build()?;
    if options.over_socat {
        report.note("tests that call the library: NOT over socat, since only the program reads settings");
    }
    if !is_root() {
        report.add("integration tests as this user", as_the_caller(&programs, options));
        report.note("integration tests as root: NOT RUN, since this is not root");
        return Ok(());
    }
    report.add("integration tests as root", as_the_caller(&programs, options));
    let name = format!("integration tests as an ordinary user (number {UID})");
    report.add(&name, as_an_ordinary_user(&programs, options));
    Ok(())
}

fn as_the_caller(programs: &Programs, options: &Options) -> Result<()> {
    let mut command = options.begin(&programs.integration)?;
    cargo::leave(&mut command).current_dir(cargo::root().join("tests"));
    programs.apply(&mut command);
    options.prepare(&cargo::target_folder()?.join("xtask/repository"), &mut command)?;
    step(options.apply(command.args(&options.arguments)))
}

fn as_an_ordinary_user(programs: &Programs, options: &Options) -> Result<()> {
    let user = OrdinaryUser::create()?;
    let programs = Programs {
        integration: user.bring(&programs.integration)?,
        palisade: user.bring(&programs.palisade)?,
        attempt: user.bring(&programs.attempt)?,
        attempt_static: user.bring(&programs.attempt_static)?,
        toolchain: toolchain::open_to_everyone(&programs.toolchain, &user.path("toolchain"))?,
    };
    let mut command = user.command(|setpriv| options.begin(setpriv), &programs.integration)?;
    programs.apply(&mut command);
    options.prepare(&user.path("repository"), &mut command)?;
    step(options.apply(command.args(&options.arguments)))
}

/// What the integration tests run with.
struct Programs {
    integration: PathBuf,
    palisade: PathBuf,
    attempt: PathBuf,
    attempt_static: PathBuf,
    toolchain: PathBuf,
}

impl Programs {
    fn build() -> Result<Self> {
        // All of the workspace is named, although two targets are wanted, so that the dependencies have the features
        // that they have in the unit tests and need not be built once more.
        let wanted = ["--workspace", "--bin", "palisade", "--test", "integration"];
        let [palisade, integration] = cargo::build(&wanted, ["palisade", "integration"])?;
        let folder = cargo::target_folder()?.join("xtask");
        fs::create_dir_all(&folder).cannot(format_args!("make the folder {}", folder.display()))?;
        Ok(Programs {
            integration,
            palisade,
            attempt: compile_attempt(&folder.join("attempt"), "-crt-static")?,
            attempt_static: compile_attempt(&folder.join("attempt-static"), "+crt-static")?,
            toolchain: toolchain::sysroot()?,
        })
    }

    fn apply(&self, command: &mut Command) {
        let variables: [(&str, &Path); 4] = [
            ("PALISADE_PROGRAM", &self.palisade),
            ("PALISADE_ATTEMPT", &self.attempt),
            ("PALISADE_ATTEMPT_STATIC", &self.attempt_static),
            ("PALISADE_TOOLCHAIN", &self.toolchain),
        ];
        command.envs(variables);
    }
}

/// Compiles `tests/attempt/attempt.rs`. It is no cargo target, so that it exists in both linkages side by
/// side and links nothing but the standard library.
fn compile_attempt(output: &Path, linkage: &str) -> Result<PathBuf> {
    let mut command = Command::new(toolchain::rustc());
    command
        .args(["--edition=2024", "--crate-name=attempt", "-Copt-level=1"])
        .arg(format!("-Ctarget-feature={linkage}"))
        .args([OsStr::new("-o"), output.as_os_str(), OsStr::new("tests/attempt/attempt.rs")])
        .current_dir(cargo::root());
    step(&mut command)?;
    Ok(output.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_option_is_a_filter() {
        let words = ["git", "--must-work", "--long", "network::", "--", "--nocapture"].map(OsString::from);
        let options = Options::parse(&words).expect("well-formed");
        let arguments = ["git", "network::", "--nocapture"].map(OsString::from).into();
        assert_eq!(options, Options { must_work: true, long: true, over_socat: false, arguments });
        let words = ["--bridge", "socat"].map(OsString::from);
        assert!(Options::parse(&words).expect("well-formed").over_socat);
        assert!(Options::parse(&words[..1]).is_err(), "a bridge must be named");
        assert!(Options::parse(&["--mustwork".into()]).is_err(), "a misspelt option is no filter");
    }
}
