//! Killed without a chance to clean up, `palisade` leaves nothing running, and what it leaves on disk goes with the next
//! start.

use super::{LONGEST, Live};
use nix::sys::signal::{Signal, kill, killpg};
use palisade_tests::{Marker, Palisade, Project, eventually};
use std::collections::HashSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Processes of every kind that might escape, and one that waits.
fn line(marker: &Marker) -> String {
    let sleep = format!("sleep {}", marker.seconds());
    format!(
        "echo $TMPDIR; touch $TMPDIR/f; {sleep} & (trap '' HUP INT TERM; {sleep}) & setsid {sleep} & \
         nohup {sleep} > /dev/null 2>&1 & (setsid sh -c '{sleep} & {sleep}' &) ; wait"
    )
}

/// With a path that a cover stands in for while a command runs.
fn protecting(project: &Project) -> Palisade {
    project.run().options(["--deny-write", "later.conf"])
}

#[test]
fn a_running_command_and_all_that_it_started_die_with_palisade() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let (live, temporary) = Live::line(protecting(&project), &line(&marker));
    eventually("all of it runs", || marker.processes().len() >= 8);
    live.send(Signal::SIGKILL);
    live.end();
    eventually("nothing is left running", || marker.processes().is_empty());
    let temporary = PathBuf::from(temporary);
    let scratch = temporary.parent().expect("it lies in the scratch directory").to_owned();
    assert!(scratch.starts_with("/tmp"), "{scratch:?}");
    project.line("true").ok();
    eventually("the next start has removed what was left", || !scratch.exists() && project.tree().is_empty());
}

/// Numbers that look random and are the same each time.
struct Delays(u64);

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(Duration::from_micros((self.0 >> 33) % 40_000))
    }
}

/// What is caught here: bubblewrap's own link to its parent stands only once the command has started. So half of the
/// rounds count from the moment when there is a bubblewrap.
#[test]
fn killed_at_any_moment_palisade_leaves_nothing_running() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let before = dead_scratch_directories();
    for (round, delay) in Delays(7).take(100).enumerate() {
        assert_closes(start_and_kill(&project, &marker, round, delay));
        eventually("nothing is left running", || marker.processes().is_empty());
    }
    assert_the_next_start_removes_what_is_left(&project, &before);
}

/// Those that are killed and those that go on share what stands in for missing files, and who clears away after the dead
/// must not take it from the living.
#[test]
fn killed_at_any_moment_palisade_takes_nothing_from_others() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let before = dead_scratch_directories();
    let is_over = AtomicBool::new(false);
    let work = || {
        let mut count = 0;
        while !is_over.load(Ordering::Relaxed) {
            let line =
                "echo evil 2> /dev/null > later.conf && echo evil; echo kept > $TMPDIR/f; cat $TMPDIR/f";
            assert_eq!(protecting(&project).line(line).ok().stdout, "kept\n");
            count += 1;
        }
        count
    };
    let kill_some = |seed| {
        for (round, delay) in Delays(seed).take(25).enumerate() {
            assert_closes(start_and_kill(&project, &marker, round, delay));
        }
    };
    let counts: Vec<u32> = std::thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        let killers: Vec<_> = (0..4).map(|seed| scope.spawn(move || kill_some(seed))).collect();
        let all_killed = killers.into_iter().all(|killer| killer.join().is_ok());
        is_over.store(true, Ordering::Relaxed);
        assert!(all_killed);
        others.into_iter().map(|other| other.join().expect("all that it ran went well")).collect()
    });
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    eventually("nothing is left running", || marker.processes().is_empty());
    assert_the_next_start_removes_what_is_left(&project, &before);
}

/// Starts a command and kills its `palisade` after `delay`; what all that it started had as output comes back.
fn start_and_kill(project: &Project, marker: &Marker, round: usize, delay: Duration) -> ChildStdout {
    let mut command = protecting(project).options(["-c", &line(marker)]).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().expect("palisade starts");
    if round.is_multiple_of(2) {
        std::thread::park_timeout(delay);
    } else {
        eventually("there is a bubblewrap", || has_bubblewrap(&child));
        std::thread::park_timeout(delay / 8);
    }
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    // A caller that kills its child, and one that kills whatever is in the child's process group.
    let killed = if round % 4 < 2 { kill(pid, Signal::SIGKILL) } else { killpg(pid, Signal::SIGKILL) };
    killed.expect("own child");
    child.wait().expect("own child");
    child.stdout.take().expect("a pipe")
}

#[track_caller]
fn assert_the_next_start_removes_what_is_left(project: &Project, before: &HashSet<PathBuf>) {
    let left: Vec<PathBuf> = dead_scratch_directories().difference(before).cloned().collect();
    project.line("true").ok();
    eventually("the next start has removed the covers", || project.tree().is_empty());
    for directory in left {
        eventually("the next start has removed what was left", || {
            directory.symlink_metadata().is_err() || is_locked(&directory)
        });
    }
}

fn has_bubblewrap(palisade: &Child) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", palisade.id())).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|children| children.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .any(|child| {
            std::fs::read(format!("/proc/{child}/cmdline")).is_ok_and(|words| words.starts_with(b"bwrap\0"))
        })
}

/// Every process that was started with this as its output is gone: bubblewrap itself, on whose command line nothing of
/// the command stands, is among them.
#[track_caller]
fn assert_closes(mut output: ChildStdout) {
    let (closed, is_closed) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = output.read_to_end(&mut Vec::new());
        let _ = closed.send(());
    });
    is_closed.recv_timeout(LONGEST).expect("somebody still holds the output open");
}

/// Those of this user that nobody holds. Whoever is about to hold one may be among their owners.
fn dead_scratch_directories() -> HashSet<PathBuf> {
    let user = nix::unistd::geteuid().as_raw();
    [PathBuf::from("/tmp"), format!("/tmp/palisade-private-{user}").into()]
        .into_iter()
        .flat_map(|base| std::fs::read_dir(base).into_iter().flatten().flatten())
        .filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user))
        .filter(|entry| entry.file_name().to_str().is_some_and(is_scratch_name))
        .map(|entry| entry.path())
        .filter(|path| !is_locked(path))
        .collect()
}

fn is_scratch_name(name: &str) -> bool {
    name.strip_prefix("palisade-")
        .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Whether some process holds a lock on it, without taking one for that.
fn is_locked(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else { return false };
    let locks = std::fs::read_to_string("/proc/locks").expect("there is a /proc");
    let inode = format!(":{}", metadata.ino());
    locks.lines().any(|line| line.split_whitespace().any(|word| word.ends_with(&inode)))
}
