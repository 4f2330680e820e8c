//! `/proc`, `/sys` and `/dev` show a command itself and nothing of the host that it could change.

use palisade_tests::{Project, Run, Tools};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn attempt(project: &Project, arguments: &[&str]) -> Run {
    let words = [Tools::here().attempt.to_str().expect("UTF-8")].into_iter().chain(arguments.iter().copied());
    project.run().argv(words).ok()
}

#[test]
fn nothing_below_proc_and_sys_can_be_written() {
    let Some(project) = Project::where_it_works() else { return };
    assert_eq!(attempt(&project, &["--walk-writable", "/proc", "/sys"]).stdout, "");
}

/// What a confined root would leave by, and what else is written to command a whole machine. Each is opened, none
/// is written to.
const WAYS_OUT: [&str; 16] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/self/root/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/poweroff_cmd",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/proc/self/root/proc/sysrq-trigger",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/mtrr",
    "/proc/pressure/memory",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
];

#[test]
fn the_known_ways_out_of_a_root_sandbox_are_shut() {
    let Some(project) = Project::where_it_works() else { return };
    let arguments: Vec<&str> = ["--write"].into_iter().chain(WAYS_OUT).collect();
    assert_eq!(attempt(&project, &arguments).stdout, "");
}

/// For root the kernel's permissions shut nothing. What everyone may read tells an ordinary user's command no more
/// than its user; from root it is kept all the same.
#[test]
fn what_tells_of_the_whole_machine_is_hidden_from_root_as_from_others() {
    let Some(project) = Project::where_it_works() else { return };
    for name in
        ["kcore", "kmsg", "kpageflags", "slabinfo", "vmallocinfo", "timer_list", "keys", "sched_debug"]
    {
        let path = PathBuf::from("/proc").join(name);
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if nix::unistd::geteuid().is_root() || metadata.permissions().mode() & 0o004 == 0 {
            let run = project.run().argv(["head".as_ref(), "-c1".as_ref(), path.as_os_str()]);
            assert!(run.stderr.contains("Permission denied"), "{name}: {run:?}");
        }
    }
}

#[test]
fn the_devices_are_those_that_every_program_needs() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.line("ls -1 /dev; echo; ls -1 /dev/pts /dev/shm").ok();
    let devices = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero";
    let expected = format!("{}\n\n/dev/pts:\nptmx\n\n/dev/shm:\n", devices.replace(' ', "\n"));
    assert_eq!(run.stdout, expected);
    let run = attempt(&project, &["--walk-writable", "/dev"]);
    let mut writable: Vec<&str> = run.stdout.lines().collect();
    writable.sort_unstable();
    let private = [
        "/dev",
        "/dev/full",
        "/dev/null",
        "/dev/pts",
        "/dev/pts/ptmx",
        "/dev/random",
        "/dev/shm",
        "/dev/tty",
        "/dev/urandom",
        "/dev/zero",
    ];
    assert_eq!(writable, private);
    let run = project.line("echo gone > /dev/null && head -c 3 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c && mknod /dev/disk b 8 0");
    assert!(
        run.status != 0 && run.stdout == "3\n3\n" && run.stderr.contains("Operation not permitted"),
        "{run:?}"
    );
}

/// A root owns the nodes inside as it does outside, and they are the host's. Each is given the mode that it has.
#[test]
fn the_nodes_in_dev_cannot_be_changed() {
    let Some(project) = Project::where_it_works() else { return };
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let node = format!("/dev/{name}");
        let mode = std::fs::metadata(&node).expect("every system has it").permissions().mode() & 0o7777;
        for line in [
            format!("chmod {mode:o} {node}"),
            format!("chown --reference={node} {node}"),
            format!("chmod {mode:o} /proc/self/root{node}"),
        ] {
            let run = project.line(&line);
            assert!(run.status != 0 && run.stderr.contains("Read-only file system"), "{line}: {run:?}");
        }
    }
}

