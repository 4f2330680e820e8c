//! What is explained is what a run does: each verdict, and each change that is advised.

use super::ask;
use palisade_tests::{Origin, Project, Tools};
use serde_json::{Value, json};
use std::process::Command;

/// Opens each path of the arguments for reading and for writing, or makes something in it if it is a directory. A
/// socket stands in for what is missing.
const TRY: &str = r#"
for p; do
  [ -e "$p" ] && [ ! -S "$p" ] && there=there || there=missing
  (exec 3<"$p") && r=yes || r=no
  if [ -d "$p" ]; then mkdir "$p/made" && rmdir "$p/made"; else (exec 3>>"$p"); fi && w=yes || w=no
  echo "$there $r $w"
done 2>/dev/null"#;

/// What is there is read if, and only if, that was said to be allowed, and so is everything with writing.
#[test]
fn what_is_said_of_the_sandboxs_own_places_and_of_what_is_missing_is_what_a_run_does() {
    let Some(project) = Project::where_it_works() else { return };
    let outside = project.outside();
    let at = |name: &str| outside.join(name).display().to_string();
    for name in ["shown", "hidden/file", "hidden/shown/file"] {
        let path = outside.join(name);
        std::fs::create_dir_all(path.parent().expect("below")).expect("own directory");
        std::fs::write(path, "").expect("own directory");
    }
    project.write("secret", "");
    project.write("docs/page", "");
    std::os::unix::fs::symlink("/dev/null", project.root().join("null")).expect("own directory");
    std::os::unix::fs::symlink("/proc/1/environ", project.root().join("first")).expect("own directory");
    let settings = json!({ "sandbox": { "filesystem": {
        "denyRead": [".env", "secret", "**/*.key", at("hidden"), at("later"), "/dev/full"],
        "allowRead": [at("hidden/shown")], "denyWrite": ["docs", "no"],
    }}});
    project.write(".claude/settings.json", settings.to_string());
    let dev = ["", "/null", "/full", "/ptmx", "/pts/new", "/shm/x", "/new", "/kmsg", "/stdout"];
    let proc = ["/1/mem", "/keys", "/kmsg", "/cpuinfo", "/self", "/self/comm", "/self/mem", "/self/stat"];
    let more = ["/sys/kernel/core_pattern", "/self/root/etc/passwd", "/self/cwd/x", "/new"];
    let mut paths: Vec<String> = dev.iter().map(|name| format!("/dev{name}")).collect();
    paths.extend(proc.iter().chain(&more).map(|name| format!("/proc{name}")));
    paths.extend([".env", "a.key", "secret", "docs/x", "no", "null", "first", ".claude/x"].map(String::from));
    paths.extend(["/sys/new", "/tmp/new"].map(String::from));
    paths.extend(["hidden", "hidden/file", "hidden/shown/file", "later"].map(at));
    let words = ["bash", "-c", TRY, "bash"].into_iter().map(String::from).chain(paths.clone());
    let said: Vec<[i32; 2]> =
        paths.iter().map(|path| ["read", "write"].map(|verb| ask(&project, [verb, path]).0)).collect();
    let run = project.run().argv(words).ok();
    let found: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(found.len(), paths.len(), "{run:?}");
    for ((path, [read, write]), found) in paths.iter().zip(said).zip(found) {
        let [there, did_read, did_write] = *found.split(' ').collect::<Vec<_>>() else { panic!("{found}") };
        let is_read_so = (read == 0) == (did_read == "yes") || (read == 0 && there == "missing");
        assert!(
            is_read_so && (write == 0) == (did_write == "yes"),
            "{path}: explained {read} {write}, found {found}"
        );
    }
}

