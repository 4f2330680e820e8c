//! To the shell that it is called from, `palisade` and its command are one job.

use super::{await_state, host_shell};
use palisade_tests::{Marker, Project};

/// A line for the host's shell: bash inside, with the marker on its command line, answers each line it reads.
fn echo_server(marker: &Marker) -> String {
    format!(
        "$PALISADE run -- bash -c 'echo up-$((40 + 2)); while read line; do echo got-$((line + 1)); done; exit 7' {}",
        marker.seconds()
    )
}

#[test]
fn ctrl_z_stops_the_job_and_fg_resumes_it() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut shell = host_shell(&project);
    shell.enter(&echo_server(&marker));
    shell.wait_for("up-42");
    for round in 0..3 {
        shell.enter(&format!("{}", 100 + round));
        shell.wait_for(&format!("got-{}", 101 + round));
        shell.press("\x1a");
        shell.wait_for("Stopped");
        await_state(&marker, "palisade", 'T');
        await_state(&marker, "bash", 'T');
        shell.enter("echo shell-$((50 + 4))");
        shell.wait_for("shell-54");
        shell.enter("fg");
        await_state(&marker, "bash", 'S');
    }
    shell.enter("200");
    shell.wait_for("got-201");
    shell.press("\x04");
    shell.wait_for("prompt> ");
    shell.enter("echo status-$((${?} + 100))");
    shell.wait_for("status-107");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
    assert!(marker.processes().is_empty());
}

#[test]
fn a_job_in_the_background_stops_when_it_reads_from_the_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut shell = host_shell(&project);
    shell.enter(&format!("{} &", echo_server(&marker)));
    shell.wait_for("up-42");
    await_state(&marker, "palisade", 'T');
    shell.enter("echo shell-$((50 + 4))");
    shell.wait_for("shell-54");
    shell.enter("jobs");
    shell.wait_for("Stopped");
    shell.enter("fg");
    await_state(&marker, "bash", 'S');
    shell.enter("300");
    shell.wait_for("got-301");
    shell.press("\x04");
    shell.wait_for("prompt> ");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
}

#[test]
fn a_stopped_job_goes_on_in_the_background() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut shell = host_shell(&project);
    let inside = "echo up-$((40 + 2)); until test -e go; do sleep 0.02; done; echo went-$((50 + 4))";
    shell.enter(&format!("$PALISADE run -- bash -c '{inside}' {}", marker.seconds()));
    shell.wait_for("up-42");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.enter("bg");
    await_state(&marker, "bash", 'S');
    project.write("go", "");
    shell.wait_for("went-54");
    shell.enter("wait; echo done-$((60 + 6))");
    shell.wait_for("done-66");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
}

#[test]
fn ctrl_c_ends_the_command_and_leaves_the_shell() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut shell = host_shell(&project);
    shell.enter(&format!("$PALISADE run -- sleep {}", marker.seconds()));
    await_state(&marker, "sleep", 'S');
    shell.press("\x03");
    shell.wait_for("prompt> ");
    shell.enter("echo status-$((${?} + 100))");
    shell.wait_for("status-230");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
    assert!(marker.processes().is_empty());
}

/// The rest of a pipeline belongs to the caller, and may want the keyboard: a pager does.
#[test]
fn the_reader_of_a_pipe_from_palisade_can_read_from_the_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let mut shell = host_shell(&project);
    let reader = "{ read -r piped; echo up-$((40 + 2)); read -r typed < /dev/tty; touch go; echo $piped-$((typed + 1)); }";
    shell.enter(&format!("$PALISADE run -c 'echo out; until test -e go; do sleep 0.02; done' | {reader}"));
    shell.wait_for("up-42");
    shell.enter("41");
    shell.wait_for("out-42");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
}

#[test]
fn a_command_whose_output_is_piped_can_read_from_the_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let mut shell = host_shell(&project);
    shell.enter(
        "$PALISADE run -c 'echo up-$((40 + 2)) >&2; read -r typed; echo $((typed + 1))' | sed s/^/piped-/",
    );
    shell.wait_for("up-42");
    shell.enter("41");
    shell.wait_for("piped-42");
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
}

/// A signal to one's own process group must reach nobody outside.
#[test]
fn a_command_cannot_signal_its_callers_job_or_session() {
    let Some(project) = Project::where_it_works() else { return };
    let mut shell = host_shell(&project);
    for (number, line) in
        ["kill -9 0", "kill -9 -1", "kill -HUP 0", "kill -9 $PPID", "kill -9 1"].iter().enumerate()
    {
        shell.enter(&format!(
            "sleep 86400 | {{ $PALISADE run -c '{line}'; echo alive-$(({number} + 100)); kill 0; }} "
        ));
        shell.wait_for(&format!("alive-{}", 100 + number));
    }
    shell.enter("");
    shell.enter("exit 0");
    shell.end();
}

#[test]
fn ctrl_z_and_ctrl_c_reach_all_of_a_command_in_a_pipeline() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut shell = host_shell(&project);
    shell.enter(&format!("$PALISADE run -c 'sleep {}; echo went-$((40 + 2))' | cat", marker.seconds()));
    await_state(&marker, "sleep", 'S');
    shell.press("\x1a");
    shell.wait_for("Stopped");
    await_state(&marker, "palisade", 'T');
    await_state(&marker, "sleep", 'T');
    shell.enter("fg");
    await_state(&marker, "sleep", 'S');
    shell.press("\x03");
    shell.wait_for("prompt> ");
    shell.enter("echo after-$((50 + 4))");
    let shown = shell.wait_for("after-54");
    assert!(!shown.contains("went-42"), "{shown}");
    assert!(marker.processes().is_empty());
    shell.enter("exit 0");
    assert_eq!(shell.end().0, Some(0));
}
