//! A call returns when its command ends, and what the command left running ends then.

use palisade_tests::{Marker, Project};
use std::time::{Duration, Instant};

/// Ways to leave a process behind that holds the command's output open.
const LEAVING: [&str; 6] = [
    "{} &",
    "{} & disown",
    "nohup {} 2>&1 &",
    "setsid {} &",
    "(setsid sh -c '(trap \"\" HUP INT TERM QUIT; {}) &' &)",
    "python3 -c \"import os, sys; os.fork() and sys.exit(); os.setsid(); os.fork() and sys.exit(); os.execvp('sleep', '{}'.split())\"",
];

#[test]
fn a_background_process_with_the_output_open_neither_delays_the_call_nor_outlives_it() {
    let Some(project) = Project::where_it_works() else { return };
    for leaving in LEAVING {
        let marker = Marker::new();
        let left = leaving.replace("{}", &format!("sleep {}", marker.seconds()));
        let start = Instant::now();
        // The harness reads both streams to their end.
        let run = project.line(&format!("{left}\necho started")).ok();
        assert_eq!(run.stdout, "started\n", "{leaving}: {run:?}");
        assert!(start.elapsed() < Duration::from_secs(60), "{leaving}");
        assert!(marker.processes().is_empty(), "{leaving}");
    }
}

#[test]
fn a_program_that_leaves_children_ends_as_well() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let script =
        format!("import subprocess, sys; subprocess.Popen(['sleep', '{}']); sys.exit(5)", marker.seconds());
    assert_eq!(project.run().argv(["python3", "-c", &script]).status, 5);
    assert!(marker.processes().is_empty());
}

/// Nothing that writes is left when the call returns: what a command's children still wrote is there, and no more comes.
#[test]
fn no_write_comes_after_the_call() {
    let Some(project) = Project::where_it_works() else { return };
    project.line("(while :; do echo line >> log; done) & until test -s log; do :; done").ok();
    let log = project.read("log");
    assert!(!log.is_empty());
    // As long as it takes to run another command, a writer would have been at it.
    project.line("true").ok();
    assert_eq!(project.read("log"), log);
}
