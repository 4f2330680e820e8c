//! `palisade run`: one command, confined, as if it had been called directly.

use crate::explain::or_by_option;
use crate::failure::{Failure, SANDBOX_FAILED, say};
use crate::json::{self, JsonOutput};
use crate::options::RunOptions;
use crate::policy::{InForce, in_force_to_resolve, settings_directories};
use crate::signals::{Received, Signals};
use crate::terminal::Terminal;
use crate::warnings;
use nix::sys::signal::SigSet;
use palisade::{
    Command, Entry, HeadStart, Options, Process, Request, Sandbox, Shortage, Signal, Stream,
    UnsandboxedReason,
};
use palisade_policy::{NetworkPolicy, Violation};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;

/// Runs the command and gives the exit status for it.
pub(crate) fn run(options: &RunOptions) -> u8 {
    let json = match options.json.map(JsonOutput::open).transpose() {
        Ok(json) => json,
        Err(failure) => return fail(&failure),
    };
    let (status, object) = match run_to_end(options) {
        Ok(end) => (end.status, json::of_end(&end)),
        Err(failure) => (fail(&failure), json::of_failure(&failure)),
    };
    if let Some(json) = json {
        json.write(&object);
    }
    status
}

fn fail(failure: &Failure) -> u8 {
    say(&failure.message);
    failure.status
}

pub(crate) struct End {
    pub(crate) status: u8,
    pub(crate) unsandboxed_reason: Option<UnsandboxedReason>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) left_out: u64,
}

fn run_to_end(options: &RunOptions) -> Result<End, Failure> {
    let entry = Entry::this_program()
        .map_err(|error| failed("opening the program's own file by /proc, which must be mounted", error))?;
    // Before the first thread: a signal that comes from here on waits for its receiver.
    let signals = Signals::block().map_err(|error| failed("blocking signals", error.into()))?;
    let head_start = HeadStart::begin();
    let InForce { mut loaded, root, working_directory, .. } =
        in_force_to_resolve(&options.rules).map_err(Failure::of_run)?;
    loaded.policy.fail_if_unavailable |= options.require_sandbox;
    let network = loaded.policy.network.clone();
    warnings::tell();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed("starting the runtime", error))?;
    let sandbox = Sandbox::create(Options {
        policy: loaded.policy,
        roots: vec![root.clone()],
        entry: Some(entry),
        settings_directories: settings_directories(),
        head_start: Some(head_start?),
    })?;
    let request = Request {
        working_directory: Some(working_directory),
        streams: [Stream::Inherit; 3],
        ..Request::new(command(options), root)
    };
    let terminal = Terminal::controlling();
    let end = runtime.block_on(start_to_end(sandbox, request, &signals, terminal.as_ref()));
    if let Some(terminal) = &terminal {
        terminal.take_back();
    }
    if let Ok(end) = &end {
        tell(&end.violations, options.report, &network);
    }
    end.map_err(|failure| explained(failure, options))
}

/// Says so where a line for the shell was given as the name of a program.
fn explained(failure: Failure, options: &RunOptions) -> Failure {
    let is_line = |word: &OsString| word.as_bytes().iter().any(u8::is_ascii_whitespace);
    if failure.code != "PROGRAM_NOT_FOUND" || !options.command.first().is_some_and(is_line) {
        return failure;
    }
    Failure { message: format!("{}; a line for the shell is given with -c", failure.message), ..failure }
}

