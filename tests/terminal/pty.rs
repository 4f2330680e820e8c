//! A terminal whose keyboard and screen are the test.

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Far longer than anything takes to appear on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// A program that leads a session on a terminal of its own.
pub(super) struct Pty {
    child: Child,
    keyboard: File,
    terminal: File,
    screen: Arc<Screen>,
    /// How much of the screen earlier waits have looked at.
    seen: usize,
}

/// All that was written so far.
#[derive(Default)]
struct Screen {
    text: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Pty {
    /// Starts `command` on a terminal of 24 lines with 80 columns. No signal is ignored, whatever the tests themselves
    /// ignore.
    pub(super) fn start(command: &Command) -> Self {
        let (keyboard, terminal) = open_pair().expect("a terminal");
        let mut leader = Command::new("env");
        leader
            .args(["--default-signal", "setsid", "--ctty"])
            .arg(command.get_program())
            .args(command.get_args());
        leader.current_dir(command.get_current_dir().expect("tests say where"));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => leader.env(name, value),
                None => leader.env_remove(name),
            };
        }
        let end = || terminal.try_clone().expect("a descriptor");
        leader.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        set_size(&terminal, 24, 80);
        let child = leader.spawn().expect("env starts");
        let screen = Arc::new(Screen::default());
        let (output, shown) = (keyboard.try_clone().expect("a descriptor"), Arc::clone(&screen));
        std::thread::spawn(move || shown.follow(output));
        Pty { child, keyboard, terminal, screen, seen: 0 }
    }

    /// Presses keys.
    pub(super) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes what is typed");
    }

    /// Types a line.
    pub(super) fn enter(&mut self, line: &str) {
        self.press(line);
        self.press("\r");
    }

    /// Waits until `text` has appeared since the last wait; gives back what was written up to its end.
    #[track_caller]
    pub(super) fn wait_for(&mut self, text: &str) -> String {
        match self.screen.wait_for(text, self.seen) {
            Ok(end) => {
                let shown = self.screen.from(self.seen, end);
                self.seen = end;
                shown
            }
            Err(shown) => panic!("waited in vain for {text:?}; on the screen is:\n{shown}"),
        }
    }

    /// Changes the size of the window.
    pub(super) fn resize(&self, lines: u16, columns: u16) {
        set_size(&self.terminal, lines, columns);
    }

    /// Waits for the program's end: its exit status, and all that was ever on the screen.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("own child");
        drop(self.terminal);
        let shown = self.screen.to_its_end();
        (status.code(), shown)
    }

    /// Takes the terminal away, as somebody does who closes the window.
    pub(super) fn close_window(self) -> Child {
        self.screen.give_up();
        drop((self.keyboard, self.terminal));
        self.child
    }
}

/// The keyboard and screen of a new terminal, and the terminal. No other program that is started meanwhile gets them.
pub(super) fn open_pair() -> nix::Result<(File, File)> {
    let ours = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let mut terminal = File::options();
    terminal.read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits());
    let terminal = terminal.open(ptsname_r(&ours)?).expect("it was unlocked");
    Ok((OwnedFd::from(ours).into(), terminal))
}

fn set_size(terminal: &File, lines: u16, columns: u16) {
    let mut stty = Command::new("stty");
    stty.args(["rows", &lines.to_string(), "cols", &columns.to_string()]);
    let terminal = terminal.try_clone().expect("a descriptor");
    assert!(stty.stdin(terminal).status().expect("stty starts").success());
}

impl Screen {
    /// Shows what comes until nothing can come any more, or nobody looks.
    fn follow(&self, mut output: File) {
        let mut chunk = [0; 4096];
        while self.is_looked_at() {
            if !is_readable(&output) {
                continue;
            }
            // When all have closed the terminal, the answer is an error.
            let Ok(count @ 1..) = output.read(&mut chunk) else { break };
            self.text.lock().expect("no panic").0.extend_from_slice(&chunk[..count]);
            self.changed.notify_all();
        }
        self.give_up();
    }

    fn is_looked_at(&self) -> bool {
        !self.text.lock().expect("no panic").1
    }

    /// Where `text` ends behind `start`; or all there is when it does not come.
    fn wait_for(&self, text: &str, start: usize) -> Result<usize, String> {
        let deadline = Instant::now() + LONGEST;
        let mut shown = self.text.lock().expect("no panic");
        loop {
            let found = shown.0[start..].windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                return Ok(start + at + text.len());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if shown.1 || left.is_zero() {
                return Err(String::from_utf8_lossy(&shown.0).into_owned());
            }
            shown = self.changed.wait_timeout(shown, left).expect("no panic").0;
        }
    }

    fn from(&self, start: usize, end: usize) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("no panic").0[start..end]).into_owned()
    }

    fn to_its_end(&self) -> String {
        let mut shown = self.text.lock().expect("no panic");
        while !shown.1 {
            shown = self.changed.wait(shown).expect("no panic");
        }
        String::from_utf8_lossy(&shown.0).into_owned()
    }

    fn give_up(&self) {
        self.text.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }
}

/// Whether something can be read, or nothing ever will, within a moment.
fn is_readable(output: &File) -> bool {
    let mut waited = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
    poll(&mut waited, 100_u16).is_ok_and(|ready| ready > 0)
}
