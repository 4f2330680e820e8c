//! The bridge of socat: all that holds with listeners made from outside holds with it, on a machine whose administrator
//! wants it and on one where it is the only one. `cargo xtask integration --bridge socat` runs all other tests over it.

use palisade_tests::{Marker, Origin, Project, Tools, eventually};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

const SOCAT: &str = "/usr/bin/socat";

/// A machine on which socat is the bridge.
struct Machine {
    project: Project,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its administrator wants socat. Only root can put an administrator's settings in place.
    Managed,
    /// No namespace can be entered there.
    Closed,
}

impl Machine {
    fn new(kind: Kind) -> Option<Self> {
        let project = Project::where_it_works()?;
        if !std::path::Path::new(SOCAT).exists() {
            assert!(std::env::var_os("SANDBOX_MUST_WORK").is_none(), "socat is not installed");
            return None;
        }
        Some(Machine { project, kind })
    }

    /// One of each kind that this user can make.
    fn all() -> impl Iterator<Item = Self> {
        [Kind::Managed, Kind::Closed].into_iter().filter(|kind| kind.can_be_made()).filter_map(Machine::new)
    }

    fn command(&self, words: &[&str]) -> Command {
        match self.kind {
            Kind::Managed => self.with_socat_at(SOCAT, words),
            Kind::Closed => self.closed(&[], words),
        }
    }

    fn with_socat_at(&self, socat: &str, words: &[&str]) -> Command {
        let file = self.project.outside().join("managed-settings.json");
        std::fs::write(&file, json!({ "sandbox": { "socatPath": socat } }).to_string())
            .expect("own directory");
        let mut command = Command::new("bwrap");
        command.args(["--dev-bind", "/", "/", "--tmpfs", "/etc", "--dir", "/etc/claude-code", "--ro-bind"]);
        command.arg(&file).arg("/etc/claude-code/managed-settings.json").args(["--die-with-parent", "--"]);
        self.palisade(command, words)
    }

    /// With the words of a program that starts another one, if any, before `palisade`.
    fn closed(&self, before: &[&str], words: &[&str]) -> Command {
        let filter = self.project.outside().join("filter");
        std::fs::write(&filter, without_setns()).expect("own directory");
        let mut command = Command::new("sh");
        let line = "exec bwrap --dev-bind / / --seccomp 8 --die-with-parent -- \"$@\" 8<\"$0\"";
        command.args(["-c", line]).arg(&filter).args(before);
        self.palisade(command, words)
    }

    fn palisade(&self, mut around: Command, words: &[&str]) -> Command {
        around.arg(&Tools::here().palisade).args(words).current_dir(self.project.root());
        around.env("HOME", self.project.home()).env_remove("CLAUDE_CONFIG_DIR").stdin(Stdio::null());
        around
    }

    /// A line for bash, with options of `palisade run` before it.
    fn run(&self, options: &[&str], line: &str) -> Output {
        let words = [&["run"][..], options, &["--", "bash", "-c", line]].concat();
        self.command(&words).output().expect("it starts")
    }
}

impl Kind {
    fn can_be_made(self) -> bool {
        self == Kind::Closed || nix::unistd::geteuid().is_root()
    }
}

/// A seccomp program that refuses to enter namespaces.
fn without_setns() -> Vec<u8> {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const PERMISSION_DENIED: u32 = 0x0005_0001;
    const ALLOW: u32 = 0x7fff_0000;
    let setns = if cfg!(target_arch = "aarch64") { 268 } else { 308 };
    let steps: [(u16, [u8; 2], u32); 4] = [
        (LOAD, [0, 0], 0),
        (IF_EQUAL, [0, 1], setns),
        (RETURN, [0, 0], PERMISSION_DENIED),
        (RETURN, [0, 0], ALLOW),
    ];
    let bytes = |(code, jumps, value): (u16, [u8; 2], u32)| {
        [&code.to_ne_bytes()[..], &jumps, &value.to_ne_bytes()].concat()
    };
    steps.map(bytes).concat()
}

