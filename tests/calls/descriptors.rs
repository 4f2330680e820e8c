//! Of the caller's open files a command gets three, and of those of Palisade and bubblewrap none.

use nix::sys::stat::Mode;
use palisade_tests::{Palisade, Project, Tools};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// Runs `palisade` from a shell that has done `first`.
fn from_shell(first: &str, palisade: Palisade) -> Output {
    let palisade = palisade.into_command();
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{first}; exec \"$0\" \"$@\"")])
        .arg(palisade.get_program())
        .args(palisade.get_args());
    shell.current_dir(palisade.get_current_dir().expect("a project's root")).stdin(Stdio::null());
    shell.output().expect("bash starts")
}

fn fds(project: &Project) -> Palisade {
    project.run().options(["--".as_ref(), Tools::here().attempt.as_os_str(), "--fds".as_ref()])
}

fn numbers(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn open_files_of_the_caller_do_not_reach_the_command() {
    let Some(project) = Project::where_it_works() else { return };
    let open =
        "exec 3</etc/passwd 4>mine 5<>mine 6</ 9</dev/null 63>>mine 200</etc/hosts 1000</ 7< <(sleep 0)";
    let output = from_shell(open, fds(&project));
    assert_eq!(numbers(&output), ["0", "1", "2"], "{output:?}");
}

#[test]
fn the_descriptor_of_the_report_does_not_reach_the_command() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.run().argv([Tools::here().attempt.as_os_str(), "--fds".as_ref()]).ok();
    let numbers: Vec<&str> = run.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{run:?}");
    assert_eq!(run.json["status"], 0, "the report was written");
}

#[test]
fn a_command_without_standard_streams_gets_none_of_palisades_files_in_their_place() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 > streams; ls /proc/self/fd > all";
    let output = from_shell("exec <&- >&- 2>&-", project.run().options(["-c", line]));
    assert!(output.status.success(), "{output:?}");
    let root = project.root().display().to_string();
    let streams = project.read("streams");
    assert_eq!(streams.lines().collect::<Vec<_>>(), ["/dev/null", &format!("{root}/streams"), "/dev/null"]);
    assert_eq!(project.read("all"), "0\n1\n2\n3\n", "the last one is the listing's own");
}

/// Runs `line` with `file` as its stream 0, 1 or 2; what it says on descriptor 3 is the output.
fn with_stream(project: &Project, number: usize, file: File, line: &str) -> Output {
    let says = if number == 1 { "exec 3>&2" } else { "exec 3>&1" };
    let mut command = project.run().options(["-c", &format!("{says}; {line}; exit 0")]).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match number {
        0 => command.stdin(file),
        1 => command.stdout(file),
        _ => command.stderr(file),
    };
    let mut output = command.output().expect("palisade starts");
    if number == 1 {
        output.stdout = std::mem::take(&mut output.stderr);
    }
    output
}

/// Through `/proc/self/fd` a stream leads by the host's own mounts, there to be opened again.
#[test]
fn a_file_opened_for_reading_cannot_be_written_whatever_stream_it_is() {
    let Some(project) = Project::where_it_works() else { return };
    let file = project.outside().join("input");
    std::fs::write(&file, "first\nsecond\n").expect("own directory");
    for number in 0..3 {
        let open = || File::open(&file).expect("own file");
        let line =
            format!("read -u {number} line; cat <&{number} >&3; (echo changed >/proc/$$/fd/{number}) 2>&3");
        let output = with_stream(&project, number, open(), &line);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with("second\n") && said.contains("Read-only file system"), "{output:?}");
        assert_eq!(std::fs::read_to_string(&file).expect("own file"), "first\nsecond\n", "{number}");
    }
}

