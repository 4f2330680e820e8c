//! A command's standard streams: which of the caller's it may be given, and the pipes of those that are captured.

use crate::error::{Error, system};
use crate::request::Stream;
use rustix::fs::OFlags;
use std::io::{self, PipeReader};
use std::process::Stdio;

/// A directory that the caller has open leads, through `/proc/self/fd`, to the host's whole tree by the host's own
/// mounts. A file on standard input leads to itself, for writing, and so does one that was opened for reading on the other
/// two; an entry sees to that.
pub(crate) fn refuse_ways_around(streams: [Stream; 3], has_entry: bool) -> Result<(), Error> {
    use std::os::fd::AsFd;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let named = [
        ("standard input", stdin.as_fd()),
        ("standard output", stdout.as_fd()),
        ("standard error", stderr.as_fd()),
    ];
    for ((stream, fd), leads) in named.into_iter().zip(streams) {
        // What is closed leads nowhere.
        let Ok(stat) = rustix::fs::fstat(fd) else { continue };
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        let flags = rustix::fs::fcntl_getfl(fd);
        let is_path = flags.is_ok_and(|flags| flags.contains(OFlags::PATH));
        let was_for_writing = flags.is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR));
        let is_input = stream == "standard input" || !was_for_writing;
        let remedy = "give the command something else there";
        if leads == Stream::Inherit && (kind.is_dir() || is_path) {
            return Err(Error::Stream { stream, what: "a directory, or a mere path", remedy });
        }
        if leads == Stream::Inherit && is_input && kind.is_file() && !has_entry {
            let remedy = "pass it through a pipe, or give the sandbox an entry";
            return Err(Error::Stream { stream, what: "a file, which the command could write", remedy });
        }
    }
    Ok(())
}

/// The command's ends of its streams, and ours of those that are captured.
pub(crate) struct Pipes {
    pub(crate) inner: [Stdio; 3],
    pub(crate) outer: [Option<PipeReader>; 2],
}

impl Pipes {
    pub(crate) fn make([stdin, stdout, stderr]: [Stream; 3]) -> Result<Self, Error> {
        let stdin = if stdin == Stream::Inherit { Stdio::inherit() } else { Stdio::null() };
        let (stdout, from_stdout) = Self::output(stdout)?;
        let (stderr, from_stderr) = Self::output(stderr)?;
        Ok(Pipes { inner: [stdin, stdout, stderr], outer: [from_stdout, from_stderr] })
    }

    fn output(stream: Stream) -> Result<(Stdio, Option<PipeReader>), Error> {
        Ok(match stream {
            Stream::Inherit => (Stdio::inherit(), None),
            Stream::Null => (Stdio::null(), None),
            Stream::Capture => {
                let (reader, writer) = io::pipe().map_err(system("making a pipe"))?;
                (writer.into(), Some(reader))
            }
        })
    }
}
