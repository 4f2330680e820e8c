//! The filter's answers, by making the calls.

use palisade_tests::{Project, Run, Tools};
use serde_json::json;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;

/// What the helper prints when it is called outside the sandbox.
fn outside(arguments: &[&str]) -> String {
    let output = Command::new(&Tools::here().attempt).args(arguments).output().expect("the helper starts");
    String::from_utf8(output.stdout).expect("ASCII")
}

/// Compares what `run` printed for each attempt with `list`. A kernel without an entry for 32-bit programs kills
/// whoever uses it, inside and outside.
fn assert_answers(run: &Run, list: &str) {
    let has_32_bit_entry = !outside(&["int80-getpid"]).contains("SIGSEGV");
    let expected = list.lines().map(|line| match line.split_once(": ") {
        Some((name, _)) if name.starts_with("int80-") && !has_32_bit_entry => format!("{name}: SIGSEGV (11)"),
        _ => line.to_owned(),
    });
    let differing: Vec<_> =
        run.stdout.lines().zip(expected).filter(|(answer, expected)| answer != expected).collect();
    assert!(differing.is_empty(), "(answer, expected): {differing:#?}");
    assert_eq!(run.stdout.lines().count(), list.lines().count(), "{run:?}");
}

#[test]
fn every_call_of_the_table_answers_as_the_filter_says_in_either_linkage() {
    let Some(project) = Project::where_it_works() else { return };
    let list = outside(&["--list"]);
    assert!(list.lines().filter(|line| line.contains("EPERM")).count() > 50, "{list}");
    for program in [&Tools::here().attempt, &Tools::here().attempt_static] {
        assert_answers(&project.run().argv([program.as_os_str(), "--all".as_ref()]).ok(), &list);
    }
}

#[test]
fn with_unix_sockets_allowed_nothing_else_is() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.run().sandbox(json!({ "network": { "allowAllUnixSockets": true } }));
    let run = run.argv([Tools::here().attempt.as_os_str(), "--all".as_ref()]).ok();
    assert_answers(&run, &outside(&["--list", "--unix-sockets"]));
}

/// The helper is statically linked or not; a program that uses threads, and one that makes none of its calls by itself.
#[test]
fn a_thread_and_a_program_executed_later_are_under_the_same_filter() {
    let Some(project) = Project::where_it_works() else { return };
    let attempt = Tools::here().attempt.display().to_string();
    let script = format!(
        "import subprocess, threading\n\
         t = threading.Thread(target=lambda: subprocess.run(['{attempt}', 'unshare-newuser']))\n\
         t.start(); t.join()"
    );
    let line = format!("python3 -c \"{script}\"; (exec setsid -w {attempt} socket-unix-stream)");
    let run = project.line(&line).ok();
    assert_eq!(run.stdout, "unshare-newuser: EPERM (1)\nsocket-unix-stream: EPERM (1)\n");
}

#[test]
fn the_hosts_unix_sockets_cannot_be_connected_to() {
    let Some(project) = Project::where_it_works() else { return };
    let paths = [project.root().join("socket"), project.outside().join("socket")];
    let listeners = paths.each_ref().map(|path| UnixListener::bind(path).expect("own directory"));
    for path in &paths {
        let run = project
            .run()
            .argv([Tools::here().attempt.as_os_str(), "--connect".as_ref(), path.as_os_str()])
            .ok();
        assert_eq!(run.stdout, "connect: EPERM (1)\n", "{path:?}");
    }
    for listener in &listeners {
        assert_nobody_came(listener);
    }
}