/// A root owns the host's nodes inside as outside. Each is given the mode that it has.
#[test]
fn device_nodes_of_the_caller_are_exchanged_for_the_sandboxs() {
    let Some(project) = Project::where_it_works() else { return };
    for (number, name) in
        ["zero", "null", "full", "random", "urandom"].into_iter().cycle().take(15).enumerate()
    {
        let (number, access) = (number % 3, number / 5);
        let node = format!("/dev/{name}");
        let mode = std::fs::metadata(&node).expect("every system has it").permissions().mode() & 0o7777;
        let file =
            OpenOptions::new().read(access != 1).write(access != 0).open(&node).expect("for everybody");
        let line = format!(
            "chmod {mode:o} /proc/$$/fd/{number} 2>&3; readlink /proc/$$/fd/{number} >&3; \
             sed -n 's/^flags:.*\\(.\\)$/\\1/p' /proc/$$/fdinfo/{number} >&3"
        );
        let output = with_stream(&project, number, file, &line);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Read-only file system\n"), "{number} {node}: {output:?}");
        assert!(said.ends_with(&format!("{node}\n{access}\n")), "{number} {node} {access}: {output:?}");
    }
}

/// Other devices the sandbox does not have, and by the host's mount they could be opened for writing.
#[test]
fn another_device_opened_for_reading_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    let devices = ["/dev/kmsg", "/dev/hpet", "/dev/autofs", "/dev/loop0"];
    for file in devices.into_iter().filter_map(|device| File::open(device).ok()) {
        let mut command = project.run().options(["-c", "touch ran"]).into_command();
        let output = command.stdin(file).output().expect("palisade starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard input is a device"), "{output:?}");
        assert!(output.status.code() == Some(125) && !project.root().join("ran").exists(), "{output:?}");
    }
}

/// One that was opened for writing, which its user could open to everybody.
#[test]
fn a_device_of_the_users_own_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    let node = project.outside().join("node");
    // Only root can make one.
    let made = Command::new("mknod").arg(&node).args(["-m", "600", "c", "1", "11"]).output();
    if !made.expect("mknod starts").status.success() {
        return;
    }
    let Ok(file) = OpenOptions::new().write(true).open(&node) else { return };
    let output = with_stream(&project, 1, file, "chmod 666 /proc/$$/fd/1; touch ran");
    assert!(String::from_utf8_lossy(&output.stdout).contains("standard output is a device"), "{output:?}");
    assert!(!project.root().join("ran").exists(), "{output:?}");
}

