//! Of the caller's open files a command gets three, and of those of Palisade and bubblewrap none.

use palisade_tests::{Palisade, Project, Tools};
use std::fs::{File, OpenOptions};
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
