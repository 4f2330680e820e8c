//! System calls that fail, one in each process of a launch: the launch ends all the same, says why if it could not do
//! its work, and leaves no process and no file.

use palisade_tests::{Project, Tools};
use std::process::{Command, Stdio};

/// A call, what it fails with, and which ones of each process do so, one a run.
const FAULTS: &[(&str, &str, &[u32])] = &[
    // Everything that is started, and how it is held and waited for.
    ("clone", "EAGAIN", &[1, 2, 3, 4]),
    ("clone3", "EAGAIN", &[1, 2]),
    ("pidfd_open", "EMFILE", &[1, 2]),
    ("execve", "ETXTBSY", &[2]),
    // What passes between the processes.
    ("pipe2", "EMFILE", &[1, 2, 3]),
    ("socketpair", "EMFILE", &[1, 2, 3]),
    ("memfd_create", "ENOMEM", &[1, 2]),
    ("sendto", "ENOBUFS", &[1]),
    ("recvmsg", "EINTR", &[1]),
    ("fcntl", "EMFILE", &[3, 4, 5]),
    // The sandbox's namespaces and mounts.
    ("unshare", "EPERM", &[1]),
    ("setns", "ENOMEM", &[1, 2]),
    ("mount", "ENOMEM", &[4]),
    ("open_tree", "EMFILE", &[1]),
    ("move_mount", "ENOMEM", &[2]),
    ("listen", "ENOMEM", &[1]),
    // Directories, locks and stand-ins.
    ("mkdirat", "ENOSPC", &[1, 2, 3]),
    ("chmod", "EPERM", &[1, 2]),
    ("flock", "ENOLCK", &[1, 3]),
    ("mknodat", "ENOSPC", &[1]),
    // The program around it all.
    ("signalfd4", "EMFILE", &[1]),
    ("eventfd2", "EMFILE", &[1]),
    ("epoll_ctl", "ENOMEM", &[2, 4]),
];

#[test]
fn one_call_that_fails_is_told_and_leaves_nothing() {
    if !palisade_tests::works_here() {
        return;
    }
    let all: Vec<_> = FAULTS
        .iter()
        .flat_map(|(call, error, all)| all.iter().map(move |number| (*call, *error, *number)))
        .collect();
    std::thread::scope(|scope| {
        for some in all.chunks(all.len().div_ceil(4)) {
            scope.spawn(move || some.iter().for_each(|(call, error, number)| check(call, error, *number)));
        }
    });
}

fn check(call: &str, error: &str, number: u32) {
    let project = Project::new();
    let said = with_fault(&project, &format!("{call}:error={error}:when={number}"));
    let shown = format!("{call} {number}: {error}\n{said}");
    assert!(!said.contains("panicked") && !said.contains("internal error"), "{shown}");
    match said.trim_end().rsplit_once("ended with ") {
        // The command may have met the fault itself.
        Some((_, "0" | "126" | "127")) => {}
        Some((reason, "125")) => assert!(reason.contains("palisade: "), "{shown}"),
        _ => panic!("it did not end as it should: {shown}"),
    }
    assert_eq!(project.tree(), [""; 0], "{shown}");
    let entries = std::fs::read_dir(project.outside()).expect("own directory").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<_> = names.filter(|name| name.starts_with("palisade-")).collect();
    assert_eq!(left, [""; 0], "{shown}");
}

/// Runs a command in a `/tmp` of its own, and waits until nobody holds its output open: whoever does so for half a
/// minute was forgotten, and is ended then.
fn with_fault(project: &Project, fault: &str) -> String {
    let (base, palisade) = (project.base(), &Tools::here().palisade);
    let mut command = Command::new("timeout");
    command.args([
        "--signal=KILL",
        "30",
        "bwrap",
        "--die-with-parent",
        "--unshare-pid",
        "--dev-bind",
        "/",
        "/",
    ]);
    command.arg("--bind").arg(project.outside()).arg("/tmp").arg("--bind").args([base, base]);
    command.arg("--ro-bind").args([palisade, palisade]).args(["--", "sh", "-c"]);
    command.arg("{ \"$@\"; echo \"ended with $?\"; } 2>&1 | cat").arg("sh");
    command.args(["strace", "-f", "-o", "/dev/null", "-e", &format!("inject={fault}")]);
    command.arg(palisade).args(["run", "--", "echo", "ran"]).current_dir(project.root());
    command.env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR").stdin(Stdio::null());
    let output = command.output().expect("it starts");
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}
