//! What a bubblewrap says of itself: a JSON object a line, through a descriptor of its own.
//!
//! Until the command runs only bubblewrap writes there. From then on the command may have got hold of the bubblewrap
//! inside, so what comes later is believed as far as the command itself is: it says how the command ended.

use super::channels::{wait_readable, wait_readable_either};
use super::error::{LaunchError, SET_UP_TIME, failed};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The longest line that bubblewrap writes to the status descriptor; its own are about 200 bytes.
const LONGEST_STATUS: usize = 4096;

/// What a bubblewrap says of itself.
#[derive(Debug)]
pub(super) struct Status {
    from: File,
    /// What was read and not looked at yet.
    unread: Vec<u8>,
}

impl Status {
    /// With the end for bubblewrap.
    pub(super) fn pipe() -> Result<(Self, OwnedFd), LaunchError> {
        let (from, to) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| failed("making the status pipe")(error.into()))?;
        Ok((Status { from: File::from(from), unread: Vec::new() }, to))
    }

    /// Reads which number the first process has; `None` when bubblewrap, whose process `bwrap` is, has ended.
    pub(super) fn child_pid(&mut self, bwrap: BorrowedFd<'_>) -> Result<Option<u32>, LaunchError> {
        let Some(line) = self.read_line(bwrap, Instant::now() + SET_UP_TIME)? else { return Ok(None) };
        let pid =
            number_in(&line, "child-pid").and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
        match pid {
            Some(pid) => Ok(Some(pid.unsigned_abs())),
            None => Err(LaunchError::Status(String::from_utf8_lossy(&line).into_owned())),
        }
    }

    /// One line; `None` at the end, or when `bwrap` has ended: what it leaves may hold the other end open for ever. What
    /// has come behind the line is kept for later.
    fn read_line(
        &mut self,
        bwrap: BorrowedFd<'_>,
        deadline: Instant,
    ) -> Result<Option<Vec<u8>>, LaunchError> {
        let mut chunk = [0u8; 512];
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                return Ok(Some(self.unread.drain(..=end).collect()));
            }
            if self.unread.len() > LONGEST_STATUS {
                return Err(LaunchError::Status("a line without end".into()));
            }
            let waiting = failed("waiting for bubblewrap's status");
            if !wait_readable_either(self.from.as_fd(), bwrap, deadline).map_err(&waiting)? {
                return Err(LaunchError::TimedOut);
            }
            if !wait_readable(self.from.as_fd(), Instant::now()).map_err(&waiting)? {
                return Ok(None);
            }
            match self.from.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("reading bubblewrap's status")(error)),
            }
        }
    }

    /// What is left to be read, once nobody writes any more.
    pub(super) fn read_rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = std::mem::take(&mut self.unread);
        (&self.from).take(LONGEST_STATUS as u64).read_to_end(&mut rest)?;
        Ok(rest)
    }
}

/// The number behind `"key":` in bubblewrap's status, which is a JSON object a line.
pub(super) fn number_in(status: &[u8], key: &str) -> Option<u64> {
    status
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .find_map(|object| object.get(key)?.as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its first process may have the other end, and wait.
    #[test]
    fn a_bubblewrap_that_has_ended_says_no_more() {
        let (mut status, held) = Status::pipe().expect("a pipe");
        let (bwrap, ended) = io::pipe().expect("a pipe");
        drop(ended);
        assert_eq!(status.child_pid(bwrap.as_fd()).expect("no failure"), None);
        // What it said before counts.
        rustix::io::write(&held, b"{ \"child-pid\": 7 }\n").expect("there is room");
        assert_eq!(status.child_pid(bwrap.as_fd()).expect("no failure"), Some(7));
    }

    #[test]
    fn status_lines_are_read_by_key() {
        let lines = b"{ \"child-pid\": 7, \"net-namespace\": 1 }\n{ \"exit-code\": 130 }\n";
        assert_eq!(number_in(lines, "child-pid"), Some(7));
        assert_eq!(number_in(lines, "exit-code"), Some(130));
        assert_eq!(number_in(b"not json\n", "child-pid"), None);
    }
}
