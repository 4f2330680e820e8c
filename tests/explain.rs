//! `palisade explain`, by its output and its exit status.

mod real;

use palisade_tests::{Project, Tools};
use serde_json::{Value, json};
use std::process::Command;

/// Asks in a project with settings; `~` in the expected words is its home, `.` at a word's start its root.
fn ask(project: &Project, question: [&str; 2]) -> (i32, Value) {
    let mut command = Command::new(&Tools::here().palisade);
    command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
    let output = command.args(["explain", "--json"]).args(question).output().expect("palisade starts");
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap_or(-1), answer)
}

#[test]
fn each_answer_names_the_rule_that_decides_and_what_would_change_it() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({ "sandbox": {
        "filesystem": {
            "denyRead": ["~/", "secret", "later", "../outside/later"], "allowRead": ["~/shown"], "denyWrite": ["docs"],
        },
        "network": { "allowedDomains": ["*.example.org"], "deniedDomains": ["up.example.org"] },
    }});
    for name in ["secret", "page", "docs/page"] {
        project.write(name, "");
    }
    std::fs::create_dir_all(project.home().join("shown")).expect("own directory");
    std::os::unix::fs::symlink("secret", project.root().join("link")).expect("own directory");
    project.write(".claude/settings.json", settings.to_string());
    let home = |name: &str| project.home().join(name).display().to_string();
    let outside = |name: &str| project.outside().join(name).display().to_string();
    std::fs::write(home("shown/x"), "").expect("own directory");
    for ([verb, about], allows, rule, change) in [
        (["read", "page"], true, "", "denyRead"),
        (["read", "secret"], false, "secret", "take sandbox.filesystem.denyRead"),
        (["read", "link"], false, "secret", "take sandbox.filesystem.denyRead"),
        (["read", "later"], true, "", ""),
        (["read", &outside("later")], false, "../outside/later", "take sandbox.filesystem.denyRead"),
        (["read", &home("x")], false, "~/", "sandbox.filesystem.allowRead"),
        (["read", &home("shown/x")], true, "~/shown", "denyRead"),
        (["write", "page"], true, "root", "denyWrite"),
        (["write", "docs/page"], false, "docs", "take sandbox.filesystem.denyWrite"),
        (["write", "secret"], false, "secret", "take sandbox.filesystem.denyRead"),
        (["write", "/etc/page"], false, "", "sandbox.filesystem.allowWrite"),
        (["write", ".claude/settings.json"], false, "protected", "sandbox.filesystem.disabled"),
        (["host", "a.example.org"], true, "*.example.org", "deniedDomains"),
        (["host", "up.example.org:80"], false, "up.example.org", "take sandbox.network.deniedDomains"),
        (["host", "example.org"], false, "", "add \"example.org\" to sandbox.network.allowedDomains"),
        (["host", "127.0.0.1:3000"], false, "", "add \"127.0.0.1:3000\" to"),
    ] {
        let (status, answer) = ask(&project, [verb, about]);
        let expected = if allows { (0, "allow") } else { (1, "deny") };
        assert_eq!((status, answer["verdict"].as_str().unwrap_or_default()), expected, "{answer:#}");
        let decided = &answer["rule"];
        match rule {
            "" => assert!(decided.is_null() && answer["because"].is_string(), "{answer:#}"),
            "root" | "protected" => assert_eq!(decided["layer"], "built-in", "{answer:#}"),
            rule => assert_eq!((&decided["text"], &decided["line"]), (&json!(rule), &json!(1)), "{answer:#}"),
        }
        assert!(answer["changes"].to_string().contains(&change.replace('"', "\\\"")), "{change}: {answer:#}");
    }
}

/// A rule may name a file in two ways: by its wildcards, and by its text.
#[test]
fn a_rule_that_names_a_file_twice_is_told_of_once() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("app[1]/secret", "");
    let settings = json!({ "sandbox": { "filesystem": { "denyRead": ["app[1]/secret"] } } });
    project.write(".claude/settings.json", settings.to_string());
    let (status, answer) = ask(&project, ["read", "app[1]/secret"]);
    let lists: Vec<_> = answer["also"].as_array().into_iter().flatten().map(|also| &also["list"]).collect();
    assert_eq!((status, lists), (1, vec![&json!("allowWrite")]), "{answer:#}");
    assert!(answer["note"].is_null(), "{answer:#}");
}

