//! `cargo xtask …`: the project's own tasks, from setting a machine up to measuring.
//!
//! It must build on a machine that has nothing but Rust, so it depends on no crate of the workspace and on no
//! system library. It does not confine anything itself: it builds the programs that do, and runs them.
#![forbid(unsafe_code)]

mod bench;
mod bridge;
mod cargo;
mod failure;
mod house;
mod lint;
mod machine;
mod oracle;
mod ordinary_user;
mod repository;
mod run;
mod setup;
mod test;
mod toolchain;

use failure::Result;
use std::ffi::OsString;
use std::process::ExitCode;

/// One word after `cargo xtask`.
struct Task {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    carry_out: fn(&[OsString]) -> Result<ExitCode>,
}

const TASKS: &[Task] = &[
    Task {
        name: "run",
        arguments: "[OPTION…] -- COMMAND…",
        about: "Runs a command in the sandbox: installs what that needs, builds palisade, and hands it\n\
                everything after `run`. The exit code is the command's own.",
        carry_out: run::run,
    },
    Task {
        name: "test",
        arguments: "[--must-work] [FILTER…] [-- OPTION…]",
        about: "Sets up and runs every test; the integration tests as whoever calls and, when that is root,\n\
                as an ordinary user too. --must-work (implied by CI) fails where it would skip. Options\n\
                after -- are for the test programs, such as --nocapture.",
        carry_out: test::test,
    },
    Task {
        name: "integration",
        arguments: "[--must-work] [--long] [--bridge socat] [FILTER…] [-- OPTION…]",
        about: "The integration tests alone. --long runs those that take minutes or the network, instead of the\n\
                others: a thousand commands, work on this project itself, packages. --bridge socat runs\n\
                them over that bridge.",
        carry_out: test::integration,
    },
    Task {
        name: "lint",
        arguments: "",
        about: "Formatting, clippy, documentation, the house rules, and type-checks for other platforms.",
        carry_out: lint::lint,
    },
    Task {
        name: "oracle",
        arguments: "[--lines N] [--seed S]",
        about: "Asks bash's own parser about N made-up shell lines (a million) and compares its commands and\n\
                words with those of the permissions.",
        carry_out: oracle::oracle,
    },
    Task {
        name: "bench",
        arguments: "[RUNS]",
        about: "Measures whole commands against bare bubblewrap, as ratios in one run.",
        carry_out: bench::bench,
    },
    Task {
        name: "setup",
        arguments: "[run|test]",
        about: "Installs what running and testing need (or just one of them), and nothing else.",
        carry_out: setup::setup,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", help(TASKS));
        return ExitCode::from(2);
    };
    let Some(task) = TASKS.iter().find(|task| name == task.name) else {
        return answer_without_a_task(name);
    };
    // What follows `run` belongs to palisade, its `--help` too.
    if task.name != "run" && rest.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{}", help(std::slice::from_ref(task)));
        return ExitCode::SUCCESS;
    }
    (task.carry_out)(rest).unwrap_or_else(|failure| {
        eprintln!("xtask: {failure}");
        failure.exit_code()
    })
}

fn answer_without_a_task(name: &OsString) -> ExitCode {
    if ["--help", "-h", "help"].iter().any(|word| name == word) {
        print!("{}", help(TASKS));
        return ExitCode::SUCCESS;
    }
    eprintln!("xtask: there is no task {}\n\n{}", name.display(), help(TASKS));
    ExitCode::from(2)
}

fn help(tasks: &[Task]) -> String {
    let mut text = String::from("Usage: cargo xtask TASK …\n");
    for task in tasks {
        text.push_str(&format!("\n  {} {}\n", task.name, task.arguments));
        for line in task.about.lines() {
            text.push_str(&format!("      {}\n", line.trim_start()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_task_once() {
        let text = help(TASKS);
        for task in TASKS {
            assert_eq!(text.matches(&format!("\n  {} ", task.name)).count(), 1, "{}", task.name);
        }
    }
}
