//! Machines that are odd, and limits that are low: there the sandbox works as anywhere, or says what is wrong and what to
//! do about it. It never hangs, dies without a word, or confines less.

mod faults;
mod limits;
mod machines;
mod roots;

use palisade_tests::{Palisade, Project};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// How a run must end.
enum Ends {
    /// The command ran, confined as ever.
    Works,
    /// Nothing ran: the stable word for why, and what else is said.
    Fails(&'static str, &'static str),
}
use Ends::{Fails, Works};

/// Tries everything that it must not, does some of what it may, and prints one word for each.
const LINE: &str = "\
    (echo evil > \"$OUTSIDE/evil\") 2> /dev/null || echo outside; \
    (echo evil > .bashrc) 2> /dev/null || echo protected; \
    (echo evil > later.conf) 2> /dev/null || echo later; \
    cat secret 2> /dev/null || echo hidden; \
    echo ok > made && cat made && rm made; \
    curl -s --noproxy '' -m 20 -o /dev/null -w '%{http_code}\\n' http://refused.invalid/; \
    test -d \"$TMPDIR\" && echo temporary";
const WORKED: &str = "outside\nprotected\nlater\nhidden\nok\n403\ntemporary\n";

/// `palisade run` of [`LINE`] with all that it needs.
fn trying(project: &Project) -> Palisade {
    project.write("secret", "s3cret\n");
    project.run().env("OUTSIDE", project.outside()).options([
        "--json",
        "--deny-write",
        "later.conf",
        "--deny-read",
        "secret",
        "-c",
        LINE,
    ])
}

/// Runs `command` behind `words`, which start what follows them in some odd way.
fn behind<S: Into<OsString>>(words: impl IntoIterator<Item = S>, command: &Command) -> Output {
    let mut words = words.into_iter().map(Into::into).chain([command.get_program().to_owned()]);
    let mut started = Command::new(words.next().expect("at least the command itself"));
    started.args(words).args(command.get_args()).stdin(Stdio::null());
    if let Some(directory) = command.get_current_dir() {
        started.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => started.env(name, value),
            None => started.env_remove(name),
        };
    }
    started.output().expect("it starts")
}

/// Makes sure that a run of [`trying`] ended as it must.
#[track_caller]
fn assert_ends(what: &str, project: &Project, output: &Output, ends: &Ends) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let shown = format!("{what}: {:?}\n{stdout}\n{stderr}", output.status);
    assert_eq!(output.status.signal(), None, "{shown}");
    assert!(!stderr.contains("panicked") && !stderr.contains("internal error"), "{shown}");
    match ends {
        Works => {
            assert_eq!((output.status.code(), stdout.as_ref()), (Some(0), WORKED), "{shown}");
            assert!(stderr.contains(r#""sandboxed":true"#), "{shown}");
        }
        Fails(code, said) => {
            assert_eq!((output.status.code(), stdout.as_ref()), (Some(125), ""), "{shown}");
            assert!(stderr.contains(&format!(r#""code":"{code}""#)) && stderr.contains(said), "{shown}");
        }
    }
    assert!(!project.outside().join("evil").exists(), "{shown}");
    assert_eq!(project.tree(), ["secret"], "{shown}");
}

/// A shell that does `line` and then becomes what follows.
fn shell(line: &str) -> Vec<OsString> {
    ["sh", "-c", &format!("{line}; exec \"$@\""), "sh"].map(Into::into).into()
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(Into::into).collect()
}
