//! Roots, and what is mounted below them or where a rule leads.

use super::{Works, assert_ends, behind, trying, words};
use palisade_tests::Project;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;

#[test]
fn the_home_directory_may_be_the_root() {
    let Some(project) = Project::where_it_works() else { return };
    let mut command = trying(&project).into_command();
    command.env("HOME", project.root());
    assert_ends("home", &project, &behind([] as [&str; 0], &command), &Works);
}

#[test]
fn what_belongs_to_the_whole_machine_is_no_root() {
    let Some(project) = Project::where_it_works() else { return };
    for root in ["/proc", "/proc/sys", "/proc/self/task", "/sys", "/sys/fs", "/dev", "/proc/self/../sys"] {
        let run = project.run().options(["--root", root]).line("echo ran");
        assert_eq!((run.status, run.stdout.as_str()), (125, ""), "{run:#?}");
        assert_eq!(run.json["error"]["code"], "SANDBOX_DIRECTORY", "{run:#?}");
        assert!(run.stderr.contains("whole machine"), "{run:#?}");
    }
}

#[test]
fn a_working_directory_that_is_hidden_is_named_with_its_rule() {
    let Some(project) = Project::where_it_works() else { return };
    let hidden = project.outside().join("hidden/deep");
    std::fs::create_dir_all(&hidden).expect("own directory");
    let (root, outside) = (project.root(), project.outside());
    let rules = [OsStr::new("--root"), root.as_os_str(), OsStr::new("--deny-read"), outside.as_os_str()];
    for directory in [&hidden, &outside] {
        let run = project.run().directory(directory).options(rules).line("echo ran");
        assert_eq!(
            (run.status, run.json["error"]["code"].as_str()),
            (125, Some("SANDBOX_DIRECTORY")),
            "{run:#?}"
        );
        assert!(run.stdout.is_empty() && run.stderr.contains("--deny-read"), "{run:#?}");
    }
    // Where something below is to be seen it may be entered.
    let reopened = [OsStr::new("--allow-read"), hidden.as_os_str()];
    let run = project.run().directory(&outside).options(rules).options(reopened).line("pwd; ls");
    assert_eq!((run.status, run.stdout.as_str()), (2, &*format!("{}\n", outside.display())), "{run:#?}");
}

/// A denied path may lead onto another file system.
#[test]
fn a_denied_link_onto_another_mount_is_denied_there() {
    let Some(project) = Project::where_it_works() else { return };
    let mounted = project.outside().join("mounted");
    std::fs::create_dir(&mounted).expect("own directory");
    symlink(&mounted, project.root().join("link")).expect("own directory");
    let options = ["--deny-read", "link", "--allow-write", ".", "-c"];
    let line = format!("cat link/f {0}/f; echo evil > {0}/g; echo done", mounted.display());
    let command = project.run().options(options).options([&line]).into_command();
    let fill = format!("echo s3cret > {0}/f; exec \"$@\"", mounted.display());
    let mut machine = words(&format!("bwrap --dev-bind / / --tmpfs {} -- sh -c", mounted.display()));
    machine.extend([OsString::from(fill), "sh".into()]);
    let output = behind(machine, &command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"done\n", "{stderr}");
    assert_eq!(stderr.matches("Permission denied").count(), 3, "{stderr}");
}

/// A file system whose server is gone answers nothing but an error, wherever it is mounted.
#[test]
fn a_mount_that_is_dead_does_not_matter() {
    let Some(project) = Project::where_it_works() else { return };
    if !nix::unistd::geteuid().is_root() || std::fs::metadata("/dev/fuse").is_err() {
        return;
    }
    const MOUNT: &str = "import ctypes, os, sys\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        fd = os.open('/dev/fuse', os.O_RDWR)\n\
        said = f'fd={fd},rootmode=40000,user_id=0,group_id=0'.encode()\n\
        if libc.mount(b'dead', sys.argv[1].encode(), b'fuse', 0, said): sys.exit(os.strerror(ctypes.get_errno()))\n\
        os.close(fd)\n\
        os.execvp(sys.argv[2], sys.argv[2:])";
    for place in [project.outside().join("dead"), project.home().join("dead")] {
        std::fs::create_dir(&place).expect("own directory");
        let mut machine = words("unshare --mount python3 -c");
        machine.extend([MOUNT.into(), place.into_os_string()]);
        let output = behind(machine, &trying(&project).into_command());
        assert_ends("dead", &project, &output, &Works);
    }
}
