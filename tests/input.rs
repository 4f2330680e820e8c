//! Bad input: each is an error that names what is wrong, ends with 125 (126, 127 where there is no program to
//! execute, 2 for a wrong option), and has run nothing. Programs that somebody has planted are bad input too.

mod planted;
mod programs;

use palisade_tests::{Palisade, Project, Run};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

const MARK: &str = "touch ran";

/// It ended with `status`, said each of `named`, nothing of an internal kind, and ran nothing.
#[track_caller]
fn assert_refused(project: &Project, run: &Run, status: i32, named: &[&str]) {
    assert_eq!(run.status, status, "{run:#?}");
    for text in named {
        assert!(run.stderr.contains(text), "{text:?} is not said: {run:#?}");
    }
    for text in ["panicked", "backtrace", "internal error", "RUST_BACKTRACE", ".rs:"] {
        assert!(!run.stderr.contains(text), "{text:?} is said: {run:#?}");
    }
    assert_eq!(run.stdout, "", "{run:#?}");
    assert!(!project.root().join("ran").exists() && !project.home().join("ran").exists(), "{run:#?}");
}

fn palisade(project: &Project) -> Palisade {
    project.run().env("RUST_BACKTRACE", "1")
}

#[test]
fn settings_that_cannot_be_read_name_file_line_and_column_and_what_was_expected() {
    let Some(project) = Project::where_it_works() else { return };
    for (text, named) in [
        ("", ":1:1: expected a value"),
        ("{ not json", ":1:7: expected \":\""),
        ("{\n  \"sandbox\": {\n", ":3:1: expected \"}\" or another key"),
        ("{\n  \"sandbox\": {\n    \"enabled\": maybe\n  }\n}", ":3:16: expected a value"),
        ("{\"sandbox\": {\"enabled\": \"true\"}}", ":1:25: sandbox.enabled: expected true or false, found"),
        ("{\"sandbox\": []}", ":1:13: sandbox: expected an object in braces, found"),
        ("[]", ":1:1: settings: expected an object in braces, found"),
        (
            "{\"sandbox\": {\"filesystem\": {\n\"denyRead\": \"~/.ssh\"}}}",
            ":2:13: sandbox.filesystem.denyRead: expected a list of strings, found",
        ),
        (
            "{\"sandbox\": {\"filesystem\": {\"denyRead\": [\n  \"a[b\"]}}}",
            ":2:3: sandbox.filesystem.denyRead: \"a[b\": is not a valid pattern",
        ),
        (
            "{\"sandbox\": {\"filesystem\": {\"denyWrite\": [\"\"]}}}",
            ":1:43: sandbox.filesystem.denyWrite: \"\": is empty",
        ),
        ("{\"sandbox\": {\"filesystem\": {\"denyRead\": [\"a\\u0000b\"]}}}", "NUL"),
        ("{\"sandbox\": {\"filesystem\": {\"denyRead\": [\"~root/x\"]}}}", "another user"),
        (
            "{\"sandbox\": {\"network\": {\"deniedDomains\": [\"exa mple\"]}}}",
            ":1:44: sandbox.network.deniedDomains: \"exa mple\"",
        ),
        ("{\"sandbox\": {\"network\": {\"deniedDomains\": [\"a.example:99999\"]}}}", "a.example:99999"),
        ("{\"sandbox\": {\"filesystem\": {\"denyread\": [\"x\"]}}}", "sandbox.filesystem.denyRead"),
        ("{\"sandbox\": {}, \"sandbox\": {}}", ":1:17: the key \"sandbox\" stands here again"),
    ] {
        let file = project.write(".claude/settings.json", text);
        let run = palisade(&project).line(MARK);
        assert_refused(&project, &run, 125, &[named, &file.display().to_string()]);
        assert_eq!(run.json["error"]["code"], "SETTINGS_INVALID", "{run:#?}");
        std::fs::remove_file(&file).expect("own file");
        let other = project.home().join("other.json");
        std::fs::write(&other, text).expect("own directory");
        let run = palisade(&project).options([OsStr::new("--settings"), other.as_os_str()]).line(MARK);
        assert_refused(&project, &run, 125, &[named, &other.display().to_string()]);
    }
    project.line("true").ok();
}