#[test]
fn shared_memory_works_and_is_the_sandboxs_own() {
    let Some(project) = Project::where_it_works() else { return };
    let name = format!("palisade-test-{}", std::process::id());
    let host = OwnFile(PathBuf::from("/dev/shm").join(&name));
    std::fs::write(&host.0, "of the host").expect("/dev/shm is everybody's");
    let python = "import multiprocessing as m\n\
                  from multiprocessing import shared_memory as s\n\
                  with m.Semaphore(1): print('locked')\n\
                  memory = s.SharedMemory(create=True, size=9); memory.buf[0] = 7; print(memory.buf[0]); memory.close(); memory.unlink()";
    let line = format!(
        "ls /dev/shm; python3 -c \"$PYTHON\" && echo inside > /dev/shm/{name} && cat /dev/shm/{name}"
    );
    let run = project.run().env("PYTHON", python).line(line).ok();
    assert_eq!(run.stdout, "locked\n7\ninside\n");
    assert_eq!(std::fs::read_to_string(&host.0).expect("still there"), "of the host");
}

/// A System V segment with this key, of the host's.
struct Segment(String);

/// What Python is told to run `call` with the C library as `c`.
fn python(call: &str) -> String {
    format!("import ctypes; c = ctypes.CDLL(None, use_errno=True); {call}")
}

impl Segment {
    fn make() -> Self {
        let key = format!("{:#x}", 0x0b5e_0000 | (std::process::id() & 0xffff));
        let made = python(&format!("assert c.shmget({key}, 4096, 0o1600) >= 0"));
        let status = Command::new("python3").args(["-c", &made]).status().expect("python3 starts");
        assert!(status.success(), "{key}");
        Segment(key)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let _ = Command::new("ipcrm").args(["-M", &self.0]).status();
    }
}

#[test]
fn system_v_memory_works_and_is_the_sandboxs_own() {
    let Some(project) = Project::where_it_works() else { return };
    let host = Segment::make();
    let key = &host.0;
    let found = python(&format!("print(c.shmget({key}, 0, 0), ctypes.get_errno())"));
    let made = python(&format!("print(c.shmget({key}, 4096, 0o1600) >= 0)"));
    let line = "python3 -c \"$FOUND\"; tail -n +2 /proc/sysvipc/shm; python3 -c \"$MADE\"";
    let run = project.run().env("FOUND", found).env("MADE", made).line(line).ok();
    assert_eq!(run.stdout, "-1 2\nTrue\n");
}

struct OwnFile(PathBuf);

impl Drop for OwnFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

struct HostProcess(Child);

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn processes_of_the_host_are_neither_seen_nor_reached() {
    let Some(project) = Project::where_it_works() else { return };
    let mut process = Command::new("sleep");
    process.arg("3600").env("OF_THE_HOST", "seen").stdin(Stdio::null());
    let process = HostProcess(process.spawn().expect("sleep starts"));
    let run = project.line("for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done").ok();
    let seen: Vec<&str> = run.stdout.lines().collect();
    assert!(
        seen[0].is_empty() && seen[1].starts_with("bash "),
        "the first one does not show its own: {run:?}"
    );
    assert!(!seen.iter().any(|line| line.starts_with("sleep 3600")), "{run:?}");
    assert!(seen.len() <= 4, "bubblewrap, bash and what bash started: {run:?}");
    // Numbers inside begin at 1: what has this number inside is not what has it outside.
    let run = project.line(&format!("kill -9 {0}; cat /proc/{0}/environ", process.0.id()));
    assert!(run.status != 0 && !run.stdout.contains("OF_THE_HOST"), "{run:?}");
    assert!(PathBuf::from(format!("/proc/{}", process.0.id())).exists());
    // A signal to all that may be signalled ends with the sandbox.
    project.line("kill -9 -1");
    assert!(
        std::fs::read_to_string(format!("/proc/{}/stat", process.0.id())).expect("alive").contains(") S ")
    );
}

/// Lists of other tools name them. They are the sandbox's own, and the host's in their place could not be opened.
#[test]
fn devices_that_everybody_writes_may_be_named_in_rules() {
    let Some(project) = Project::where_it_works() else { return };
    let names =
        ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
    let rules = serde_json::json!({ "filesystem": { "allowWrite": names } });
    let line = "echo > /dev/null && head -c 1 /dev/zero > /dev/null && head -c 1 /dev/urandom > /dev/null && echo done; \
                python3 -c 'import pty; pty.openpty()'";
    assert_eq!(project.run().sandbox(rules).line(line).ok().stdout, "done\n");
}
