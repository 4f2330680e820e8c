//! The facade as a program that embeds Palisade uses it: no program `palisade` is involved, and commands are started by
//! bubblewrap itself.

mod embed;
mod errors;
mod lives;
mod output;
mod violations;

use palisade::{Command, Options, Outcome, Request, Sandbox};
use palisade_policy::{AbsPath, Anchor, FileRule, HostPattern, HostRule, Origin, PathPattern, Policy};
use palisade_tests::Project;
use std::ffi::OsString;

/// Runs `future` to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Rules of one list; paths that are not absolute start at the project's root.
fn paths(project: &Project, list: &str, texts: &[&str]) -> Vec<FileRule> {
    let anchor = Anchor { base: AbsPath::try_from(project.root().as_path()).expect("absolute"), home: None };
    let rule = |text: &&str| FileRule {
        pattern: PathPattern::parse(text, &anchor).expect(text),
        origin: Origin::flag(list, text),
    };
    texts.iter().map(rule).collect()
}

fn hosts(texts: &[&str]) -> Vec<HostRule> {
    let rule = |text: &&str| HostRule {
        pattern: HostPattern::parse(text).expect(text),
        origin: Origin::flag("allowedDomains", text),
    };
    texts.iter().map(rule).collect()
}

fn sandbox(policy: Policy) -> Sandbox {
    Sandbox::create(Options { policy, ..Options::default() }).expect("it works here")
}

fn shell(project: &Project, line: &str) -> Request {
    Request::new(Command::Shell(line.into()), project.root())
}

fn argv<W: Into<OsString>>(project: &Project, words: impl IntoIterator<Item = W>) -> Request {
    Request::new(Command::Argv(words.into_iter().map(Into::into).collect()), project.root())
}

/// Runs one line under `policy`.
fn run(project: &Project, policy: Policy, line: &str) -> Outcome {
    block_on(sandbox(policy).run(shell(project, line))).expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
