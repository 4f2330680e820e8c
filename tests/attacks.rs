//! Ways around the walls that a hostile reader found, each of which is shut.

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use palisade_tests::Project;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// About as long as a launch takes from its look at the paths to their mounts: swaps at this pace hit between.
const PAUSE: Duration = Duration::from_micros(300);

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another process of the same user (a command in another sandbox, say) swaps the root for a link to a place outside
/// while the sandbox is being built.
#[test]
fn a_root_that_becomes_a_link_while_it_is_mounted_opens_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    let (sub, link) = (root.join("sub"), root.join("link"));
    std::fs::create_dir(&sub).expect("own directory");
    // Relative: an absolute one leads nowhere where bubblewrap mounts.
    std::os::unix::fs::symlink("../outside", &link).expect("own directory");
    let secret = project.outside().join("secret");
    std::fs::write(&secret, "untouched").expect("own directory");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // However the launches end: the other thread must.
        let _stop = Stop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &sub, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE).expect("both exist");
                std::thread::park_timeout(PAUSE);
            }
        });
        for _ in 0..100 {
            let line = format!("cat {0}; echo changed >{0}", secret.display());
            let run = project
                .run()
                .options([
                    "--root".as_ref(),
                    sub.as_os_str(),
                    "--deny-read".as_ref(),
                    project.outside().as_os_str(),
                ])
                .line(line);
            assert!(!run.stdout.contains("untouched"), "{run:?}");
        }
    });
    assert_eq!(std::fs::read_to_string(&secret).expect("own file"), "untouched");
}

/// `/proc/self/fd/0` leads to the caller's file by the host's own mounts.
#[test]
fn standard_input_opened_for_reading_cannot_be_written() {
    let Some(project) = Project::where_it_works() else { return };
    let file = project.outside().join("input");
    std::fs::write(&file, "first\nsecond\n").expect("own directory");
    let mut command =
        project.run().options(["-c", "read line; cat; echo changed >/proc/self/fd/0"]).into_command();
    let output =
        command.stdin(std::fs::File::open(&file).expect("own file")).output().expect("palisade starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "second\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Read-only file system"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("own file"), "first\nsecond\n");
}

#[test]
fn a_directory_on_standard_input_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    let mut command = project.run().options(["-c", "ls /proc/self/fd/0/"]).into_command();
    let directory = std::fs::File::open(project.outside()).expect("own directory");
    let output = command.stdin(directory).output().expect("palisade starts");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard input is a directory"), "{output:?}");
}

#[test]
fn rules_about_what_palisade_mounts_itself_are_refused_by_name() {
    let Some(project) = Project::where_it_works() else { return };
    for options in [
        ["--allow-write", "/proc"],
        ["--allow-write", "/proc/sys"],
        ["--allow-write", "/sys"],
        ["--allow-write", "/dev"],
        ["--deny-read", "/"],
        ["--deny-read", "/proc"],
    ] {
        let run = project.run().options(options).line("touch ran");
        assert_eq!(run.status, 125, "{run:?}");
        assert!(
            run.stderr.contains(&format!("{} {:?} cannot be enforced", options[0], options[1])),
            "{run:?}"
        );
    }
    assert_eq!(project.tree(), [""; 0]);
}

/// `timeout` sends SIGTERM and then SIGCONT, so that what is stopped can end.
#[test]
fn a_command_that_stopped_itself_ends_at_a_time_limit() {
    let Some(project) = Project::where_it_works() else { return };
    let command = project.run().options(["-c", "kill -STOP $$"]).into_command();
    let mut limited = std::process::Command::new("timeout");
    limited.arg("2").arg(command.get_program()).args(command.get_args()).current_dir(project.root());
    limited.env("HOME", project.home());
    let status = limited.status().expect("timeout starts");
    assert_eq!(status.code(), Some(124));
}

/// The kernel delivers a signal to one's own process group to every member, in whatever process namespace.
#[test]
fn a_signal_to_its_own_process_group_does_not_reach_the_caller() {
    let Some(project) = Project::where_it_works() else { return };
    let command = project.run().options(["-c", "kill -9 0"]).into_command();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "\"$@\"; echo survived", "sh"]).arg(command.get_program()).args(command.get_args());
    let output = shell.current_dir(project.root()).env("HOME", project.home()).output().expect("sh starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "survived\n");
}
