//! Programs that work with a terminal work with it inside.

use super::{Pty, await_state, run};
use palisade_tests::{Marker, Project, eventually};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

#[test]
fn the_streams_are_the_terminal_and_know_its_size() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "import os; print([os.isatty(n) for n in range(3)], os.get_terminal_size(), os.path.samestat(os.stat('/dev/tty'), os.stat('/dev/tty')))";
    let (status, shown) = run(&project, &[], &["python3", "-c", line]).end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("[True, True, True] os.terminal_size(columns=80, lines=24)"), "{shown}");
    let (_, shown) = run(
        &project,
        &[],
        &["sh", "-c", "stty size; stty size < /dev/tty; tty > tty; echo to-$((40 + 2)) > /dev/tty"],
    )
    .end();
    assert_eq!(shown, "24 80\r\n24 80\r\nto-42\r\n");
}

#[test]
fn a_change_of_the_windows_size_is_signalled() {
    let Some(project) = Project::where_it_works() else { return };
    let script = "import os, select, signal\n\
                  def changed(*_): os.write(1, b'now %d %d' % os.get_terminal_size())\n\
                  signal.signal(signal.SIGWINCH, changed)\n\
                  print('ready', flush=True)\n\
                  while not select.select([0], [], [], 0.05)[0]: pass";
    let mut terminal = run(&project, &[], &["python3", "-c", script]);
    terminal.wait_for("ready");
    for (lines, columns) in [(40, 100), (10, 33)] {
        terminal.resize(lines, columns);
        terminal.wait_for(&format!("now {columns} {lines}"));
    }
    terminal.press("\r");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn ctrl_c_interrupts_a_python_session_that_lives_on() {
    let Some(project) = Project::where_it_works() else { return };
    let mut terminal = run(&project, &[], &["python3", "-q"]);
    terminal.wait_for(">>> ");
    // Busy: a signal that comes just before Python goes to sleep would be looked at after the sleep only.
    terminal.enter(r#"exec("print('busy', 40 + 2)\nwhile True: pass")"#);
    terminal.wait_for("busy 42");
    terminal.press("\x03");
    terminal.wait_for("KeyboardInterrupt");
    terminal.wait_for(">>> ");
    terminal.enter("print('again', 6 * 9)");
    terminal.wait_for("again 54");
    terminal.enter("exit(5)");
    assert_eq!(terminal.end().0, Some(5));
}

#[test]
fn ctrl_c_and_ctrl_backslash_end_a_plain_program() {
    let Some(project) = Project::where_it_works() else { return };
    for (key, status) in [("\x03", 130), ("\x1c", 131)] {
        let marker = Marker::new();
        let mut terminal = run(&project, &[], &["sleep", marker.seconds()]);
        await_state(&marker, "sleep", 'S');
        terminal.press(key);
        assert_eq!(terminal.end().0, Some(status));
        assert!(marker.processes().is_empty());
    }
}

/// A whole job is interrupted: what the command started as well.
#[test]
fn ctrl_c_reaches_what_the_command_started() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let line = format!("trap 'echo trapped-$((40 + 2))' INT; sleep {}; echo after-$?", marker.seconds());
    let mut terminal = run(&project, &[], &["bash", "-c", &line]);
    await_state(&marker, "sleep", 'S');
    terminal.press("\x03");
    terminal.wait_for("trapped-42");
    terminal.wait_for("after-130");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn an_interactive_bash_inside_has_job_control() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let mut terminal = run(&project, &[], &["env", "PS1=inside> ", "bash", "--norc", "--noprofile", "-i"]);
    let start = terminal.wait_for("inside> ");
    assert!(!start.contains("job control") && !start.contains("ioctl"), "{start}");
    terminal.enter(&format!("sleep {}", marker.seconds()));
    await_state(&marker, "sleep", 'S');
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    await_state(&marker, "sleep", 'T');
    terminal.enter("jobs | grep -c Stopped; echo number-$((40 + 2))");
    terminal.wait_for("number-42");
    terminal.enter("fg");
    await_state(&marker, "sleep", 'S');
    terminal.press("\x03");
    terminal.enter("echo status-$?");
    terminal.wait_for("status-130");
    terminal.enter("exit 6");
    assert_eq!(terminal.end().0, Some(6));
}

/// An editor, and the keys that write `hello from inside` and save.
const EDITORS: [(&str, &[&str], &str, &str); 3] = [
    ("vim", &["-N", "-u", "NONE", "-i", "NONE", "-n", "file"], "file", "ihello from inside\x1b:wq\r"),
    ("nano", &["--ignorercfiles", "file"], "file", "hello from inside\x0f\r\x18"),
    ("bash", &["-c", "read -e -p 'edit:' line; echo \"$line\" > file"], "edit:", "from inside\x01hello \r"),
];

#[test]
fn a_file_is_edited_and_saved() {
    let Some(project) = Project::where_it_works() else { return };
    for (editor, options, ready, keys) in EDITORS {
        let is_here =
            Command::new("sh").args(["-c", &format!("command -v {editor}")]).output().expect("sh starts");
        if !is_here.status.success() {
            continue;
        }
        let argv: Vec<&str> = [editor].into_iter().chain(options.iter().copied()).collect();
        let mut terminal = run(&project, &[], &argv);
        terminal.wait_for(ready);
        terminal.press(keys);
        let (status, shown) = terminal.end();
        assert_eq!(status, Some(0), "{editor}: {shown}");
        assert_eq!(project.read("file"), "hello from inside\n", "{editor}");
        std::fs::remove_file(project.root().join("file")).expect("own file");
    }
}

#[test]
fn closing_the_window_ends_the_command_and_all_that_it_started() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let line = format!("nohup sleep {0} > /dev/null 2>&1 & sleep {0}", marker.seconds());
    let terminal = run(&project, &[], &["bash", "-c", &line]);
    await_state(&marker, "sleep", 'S');
    let mut child = terminal.close_window();
    child.wait().expect("own child");
    eventually("nothing is left running", || marker.processes().is_empty());
}

