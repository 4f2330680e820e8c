//! A program with Palisade inside, as small as it can be: `embed LINE` reads the settings of the working directory, of
//! the user and of the machine, asks the permission rules about one line for the shell, runs what they allow in the
//! sandbox, and prints what was stopped. Nobody is asked: what a person would have to decide is not run.
//!
//! ```console
//! $ cargo run -p palisade-tests --example embed -- 'ls; cat /etc/shadow'
//! ```
#![forbid(unsafe_code)]

mod session;

use palisade_policy::AbsPath;
use palisade_settings::{Places, Trust};
use session::Session;
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match embed() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("embed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<u8, Box<dyn Error>> {
    let line = std::env::args_os().nth(1).and_then(|line| line.into_string().ok());
    let line = line.ok_or("usage: embed LINE")?;
    let here = AbsPath::try_from(std::env::current_dir()?.as_path())?;
    let session = Session::open(Places::of_this_process(here.clone(), here, Trust::Untrusted)?)?;
    for remark in session.remarks() {
        eprintln!("warning: {remark}");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(session.run(&line))?;
    print!("{}", String::from_utf8_lossy(&outcome.stdout.bytes));
    eprint!("{}", String::from_utf8_lossy(&outcome.stderr.bytes));
    for violation in &outcome.sandbox.violations {
        println!("stopped: {violation}");
        println!("  {}", violation.remedy.as_deref().unwrap_or("nothing opens this"));
    }
    Ok(outcome.status)
}