/// The verdict after the change that was advised, as an option and, where that is said, as settings.
fn take(project: &Project, [verb, about]: [&str; 2], advice: &str, settings: &mut Value) -> Vec<String> {
    if advice.starts_with("make it") {
        std::fs::write(about, "").expect("a directory of the test's");
    }
    if let Some(rest) = advice.strip_prefix("take sandbox.filesystem.") {
        let (list, rest) = rest.split_once(' ').expect("a list and a text");
        let (text, _) = rest.split_once(" in /").expect("a text and a file");
        let list = settings["sandbox"]["filesystem"][list].as_array_mut().expect("a list");
        list.retain(|entry| Some(entry.to_string().as_str()) != Some(text));
        project.write(".claude/settings.json", settings.to_string());
        return Vec::new();
    }
    let (_, given) = advice.split_once("give ").unwrap_or_else(|| panic!("{verb} {about}: {advice}"));
    let option = given.strip_suffix(" for one run").expect("an option").to_owned();
    let mut ways = vec![option];
    if let Some((_, add)) = advice.split_once("add ") {
        let (entry, list) = add.split_once(" to sandbox.filesystem.").expect("an entry and a list");
        let (list, _) = list.split_once(", or").expect("a list");
        let section = format!("{{\"sandbox\":{{\"filesystem\":{{\"{list}\":[{entry}]}}}}}}");
        ways.push(format!("--settings '{}'", section.replace('\'', r"'\''")));
    }
    ways
}

#[test]
fn each_change_that_is_advised_changes_the_verdict() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let Some(project) = Project::where_it_works() else { return };
    let outside = project.outside();
    let mut asked: Vec<(&str, Vec<u8>)> = Vec::new();
    let odd: [&[u8]; 11] = [
        b"plain",
        b"x[1",
        br"b\s*",
        br"e\*",
        br"e\",
        b"tail ",
        b"a*b",
        b"t\tx",
        b"n\nl",
        b"it's {a}",
        b"\xff'",
    ];
    for directory in [project.root(), outside.clone(), outside.join("hidden"), outside.join("both")] {
        std::fs::create_dir_all(&directory).expect("own directory");
        for name in odd {
            let path = directory.join(std::ffi::OsStr::from_bytes(name));
            std::fs::write(&path, "").expect("own directory");
            let path = path.into_os_string().into_vec();
            // Once for each name, and for each directory.
            if directory == project.root() || name == b"a*b" {
                asked.push((if name == b"plain" { "read" } else { "write" }, path));
            }
        }
    }
    let at = |path: &str| outside.join(path).display().to_string();
    for path in ["new", "hidden/new", "hidden/exact", "both"] {
        asked.push(("write", at(path).into_bytes()));
    }
    asked.push(("read", at("hidden/new").into_bytes()));
    std::fs::write(at("hidden/exact"), "").expect("own directory");
    let settings = json!({ "sandbox": { "filesystem": {
        "denyRead": [at("hidden"), at("hidden/exact"), at("both")], "denyWrite": [at("both")],
    }}});
    let mut advised = 0;
    for (verb, about) in asked {
        let mut settings = settings.clone();
        project.write(".claude/settings.json", settings.to_string());
        let about = std::ffi::OsString::from_vec(about);
        let explain = |option: &str| {
            let line = format!("exec \"$0\" explain --json {option} {verb} \"$1\"");
            let mut bash = Command::new("bash");
            bash.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
            let output = bash.args(["-c", &line]).arg(&Tools::here().palisade).arg(&about).output();
            let output = output.expect("bash starts");
            let answer: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            (output.status.code(), answer)
        };
        let (before, answer) = explain("");
        let changes = answer["changes"].as_array().expect("a list").clone();
        assert!(!changes.is_empty() || before == Some(0), "{answer:#}");
        let is_made = std::fs::symlink_metadata(&about).is_ok();
        let mut options = [String::new(), String::new()];
        for change in &changes {
            let shown = about.to_string_lossy();
            let ways = take(&project, [verb, &shown], change.as_str().expect("text"), &mut settings);
            for (at, option) in options.iter_mut().enumerate() {
                let way = ways.get(at).or(ways.last()).cloned().unwrap_or_default();
                option.push_str(&format!(" {way}"));
            }
            advised += 1;
        }
        for option in options.iter().filter(|_| !changes.is_empty()) {
            let (after, then) = explain(option);
            assert!(after != before && after != Some(125), "{option}: {answer:#} {then:#}");
        }
        if !is_made {
            let _ = std::fs::remove_file(&about);
        }
    }
    assert!(advised > 18, "{advised}");
}

