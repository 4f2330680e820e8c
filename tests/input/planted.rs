//! Programs that somebody has put where Palisade looks for its own: they are never run.

use super::{MARK, assert_refused, palisade};
use palisade_tests::{Project, eventually};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// A program of somebody else's under the name of one that Palisade starts, which leaves a mark when it is run.
fn plant(directory: &Path, name: &str, mark: &Path) {
    std::fs::create_dir_all(directory).expect("own directory");
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\necho \"$0\" >> '{}'\nexit 1\n", mark.display()))
        .expect("own directory");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("own file");
    // Another test's child may hold the new file open for a moment, between its fork and its exec.
    eventually("the planted program runs", || Command::new(&path).status().is_ok());
    assert!(std::fs::metadata(mark).expect("it leaves its mark").len() > 0);
    std::fs::remove_file(mark).expect("own file");
}

/// Wherever it is: in the root, in a directory that a rule makes writable, in one of the user's, through a link.
#[test]
fn a_planted_program_is_never_run_by_palisade_itself() {
    let Some(project) = Project::where_it_works() else { return };
    let mark = project.root().join("mark");
    let (in_root, in_allowed, in_home) =
        (project.root().join("bin"), project.outside().join("bin"), project.home().join("bin"));
    let in_temporary =
        tempfile::Builder::new().prefix("palisade-test-").tempdir_in("/tmp").expect("a directory");
    for directory in [&in_root, &in_allowed, &in_home, in_temporary.path()] {
        for name in ["bwrap", "bash", "sh", "socat", "apply-seccomp", "true"] {
            plant(directory, name, &mark);
        }
    }
    symlink(&in_root, project.home().join("link")).expect("own directory");
    symlink(in_root.join("bwrap"), project.outside().join("bwrap")).expect("own directory");
    symlink(in_root.join("bash"), project.outside().join("bash")).expect("own directory");
    let system = std::env::var_os("PATH").unwrap_or_default().into_string().expect("text");
    for planted in [
        in_root.display().to_string(),
        in_allowed.display().to_string(),
        in_home.display().to_string(),
        in_temporary.path().display().to_string(),
        project.home().join("link").display().to_string(),
        project.outside().display().to_string(),
        format!("{}/../bin", in_root.display()),
        format!("/proc/self/cwd/{}", "bin"),
        "bin".to_owned(),
        "./bin".to_owned(),
        "../home/bin".to_owned(),
        String::new(),
        ".".to_owned(),
    ] {
        // The empty entry and `.` mean the working directory.
        let here = if planted.is_empty() || planted == "." { in_root.clone() } else { project.root() };
        let outside = project.outside();
        let palisade = palisade(&project)
            .directory(&here)
            .env("PATH", format!("{planted}:{system}"))
            .options([OsStr::new("--root"), project.root().as_os_str()])
            .options([OsStr::new("--allow-write"), outside.as_os_str()]);
        let run = palisade.line("readlink /proc/$$/exe");
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{planted}: {run:#?}");
        assert!(!run.stdout.contains(&project.base().display().to_string()), "{planted}: {run:#?}");
        let marked = std::fs::read_to_string(&mark).unwrap_or_default();
        assert_eq!(marked, "", "{planted}");
    }
}

/// With no other on `PATH` the system's own directories are looked at, and a `PATH` of nothing is no obstacle.
#[test]
fn bubblewrap_is_found_where_the_system_has_it() {
    let Some(project) = Project::where_it_works() else { return };
    let mark = project.root().join("mark");
    plant(&project.root().join("bin"), "bwrap", &mark);
    for path in ["bin", "", "/none/such", ":::"] {
        assert_eq!(palisade(&project).env("PATH", path).line("echo ran").ok().stdout, "ran\n", "{path:?}");
        assert!(!mark.exists(), "{path:?}");
    }
    let output = palisade(&project).into_command();
    let probe = Command::new(output.get_program())
        .arg("probe")
        .env("PATH", OsStr::from_bytes([project.root().as_os_str().as_bytes(), b"/bin"].concat().as_slice()))
        .output()
        .expect("palisade starts");
    assert!(!mark.exists() && probe.status.success(), "{probe:?}");
    assert!(
        !String::from_utf8_lossy(&probe.stdout).contains(&project.root().display().to_string()),
        "{probe:?}"
    );
}

/// A root that holds the system's own bubblewrap would let a command replace it for the next one.
#[test]
fn a_root_that_holds_bubblewrap_itself_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    for options in [["--root", "/usr"], ["--allow-write", "/usr/bin"], ["--allow-write", "/"]] {
        let run = palisade(&project).options(options).line(MARK);
        assert_refused(&project, &run, 125, &["bubblewrap"]);
    }
}

/// Nor is what bubblewrap is loaded from opened to a command, by whatever name.
#[test]
fn what_bubblewrap_is_loaded_from_is_not_opened() {
    let Some(project) = Project::where_it_works() else { return };
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"];
    let loader = loaders.into_iter().map(Path::new).find(|path| path.exists()).expect("a loader");
    let real = std::fs::canonicalize(loader).expect("it exists");
    let way = project.outside().join("way");
    symlink(real.parent().expect("a directory"), &way).expect("own directory");
    for opened in [loader.parent().expect("a directory"), &real, &way, Path::new("/etc")] {
        let rules = serde_json::json!({ "sandbox": { "filesystem": { "allowWrite": [opened] } } });
        project.write(".claude/settings.json", rules.to_string());
        let run = palisade(&project).line(MARK);
        let said = [".claude/settings.json", "bubblewrap that confines them is loaded"];
        assert_refused(&project, &run, 125, &said);
    }
}

/// Nor does a rule make the sandbox unavailable by it, which would be a repository's way to do without.
#[test]
fn a_rule_that_opens_bubblewrap_does_not_switch_the_sandbox_off() {
    let Some(project) = Project::where_it_works() else { return };
    let bubblewrap = std::fs::canonicalize("/usr/bin/bwrap").expect("bubblewrap, where the tests are run");
    let way = project.outside().join("way");
    symlink(bubblewrap.parent().expect("a directory"), &way).expect("own directory");
    let lets = r#"{"sandbox":{"failIfUnavailable":false}}"#;
    for opened in [&bubblewrap, bubblewrap.parent().expect("a directory"), &way, Path::new("/bin")] {
        let rules = serde_json::json!({ "sandbox": { "filesystem": { "allowWrite": [opened] } } });
        project.write(".claude/settings.json", rules.to_string());
        let run = palisade(&project).options(["--settings", lets]).argv(["touch", "ran"]);
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{opened:?}: {run:#?}");
        for said in [".claude/settings.json", "bubblewrap that confines them"] {
            assert!(run.stderr.contains(said), "{opened:?}: {said:?} is missing: {run:#?}");
        }
        assert!(!project.root().join("ran").exists(), "{opened:?}");
    }
}