#[track_caller]
fn check(output: &Output, status: i32, stdout: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{output:?}");
    assert_eq!(output.status.code(), Some(status), "{output:?}");
}

#[test]
fn the_probe_says_which_bridge_is_in_use() {
    for machine in Machine::all() {
        let output = machine.command(&["probe"]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains(&format!("bridge: socat ({SOCAT})\n")),
            "{output:?}"
        );
        let output = machine.command(&["probe", "--json"]).output().expect("it starts");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(said["bridge"], "socat", "{said:#}");
    }
}

/// Where no namespace can be entered, nothing can be mounted in a sandbox that runs.
#[test]
fn what_is_replaced_outside_ends_the_command() {
    let Some(machine) = Machine::new(Kind::Closed) else { return };
    machine.project.write("conf", "");
    machine.project.write("new", "");
    let line = "echo started; while :; do sleep 1; done";
    let mut command = machine.command(&["run", "--deny-write", "conf", "-c", line]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut started = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut started).expect("a line");
    let root = machine.project.root();
    std::fs::rename(root.join("new"), root.join("conf")).expect("own directory");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((started.as_str(), output.status.code()), ("started\n", Some(137)), "{said}");
    assert!(said.contains("conf was replaced") && said.contains("the command was ended"), "{said}");
}

#[test]
fn a_socat_that_is_missing_or_in_a_commands_reach_runs_nothing() {
    if !Kind::Managed.can_be_made() {
        return;
    }
    let Some(machine) = Machine::new(Kind::Managed) else { return };
    // Why a socat does not listen is not known, so this never counts as a sandbox that is unavailable.
    let settings = r#"{"sandbox": {"failIfUnavailable": false}}"#;
    let words = ["run", "--settings", settings, "--", "touch", "ran"];
    let output = machine.with_socat_at("/bin/true", &words).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains("does not listen"), "{said}");
    let planted = machine.project.write("socat", "#!/bin/sh\ntouch /tmp/never\n").display().to_string();
    for (socat, says) in [("/none/such/socat", "not installed"), (planted.as_str(), "not used")] {
        for words in [&["run", "--", "touch", "ran"][..], &["probe"]] {
            let output = machine.with_socat_at(socat, words).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(125), "{said}");
            assert!(said.contains(says) && said.contains("managed-settings.json"), "{said}");
        }
    }
    assert_eq!(machine.project.tree(), ["socat"]);
}

#[test]
fn an_allowed_host_is_reached_and_no_other() {
    for machine in Machine::all() {
        let origin = Origin::start();
        let host = origin.address().to_string();
        let line =
            |options: &str| format!("curl -sS -o /dev/null -w '%{{http_code}}' {options} http://{host}/");
        for options in ["", "--proxytunnel", "--socks5-hostname ${ALL_PROXY##*/}"] {
            let reached =
                machine.run(&["--allow-host", &host], &format!("unset no_proxy NO_PROXY; {}", line(options)));
            check(&reached, 0, "200");
        }
        let refused =
            machine.run(&["--allow-host", "a.test"], &format!("unset no_proxy NO_PROXY; {}", line("")));
        check(&refused, 0, "403");
        assert_eq!(origin.requests().len(), 3);
    }
}

/// A program that knows no proxy reaches an endpoint of the host's at its own address, on a port below 1024 as well.
#[test]
fn a_loopback_endpoint_is_reached_directly() {
    for machine in Machine::all() {
        let origin = Origin::start();
        let port = origin.port().to_string();
        let ask = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3"
        );
        let reached = machine.run(&["--allow-host", &format!("127.0.0.1:{port}")], &ask);
        assert!(reached.status.success() && reached.stdout.starts_with(b"HTTP/1."), "{reached:?}");
        let connect = "exec 3<>/dev/tcp/127.0.0.1/7 && echo there";
        check(&machine.run(&["--allow-host", "127.0.0.1:7"], connect), 0, "there\n");
        assert!(!machine.run(&[], connect).status.success());
    }
}

