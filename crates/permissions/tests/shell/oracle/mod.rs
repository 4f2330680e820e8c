//! bash itself as the judge of the reader: every command that bash's parser finds must be in the reading, and every
//! word with a value must become exactly that argument.
//!
//! bash is asked through a loadable builtin (`tree.c`) that walks its parse tree and runs nothing. It is built on the
//! spot with gcc and bash's headers; where these are missing the tests say so and pass, unless
//! `SANDBOX_MUST_WORK=1` is set.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "asking bash is I/O; the crate does none"
)]

mod compare;
mod lines;

use crate::corpus::{self, Entry};
use compare::compare;
use lines::Lines;
use palisade_permissions::shell::{Reading, Shell, read};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What bash's parser says about one line.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The simple commands, those in substitutions behind the others.
    pub(crate) commands: Vec<Simple>,
    /// bash reports an error after these.
    pub(crate) error: bool,
}

/// One simple command of bash's.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    /// The variable of a `for`.
    pub(crate) variable: Option<String>,
    pub(crate) assignments: Vec<Text>,
    pub(crate) words: Vec<Text>,
    pub(crate) redirections: Vec<(String, Text)>,
}

/// A word of bash's.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) raw: String,
    /// Something in it is run or looked up.
    pub(crate) dynamic: bool,
    /// The arguments that it becomes.
    pub(crate) values: Vec<String>,
}

