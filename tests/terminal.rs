//! A command has the caller's terminal: it is one, it obeys Ctrl-C and Ctrl-Z, it can be edited on.
//!
//! Whatever is typed is echoed by the terminal. So what tests wait for is text that only comes out when something
//! has been done, such as a sum.

mod jobs;
mod programs;
mod pty;
mod words;

use nix::unistd::Pid;
use palisade_tests::{Marker, Project, eventually};
use pty::Pty;
use std::process::Command;

/// `palisade run` with `argv` on a terminal of its own.
fn run(project: &Project, options: &[&str], argv: &[&str]) -> Pty {
    Pty::start(&project.run().options(options).options(["--"]).options(argv).into_command())
}

/// An interactive bash of the host with `$PALISADE` to call.
fn host_shell(project: &Project) -> Pty {
    let palisade = project.run().into_command();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]).current_dir(project.root());
    bash.env("HOME", project.home())
        .env("PALISADE", palisade.get_program())
        .env("PS1", "prompt> ")
        .env("HISTFILE", "");
    let mut shell = Pty::start(&bash);
    shell.wait_for("prompt> ");
    shell
}

/// Waits until the program `name`, with the marker on its command line, is in the state that the letter stands for.
fn await_state(marker: &Marker, name: &str, letter: char) {
    let is_in_state = |process: Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.contains(&format!("({name}) {letter} "))
    };
    eventually(&format!("{name} is in state {letter}"), || marker.processes().into_iter().any(is_in_state));
}
