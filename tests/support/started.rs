//! A command that is running while a test looks at it.

use crate::Palisade;
use nix::unistd::Pid;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

/// A shell line that has printed its first line and now waits for the end of its input.
#[derive(Debug)]
pub struct Started {
    child: Child,
    first: String,
    rest: BufReader<ChildStdout>,
    /// What was written to standard error.
    said: File,
}

impl Palisade {
    /// Starts a shell line, which must print a line, and has it wait afterwards until [`Started::end`]. When it then
    /// goes on with `rest`, it has read all its input.
    pub fn start(self, line: &str, rest: &str) -> Started {
        let line = format!("{line}\nread -r _\n{rest}");
        let mut command = self.options(["-c", &line]).into_command();
        let said = tempfile::tempfile().expect("a temporary directory");
        let stderr = said.try_clone().expect("a descriptor");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().expect("palisade starts");
        let mut rest = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        rest.read_line(&mut first).expect("a line");
        Started { child, first, rest, said }
    }
}

impl Started {
    /// The first line that it printed, without its end.
    pub fn first(&self) -> &str {
        self.first.trim_end_matches('\n')
    }

    /// The first process of its sandbox, as the host sees it: its directory in `/proc`.
    pub fn first_process(&self) -> PathBuf {
        let deepest = below(self.child.id()).into_iter().filter_map(|process| {
            let process = PathBuf::from(format!("/proc/{process}"));
            let status = std::fs::read_to_string(process.join("status")).ok()?;
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
            let numbers: Vec<&str> = numbers.split_whitespace().collect();
            (numbers.last() == Some(&"1")).then_some((numbers.len(), process))
        });
        deepest.max().expect("it has one").1
    }

    /// The process that ends the sandbox when `palisade` is killed: the one with a session of its own.
    pub fn warden(&self) -> Pid {
        let below = below(self.child.id()).into_iter().map(|process| Pid::from_raw(process as i32));
        let mut leading = below.filter(|process| nix::unistd::getsid(Some(*process)) == Ok(*process));
        leading.next().expect("it was started first")
    }

    /// Kills the `palisade` that runs it, which cannot clear anything away then.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Lets it go on to its end: the exit status, and what it printed after the first line.
    pub fn end(self) -> (Option<i32>, String) {
        let (status, rest, _) = self.end_saying();
        (status, rest)
    }

    /// The same, and all that it and its `palisade` wrote to standard error.
    pub fn end_saying(mut self) -> (Option<i32>, String, String) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.rest.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it ends").code();
        let mut said = String::new();
        self.said.rewind().expect("a file");
        self.said.read_to_string(&mut said).expect("text");
        (status, rest, said)
    }
}

/// Every process that descends from `process`.
fn below(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<u32> = children
        .flat_map(|all| all.split(' ').filter_map(|one| one.parse().ok()).collect::<Vec<_>>())
        .collect();
    numbers.into_iter().flat_map(|child| std::iter::once(child).chain(below(child))).collect()
}
