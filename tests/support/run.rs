//! `palisade run` around one command.

use crate::{Project, Tools};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The longest that a run may take before the test fails, unless it says otherwise: far more than any needs.
const LONGEST: Duration = Duration::from_secs(300);

/// One `palisade run`, being put together.
#[derive(Debug)]
pub struct Palisade {
    command: Command,
    input: Vec<u8>,
    report: PathBuf,
    longest: Duration,
}

/// How one run ended.
pub struct Run {
    /// The exit status, or 1000 + n when signal n ended `palisade` itself.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard output, byte for byte.
    pub bytes: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// The object of `--json`.
    pub json: serde_json::Value,
}

impl Palisade {
    pub(crate) fn new(project: &Project) -> Self {
        let mut command = Command::new(&Tools::here().palisade);
        command.current_dir(project.root()).env("HOME", project.home()).arg("run");
        for name in ["CLAUDE_CONFIG_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        let report = tempfile::NamedTempFile::new_in(project.base()).expect("a temporary file");
        let report = report.into_temp_path().keep().expect("own file");
        Palisade { command, input: Vec::new(), report, longest: LONGEST }
    }

    /// Adds options of `palisade run`.
    pub fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.command.args(options);
        self
    }

    /// Adds `--settings` with the `sandbox` section `sandbox`.
    pub fn sandbox(self, sandbox: serde_json::Value) -> Self {
        self.options(["--settings".into(), serde_json::json!({ "sandbox": sandbox }).to_string()])
    }

    /// Sets a variable of the command.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts in another directory.
    pub fn directory(mut self, directory: impl AsRef<std::path::Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// What the command reads from standard input.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The longest that it may take.
    pub fn within(self, longest: Duration) -> Self {
        Palisade { longest, ..self }
    }

    /// Runs a shell line to its end.
    pub fn line(self, line: impl AsRef<OsStr>) -> Run {
        self.options([OsStr::new("-c"), line.as_ref()]).finish()
    }

    /// Runs a program to its end.
    pub fn argv<S: AsRef<OsStr>>(self, argv: impl IntoIterator<Item = S>) -> Run {
        self.options(["--"]).options(argv).finish()
    }

    /// The command as it stands, to be run in another way.
    pub fn into_command(self) -> Command {
        self.command
    }

    fn finish(mut self) -> Run {
        // The report goes through a descriptor that the shell opens, as a caller's would.
        let mut words: Vec<OsString> =
            vec!["-c".into(), "exec 9>\"$0\"; exec \"$@\"".into(), self.report.clone().into()];
        words.push(self.command.get_program().to_owned());
        let mut arguments = self.command.get_args();
        words.extend(arguments.next().map(ToOwned::to_owned));
        words.push("--json=9".into());
        words.extend(arguments.map(ToOwned::to_owned));
        let mut command = Command::new("/bin/sh");
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = to_end(command, std::mem::take(&mut self.input), self.longest);
        let json = std::fs::read_to_string(&self.report).unwrap_or_default();
        let _ = std::fs::remove_file(&self.report);
        Run::new(output, &json)
    }
}

/// Runs `command` to its end; a run without end fails the test.
fn to_end(mut command: Command, input: Vec<u8>, longest: Duration) -> Output {
    let mut child = command.spawn().expect("sh starts");
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let (done, ended) = std::sync::mpsc::channel();
    let watch = std::thread::spawn(move || {
        if ended.recv_timeout(longest).is_err() {
            let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output().expect("its output can be read");
    let _ = done.send(());
    watch.join().expect("no panic");
    writer.join().expect("no panic");
    output
}

/// All but the bytes, which are there as text already. What was said of an error stands at the end, where a log that
/// is cut still has it.
impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Run { status, stdout, bytes: _, stderr, json } = self;
        let mut shown = f.debug_struct("Run");
        shown.field("json", &format_args!("{json}")).field("stdout", stdout);
        shown.field("status", status).field("stderr", stderr).finish()
    }
}

impl Run {
    fn new(output: Output, json: &str) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let status = output.status.code().unwrap_or_else(|| 1000 + output.status.signal().unwrap_or(0));
        Run {
            status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            bytes: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            json: serde_json::from_str(json).unwrap_or_default(),
        }
    }

    /// The run itself, after making sure that the command ended well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 0, "{self:#?}");
        self
    }

    /// The targets of the violations, in order.
    pub fn violations(&self) -> Vec<String> {
        let list = self.json["sandbox"]["violations"].as_array().cloned().unwrap_or_default();
        list.iter().map(|violation| violation["target"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
