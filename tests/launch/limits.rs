//! Limits of the process that starts `palisade`, and what it inherits.

use super::{Ends, Fails, Works, assert_ends, behind, shell, trying, words};
use palisade_tests::Project;
use serde_json::json;
use std::ffi::OsString;
use std::process::Command;

/// Limits as `prlimit` takes them.
const LIMITS: &[(&str, Ends)] = &[
    ("--nofile=16:16", Fails("SANDBOX_SHORTAGE", "ulimit -n")),
    ("--nofile=20:20", Fails("SANDBOX_SHORTAGE", "ulimit -n")),
    ("--nofile=24:24", Fails("SANDBOX_SHORTAGE", "ulimit -n")),
    ("--nofile=48:48", Works),
    ("--nofile=64:64", Works),
    ("--fsize=0", Fails("SANDBOX_SHORTAGE", "ulimit -f")),
    ("--fsize=65536", Works),
    ("--stack=1048576:1048576", Works),
    ("--core=0 --memlock=0 --sigpending=0 --msgqueue=0 --rss=0", Works),
];

#[test]
fn low_limits_are_named_or_do_not_matter() {
    let Some(project) = Project::where_it_works() else { return };
    for (limits, ends) in LIMITS {
        let output = behind(words(&format!("prlimit {limits}")), &trying(&project).into_command());
        assert_ends(limits, &project, &output, ends);
    }
}

/// Before anything is read, the options included. A hook then refuses the call that it was asked about.
#[test]
fn a_stack_that_is_too_small_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    let palisade = trying(&project).into_command();
    for (verb, status) in [("run", 125), ("probe", 125), ("hook", 2)] {
        let mut command = Command::new(palisade.get_program());
        command.args([verb, "--", "touch", "ran"]).current_dir(project.root());
        let output = behind(words("prlimit --stack=65536:65536"), &command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{stderr}");
        assert!(stderr.contains("ulimit -s") && output.stdout.is_empty(), "{stderr}");
        assert_eq!(project.tree(), ["secret"], "{stderr}");
    }
}

/// The limit is one of ordinary users.
#[test]
fn a_user_with_too_many_processes_is_told_so() {
    let Some(project) = Project::where_it_works() else { return };
    let ends = match nix::unistd::geteuid().is_root() {
        true => Works,
        false => Fails("SANDBOX_SHORTAGE", "ulimit -u"),
    };
    let output = behind(words("prlimit --nproc=1:1"), &trying(&project).into_command());
    assert_ends("one process", &project, &output, &ends);
}

/// What a confined command could use up must not lead to commands that run without a sandbox.
#[test]
fn a_limit_that_is_used_up_does_not_make_the_sandbox_unavailable() {
    let Some(project) = Project::where_it_works() else { return };
    let limited = |limit: &str| {
        let run = trying(&project).sandbox(json!({ "failIfUnavailable": false })).into_command();
        behind(words(&format!("prlimit {limit}")), &run)
    };
    let is_root = nix::unistd::geteuid().is_root();
    for limit in ["--fsize=0"].into_iter().chain((!is_root).then_some("--nproc=1:1")) {
        assert_ends(limit, &project, &limited(limit), &Fails("SANDBOX_SHORTAGE", "raise that limit"));
    }
    // How many are open already differs from one machine to the next, and with what else is done at the moment:
    // somewhere on the way up each step runs out, before bubblewrap is started and after.
    let at_once = |limit: &str| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| limited(limit))).collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).collect::<Vec<_>>()
        })
    };
    let mut is_enough = false;
    for files in 10..80 {
        let limit = format!("--nofile={files}:{files}");
        let outputs = at_once(&limit);
        if outputs.iter().all(|output| output.status.success()) {
            is_enough = true;
            break;
        }
        for output in outputs.iter().filter(|output| !output.status.success()) {
            assert_ends(&limit, &project, output, &Fails("SANDBOX_SHORTAGE", "raise that limit"));
        }
    }
    assert!(is_enough, "80 descriptors do not do");
}

#[test]
fn what_is_inherited_does_not_matter() {
    let Some(project) = Project::where_it_works() else { return };
    let long = format!("env TMPDIR={}", "/t".repeat(2000));
    let masks = ["000", "077", "177"].map(|mask| ("mask", shell(&format!("umask {mask}"))));
    let mut all: Vec<(&str, Vec<OsString>)> = masks.into();
    let open = "for fd in $(seq 10 400); do eval \"exec $fd</dev/null\"; done; exec \"$@\"";
    all.push(("many open files", ["bash", "-c", open, "bash"].map(Into::into).into()));
    for line in [
        "env -u HOME",
        "env HOME=",
        "env -u TMPDIR",
        "env TMPDIR=",
        "env TMPDIR=/none/such",
        "env TMPDIR=/proc TEMP=/proc TMP=/proc TMPPREFIX=/proc/zsh",
        &long,
        "env SUDO_UID=1000 SUDO_GID=1000 SUDO_USER=me SUDO_COMMAND=/bin/sh",
        "env -u LANG -u LC_ALL -u USER -u LOGNAME -u SHELL -u TERM",
        "setpriv --no-new-privs",
        "nice -n 19",
    ] {
        all.push(("variables", words(line)));
    }
    for (what, words) in all {
        let shown = format!("{what} {:.100}", words.join(" ".as_ref()).display());
        assert_ends(&shown, &project, &behind(words, &trying(&project).into_command()), &Works);
    }
}