#[test]
fn many_connections_at_once_are_all_served() {
    for machine in Machine::all() {
        let origin = Origin::start();
        let host = origin.address().to_string();
        let line = format!(
            "unset no_proxy NO_PROXY; for i in {{1..60}}; do curl -sS -o /dev/null -w '%{{http_code}}\\n' http://{host}/$i & done; wait"
        );
        check(&machine.run(&["--allow-host", &host], &line), 0, &"200\n".repeat(60));
    }
}

/// The sandbox's process has a number within the bridge that grows with the ports, and that no process outside may have.
#[test]
fn many_ports_make_a_bridge_or_name_their_key() {
    for machine in Machine::all() {
        for (count, works) in [(30, true), (77, true), (150, true), (1500, false)] {
            let hosts: Vec<_> = (0..count).map(|n| format!("127.0.0.1:{}", 20_000 + n)).collect();
            let settings = json!({ "sandbox": { "network": { "allowedDomains": hosts } } }).to_string();
            let output = machine.run(&["--settings", &settings], "echo there");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if works {
                check(&output, 0, "there\n");
            } else {
                assert!(output.status.code() == Some(125) && said.contains("allowedDomains"), "{said}");
            }
        }
    }
}

#[test]
fn the_command_sees_neither_socat_nor_its_sockets() {
    for machine in Machine::all() {
        let line = "cat /proc/[0-9]*/comm 2>/dev/null | grep -c socat; \
                ls -A /tmp/palisade-private-$UID 2>&1 | grep -c denied; grep -c palisade /proc/net/unix; \
                unshare -U true 2>/dev/null || echo refused; kill 0";
        let output = machine.run(&[], line);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said, "0\n1\n0\nrefused\n", "{output:?}");
        assert_eq!(output.status.code(), Some(143), "{output:?}");
    }
}

#[test]
fn status_and_signals_are_the_commands_own() {
    for machine in Machine::all() {
        check(&machine.run(&[], "exit 7"), 7, "");
        check(&machine.run(&[], "kill -KILL $$"), 137, "");
        check(&machine.run(&[], "trap 'echo trapped; exit 3' TERM; kill -TERM 0; sleep 1"), 3, "trapped\n");
        check(&machine.run(&[], "(exec sleep 3600) & echo done"), 0, "done\n");
    }
}

/// What a confined command could use up must not lead to commands that run without a sandbox. For root there is no such
/// limit.
#[test]
fn too_few_processes_for_the_bridge_do_not_make_the_sandbox_unavailable() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let Some(machine) = Machine::new(Kind::Closed) else { return };
    let settings = r#"{"sandbox": {"failIfUnavailable": false}}"#;
    let words = ["run", "--settings", settings, "--", "cat", "/proc/self/comm"];
    // Within the machine's user namespace only its own processes count. Somewhere on the way up each step runs out.
    let has_run = (1..60).any(|limit| {
        let limit = format!("--nproc={limit}:{limit}");
        let output = machine.closed(&["prlimit", &limit], &words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("WITHOUT"), "{limit}: {said}");
        assert!(output.stdout.is_empty() || output.stdout == b"cat\n", "{limit}: {output:?}");
        output.status.success()
    });
    assert!(has_run, "60 processes do not do");
}

/// Many mounts are made where namespaces can be entered as ever, and elsewhere by bubblewrap, as many as it takes.
#[test]
fn long_lists_of_files_hold_or_are_refused_by_name() {
    for machine in Machine::all() {
        let mut made = 0;
        for (count, holds) in [(100, true), (3_100, machine.kind == Kind::Managed)] {
            (made..count).for_each(|i| drop(machine.project.write(format!("many/{i}"), "s3cret")));
            made = count;
            let output = machine.run(&["--deny-read", "many/*"], "cat many/*; echo there");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if holds {
                check(&output, 0, "there\n");
            } else {
                check(&output, 125, "");
                assert!(said.contains("many/*") && said.contains("9000"), "{said}");
            }
        }
    }
}

