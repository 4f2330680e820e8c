//! The program `palisade`: settings and options in, one confined command run, exit status out.
//!
//! It decides nothing of its own: settings come from `palisade-settings`, everything that confines is in the library
//! `palisade`. What is here is the terminal's side: options, signals, messages, exit statuses.
#![forbid(unsafe_code)]

mod check;
mod explain;
mod failure;
mod hook;
mod json;
mod links;
mod options;
mod policy;
mod probe;
mod profile;
mod run;
mod session;
mod settings;
mod signals;
mod terminal;
mod warnings;

use options::{Options, Verb};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Inside the sandbox this same program is what becomes the command.
    if let Some(status) = palisade::entry::run_if_asked() {
        return ExitCode::from(u8::try_from(status).unwrap_or(failure::SANDBOX_FAILED));
    }
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("palisade: internal error: {panic}; please report this");
    }));
    if let Some(failure) = failure::of_stack() {
        failure::say(&failure.message);
        // What is asked before each call must refuse it, before its options are known as well.
        let is_hook = std::env::args_os().nth(1).is_some_and(|verb| verb == "hook");
        return ExitCode::from(if is_hook { hook::REFUSED } else { failure.status });
    }
    let options = Options::of_process();
    let when_it_panics = match options.verb {
        Verb::Hook(_) => hook::REFUSED,
        _ => failure::SANDBOX_FAILED,
    };
    let outcome = std::panic::catch_unwind(|| match options.verb {
        Verb::Run(options) => run::run(&options),
        Verb::Profile(options) => profile::profile(&options),
        Verb::Explain(options) => explain::explain(&options),
        Verb::Settings(options) => settings::settings(&options),
        Verb::Check(options) => check::check(&options),
        Verb::Hook(options) => hook::hook(options),
        Verb::Probe(options) => probe::probe(&options),
    });
    ExitCode::from(outcome.unwrap_or(when_it_panics))
}
