//! What looks at programs and files while they change: tracers, debuggers, watchers; and what processes hand each
//! other over Unix sockets.

use super::Twins;
use palisade_tests::{Project, program};
use serde_json::json;

/// Everything inside may trace everything inside; nothing outside is seen.
#[test]
fn strace_traces_a_program_and_its_children() {
    let Some(twins) = Twins::new() else { return };
    let printed = twins.same_and_well(
        "echo traced > f; strace -f -o trace -e trace=execve,openat sh -c 'cat f; cat f; :'; \
         grep -c '+++ exited with 0 +++' trace; grep -c 'openat(AT_FDCWD, \"f\", O_RDONLY) *= 3' trace",
    );
    assert_eq!(printed, "traced\ntraced\n3\n2\n");
    let failed =
        twins.same("strace -o trace cat missing; echo $?; grep -o 'ENOENT (.*' trace | tail -1; rm trace");
    assert_eq!(failed, "1\nENOENT (No such file or directory)\n");
}

#[test]
fn gdb_stops_a_program_and_calls_into_it() {
    if program("gdb").is_none() {
        eprintln!("SKIPPED: there is no gdb here");
        return;
    }
    let Some(twins) = Twins::new() else { return };
    twins.write("twice.c", "int twice(int x) { return 2 * x; }\nint main(void) { return twice(21) - 40; }\n");
    let printed = twins.same_and_well(
        "cc -g -O0 -o twice twice.c && gdb -q -nx -batch -ex 'break twice' -ex run -ex 'info args' -ex finish -ex delete \
         -ex 'print twice(4)' -ex continue ./twice 2>&1 | grep -E '^x = |^[$]2|Value returned|exited' | sed 's/process [0-9]*/process/'",
    );
    assert_eq!(
        printed,
        "x = 21\nValue returned is $1 = 42\n$2 = 8\n[Inferior 1 (process) exited with code 02]\n"
    );
}

const SEEN: &str = r#"
const fs = require('fs');
fs.mkdirSync('watched');
const seen = new Set();
const watcher = fs.watch('watched', (_, name) => {
  seen.add(name);
  if (seen.size < 2) return fs.existsSync('watched/one') && fs.renameSync('watched/one', 'watched/two');
  watcher.close();
  console.log([...seen].sort().join());
});
fs.writeFileSync('watched/one', '');
"#;

/// The system's own calls, since Python has nothing for them: what was made, written, renamed and removed, in order,
/// then what somebody else changes.
const INOTIFY: &str = r#"
import ctypes, os, struct, sys

calls = ctypes.CDLL(None, use_errno=True)
queue = calls.inotify_init1(0)
MADE, WRITTEN, FROM, TO, REMOVED = 0x100, 0x8, 0x40, 0x80, 0x200
WORDS = {MADE: "made", WRITTEN: "written", FROM: "from", TO: "to", REMOVED: "removed"}
assert calls.inotify_add_watch(queue, b"watched", MADE | WRITTEN | FROM | TO | REMOVED) > 0

def show():
    events, at = os.read(queue, 4096), 0
    while at < len(events):
        _, kind, _, length = struct.unpack_from("iIII", events, at)
        print(WORDS[kind], events[at + 16:at + 16 + length].rstrip(b"\0").decode(), flush=True)
        at += 16 + length

if sys.argv[1] == "own":
    open("watched/a", "w").close()
    os.rename("watched/a", "watched/b")
    os.remove("watched/b")
    show()
else:
    print("watching", flush=True)
    show()
"#;

#[test]
fn changes_are_seen_as_they_happen() {
    let Some(twins) = Twins::new() else { return };
    twins.write("seen.js", SEEN);
    twins.write("inotify.py", INOTIFY);
    assert_eq!(twins.same_and_well("node seen.js"), "one,two\n");
    let printed = twins.same_and_well("python3 inotify.py own");
    assert_eq!(printed, "made a\nwritten a\nfrom a\nto b\nremoved b\n");
}

/// An editor outside, a server inside that loads anew.
#[test]
fn changes_from_outside_are_seen_inside() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("inotify.py", INOTIFY);
    std::fs::create_dir(project.root().join("watched")).expect("own directory");
    let watch = "mkfifo pipe; python3 inotify.py others > pipe & exec 3< pipe; read -r word <&3; echo $word";
    let watching = project.run().start(watch, "cat <&3");
    assert_eq!(watching.first(), "watching");
    std::fs::rename(project.root().join("inotify.py"), project.root().join("watched/saved"))
        .expect("own file");
    assert_eq!(watching.end(), (Some(0), "to saved\n".to_owned()));
}

/// The first process hands its listener, and each connection, to others over pairs of Unix sockets.
const CLUSTER: &str = r#"
const cluster = require('cluster'), http = require('http');
if (!cluster.isMaster) {
  http.createServer((_, answer) => answer.end('served by a worker')).listen(0, '127.0.0.1');
  return;
}
let listening = 0;
cluster.on('listening', (_, { port }) => {
  if (++listening < 2) return;
  http.get({ host: '127.0.0.1', port, agent: false }, (answer) => answer.on('data', (data) => {
    console.log(String(data));
    for (const worker of Object.values(cluster.workers)) worker.kill();
  }));
});
for (let worker = 0; worker < 2; worker++) cluster.fork();
"#;

#[test]
fn a_cluster_shares_its_listener() {
    let Some(twins) = Twins::new() else { return };
    twins.write("cluster.js", CLUSTER);
    assert_eq!(twins.same_and_well("node cluster.js"), "served by a worker\n");
}

/// As a runner of TypeScript has one for its children, and a build tool for its workers.
const SOCKET: &str = r#"
const net = require('net'), path = require('path');
const name = path.join(process.env.TMPDIR, 'pipe');
const server = net.createServer((client) => client.end('served'));
server.on('error', (error) => { console.log(error.code, error.syscall); process.exit(1); });
server.listen(name, () => net.connect(name).on('data', (data) => { console.log(String(data)); server.close(); }));
"#;

#[test]
fn a_server_on_a_unix_socket_needs_leave() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("socket.js", SOCKET);
    let refused = project.line("node socket.js");
    assert_eq!((refused.status, refused.stdout.as_str()), (1, "EPERM listen\n"), "{refused:#?}");
    for network in [json!({ "allowAllUnixSockets": true }), json!({ "allowUnixSockets": ["/tmp/x"] })] {
        let allowed = project.run().sandbox(json!({ "network": network })).line("node socket.js").ok();
        assert_eq!(allowed.stdout, "served\n", "{allowed:#?}");
    }
}