#[test]
fn every_settings_file_is_read_or_the_reason_is_given() {
    let Some(project) = Project::where_it_works() else { return };
    for place in [
        project.root().join(".claude/settings.json"),
        project.root().join(".claude/settings.local.json"),
        project.root().join(".cogitator/settings.json"),
        project.root().join(".cogitator/settings.local.json"),
        project.home().join(".claude/settings.json"),
        project.home().join(".cogitator/settings.json"),
    ] {
        let shown = place.display().to_string();
        let directory = place.parent().expect("below the root");
        std::fs::create_dir_all(directory).expect("own directory");
        for text in [&b"{ \"sandbox\": "[..], b"{\"a\": \"\xff\"}", b"\0", &[b'['; 100_000]] {
            std::fs::write(&place, text).expect("own directory");
            assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown]);
        }
        std::fs::remove_file(&place).expect("own file");

        std::fs::create_dir(&place).expect("own directory");
        assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown, "directory"]);
        std::fs::remove_dir(&place).expect("own directory");

        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).expect("own directory");
        assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown, "pipe"]);
        std::fs::remove_file(&place).expect("own file");

        symlink("none-such", &place).expect("own directory");
        assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown, "link"]);
        std::fs::remove_file(&place).expect("own file");

        symlink(place.file_name().expect("a name"), &place).expect("own directory");
        assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown, "circle"]);
        std::fs::remove_file(&place).expect("own file");

        if !nix::unistd::geteuid().is_root() {
            std::fs::write(&place, "{}").expect("own directory");
            std::fs::set_permissions(&place, PermissionsExt::from_mode(0o000)).expect("own file");
            assert_refused(&project, &palisade(&project).line(MARK), 125, &[&shown, "Permission denied"]);
            std::fs::remove_file(&place).expect("own file");
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o000)).expect("own directory");
            let closed = directory.display().to_string();
            assert_refused(&project, &palisade(&project).line(MARK), 125, &[&closed, "Permission denied"]);
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).expect("own directory");
        }
    }
    project.line("true").ok();
}

#[test]
fn settings_given_as_an_option_are_there_and_can_be_read() {
    let Some(project) = Project::where_it_works() else { return };
    nix::unistd::mkfifo(&project.outside().join("pipe"), nix::sys::stat::Mode::S_IRWXU)
        .expect("own directory");
    for (value, named) in [
        ("none-such.json", "none-such.json"),
        ("../outside/none/such", "none/such"),
        ("../outside", "directory"),
        ("../outside/pipe", "pipe"),
        ("/dev/zero", "/dev/zero"),
        ("/proc/self/mem", "/proc/self/mem"),
        ("", ""),
        ("{", "--settings:1:2: expected"),
        ("{\"sandbox\": {\"enabled\": 1}}", "--settings:1:25: sandbox.enabled: expected true or false"),
    ] {
        let run = palisade(&project).options(["--settings", value]).line(MARK);
        assert_refused(&project, &run, 125, &[named]);
    }
}

/// What is unknown but loosens nothing is a warning, and the command runs.
#[test]
fn unknown_and_unsupported_keys_are_warnings() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({
        "permissions": { "allow": ["Bash(ls *)"] },
        "sandbox": { "colour": true, "enableWeakerNestedSandbox": true, "network": { "httpProxyPort": 1 } },
    });
    let file = project.write(".claude/settings.json", settings.to_string());
    let run = palisade(&project).line("echo ran").ok();
    assert_eq!(run.stdout, "ran\n");
    for key in ["sandbox.colour", "sandbox.enableWeakerNestedSandbox", "sandbox.network.httpProxyPort"] {
        let warning = run.stderr.lines().find(|line| line.contains(key)).unwrap_or_default();
        assert!(
            warning.contains("warning") && warning.contains(&file.display().to_string()),
            "{key}: {run:#?}"
        );
    }
}

