//! A command that is running while a test looks at it.

use crate::Palisade;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

/// A shell line that has printed its first line and now waits for the end of its input.
#[derive(Debug)]
pub struct Started {
    child: Child,
    first: String,
    rest: BufReader<ChildStdout>,
}

impl Palisade {
    /// Starts a shell line, which must print a line, and has it wait afterwards until [`Started::end`]. When it then
    /// goes on with `rest`, it has read all its input.
    pub fn start(self, line: &str, rest: &str) -> Started {
        let line = format!("{line}\nread -r _\n{rest}");
        let mut command = self.options(["-c", &line]).into_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("palisade starts");
        let mut rest = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        rest.read_line(&mut first).expect("a line");
        Started { child, first, rest }
    }
}

impl Started {
    /// The first line that it printed, without its end.
    pub fn first(&self) -> &str {
        self.first.trim_end_matches('\n')
    }

    /// Kills the `palisade` that runs it, which cannot clear anything away then.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Lets it go on to its end: the exit status, and what it printed after the first line.
    pub fn end(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.rest.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("it ends").code(), rest)
    }
}