async fn start_to_end(
    sandbox: Sandbox,
    request: Request,
    signals: &SigSet,
    terminal: Option<&Terminal>,
) -> Result<End, Failure> {
    let signals = Signals::receive(signals).map_err(|error| failed("receiving signals", error))?;
    let prepared = sandbox.prepare(request).await?;
    // There is one command.
    drop(sandbox);
    if let (Some(terminal), Some(group)) = (terminal, prepared.group()) {
        terminal.offer(group);
    }
    let mut process = prepared.start().await?;
    if process.unsandboxed_reason().is_none() {
        // bubblewrap ends before the sandbox's first process, which then is an orphan: where process 1 reaps none, as in many
        // containers, each command would leave a zombie. Without this it is only that.
        let _ = nix::sys::prctl::set_child_subreaper(true);
    }
    // Outside there was no group to offer it to before.
    if let (Some(terminal), Some(_), Some(group)) = (terminal, process.unsandboxed_reason(), process.group())
    {
        terminal.offer(group);
    }
    let status = to_end(&mut process, &signals, terminal).await?;
    Ok(End {
        status,
        unsandboxed_reason: process.unsandboxed_reason().cloned(),
        violations: process.violations(),
        left_out: process.violations_left_out(),
    })
}

fn failed(doing: &str, error: std::io::Error) -> Failure {
    match Shortage::of(&error) {
        Some(shortage) => Failure::new("SANDBOX_SHORTAGE", format!("{doing}: {error}; {shortage}")),
        None => Failure::new("SANDBOX_LAUNCH", format!("{doing}: {error}")),
    }
}

fn command(options: &RunOptions) -> Command {
    match &options.line {
        Some(line) => Command::Shell(line.clone()),
        None => Command::Argv(options.command.clone()),
    }
}

/// Waits for the command, passing signals on to it and stopping with it meanwhile.
async fn to_end(
    process: &mut Process,
    signals: &Signals,
    terminal: Option<&Terminal>,
) -> Result<u8, Failure> {
    loop {
        let signal = tokio::select! {
            status = process.wait_for_end() => return status.map_err(Failure::from),
            signal = signals.next() => signal,
        };
        let done = match signal {
            Ok(Received { signal: Signal::SIGCHLD, .. }) => stop_if_stopped(process, terminal),
            Ok(Received { signal, is_for_all: true }) => process.signal_all(signal).await,
            Ok(Received { signal, is_for_all: false }) => process.signal(signal).await,
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            say(&format!("a signal could not be passed on to the command, which is ended instead: {error}"));
            return Ok(SANDBOX_FAILED);
        }
    }
}

/// Job control is the terminal's: without one, a command that somebody stopped is left to him.
fn stop_if_stopped(process: &Process, terminal: Option<&Terminal>) -> std::io::Result<()> {
    if let (Some(signal), Some(terminal), Some(group)) = (process.stopped_by()?, terminal, process.group()) {
        terminal.stopped(group, signal);
    }
    Ok(())
}

/// On a terminal, and wherever it is wanted, says in plain words what was stopped. Only who types commands has use for an
/// option.
fn tell(violations: &[Violation], is_wanted: bool, network: &NetworkPolicy) {
    let is_typed = std::io::stderr().is_terminal();
    if !is_wanted && !is_typed {
        return;
    }
    let mut told = violations.to_vec();
    for violation in told.iter_mut().filter(|_| is_typed) {
        let target = violation.target();
        let remedy = violation.remedy.take();
        violation.remedy =
            remedy.map(|remedy| or_by_option(&remedy, network, to_give(&remedy, &target)).into());
    }
    let _ = std::io::stderr().write_all(palisade::plain(&told).as_bytes());
}

/// The host to give as an option: what the remedy names, which may be an address that the target leads to, and no more
/// ports of it than were asked for.
fn to_give<'t>(remedy: &'t str, target: &'t str) -> &'t str {
    let entry = remedy.split('"').nth(1).unwrap_or(target);
    let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|port| !port.contains(':'));
    if target.strip_prefix(entry).is_some_and(is_port) { target } else { entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_opens_what_the_remedy_does_and_one_port_of_it() {
        for (entry, target, given) in [
            ("x.test", "x.test:443", "x.test:443"),
            ("127.0.0.1:80", "x.test:80", "127.0.0.1:80"),
            ("127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80", "[::1]:80"),
            ("x.test", "x.test.evil.test:443", "x.test"),
        ] {
            let remedy = format!("add \"{entry}\" to sandbox.network.allowedDomains");
            assert_eq!(to_give(&remedy, target), given);
        }
    }
}