/// A rule that opens what is not there opens nothing: that is said as a run says it, and first of all it is to be made.
#[test]
fn what_opens_nothing_is_told_of_as_by_a_run() {
    let Some(project) = Project::where_it_works() else { return };
    let missing = project.outside().join("missing").display().to_string();
    let palisade = |words: &[&str]| {
        let mut command = Command::new(&Tools::here().palisade);
        command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
        let output = command.args(words).output().expect("palisade starts");
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (_, of_run) = palisade(&["run", "--allow-write", &missing, "true"]);
    let (said, of_explain) = palisade(&["explain", "--allow-write", &missing, "write", &missing]);
    assert_eq!(of_run, of_explain);
    assert!(of_run.contains("does not exist; make it first"), "{of_run}");
    assert!(said.contains("to change it: make it first; then add \""), "{said}");
}

#[test]
fn nothing_is_advised_that_would_be_refused_or_change_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    for question in [
        ["write", "/"],
        ["write", "/sys/x"],
        ["write", "/proc/sys/kernel/core_pattern"],
        ["write", "/dev/null"],
        ["read", "/proc/1/mem"],
        ["read", "/proc/self/comm"],
        ["read", "missing"],
    ] {
        let (_, answer) = ask(&project, question);
        assert_eq!(answer["changes"], json!([]), "{answer:#}");
    }
    let (_, answer) = ask(&project, ["write", "/tmp"]);
    assert!(answer["note"].to_string().contains("TMPDIR"), "{answer:#}");
}

#[test]
fn a_file_that_is_missing_is_said_to_be_the_commands_to_make() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({ "sandbox": { "filesystem": { "denyRead": [".env"] }}});
    project.write(".claude/settings.json", settings.to_string());
    for verb in ["read", "write"] {
        let (status, answer) = ask(&project, [verb, ".env"]);
        let note = answer["note"].to_string();
        assert!(status == 0 && note.contains("nothing is there yet to be hidden by"), "{answer:#}");
    }
    assert_eq!(project.line("echo made >.env && cat .env").ok().stdout, "made\n");
    for verb in ["read", "write"] {
        assert_eq!(ask(&project, [verb, ".env"]).0, 1, "{verb}");
    }
    assert_ne!(project.line("cat .env").status, 0);
}

#[test]
fn where_no_command_starts_nothing_is_explained() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::create_dir(project.root().join("a")).expect("own directory");
    std::os::unix::fs::symlink("..", project.root().join("a/l_up")).expect("own directory");
    for deny in ["a/*", "/usr"] {
        let settings = json!({ "sandbox": { "filesystem": { "denyRead": [deny] }}});
        project.write(".claude/settings.json", settings.to_string());
        let run = project.line("true");
        let mut command = Command::new(&Tools::here().palisade);
        command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
        let output = command.args(["explain", "read", "x"]).output().expect("palisade starts");
        assert_eq!((output.status.code(), run.status), (Some(125), 125), "{output:?} {run:?}");
    }
}

#[test]
fn an_address_that_means_this_machine_is_explained_as_it_is_reached() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let port = origin.address().port();
    for (allowed, host, reached) in [
        (true, "0.0.0.0", true),
        (true, "127.0.0.1", true),
        (true, "127.0.0.2", false),
        (false, "0.0.0.0", false),
    ] {
        let domains = if allowed { json!([format!("127.0.0.1:{port}")]) } else { json!([]) };
        let settings = json!({ "sandbox": { "network": { "allowedDomains": domains }}});
        project.write(".claude/settings.json", settings.to_string());
        let (status, answer) = ask(&project, ["host", &format!("{host}:{port}")]);
        let run = project.line(&format!("exec 3<>/dev/tcp/{host}/{port}"));
        assert_eq!((status == 0, run.status == 0), (reached, reached), "{answer:#} {run:?}");
    }
}
