//! How long a command and what it started live, and what signals do to it.

mod background;
mod killed;
mod signals;

use palisade_tests::{Palisade, eventually};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Far longer than any of these commands takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(120);

/// A command that runs while the test does something to it.
struct Live {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Live {
    /// Starts it, and does not wait for anything. No signal is ignored, whatever the tests themselves ignore (under
    /// `nohup`, say).
    fn start(palisade: Palisade, argv: &[&str]) -> Self {
        let palisade = palisade.options(["--"]).options(argv).into_command();
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(palisade.get_program()).args(palisade.get_args());
        command.current_dir(palisade.get_current_dir().expect("tests say where"));
        for (name, value) in palisade.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("palisade starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        // Until then what the tests ignore is ignored. (For a moment it still has the name of who started it.)
        let name = PathBuf::from(format!("/proc/{}/comm", child.id()));
        eventually("env is palisade", || std::fs::read(&name).is_ok_and(|name| name == b"palisade\n"));
        Live { child, stdout }
    }

    /// Starts a line for bash and waits until it has printed its first line, which is given back.
    fn line(palisade: Palisade, line: &str) -> (Self, String) {
        let mut live = Self::start(palisade, &["bash", "-c", line]);
        let mut first = String::new();
        live.stdout.read_line(&mut first).expect("a pipe");
        (live, first.trim_end().to_owned())
    }

    fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.child.id() as i32)
    }

    #[track_caller]
    fn send(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(self.pid(), signal).expect("own child");
    }

    /// What else it prints, and how it ends. One without end is killed, which shows in its status.
    fn end(mut self) -> (ExitStatus, String) {
        let pid = self.pid();
        let (done, ended) = std::sync::mpsc::channel();
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(LONGEST).is_err() {
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
        });
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        let _ = done.send(());
        watch.join().expect("no panic");
        (self.child.wait().expect("own child"), rest)
    }
}