/// A bash that answers.
struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    /// Builds the builtin and starts bash, or says what is missing.
    fn start() -> Result<Self, String> {
        // Tests of one process run side by side.
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("oracle-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let library = build(&folder)?;
        let script =
            format!("enable -f '{}' tree && cd '{}' && tree", library.display(), empty(&folder)?.display());
        let mut child = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", &script])
            .env_clear()
            .env("HOME", "/home/nobody")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("bash does not start: {error}"))?;
        let input = child.stdin.take().ok_or("bash has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("bash has no output")?);
        let mut oracle = Oracle { child, input, output };
        let commands = oracle.ask("a; b")?.commands.len();
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
        if commands == 2 { Ok(oracle) } else { Err("the builtin does not work with this bash".into()) }
    }

    fn ask(&mut self, line: &str) -> Result<Answer, String> {
        write!(self.input, "{}\n{line}", line.len())
            .and_then(|()| self.input.flush())
            .map_err(|error| format!("bash takes no line: {error}"))?;
        let mut answer = Answer::default();
        loop {
            let mut field = Vec::new();
            self.output.read_until(0, &mut field).map_err(|error| error.to_string())?;
            if field.pop() != Some(0) {
                return Err("bash ended".into());
            }
            let text = String::from_utf8_lossy(&field).into_owned();
            if text == "." {
                return Ok(answer);
            }
            answer.add(&text)?;
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Its end is not of interest: it ends with its input in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn add(&mut self, field: &str) -> Result<(), String> {
        let mut chars = field.chars();
        let kind = chars.next();
        let rest = chars.as_str().to_owned();
        let new = |raw: String| Text { raw, ..Text::default() };
        match kind {
            Some('C') => {
                self.commands.push(Simple::default());
                return Ok(());
            }
            Some('E') => {
                self.error = true;
                return Ok(());
            }
            _ => {}
        }
        let command = self.commands.last_mut().ok_or("a word without a command")?;
        match kind {
            Some('F') => command.variable = Some(rest),
            Some('A') => command.assignments.push(new(rest)),
            Some('W') => command.words.push(new(rest)),
            Some('R') => {
                let (operator, target) = rest.split_once(' ').ok_or("a redirection without a target")?;
                command.redirections.push((operator.into(), new(target.into())));
            }
            Some('D') => command.last_text().ok_or("nothing is dynamic")?.dynamic = true,
            Some('V') => command.last_text().ok_or("a value of nothing")?.values.push(rest),
            _ => return Err(format!("a field that is not known: {field:?}")),
        }
        Ok(())
    }
}

impl Simple {
    fn last_text(&mut self) -> Option<&mut Text> {
        match (self.redirections.last_mut(), self.words.last_mut()) {
            (Some((_, target)), _) => Some(target),
            (None, Some(word)) => Some(word),
            (None, None) => self.assignments.last_mut(),
        }
    }
}

fn build(folder: &Path) -> Result<PathBuf, String> {
    let headers = Path::new("/usr/include/bash");
    if !headers.join("builtins.h").is_file() {
        return Err("bash's headers are not there (Debian's package bash-builtins has them)".into());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell/oracle/tree.c");
    let library = folder.join("tree.so");
    let status = Command::new("gcc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .args(["", "include", "builtins"].map(|part| format!("-I{}", headers.join(part).display())))
        .status()
        .map_err(|error| format!("gcc does not start: {error}"))?;
    if status.success() { Ok(library) } else { Err("gcc does not build the builtin".into()) }
}

/// A folder without files, where patterns match nothing.
fn empty(folder: &Path) -> Result<PathBuf, String> {
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty).map_err(|error| error.to_string())?;
    Ok(empty)
}

/// Runs a test with the oracle where there is one.
fn with_oracle(test: impl FnOnce(&mut Oracle)) {
    match Oracle::start() {
        Ok(mut oracle) => test(&mut oracle),
        Err(why) if std::env::var_os("SANDBOX_MUST_WORK").is_some_and(|value| value == "1") => {
            panic!("the oracle must work: {why}")
        }
        Err(why) => eprintln!("skipped: {why}"),
    }
}

/// What came of many lines.
#[derive(Debug, Default)]
struct Tally {
    lines: usize,
    accepted: usize,
    read: usize,
    read_and_accepted: usize,
    values: usize,
    differences: usize,
}

impl Tally {
    fn add(&mut self, oracle: &mut Oracle, line: &str) {
        let answer = oracle.ask(line).unwrap_or_else(|why| panic!("{why}, asked about {line:?}"));
        self.lines += 1;
        self.accepted += usize::from(!answer.error);
        let Reading::Read(reading) = read(line, Shell::Bash) else { return };
        self.read += 1;
        self.read_and_accepted += usize::from(!answer.error);
        self.values += reading.commands.iter().flat_map(|c| &c.words).filter(|w| w.value.is_some()).count();
        for difference in compare(&reading, &answer) {
            eprintln!("  {line:?}\n      {difference}");
            self.differences += 1;
        }
    }

    fn show(&self) -> String {
        format!(
            "{} lines, of which bash accepts {}; {} read, of which bash accepts {}; {} words with a value; {} differences",
            self.lines, self.accepted, self.read, self.read_and_accepted, self.values, self.differences
        )
    }

    fn check(&self) {
        eprintln!("{}", self.show());
        assert_eq!(self.differences, 0, "differences from bash");
    }
}

#[test]
fn bash_agrees_on_the_corpus() {
    with_oracle(|oracle| {
        let mut tally = Tally::default();
        for Entry { line, .. } in corpus::entries() {
            if !line.contains('\0') {
                tally.add(oracle, &line);
            }
        }
        tally.check();
    });
}

#[test]
fn bash_agrees_on_made_lines() {
    with_oracle(|oracle| fuzz(oracle, 4_000, 1));
}

/// `cargo xtask oracle`.
#[test]
#[ignore = "takes minutes; `cargo xtask oracle` runs it"]
fn bash_agrees_for_long() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let lines = number("PALISADE_ORACLE_LINES").unwrap_or(1_000_000);
    let seed = number("PALISADE_ORACLE_SEED").unwrap_or(1);
    with_oracle(|oracle| fuzz(oracle, lines, seed));
}

fn fuzz(oracle: &mut Oracle, count: u64, seed: u64) {
    let mut tally = Tally::default();
    let mut lines = Lines::new(seed);
    for _ in 0..count {
        let line = lines.next_line();
        tally.add(oracle, &line);
        if tally.lines % 100_000 == 0 {
            eprintln!("{}", tally.show());
        }
        if tally.differences > 200 {
            break;
        }
    }
    tally.check();
}