/// Text pushed into the terminal would be read by the caller's shell, and run there.
#[test]
fn nothing_can_be_typed_into_the_callers_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let script = "import fcntl, os\n\
                  for number in (0x5412, 0x541c, 0x5412 | 1 << 32):\n\
                  \x20 for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):\n\
                  \x20  try: fcntl.ioctl(fd, number & 0xffffffff, b'x'); print('typed')\n\
                  \x20  except OSError as error: print(error.strerror)";
    let (status, shown) = run(&project, &[], &["python3", "-c", script]).end();
    assert_eq!(status, Some(0), "{shown}");
    assert_eq!(shown, "Operation not permitted\r\n".repeat(12));
}

/// Inside they are nodes that only the command has, so nothing that it does to them is done to the caller's.
#[test]
fn nobody_else_is_let_in_to_a_terminal_whatever_streams_it_is() {
    let Some(project) = Project::where_it_works() else { return };
    let script = "import os, sys\n\
                  for fd in range(3):\n\
                  \x20if os.isatty(fd):\n\
                  \x20 for change in (os.fchmod, os.chmod):\n\
                  \x20  at = fd if change == os.fchmod else f'/proc/self/fd/{fd}'\n\
                  \x20  try: change(at, 0o666); print('changed', file=sys.stderr)\n\
                  \x20  except OSError as error: print(error.strerror, os.ttyname(fd), file=sys.stderr)";
    project.write("open.py", script);
    let palisade = project.run().options(["--", "python3", "open.py"]).into_command();
    for (streams, terminals) in
        [("", 3), ("| cat", 2), ("< /dev/null", 2), ("< /dev/tty", 3), ("2>&1 | cat", 1)]
    {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("\"$0\" \"$@\" {streams}; stat -Lc %a /proc/self/fd/2")]);
        shell.arg(palisade.get_program()).args(palisade.get_args()).current_dir(project.root());
        for (name, value) in palisade.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let (_, shown) = Pty::start(&shell).end();
        let said: Vec<&str> = shown.lines().collect();
        let Some((mode, said)) = said.split_last() else { panic!("{streams}: nothing is said") };
        assert_eq!(said.len(), terminals * 2, "{streams}: {shown}");
        let is_shut = |line: &&str| line.starts_with("Read-only file system /dev/");
        assert!(said.iter().all(is_shut) && !mode.ends_with('6'), "{streams}: {shown}");
    }
}

/// The sandbox has no node of a terminal that is neither the controlling one nor standard output. The second command
/// finds the first one's doing, and outlasts it.
#[test]
fn another_terminal_is_closed_again_and_no_command_opens_it_for_the_next() {
    let Some(project) = Project::where_it_works() else { return };
    let (_keyboard, terminal) = super::pty::open_pair().expect("a terminal");
    let mode = || terminal.metadata().expect("open").permissions().mode() & 0o7777;
    let before = mode();
    let start = |first: &str, name: &str| {
        let line = format!("{first}; touch up-{name}; until test -e end-{name}; do sleep 0.02; done");
        let mut palisade = project.run().options(["-c", &line]).into_command();
        palisade.stdin(terminal.try_clone().expect("a descriptor"));
        let child = palisade.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("palisade starts");
        eventually("the command runs", || project.root().join(format!("up-{name}")).exists());
        child
    };
    let end = |name: &str, mut child: Child| {
        project.write(format!("end-{name}"), "");
        assert!(child.wait().expect("own child").success(), "{name}");
    };
    let opener = start("chmod 666 /proc/self/fd/0", "a");
    assert_eq!(mode(), 0o666, "without that this test shows nothing");
    let next = start("true", "b");
    end("a", opener);
    assert_eq!(mode(), before);
    end("b", next);
    assert_eq!(mode(), before);
    let closer = start("chmod 000 /proc/self/fd/0", "c");
    end("c", closer);
    assert_eq!(mode(), before & 0o700, "its owner has it back, whom it was taken from");
}

/// Only root can give the terminal back to the group that it had; from another it is taken.
#[test]
fn a_terminal_given_to_another_group_is_closed_to_it() {
    let Some(project) = Project::where_it_works() else { return };
    let (_keyboard, terminal) = super::pty::open_pair().expect("a terminal");
    let seen =
        || terminal.metadata().map(|metadata| (metadata.mode() & 0o7777, metadata.gid())).expect("open");
    let before = seen();
    let line = "chgrp \"$(id -g)\" /proc/self/fd/0 && chmod 660 /proc/self/fd/0";
    let mut palisade = project.run().options(["-c", line]).into_command();
    palisade.stdin(terminal.try_clone().expect("a descriptor"));
    assert!(palisade.status().expect("palisade starts").success());
    let after = seen();
    assert!(after == before || after.0 == before.0 & 0o707, "{before:?} {after:?}");
}
