//! Python at work: its test runner in a virtual environment, processes of every kind, and a database with several
//! writers.

use super::Twins;
use palisade_tests::Project;
use serde_json::json;

const TESTS: &str = r#"
import os, pathlib, subprocess, sys
import pytest
from counted import count

@pytest.fixture
def file(tmp_path):
    path = tmp_path / "words"
    path.write_text("a b c")
    return path

@pytest.mark.parametrize("times", [1, 2])
def test_counts(file, times):
    assert count(file) * times == 3 * times

def test_runs_in_the_environment(monkeypatch):
    monkeypatch.setenv("GIVEN", "yes")
    words = [sys.executable, "-c", "import os, sys; print(os.environ['GIVEN'], sys.prefix != sys.base_prefix)"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "yes True\n"

def test_writes_where_temporary_files_go(tmp_path_factory):
    assert pathlib.Path(os.environ.get("TMPDIR", "/tmp")).resolve() in tmp_path_factory.getbasetemp().resolve().parents

def test_fails():
    assert count("missing") == 1

def test_prints(capsys):
    print("seen")
    assert capsys.readouterr().out == "seen\n"

@pytest.mark.skip(reason="shown as skipped")
def test_skips():
    pass
"#;

#[test]
fn pytest_runs_in_a_virtual_environment() {
    let Some(twins) = Twins::new() else { return };
    twins.write(
        "counted.py",
        "def count(path):\n    with open(path) as file:\n        return len(file.read().split())\n",
    );
    twins.write("test_counted.py", TESTS);
    // The first of the search path that has it: a person's own Python may lack what the system's has.
    let made = "for python in $(type -ap python3); do $python -c 'import pytest' 2> /dev/null && break; done
         $python -m venv --system-site-packages --without-pip venv && . venv/bin/activate";
    let printed = twins.same(&format!(
        "{made}\npython -B -m pytest -q -rs -p no:cacheprovider --color=no | sed 's/ in [0-9.]*s.*//'; echo ${{PIPESTATUS[0]}}"
    ));
    for said in ["FileNotFoundError: [Errno 2] No such file or directory: 'missing'", "shown as skipped"] {
        assert!(printed.contains(said), "{printed}");
    }
    assert!(printed.ends_with("\n1 failed, 5 passed, 1 skipped\n1\n"), "{printed}");
}

const PROCESSES: &str = r#"
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

def add(total, lock, queue, number):
    with lock:
        total.value += number
    queue.put(number)

def square(number):
    return number * number

def main():
    for method in ["fork", "spawn"]:
        context = multiprocessing.get_context(method)
        total, lock, queue = context.Value("i", 0), context.Lock(), context.Queue()
        processes = [context.Process(target=add, args=(total, lock, queue, number)) for number in range(3)]
        for process in processes:
            process.start()
        numbers = sorted(queue.get() for _ in processes)
        for process in processes:
            process.join()
        with context.Pool(2) as pool:
            print(method, numbers, total.value, pool.map(square, range(4)))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as executor:
        print(list(executor.map(square, range(4))))
    memory = shared_memory.SharedMemory(create=True, size=1 << 20)
    memory.buf[0] = 7
    same = shared_memory.SharedMemory(name=memory.name)
    print(same.buf[0], os.path.exists("/dev/shm/" + memory.name))
    same.close()
    memory.close()
    memory.unlink()

if __name__ == "__main__":
    main()
"#;

#[test]
fn processes_share_locks_queues_and_memory() {
    let Some(twins) = Twins::new() else { return };
    twins.write("processes.py", PROCESSES);
    let printed = twins.same_and_well("python3 -B processes.py 2>&1");
    let squares = "[0, 1, 4, 9]";
    assert_eq!(
        printed,
        format!("fork [0, 1, 2] 3 {squares}\nspawn [0, 1, 2] 3 {squares}\n{squares}\n7 True\n")
    );
}

const LOOPS: &str = r#"
import asyncio, os, socket, subprocess

async def shout(words):
    process = await asyncio.create_subprocess_exec("tr", "a-z", "A-Z", stdin=-1, stdout=-1)
    return (await process.communicate(words))[0].decode()

async def echo():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"over loopback\n")
    return (await reader.readline()).decode()

