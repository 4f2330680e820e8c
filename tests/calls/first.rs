//! The sandbox's first process, which is bubblewrap's: nothing inside reaches it, and it holds nothing of the host's.
//! What is outside relies on it: with it the sandbox ends.

use super::privileges::EXPECTED;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palisade_tests::{Marker, Project, eventually, program};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Also a root's, whose files bubblewrap's are.
#[test]
fn nothing_of_it_is_to_be_had_in_proc() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "exec 2>&1; ls /proc/1; cat /proc/1/cmdline; readlink /proc/1/exe; cat /proc/1/task/1/maps; \
                echo > /proc/1/mem; echo > /proc/1/task/1/mem; chmod 755 /proc/1/exe; touch /proc/1/exe; \
                chmod 777 /proc/1; ls -d /proc/self/../1/fd; ls /proc/self/root/proc/1; ls /proc/self/task/../../1";
    let run = project.line(line);
    let told: Vec<&str> = run.stdout.lines().collect();
    let is_refusal =
        |line: &&&str| line.contains("Permission denied") || line.contains("Read-only file system");
    let others: Vec<_> = told.iter().filter(|line| !is_refusal(line)).collect();
    assert!(others.is_empty() && told.len() == 11, "{others:?} {run:#?}");
    assert_eq!(project.line("echo /proc/[0-9]*; echo $$").ok().stdout, "/proc/1 /proc/2\n2\n");
}

#[test]
fn it_holds_nothing_of_the_host_and_shows_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::write(project.outside().join("a-hidden-file"), "").expect("own directory");
    let hidden = project.outside().join("a-hidden-file");
    let started = project
        .run()
        .options(["--allow-host", "a-host.invalid", "--deny-read", hidden.to_str().expect("UTF-8")])
        .env("A_VARIABLE", "a-secret")
        .start("echo $A_VARIABLE", "true");
    assert_eq!(started.first(), "a-secret");
    let first = started.first_process();
    let held = descriptors(&first);
    let own = [0, 1, 2].map(|fd| std::fs::read_link(first.join(format!("fd/{fd}"))).expect("it is open"));
    let foreign: Vec<_> = held
        .iter()
        .filter(|held| !own.contains(held) && !held.to_string_lossy().starts_with("anon_inode:"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let read = |name: &str| std::fs::read(first.join(name)).expect("it is this user's");
    // Anybody on the machine can read its command line.
    let words = String::from_utf8_lossy(&read("cmdline")).into_owned();
    assert!(words.starts_with("bwrap\0"), "{words:?}");
    for text in ["a-hidden-file", "a-host.invalid", "a-secret", "A_VARIABLE=", "--ro-bind"] {
        assert!(!words.contains(text), "{text}: {words:?}");
    }
    assert_eq!(String::from_utf8_lossy(&read("environ")), "");
    let status = String::from_utf8_lossy(&read("status")).into_owned();
    for (name, value) in EXPECTED {
        assert!(status.contains(&format!("\n{name}:\t{value}\n")), "{name}: {status}");
    }
    assert_eq!(started.end().0, Some(0));
}

fn descriptors(process: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(process.join("fd")).expect("it is this user's").flatten();
    all.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}

/// As if a command had got it to: whoever controls it can have it leave its group and ask no more to die with its
/// parent. As long as the warden is kept from its work, what stands in for missing files stays as well.
#[test]
fn its_sandbox_ends_with_palisade_whatever_has_become_of_it() {
    let (Some(project), Some(other)) = (Project::where_it_works(), Project::where_it_works()) else { return };
    let Some(debugger) = program("gdb") else {
        eprintln!("SKIPPED: there is no gdb here");
        return;
    };
    let marker = Marker::new();
    let sleep = format!("setsid sleep {} & echo started", marker.seconds());
    let started = project.run().start(&sleep, "");
    assert_eq!(started.first(), "started");
    free(&debugger, &started.first_process());
    let warden = Stopped::new(started.warden());
    started.kill();
    other.line("true").ok();
    assert!(!marker.processes().is_empty(), "nobody has ended it yet");
    let cover = project.root().join(".mcp.json");
    assert!(cover.symlink_metadata().is_ok(), "it stands on that");
    drop(warden);
    eventually("nothing is left running", || marker.processes().is_empty());
    other.line("true").ok();
    eventually("the next start has removed what was left", || project.tree().is_empty());
}

/// A process that does nothing as long as this lives.
struct Stopped(Pid);

impl Stopped {
    fn new(process: Pid) -> Self {
        kill(process, Signal::SIGSTOP).expect("own process");
        Stopped(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// Has the sandbox's first process do what ties it to its parent no longer.
fn free(debugger: &Path, first: &Path) {
    let pid = first.file_name().and_then(|name| name.to_str()).expect("a number");
    let calls = ["call (int) prctl(1, 0)", "call (int) setsid()"];
    let mut command = Command::new(debugger);
    command.args(["-batch", "-nx", "-iex", "set sysroot /", "-p", pid]);
    let output = command.args(calls.iter().flat_map(|call| ["-ex", call])).stdin(Stdio::null()).output();
    let output = output.expect("it starts");
    assert!(String::from_utf8_lossy(&output.stdout).contains("$1 = 0\n$2 = "), "{output:?}");
}
