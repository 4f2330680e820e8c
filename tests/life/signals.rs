//! Signals sent to `palisade` reach the command, whenever they come, and do there what they would do without a sandbox.

use super::Live;
use nix::sys::signal::Signal::{self, *};
use palisade_tests::{Marker, Project, eventually};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

const PASSED_ON: [Signal; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Those that hardly anybody sends: timers that were set before `palisade` was executed, limits, watchdogs.
const RARE: [Signal; 10] =
    [SIGABRT, SIGALRM, SIGIO, SIGPROF, SIGPWR, SIGSTKFLT, SIGSYS, SIGTRAP, SIGVTALRM, SIGXCPU];

#[test]
fn a_command_that_dies_of_a_signal_gives_128_and_its_number() {
    let Some(project) = Project::where_it_works() else { return };
    for signal in PASSED_ON.into_iter().chain(RARE) {
        let marker = Marker::new();
        let live = Live::start(project.run(), &["sleep", marker.seconds()]);
        eventually("the command runs", || marker.processes().into_iter().any(is_sleep));
        live.send(signal);
        assert_eq!(live.end().0.code(), Some(128 + signal as i32), "{signal}");
        assert!(marker.processes().is_empty());
    }
}

fn is_sleep(process: nix::unistd::Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name == "sleep\n")
}

#[test]
fn a_trap_hears_the_signal_and_decides_the_exit_status() {
    let Some(project) = Project::where_it_works() else { return };
    for signal in PASSED_ON {
        let line =
            format!("trap 'echo heard; exit 7' {}; echo up; while :; do sleep 0.02; done", signal as i32);
        let (live, _) = Live::line(project.run(), &line);
        live.send(signal);
        let (status, said) = live.end();
        assert_eq!((status.code(), said.as_str()), (Some(7), "heard\n"), "{signal}");
    }
}

#[test]
fn a_handler_of_another_language_hears_it_too() {
    let Some(project) = Project::where_it_works() else { return };
    let script = "import signal, sys\n\
                  signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))\n\
                  print('up', flush=True)\n\
                  while True: pass";
    let (live, _) = Live::line(project.run(), &format!("exec python3 -c \"{script}\""));
    live.send(SIGTERM);
    assert_eq!(live.end().0.code(), Some(SIGTERM as i32));
}

/// Whether a signal waits for a process of ours.
fn is_pending(live: &Live) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", live.pid())).expect("own child");
    let masks = status.lines().filter(|line| line.starts_with("SigPnd") || line.starts_with("ShdPnd"));
    masks
        .filter_map(|line| line.split_whitespace().nth(1))
        .any(|mask| mask.bytes().any(|digit| digit != b'0'))
}

#[test]
fn a_command_that_ignores_a_signal_goes_on() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "trap '' TERM HUP; trap 'echo again' USR1; echo up; until test -e go; do sleep 0.02; done; echo survived; exit 3";
    let (live, _) = Live::line(project.run(), line);
    for signal in [SIGTERM, SIGHUP, SIGUSR1] {
        live.send(signal);
        eventually("palisade has taken it", || !is_pending(&live));
    }
    project.write("go", "");
    let (status, said) = live.end();
    assert_eq!((status.code(), said.as_str()), (Some(3), "again\nsurvived\n"));
}

/// A shell that ends before it has set its trap dies of the signal; what must not happen is that nobody hears it.
#[test]
fn a_signal_that_comes_while_the_command_is_being_started_is_not_lost() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    for round in 0..60_u64 {
        let signal = [SIGTERM, SIGINT, SIGHUP][round as usize % 3];
        let live = Live::start(project.run(), &["sleep", marker.seconds()]);
        std::thread::park_timeout(Duration::from_micros(round * 600));
        live.send(signal);
        let status = live.end().0;
        let is_of_signal =
            status.code() == Some(128 + signal as i32) || status.signal() == Some(signal as i32);
        assert!(is_of_signal, "{signal} after {} µs: {status:?}", round * 600);
        eventually("nothing is left running", || marker.processes().is_empty());
    }
}

