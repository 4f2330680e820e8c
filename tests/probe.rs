//! Machines on which the sandbox does not work, made by hand: each cause is told apart, says what to do, and runs
//! nothing; unless the settings let commands run without the sandbox, which is then said.

use palisade_policy::Policy;
use palisade_tests::{Palisade, Project, Tools};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A way to start a program so that the sandbox does not work for it.
struct Machine {
    /// The words in front of the program's.
    words: Vec<String>,
    /// What descriptor 8 is to read.
    descriptor: Vec<u8>,
    /// What must be said.
    says: &'static str,
}

fn machine(words: &[&str], says: &'static str) -> Machine {
    Machine { words: words.iter().map(ToString::to_string).collect(), descriptor: Vec::new(), says }
}

/// The host's own files, with `stand_in` where bubblewrap is.
fn with_bubblewrap(stand_in: &Path, says: &'static str) -> Machine {
    let bwrap = palisade::probe(&Policy::default()).bubblewrap.expect("it works here").0.to_string();
    let stand_in = stand_in.display().to_string();
    machine(&["bwrap", "--dev-bind", "/", "/", "--ro-bind", &stand_in, &bwrap, "--"], says)
}

/// A seccomp program that refuses new namespaces, as container runtimes do.
fn without_namespaces() -> Machine {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const NEW_USER: u32 = 0x1000_0000;
    const PERMISSION_DENIED: u32 = 0x0005_0001;
    const ALLOW: u32 = 0x7fff_0000;
    let (unshare, clone) = if cfg!(target_arch = "aarch64") { (97, 220) } else { (272, 56) };
    let steps = [
        (LOAD, 0, 0, 0),
        (IF_EQUAL, 3, 0, unshare),
        (IF_EQUAL, 0, 3, clone),
        (LOAD, 0, 0, 16),
        (IF_SET, 0, 1, NEW_USER),
        (RETURN, 0, 0, PERMISSION_DENIED),
        (RETURN, 0, 0, ALLOW),
    ];
    let bytes = steps.iter().flat_map(|(code, yes, no, value): &(u16, u8, u8, u32)| {
        [&code.to_ne_bytes()[..], &[*yes, *no], &value.to_ne_bytes()].concat()
    });
    // In a container it is the container that is named.
    let mut machine = machine(&["bwrap", "--dev-bind", "/", "/", "--seccomp", "8", "--"], "namespaces");
    machine.descriptor = bytes.collect();
    machine
}

/// A program that says `version` when asked for it and else fails with `message`, as a bubblewrap of another kind does.
fn stand_in(project: &Project, name: &str, version: &str, message: &str) -> PathBuf {
    let (source, program) = (project.outside().join(format!("{name}.c")), project.outside().join(name));
    let text = format!(
        "#include <stdio.h>\n#include <string.h>\nint main(int count, char **words) {{\n\
         if (count > 1 && !strcmp(words[1], \"--version\")) {{ puts(\"bubblewrap {version}\"); return 0; }}\n\
         fputs(\"bwrap: {message}\\n\", stderr); return 1; }}\n"
    );
    std::fs::write(&source, text).expect("own directory");
    let status = Command::new("cc").arg("-o").arg(&program).arg(&source).status().expect("cc starts");
    assert!(status.success());
    program
}

fn machines(project: &Project) -> Vec<Machine> {
    let mut all = vec![
        with_bubblewrap(Path::new("/dev/null"), "apt-get install bubblewrap"),
        with_bubblewrap(Path::new("/usr/bin/true"), "is not bubblewrap"),
        machine(
            &[
                "unshare",
                "--map-current-user",
                "--keep-caps",
                "sh",
                "-c",
                "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"",
                "sh",
            ],
            "sysctl -w user.max_user_namespaces=",
        ),
        without_namespaces(),
    ];
    // Whoever is not root cannot put anything where bubblewrap is taken from.
    let is_root = nix::unistd::geteuid().is_root();
    let untrusted = "could have been put there by a confined command";
    for (name, version, message, says) in [
        ("old", "0.4.1", "Unknown option --disable-userns", "0.4.1 is too old"),
        ("set-uid", "0.9.0", "--disable-userns is not supported in setuid mode", "chmod u-s"),
    ] {
        let stand_in = stand_in(project, name, version, message);
        all.push(with_bubblewrap(&stand_in, if is_root { says } else { untrusted }));
    }
    all
}