/// What was meant to tighten must not get lost by a slip of the pen.
#[test]
fn a_misspelt_key_that_tightens_is_an_error() {
    let Some(project) = Project::where_it_works() else { return };
    for (sandbox, named) in [
        (json!({ "enabld": true }), "sandbox.enabled"),
        (json!({ "network": { "deniedDomain": ["a.test"] } }), "sandbox.network.deniedDomains"),
    ] {
        let run = palisade(&project).sandbox(sandbox).line(MARK);
        assert_refused(&project, &run, 125, &[named]);
    }
}

#[test]
fn a_root_that_none_can_be_confined_to_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("file", "");
    symlink("none-such", project.root().join("dangling")).expect("own directory");
    symlink("loop", project.root().join("loop")).expect("own directory");
    symlink("/", project.root().join("to-top")).expect("own directory");
    for (root, named) in [
        ("/", "whole file system"),
        ("//", "whole file system"),
        ("/etc/..", "whole file system"),
        ("to-top", "whole file system"),
        ("none-such", "none-such"),
        ("file", "is not a directory"),
        ("file/below", "file/below"),
        ("dangling", "dangling"),
        ("loop", "loop"),
        ("/proc/self/fd/0", "/proc/self/fd/0"),
    ] {
        let run = palisade(&project).options(["--root", root]).line(MARK);
        assert_refused(&project, &run, 125, &["the root", named]);
        assert_eq!(run.json["error"]["code"], "SANDBOX_DIRECTORY", "{run:#?}");
    }
    assert_refused(&project, &palisade(&project).options(["--root", ""]).line(MARK), 2, &["--root"]);
    let long = "d".repeat(5_000);
    assert_refused(&project, &palisade(&project).options(["--root", &long]).line(MARK), 125, &["dddd"]);
}

/// What a command left there, perhaps. Whoever has the rule is told which, and an allow of it opens nothing.
#[test]
fn a_rule_about_links_in_a_circle_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    symlink("loop", project.root().join("loop")).expect("own directory");
    let long = "d".repeat(300);
    for (list, text, said) in [
        ("denyRead", "loop", "in a circle"),
        ("denyRead", "loop/x", "in a circle"),
        ("denyRead", "lo*", "in a circle"),
        ("denyWrite", "loop", "in a circle"),
        ("denyRead", &long, "cannot be looked at"),
        ("denyWrite", &long, "cannot be looked at"),
    ] {
        let rules = json!({ "sandbox": { "filesystem": { list: [text] } } });
        let file = project.write(".claude/settings.json", rules.to_string());
        let run = palisade(&project).line(MARK);
        let rule = format!("{list} {text:?} in {}:1 cannot be enforced", file.display());
        assert_refused(&project, &run, 125, &[&rule, said]);
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{run:#?}");
    }
    for list in ["allowRead", "allowWrite"] {
        let rules = json!({ "sandbox": { "filesystem": { list: ["loop"] } } });
        project.write(".claude/settings.json", rules.to_string());
        let run = palisade(&project).line("echo ran").ok();
        assert!(run.stdout == "ran\n" && run.stderr.contains("is left out: symbolic links"), "{run:#?}");
    }
}

/// From `/` there is no root to be had, unless one is named.
#[test]
fn the_top_directory_is_no_root_but_may_be_where_a_command_starts() {
    let Some(project) = Project::where_it_works() else { return };
    let run = palisade(&project).directory("/").line(MARK);
    assert_refused(&project, &run, 125, &["the root", "whole file system"]);
    let root = project.root();
    let run = palisade(&project).directory("/").options([OsStr::new("--root"), root.as_os_str()]);
    assert_eq!(run.line("pwd; echo in > \"$OLDPWD\" 2> /dev/null; true").ok().stdout, "/\n");
}