/// A link that only a mount from outside could hold.
#[test]
fn a_link_to_what_is_protected_is_held_or_nothing_runs() {
    for machine in Machine::all() {
        std::fs::create_dir_all(machine.project.root().join("shared/.claude")).expect("own directory");
        std::os::unix::fs::symlink("shared/.claude", machine.project.root().join(".claude"))
            .expect("own directory");
        let output = machine.run(&[], "ls; rm .claude && mkdir .claude");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match machine.kind {
            Kind::Managed => {
                assert!(output.status.code() == Some(1) && said.contains("busy"), "{output:?}");
            }
            Kind::Closed => {
                check(&output, 125, "");
                assert!(said.contains(".claude") && said.contains("symbolic link"), "{said}");
            }
        }
        assert!(machine.project.root().join(".claude").is_symlink());
    }
}

/// The sockets of a bridge lead to another command's proxy.
#[test]
fn a_command_that_may_use_unix_sockets_cannot_use_another_ones_bridge() {
    for machine in Machine::all() {
        let host = Origin::start().address().to_string();
        let mut other = machine.command(&["run", "--allow-host", &host, "--", "bash", "-c", "echo; read"]);
        let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut stdout = BufReader::new(other.stdout.take().expect("a pipe"));
        stdout.read_line(&mut String::new()).expect("it runs");
        let user = nix::unistd::geteuid();
        let line = format!(
            "shopt -s nullglob; echo /tmp/palisade-private-{user}/*; \
             for name in $(awk '/bridge-/ {{ print $8 }}' /proc/net/unix) /tmp/palisade-private-{user}/*/bridge-*/0; do \
             python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $name && echo in; done"
        );
        let settings = json!({ "sandbox": { "network": { "allowAllUnixSockets": true } } }).to_string();
        let opened = json!({ "sandbox": { "filesystem": {
            "allowWrite": ["/tmp"], "allowRead": [format!("/tmp/palisade-private-{user}/**")] } } })
        .to_string();
        let outside = Command::new("bash").args(["-c", &line]).output().expect("bash starts");
        assert!(
            String::from_utf8_lossy(&outside.stdout).contains("\nin\n"),
            "the attack is real: {outside:?}"
        );
        for also in [&[][..], &["--settings", &opened]] {
            let options = [&["--settings", &settings][..], also].concat();
            let mut plain = machine.project.run();
            plain = plain.options(&options);
            let run = plain.line(&line);
            assert!(run.status == 0 && !run.stdout.contains("in\n"), "{run:?}");
            assert_eq!(run.stdout.trim(), "", "{run:?}");
            let bridged = machine.run(&options, &line);
            check(&bridged, 0, "\n");
        }
        other.stdin.take();
        other.wait().expect("own child");
    }
}

/// Palisade's own process, which the stand-in for the administrator's machine has started.
fn palisade_of(wrapper: &Child) -> nix::unistd::Pid {
    let pid = wrapper.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("it lives");
    nix::unistd::Pid::from_raw(children.trim().parse().expect("one child"))
}

#[test]
fn killed_it_leaves_nothing_running() {
    for machine in Machine::all() {
        let marker = Marker::new();
        let line = format!("sleep {} & readlink -f $TMPDIR; wait", marker.seconds());
        let mut child = machine
            .command(&["run", "--", "bash", "-c", &line])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut temporary = String::new();
        stdout.read_line(&mut temporary).expect("a pipe");
        let own = temporary.split('/').nth(2).expect("below /tmp").to_owned();
        assert!(socats(&own) > 0, "{temporary}");
        nix::sys::signal::kill(palisade_of(&child), nix::sys::signal::Signal::SIGKILL).expect("own process");
        // Whoever holds the pipe is gone then.
        stdout.read_to_end(&mut Vec::new()).expect("a pipe");
        child.wait().expect("own child");
        eventually("the command and the bridge end", || marker.processes().is_empty() && socats(&own) == 0);
    }
}

/// How many processes have `name` in their arguments and are socat.
fn socats(name: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("readable").flatten();
    let words = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    words
        .filter(|words| {
            let words = String::from_utf8_lossy(words).into_owned();
            words.starts_with(SOCAT) && words.contains(name)
        })
        .count()
}