impl Machine {
    fn run(&self, command: &Command) -> Output {
        // The descriptor comes from a shell's here-document-like pipe, as a caller's would.
        let mut started = Command::new("/bin/sh");
        started.args(["-c", "exec 8<&0 </dev/null; exec \"$@\"", "sh"]).args(&self.words);
        started.arg(command.get_program()).args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            started.current_dir(directory);
        }
        for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            started.env(name, value);
        }
        let mut child = started
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh starts");
        child.stdin.take().expect("a pipe").write_all(&self.descriptor).expect("it fits into the pipe");
        child.wait_with_output().expect("its output can be read")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn touching(project: &Project, lets: bool) -> Palisade {
    project.run().sandbox(json!({ "failIfUnavailable": !lets })).options([
        "--json",
        "-c",
        "touch ran; exit 7",
    ])
}

#[test]
fn each_cause_is_named_and_nothing_runs() {
    let Some(project) = Project::where_it_works() else { return };
    for machine in machines(&project) {
        let mut probe = Command::new(&Tools::here().palisade);
        let probed = machine.run(probe.arg("probe").current_dir(project.root()));
        assert_eq!(probed.status.code(), Some(125), "{probed:?}");
        assert!(text(&probed.stderr).contains(machine.says), "{} in {probed:?}", machine.says);
        let run = machine.run(&touching(&project, false).into_command());
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(125), "{run:?}");
        assert!(said.contains(machine.says) && said.contains("SANDBOX_UNAVAILABLE"), "{said}");
        assert_eq!(project.tree(), [""; 0], "{said}");
    }
}

#[test]
fn where_the_settings_let_it_the_command_runs_without_and_it_is_said() {
    let Some(project) = Project::where_it_works() else { return };
    for machine in machines(&project) {
        let run = machine.run(&touching(&project, true).into_command());
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(7), "{run:?}");
        assert!(said.contains("WITHOUT the sandbox") && said.contains(machine.says), "{said}");
        assert!(said.contains(r#""sandboxed":false,"unsandboxed_reason":"unavailable""#), "{said}");
        assert_eq!(project.tree(), ["ran"], "{said}");
        std::fs::remove_file(project.root().join("ran")).expect("own file");
    }
}

/// What was approved since it runs inside does not run at all where it cannot, though a repository asks for that.
#[test]
fn a_required_sandbox_is_required_whatever_the_settings_say() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(".claude/settings.json", r#"{"sandbox": {"failIfUnavailable": false}}"#);
    let before = project.tree();
    let run = project.run().options(["--require-sandbox", "-c", "touch ran"]).into_command();
    let run = without_namespaces().run(&run);
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(125), "{said}");
    assert!(said.contains("cannot run here") && !said.contains("WITHOUT"), "{said}");
    assert_eq!(project.tree(), before, "{said}");
    // What the rules say holds nobody there, and is not said without that.
    for question in [["write", "/etc/x"], ["host", "a.test"]] {
        let mut explain = Command::new(&Tools::here().palisade);
        explain.arg("explain").args(question).current_dir(project.root()).env("HOME", project.home());
        let says = |answer: Output| text(&answer.stdout).contains("commands run WITHOUT the sandbox");
        assert!(says(without_namespaces().run(&explain)), "{question:?}");
        assert!(!says(explain.output().expect("it starts")), "{question:?}");
    }
    assert_eq!(project.run().options(["--require-sandbox"]).line("exit 7").status, 7);
}

/// What the command itself does wrong is no fault of the sandbox's.
#[test]
fn a_command_that_fails_is_not_taken_for_a_sandbox_that_fails() {
    let Some(project) = Project::where_it_works() else { return };
    for (line, status) in [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", 1),
        ("exit 125", 125),
        ("kill -9 $$", 137),
        ("none-such-program", 127),
    ] {
        for lets in [false, true] {
            let run = project.run().sandbox(json!({ "failIfUnavailable": !lets })).line(line);
            assert_eq!(run.status, status, "{run:#?}");
            assert_eq!(run.json["sandbox"]["sandboxed"], true, "{run:#?}");
        }
    }
}

#[test]
fn within_palisade_another_palisade_says_where_it_is() {
    let Some(project) = Project::where_it_works() else { return };
    let palisade = Tools::here().palisade.display().to_string();
    let inner = project.run().argv([&palisade, "run", "--", "true"]);
    assert_eq!(inner.status, 125, "{inner:#?}");
    assert!(inner.stderr.contains("runs in a sandbox itself"), "{inner:#?}");
}