#[test]
fn a_path_is_judged_by_the_way_that_the_kernel_takes() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({ "sandbox": { "filesystem": { "denyRead": ["out", "real/f"] }}});
    project.write(".claude/settings.json", settings.to_string());
    for name in ["b/x", "out/y", "real/d/z", "real/f", "f"] {
        project.write(name, "");
    }
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(target, project.root().join(name)).expect("own directory");
    };
    link("out/l", "../b");
    link("lnk", "real/d");
    for (path, by) in
        [("out/l/x", Some("out")), ("lnk/../f", Some("real/f")), ("real/../f", None), ("lnk/z", None)]
    {
        let (_, answer) = ask(&project, ["read", path]);
        assert_eq!(answer["rule"]["text"].as_str(), by, "{answer:#}");
        let run = project.line(&format!("cat {path}"));
        assert_eq!(run.status == 0, by.is_none(), "{path}: {run:?}");
    }
}

#[test]
fn an_address_that_the_proxy_would_not_dial_is_explained_as_denied() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({ "sandbox": { "network": { "allowedDomains": ["*"] }}});
    project.write(".claude/settings.json", settings.to_string());
    for (host, allows) in [
        ("169.254.169.254:80", false),
        ("127.0.0.1:80", false),
        ("localhost:80", false),
        ("0.0.0.0", false),
        ("[::]", false),
        ("[::ffff:127.0.0.1]", false),
        ("192.0.2.1", true),
        ("example.org", true),
    ] {
        let (status, answer) = ask(&project, ["host", host]);
        assert_eq!(status == 0, allows, "{answer:#}");
        let is_explained = answer["because"].as_str().is_some_and(|text| text.contains("leads to"));
        assert_eq!(is_explained, !allows, "{answer:#}");
    }
    let (_, answer) = ask(&project, ["host", "127.0.0.1:80"]);
    assert!(answer["changes"].to_string().contains("127.0.0.1:80"), "{answer:#}");
}

#[test]
fn a_question_that_is_none_is_refused() {
    let Some(project) = Project::where_it_works() else { return };
    for (question, status) in [(["host", "http://example.org"], 2), (["read", ""], 2), (["execute", "x"], 2)]
    {
        let mut command = Command::new(&Tools::here().palisade);
        let output = command.current_dir(project.root()).arg("explain").args(question).output();
        let output = output.expect("palisade starts");
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
}

/// As in a rule: a shell does not replace what stands in quotes.
#[test]
fn a_tilde_in_front_is_the_home_directory() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({ "sandbox": { "filesystem": { "denyRead": ["~/.ssh"] }}});
    project.write(".claude/settings.json", settings.to_string());
    std::fs::create_dir_all(project.home().join(".ssh")).expect("own directory");
    for (path, allows) in [("~/.ssh/id", false), ("~/id", true), ("~", true), ("./~/.ssh/id", true)] {
        let (status, answer) = ask(&project, ["read", path]);
        assert_eq!(status == 0, allows, "{path}: {answer:#}");
    }
}

#[test]
fn what_cannot_be_asked_about_is_said_with_what_to_write() {
    let Some(project) = Project::where_it_works() else { return };
    for ([verb, about], status, says) in [
        (["read", "~nobody/x"], 2, "write its full path"),
        (["read", ""], 2, "write . for the working directory"),
        (["host", "https://a.test/x"], 2, "has a scheme; write the host alone"),
        (["host", "a.test:99999"], 2, "has a port that is not a number"),
        (["host", "*"], 2, "no host name may"),
        (["reed", "x"], 2, "possible values: read, write, host"),
    ] {
        let mut command = Command::new(&Tools::here().palisade);
        command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
        let output = command.args(["explain", verb, about]).output().expect("palisade starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(says) && output.stdout.is_empty(), "{about}: {output:?}");
    }
}
