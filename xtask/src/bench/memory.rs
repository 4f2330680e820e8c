//! The memory that the processes of one command take: its own, and those that confine it.
//!
//! A process's peak is only known while it lives. So the command says when it has started and then waits for
//! leave to end; in between, everything that confines it is in place and can be looked at.

use super::subject::Subject;
use crate::failure::{Context, Failure, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Peaks of resident memory, in KiB.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Peaks {
    processes: usize,
    largest: u64,
    sum: u64,
}

/// Runs a waiting command as `subject` does and reads the peaks of all its processes.
pub(super) fn peaks(subject: &Subject) -> Result<Peaks> {
    let mut child = subject
        .command(&["sh", "-c", "echo started; read leave"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .cannot(format_args!("run {}", subject.name))?;
    let peaks = wait_for_start(&mut child).and_then(|()| of_family(child.id()));
    drop(child.stdin.take());
    child.wait().cannot(format_args!("wait for {}", subject.name))?;
    peaks
}

fn wait_for_start(child: &mut Child) -> Result<()> {
    let output = child.stdout.take().ok_or_else(|| Failure::new("the command has no output"))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).cannot("read what the command says")?;
    if line == "started\n" { Ok(()) } else { Err(Failure::new("the command did not start")) }
}

/// The peaks of process `first` and of all its descendants.
fn of_family(first: u32) -> Result<Peaks> {
    let processes = processes()?;
    let mut family = vec![first];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        family.extend(processes.iter().filter(|(_, process)| process.parent == parent).map(|(id, _)| *id));
        at += 1;
    }
    let peaks: Vec<u64> =
        family.iter().filter_map(|id| processes.get(id)).map(|process| process.peak).collect();
    let largest = peaks.iter().copied().max().unwrap_or_default();
    Ok(Peaks { processes: peaks.len(), largest, sum: peaks.iter().sum() })
}

struct Process {
    parent: u32,
    peak: u64,
}

fn processes() -> Result<BTreeMap<u32, Process>> {
    let entries = fs::read_dir("/proc").cannot("list /proc")?;
    let read = |entry: fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        // A process may end between the listing and the look.
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        Some((id, Process::read(&status)?))
    };
    Ok(entries.flatten().filter_map(read).collect())
}

impl Process {
    /// From `/proc/PID/status`; `None` for what has no memory of its own.
    fn read(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Process { parent: field("PPid:")?.try_into().ok()?, peak: field("VmHWM:")? })
    }
}

impl fmt::Display for Peaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10} {:>10} {:>10}", self.processes, self.largest, self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_status() {
        let status = "Name:\tsh\nPPid:\t12\nVmPeak:\t   2576 kB\nVmHWM:\t    1004 kB\n";
        let process = Process::read(status).expect("both fields are there");
        assert_eq!((process.parent, process.peak), (12, 1004));
        assert!(Process::read("Name:\tkthreadd\nPPid:\t0\n").is_none(), "a kernel thread has no memory");
    }

    #[test]
    fn this_process_has_a_peak() {
        let own = of_family(std::process::id()).expect("/proc is there");
        assert!(own.processes >= 1 && own.largest > 0 && own.sum >= own.largest);
    }
}