#[test]
fn a_time_limit_around_palisade_ends_the_command() {
    let Some(project) = Project::where_it_works() else { return };
    let marker = Marker::new();
    let palisade = project.run().options(["--", "sleep", marker.seconds()]).into_command();
    let mut limited = Command::new("timeout");
    limited.arg("1").arg(palisade.get_program()).args(palisade.get_args()).current_dir(project.root());
    limited.env("HOME", project.home());
    assert_eq!(limited.status().expect("timeout starts").code(), Some(124));
    assert!(marker.processes().is_empty());
}

/// The masks of the command, up to signal 31, when its caller has done `before` with every signal at its default and then
/// become `palisade`.
fn masks(project: &Project, before: &str) -> Vec<(String, u64)> {
    let palisade = project.run().options(["--", "grep", "Sig[IB]", "/proc/self/status"]).into_command();
    let script = format!(
        "import os, signal, sys\n\
         for s in set(range(1, 32)) - {{9, 19}}: signal.signal(s, signal.SIG_DFL)\n\
         {before}\nos.execv(sys.argv[1], sys.argv[1:])"
    );
    let mut caller = Command::new("python3");
    caller.args(["-c", &script]).arg(palisade.get_program()).args(palisade.get_args());
    caller.current_dir(project.root()).env("HOME", project.home()).stdin(Stdio::null());
    let output = caller.output().expect("python3 starts");
    assert!(output.status.success(), "{before}: {output:?}");
    let said = String::from_utf8(output.stdout).expect("ASCII");
    said.lines()
        .filter_map(|line| line.split_once(":\t"))
        .map(|(name, mask)| (name.to_owned(), u64::from_str_radix(mask, 16).expect("a mask") & 0x7fff_ffff))
        .collect()
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as u32 - 1)
}

#[test]
fn what_the_caller_ignores_the_command_ignores_and_nothing_else() {
    let Some(project) = Project::where_it_works() else { return };
    for ignored in [&[][..], &[SIGHUP], &[SIGINT, SIGQUIT], &[SIGCHLD], &[SIGTSTP, SIGTTOU, SIGUSR1, SIGTERM]]
    {
        let each =
            ignored.iter().map(|signal| format!("signal.signal({}, signal.SIG_IGN)\n", *signal as i32));
        let masks = masks(&project, &each.collect::<String>());
        let expected = ignored.iter().fold(0, |mask, signal| mask | bit(*signal));
        assert_eq!(masks, [("SigBlk".to_owned(), 0), ("SigIgn".to_owned(), expected)], "{ignored:?}");
    }
}

#[test]
fn what_the_caller_blocks_is_not_blocked_in_the_command() {
    let Some(project) = Project::where_it_works() else { return };
    let all = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())";
    assert_eq!(masks(&project, all), [("SigBlk".to_owned(), 0), ("SigIgn".to_owned(), 0)]);
}

#[test]
fn the_exit_status_is_the_commands_own() {
    let Some(project) = Project::where_it_works() else { return };
    for status in [0, 1, 2, 42, 124, 125, 126, 127, 128, 255] {
        assert_eq!(project.line(&format!("exit {status}")).status, status);
    }
    for signal in [SIGKILL, SIGSEGV, SIGABRT, SIGPIPE, SIGALRM] {
        let run = project.line(&format!("kill -{} $$", signal as i32));
        assert_eq!(run.status, 128 + signal as i32, "{signal}: {run:?}");
        assert_eq!(run.json["status"], 128 + signal as i32);
    }
}

#[test]
fn a_command_that_was_stopped_or_whose_palisade_was_goes_on_when_continued() {
    let Some(project) = Project::where_it_works() else { return };
    let stops = "(until grep -q 'State:.T' /proc/$$/status; do :; done; kill -CONT $$) & kill -STOP $$; echo continued";
    assert_eq!(project.line(stops).ok().stdout, "continued\n");
    // It starts nothing while it waits: of a process that is just being forked when its group is stopped and continued
    // right after, Linux (6.18) may lose the second signal, in a sandbox or not.
    let (live, _) = Live::line(project.run(), "echo up; until test -e go; do :; done; echo done; exit 4");
    let state = |letter: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", live.pid())).expect("own child");
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(letter))
    };
    live.send(SIGTSTP);
    eventually("palisade has taken it", || !is_pending(&live));
    live.send(SIGSTOP);
    eventually("palisade is stopped", || state("T"));
    project.write("go", "");
    live.send(SIGCONT);
    let (status, said) = live.end();
    assert_eq!((status.code(), said.as_str()), (Some(4), "done\n"));
}