#[test]
fn a_working_directory_that_is_gone_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    let gone = project.outside().join("gone");
    std::fs::create_dir(&gone).expect("own directory");
    let command = palisade(&project).options(["-c", MARK]).into_command();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "rmdir \"$PWD\" && exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args());
    let output = shell.current_dir(&gone).output().expect("sh runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("the working directory") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_home_directory_that_is_no_absolute_path_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    for name in ["HOME", "CLAUDE_CONFIG_DIR"] {
        for value in ["relative", ".", "~"] {
            let run = palisade(&project).env(name, value).line(MARK);
            assert_refused(&project, &run, 125, &[name, "absolute"]);
        }
        palisade(&project).env(name, "").line("true").ok();
    }
    let run = palisade(&project).env("HOME", "").options(["--deny-read", "~/.ssh"]).line(MARK);
    assert_refused(&project, &run, 125, &["--deny-read \"~/.ssh\"", "HOME"]);
}

#[test]
fn an_option_that_is_not_one_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    for (options, named) in [
        (&["--no-such-option"][..], "--no-such-option"),
        (&["--deny-reads", "x"], "--deny-reads"),
        (&["-x"], "-x"),
        (&["--settings"], "--settings"),
        (&["--root", "a", "--root", "b"], "--root"),
        (&["-c", MARK], "-c"),
    ] {
        let run = palisade(&project).options(options).line(MARK);
        assert_refused(&project, &run, 2, &[named]);
    }
    let run = palisade(&project).options(["-c", MARK]).argv(["touch", "ran"]);
    assert_refused(&project, &run, 2, &["-c"]);
    let json = |value| ["run", value, "--", "touch", "ran"];
    for (words, named) in [
        (&["rnu"][..], "rnu"),
        (&[], "run"),
        (&json("--json=abc"), "abc"),
        (&json("--json=99999999999"), "99999999999"),
        (&json("--json="), "--json"),
    ] {
        let run = palisade(&project).into_command();
        let output = Command::new(run.get_program()).args(words).current_dir(project.root()).output();
        let output = output.expect("palisade starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(!project.root().join("ran").exists());
        assert!(String::from_utf8_lossy(&output.stderr).contains(named), "{output:?}");
    }
}

#[test]
fn a_pattern_that_cannot_be_read_is_named_with_its_option() {
    let Some(project) = Project::where_it_works() else { return };
    let mut cases: Vec<(&str, OsString, &str)> = vec![
        ("--allow-host", "exa mple".into(), "exa mple"),
        ("--allow-host", "http://example.com/".into(), "http://example.com/"),
        ("--allow-host", "example.com:0".into(), "example.com:0"),
        ("--allow-host", "example.com:99999".into(), "example.com:99999"),
        ("--allow-host", "exa*mple.com".into(), "exa*mple.com"),
        ("--allow-host", "[::1".into(), "[::1"),
        ("--deny-host", "*.*".into(), "*.*"),
        ("--deny-host", "a..b".into(), "a..b"),
        ("--deny-read", "a[b".into(), "a[b"),
        ("--deny-read", "~root/x".into(), "~root/x"),
        ("--deny-read", "~/**.kdbx".into(), "~/**.kdbx"),
        ("--deny-read", "x".repeat(5_000).into(), "--deny-read"),
        ("--deny-read", "*".repeat(200).into(), "--deny-read"),
        ("--deny-read", OsString::from_vec(b"\xff*".to_vec()), "UTF-8"),
        ("--allow-write", "b/*.log".into(), "b/*.log"),
    ];
    for option in
        ["--allow-host", "--deny-host", "--allow-read", "--deny-read", "--allow-write", "--deny-write"]
    {
        cases.push((option, OsString::new(), "empty"));
    }
    for (option, value, named) in cases {
        let run = palisade(&project).options([OsStr::new(option), &value]).line(MARK);
        assert_refused(&project, &run, 125, &[option, named]);
    }
}