print(asyncio.run(shout(b"by a pipe")), asyncio.run(echo()), end="")
a, b = socket.socketpair()
a.sendall(b"by a pair")
print(b.recv(20).decode())
leader, follower = os.openpty()
os.write(follower, b"by a terminal\n")
print(os.read(leader, 20).decode().strip())
print(subprocess.run(["tty", "-s"], stdin=follower).returncode)
"#;

#[test]
fn event_loops_pairs_of_sockets_and_terminals_work() {
    let Some(twins) = Twins::new() else { return };
    twins.write("loops.py", LOOPS);
    let printed = twins.same_and_well("python3 -B loops.py 2>&1");
    assert_eq!(printed, "BY A PIPE over loopback\nby a pair\nby a terminal\n0\n");
}

/// What needs a Unix socket: the server that `Manager` starts, and the one of the start method `forkserver`, which
/// Python 3.14 has as its default.
const SERVERS: &str = r#"
import multiprocessing, sys

def put(queue):
    queue.put("from a process")

def manager():
    with multiprocessing.Manager() as manager:
        shared = manager.dict(a=1)
        return dict(shared)

def forkserver():
    context = multiprocessing.get_context("forkserver")
    queue = context.SimpleQueue()
    process = context.Process(target=put, args=(queue,))
    process.start()
    got = queue.get()
    process.join()
    return got

if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
"#;

#[test]
fn servers_of_multiprocessing_need_unix_sockets() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("servers.py", SERVERS);
    for (server, printed) in [("manager", "{'a': 1}\n"), ("forkserver", "from a process\n")] {
        let line = format!("python3 -B servers.py {server}");
        let refused = project.line(&line);
        assert!(refused.status == 1 && refused.stdout.is_empty(), "{refused:#?}");
        assert!(refused.stderr.contains("[Errno 1] Operation not permitted"), "{refused:#?}");
        let open = json!({ "network": { "allowAllUnixSockets": true } });
        let allowed = project.run().sandbox(open).line(&line).ok();
        assert_eq!((allowed.stdout.as_str(), allowed.stderr.as_str()), (printed, ""), "{server}");
    }
}

const DATABASE: &str = r#"
import os, sqlite3, subprocess, sys

WRITER = '''
import sqlite3
base = sqlite3.connect("base.db", timeout=60, isolation_level=None)
for number in range(20):
    base.execute("begin immediate")
    base.execute("insert into t values (?)", (number,))
    base.execute("commit")
'''

for journal in ["wal", "delete"]:
    base = sqlite3.connect("base.db", isolation_level=None)
    print(base.execute("pragma journal_mode = " + journal).fetchone()[0])
    base.execute("create table t (x)")
    print(sorted(name for name in os.listdir() if name.startswith("base.db")))
    writers = [subprocess.Popen([sys.executable, "-c", WRITER]) for _ in range(3)]
    print([writer.wait() for writer in writers])
    print(base.execute("select count(*), sum(x) from t").fetchone(), base.execute("pragma integrity_check").fetchone())
    base.execute("begin exclusive")
    base.execute("insert into t values (-1)")
    other = sqlite3.connect("base.db", timeout=0)
    try:
        other.execute("insert into t values (1)")
    except sqlite3.OperationalError as error:
        print(error)
    other.close()
    base.execute("rollback")
    base.execute("drop table t")
    base.close()
"#;

#[test]
fn a_database_is_locked_against_other_writers() {
    let Some(twins) = Twins::new() else { return };
    twins.write("database.py", DATABASE);
    let printed = twins.same_and_well("python3 database.py 2>&1");
    let rest = "[0, 0, 0]\n(60, 570) ('ok',)\ndatabase is locked\n";
    assert_eq!(
        printed,
        format!("wal\n['base.db', 'base.db-shm', 'base.db-wal']\n{rest}delete\n['base.db']\n{rest}")
    );
}