/// Abstract sockets have no path that a mount could hide.
#[test]
fn the_hosts_abstract_sockets_are_out_of_reach_even_with_unix_sockets_allowed() {
    let Some(project) = Project::where_it_works() else { return };
    let name = format!("palisade-test-{}", project.base().display());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("short"));
    let listener = listener.expect("a name that nobody else has");
    let connect = format!(
        "import socket\ntry: socket.socket(socket.AF_UNIX).connect('\\0{name}')\nexcept OSError as e: print(e.strerror)"
    );
    for (allowed, expected) in [(false, "Operation not permitted\n"), (true, "Connection refused\n")] {
        let run = project.run().sandbox(json!({ "network": { "allowAllUnixSockets": allowed } }));
        assert_eq!(run.argv(["python3", "-c", &connect]).ok().stdout, expected);
    }
    assert_nobody_came(&listener);
}

#[track_caller]
fn assert_nobody_came(listener: &UnixListener) {
    listener.set_nonblocking(true).expect("a socket");
    assert_eq!(listener.accept().expect_err("nobody came").kind(), ErrorKind::WouldBlock);
}

const TALK_TO_ONESELF: &str = "
import os, socket
path = os.path.join(os.environ['TMPDIR'], 'n' * 45)
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(path)
client.sendall(b'hello'); print(server.accept()[0].recv(5).decode())
";

#[test]
fn with_unix_sockets_allowed_a_socket_in_the_temporary_directory_works_and_otherwise_not() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.run().sandbox(json!({ "network": { "allowAllUnixSockets": true } }));
    assert_eq!(run.argv(["python3", "-c", TALK_TO_ONESELF]).ok().stdout, "hello\n");
    let run = project.run().argv(["python3", "-c", TALK_TO_ONESELF]);
    assert!(run.status == 1 && run.stderr.contains("Operation not permitted"), "{run:?}");
}

#[test]
fn pairs_of_stream_sockets_work_as_programs_use_them() {
    let Some(project) = Project::where_it_works() else { return };
    let python = "import multiprocessing as m, socket\n\
                  a, b = m.Pipe(); a.send([1, 2]); print(b.recv())\n\
                  c, d = socket.socketpair(); c.sendall(b'x'); print(d.recv(1).decode())";
    assert_eq!(project.run().argv(["python3", "-c", python]).ok().stdout, "[1, 2]\nx\n");
    let node = "require('child_process').fork(process.argv[1] ?? '-e', { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })";
    project.write("child.js", "process.on('message', m => { console.log(m); process.disconnect() })");
    let run = project.run().argv(["node", "-e", &format!("{node}.send('over a pair')"), "./child.js"]).ok();
    assert_eq!(run.stdout, "over a pair\n");
}

/// A tool and what it says when the kernel refuses.
const NAMESPACE_TOOLS: [&[&str]; 12] = [
    &["unshare", "--user", "true"],
    &["unshare", "--user", "--map-root-user", "--net", "true"],
    &["unshare", "--mount", "true"],
    &["unshare", "--net", "true"],
    &["unshare", "--ipc", "true"],
    &["unshare", "--uts", "true"],
    &["unshare", "--cgroup", "true"],
    &["unshare", "--pid", "--fork", "true"],
    &["nsenter", "--target", "1", "--user", "--preserve-credentials", "true"],
    &["nsenter", "--target", "1", "--net", "true"],
    &["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"],
    &["bwrap", "--ro-bind", "/", "/", "true"],
];

#[test]
fn no_tool_makes_or_enters_a_namespace() {
    let Some(project) = Project::where_it_works() else { return };
    for tool in NAMESPACE_TOOLS {
        let run = project.run().argv(tool);
        let refused = ["Operation not permitted", "Permission denied", "No permissions"];
        assert!(run.status != 0 && refused.iter().any(|text| run.stderr.contains(text)), "{tool:?}: {run:?}");
    }
    for line in [
        "mount -t tmpfs none .",
        "mount --bind /etc .",
        "umount /proc",
        "chroot / true",
        "mount -o remount,rw /",
    ] {
        let run = project.line(line);
        assert_ne!(run.status, 0, "{line}: {run:?}");
    }
    assert!(Path::new("/proc/self").exists());
    assert_eq!(project.tree(), [""; 0]);
}