/// A message shows what it names, and nothing in that can forge a line or steer a terminal.
#[test]
fn what_a_message_names_is_shown_escaped() {
    let Some(project) = Project::where_it_works() else { return };
    let evil = "x\npalisade: all is well\x1b[2J\r\u{202e}";
    for run in [
        palisade(&project).argv([evil]),
        palisade(&project).argv([format!("./{evil}")]),
        palisade(&project).options(["--root", evil]).line(MARK),
        palisade(&project).options(["--settings", evil]).line(MARK),
        palisade(&project).options(["--deny-read", &format!("[{evil}")]).line(MARK),
        palisade(&project).options(["--allow-host", evil]).line(MARK),
    ] {
        assert_ne!(run.status, 0, "{run:#?}");
        assert!(!run.stderr.contains('\x1b') && !run.stderr.contains('\r'), "{run:#?}");
        assert!(!run.stderr.lines().any(|line| line.starts_with("palisade: all is well")), "{run:#?}");
    }
}

#[test]
fn a_descriptor_for_json_that_is_not_open_is_named_before_anything_runs() {
    let Some(project) = Project::where_it_works() else { return };
    for (fd, redirection) in [("9", "9>&-"), ("1", "1>&-"), ("999999", ""), ("-1", "")] {
        let command = palisade(&project).options([&format!("--json={fd}"), "-c", MARK]).into_command();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")]);
        shell.arg(command.get_program()).args(command.get_args()).current_dir(project.root());
        let output = shell.env("HOME", project.home()).output().expect("sh runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        if fd == "1" {
            // A program's standard streams are opened onto nothing when they are closed.
            assert_eq!(output.status.code(), Some(0), "{stderr}");
            std::fs::remove_file(project.root().join("ran")).expect("it ran");
            continue;
        }
        assert_eq!(output.status.code(), Some(125), "{stderr}");
        assert!(stderr.contains(&format!("--json={fd}")) && !stderr.contains("panicked"), "{stderr}");
        assert!(!project.root().join("ran").exists());
    }
}

#[test]
fn without_a_command_there_is_nothing_to_do() {
    let Some(project) = Project::where_it_works() else { return };
    for words in [&[][..], &["--"], &["--root", "."], &["--allow-host", "a.example", "--"]] {
        let output = palisade(&project).options(words).into_command().output().expect("palisade starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("command") && !stderr.contains("panicked"), "{words:?}: {stderr}");
    }
    assert_eq!(palisade(&project).line("").ok().stdout, "", "an empty line does nothing, and well");
}

/// A caller that has gone away is no reason to panic.
#[test]
fn streams_that_are_closed_or_full_make_no_noise() {
    let Some(project) = Project::where_it_works() else { return };
    for (words, redirection) in [
        (&["run", "--", "true"][..], "<&- >&- 2>&-"),
        (&["run", "--", "none-such-program"], "2> /dev/full"),
        (&["run", "--root", "/none/such", "--", "true"], "2>&-"),
        (&["run", "--json", "--", "true"], "2> /dev/full"),
        (&["run", "--json=1", "--", "true"], "> /dev/full"),
        (&["probe"], "> /dev/full"),
        (&["probe", "--json"], "> /dev/full"),
        (&["probe"], ">&-"),
        (&["--help"], "> /dev/full"),
        (&["--version"], "> /dev/full"),
    ] {
        let program = palisade(&project).into_command().get_program().to_owned();
        let said = project.outside().join("said");
        let mut shell = Command::new("sh");
        // What goes wrong must show, wherever standard error leads: a panic's exit status, and its words.
        shell
            .args(["-c", &format!("\"$0\" \"$@\" {redirection}; echo $? > ../outside/said")])
            .arg(program)
            .args(words);
        let output = shell.current_dir(project.root()).env("HOME", project.home()).env("RUST_BACKTRACE", "1");
        let output = output.stdin(Stdio::null()).output().expect("sh runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked") && !stderr.contains("internal error"), "{words:?}: {stderr}");
        let status = std::fs::read_to_string(&said).expect("written");
        assert!(["0", "1", "125", "127"].contains(&status.trim_end()), "{words:?} {redirection}: {status}");
    }
}
