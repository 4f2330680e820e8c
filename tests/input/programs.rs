//! Programs that cannot be executed, and how those that can are looked up.

use super::{MARK, assert_refused, palisade};
use palisade_tests::Project;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// Makes an executable file in the root.
fn executable(project: &Project, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = project.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("own file");
    path
}

#[test]
fn a_program_that_cannot_be_executed_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("plain", MARK);
    executable(&project, "no-interpreter", "#!/none/such/interpreter\n");
    executable(&project, "relative-interpreter", "#!none-such\n");
    executable(&project, "directory-interpreter", "#!/etc\n");
    executable(&project, "bin/tool", "#!/bin/sh\ntouch ran\n");
    symlink("none-such", project.root().join("dangling")).expect("own directory");
    symlink("loop", project.root().join("loop")).expect("own directory");
    for (program, status, named) in [
        ("", 127, "empty"),
        ("none-such-program", 127, "none-such-program"),
        ("./none-such", 127, "./none-such"),
        ("/none/such", 127, "/none/such"),
        ("bin/tool/below", 127, "bin/tool/below"),
        ("dangling", 127, "dangling"),
        ("./dangling", 127, "./dangling"),
        ("./loop", 126, "./loop"),
        ("bin/", 126, "bin/"),
        ("./plain", 126, "./plain"),
        ("/etc/passwd", 126, "/etc/passwd"),
        ("/etc", 126, "/etc"),
        (".", 126, "."),
        ("./no-interpreter", 127, "interpreter"),
        ("./relative-interpreter", 127, "interpreter"),
        ("./directory-interpreter", 126, "./directory-interpreter"),
    ] {
        let run = palisade(&project).argv([program]);
        assert_refused(&project, &run, status, &[named]);
    }
    let long = "x".repeat(5_000);
    for program in [long.clone(), format!("./{long}")] {
        let run = palisade(&project).argv([&program]);
        assert!([126, 127].contains(&run.status), "{run:#?}");
        assert!(run.stderr.contains("xxx") && !run.stderr.contains("panicked"), "{run:#?}");
    }
}

#[test]
fn a_hidden_program_cannot_be_executed() {
    let Some(project) = Project::where_it_works() else { return };
    executable(&project, "tool", "#!/bin/sh\ntouch ran\n");
    executable(&project, "tools/tool", "#!/bin/sh\ntouch ran\n");
    for program in ["./tool", "tools/tool"] {
        let run = palisade(&project).options(["--deny-read", "tool", "--deny-read", "tools"]).argv([program]);
        assert_refused(&project, &run, 126, &[program, "ermission denied"]);
    }
}

/// As `execvp` has it, and with it every shell.
#[test]
fn a_script_without_a_first_line_is_one_for_sh() {
    let Some(project) = Project::where_it_works() else { return };
    executable(&project, "script", "echo \"$0 $1 ${BASH_VERSION:-}\"\n");
    let run = palisade(&project).argv(["./script", "a b"]).ok();
    assert_eq!(run.stdout.trim_end(), "./script a b");
}

#[test]
fn names_are_looked_up_in_the_commands_own_path() {
    let Some(project) = Project::where_it_works() else { return };
    executable(&project, "bin/tool", "#!/bin/sh\necho \"$0\"\n");
    project.write("first/tool", "not executable");
    let path =
        |entries: &str| format!("{entries}:{}", std::env::var_os("PATH").unwrap_or_default().display());
    let run = palisade(&project).env("PATH", path("none-such:first:bin")).argv(["tool"]).ok();
    assert_eq!(run.stdout, format!("{}/bin/tool\n", project.root().display()));
    let run = palisade(&project).env("PATH", "first").argv(["tool"]);
    assert_refused(&project, &run, 126, &["tool"]);
}