/// What was opened for writing alone can be opened for reading as well, by the host's own mount.
#[test]
fn a_file_that_a_rule_hides_is_no_stream_however_it_was_opened() {
    let Some(project) = Project::where_it_works() else { return };
    let hidden = project.outside().join("hidden");
    std::fs::create_dir(&hidden).expect("own directory");
    let files = [hidden.join("deep"), project.root().join("secret")];
    nix::unistd::mkfifo(&hidden.join("pipe"), Mode::S_IRWXU).expect("own directory");
    let rules = json!({ "filesystem": { "denyRead": [hidden, "./secret"] } });
    let refused = |number: usize, file: File, name: &str| {
        let run = project.run().sandbox(rules.clone());
        let mut command = run.options(["-c", "touch ran; cat /proc/$$/fd/*"]).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        match number {
            0 => command.stdin(file),
            _ => command.stdout(file),
        };
        let output = command.output().expect("palisade starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let is_named =
            said.contains(name) && said.contains("which is hidden by") && said.contains("denyRead");
        assert!(is_named && output.status.code() == Some(125), "{number} {name}: {output:?}");
        assert!(!project.root().join("ran").exists(), "{number} {name}");
    };
    for file in &files {
        std::fs::write(file, "secret\n").expect("own directory");
        let name = file.display().to_string();
        let open = |read, write| OpenOptions::new().read(read).write(write).open(file).expect("own file");
        refused(0, open(true, false), &name);
        refused(1, open(false, true), &name);
        refused(1, open(true, true), &name);
    }
    let pipe = OpenOptions::new().read(true).write(true).open(hidden.join("pipe")).expect("own pipe");
    refused(0, pipe, "hidden/pipe");
}

/// A name that another file has by now is not the stream's.
#[test]
fn a_stream_is_not_taken_for_what_has_its_name_now() {
    let Some(project) = Project::where_it_works() else { return };
    let at = project.outside().join("log");
    let file = File::create(&at).expect("own directory");
    std::fs::remove_file(&at).expect("own file");
    std::fs::write(&at, "secret").expect("own directory");
    let run = project.run().sandbox(json!({ "filesystem": { "denyRead": [at] } }));
    let mut command = run.options(["-c", "echo out"]).into_command();
    let output = command.stdin(Stdio::null()).stdout(file).stderr(Stdio::piped()).output();
    let output = output.expect("palisade starts");
    assert!(output.status.success(), "{output:?}");
}

/// A named pipe is the same one by the sandbox's read-only mount, where its mode stays.
#[test]
fn a_named_pipe_passes_what_it_did_and_its_mode_cannot_be_changed() {
    let Some(project) = Project::where_it_works() else { return };
    let at = project.outside().join("pipe");
    nix::unistd::mkfifo(&at, Mode::S_IRUSR | Mode::S_IWUSR).expect("own directory");
    let mut ours = OpenOptions::new().read(true).write(true).open(&at).expect("own pipe");
    let change = |number| format!("chmod 777 /proc/$$/fd/{number} 2>&3");
    ours.write_all(b"in\nmore\n").expect("room");
    let read = with_stream(
        &project,
        0,
        File::open(&at).expect("own pipe"),
        &format!("{}; head -n 2 >&3", change(0)),
    );
    let said = String::from_utf8_lossy(&read.stdout);
    assert!(said.contains("Read-only file system\n") && said.ends_with("in\nmore\n"), "{read:?}");
    let file = OpenOptions::new().write(true).open(&at).expect("own pipe");
    let wrote = with_stream(&project, 1, file, &format!("{}; echo out", change(1)));
    assert!(String::from_utf8_lossy(&wrote.stdout).contains("Read-only file system"), "{wrote:?}");
    let mut out = [0; 4];
    ours.read_exact(&mut out).expect("what was written");
    assert_eq!(&out, b"out\n");
    assert_eq!(std::fs::metadata(&at).expect("own pipe").permissions().mode() & 0o7777, 0o600);
}

/// A writer whose reader is gone is given to the command all the same.
#[test]
fn a_named_pipe_that_nobody_reads_any_more_can_be_written_to() {
    let Some(project) = Project::where_it_works() else { return };
    let at = project.outside().join("pipe");
    nix::unistd::mkfifo(&at, Mode::S_IRUSR | Mode::S_IWUSR).expect("own directory");
    let reader = OpenOptions::new().read(true).write(true).open(&at).expect("own pipe");
    let writer = OpenOptions::new().write(true).open(&at).expect("own pipe");
    drop(reader);
    let output = with_stream(&project, 1, writer, "readlink /proc/$$/fd/1 >&3");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("/pipe\n"), "{output:?}");
}

/// Outside the sandbox's writable places a command can change it by its descriptor alone.
#[test]
fn a_file_opened_for_writing_is_no_more_open_to_others_than_before() {
    let Some(project) = Project::where_it_works() else { return };
    let outside = project.outside().join("log");
    let inside = project.root().join("log");
    for (at, line, after) in [
        (&outside, "chmod 666 /proc/$$/fd/1", 0o640),
        (&outside, "chmod 2777 /proc/$$/fd/1", 0o640),
        (&outside, "chmod 4777 /proc/$$/fd/1 2>/dev/null || chmod 604 /proc/$$/fd/1", 0o600),
        (&outside, "chmod 004 /proc/$$/fd/1", 0o600),
        (&outside, "chmod 600 /proc/$$/fd/1", 0o600),
        // What it may write by name is its own to change.
        (&inside, "chmod 755 /proc/$$/fd/1", 0o755),
    ] {
        let file = File::create(at).expect("own directory");
        file.set_permissions(std::fs::Permissions::from_mode(0o640)).expect("own file");
        let output = with_stream(&project, 1, file, &format!("{line}; echo out"));
        assert_eq!(output.stdout, b"", "{output:?}");
        let mode = std::fs::metadata(at).expect("own file").permissions().mode() & 0o7777;
        assert_eq!(mode, after, "{line}");
        assert_eq!(std::fs::read_to_string(at).expect("own file"), "out\n", "{line}");
    }
}
