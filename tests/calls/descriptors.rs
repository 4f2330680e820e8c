//! Of the caller's open files a command gets three, and of those of Palisade and bubblewrap none.

use palisade_tests::{Palisade, Project, Tools};
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
