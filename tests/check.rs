//! `palisade check` and `palisade hook` as their callers see them: answers, reasons, exit statuses, rewritten calls.
//! What the rules make of a line is tested with the rules themselves.

use palisade_tests::{Project, Tools};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn palisade(project: &Project) -> Command {
    let mut command = Command::new(&Tools::here().palisade);
    command.current_dir(project.root()).env("HOME", project.home()).env("SHELL", "/bin/bash");
    for name in ["CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SHELL"] {
        command.env_remove(name);
    }
    command
}

fn project() -> Project {
    let project = Project::new();
    let settings = json!({
        "sandbox": { "excludedCommands": ["docker *"] },
        "permissions": {
            "allow": ["Bash(npm test *)"], "ask": ["Bash(git push *)"], "deny": ["Bash(curl *)", "Read(.env)"],
        },
    });
    project.write(".claude/settings.json", settings.to_string());
    project
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_line_is_answered_with_its_commands_and_the_rule_that_decides() {
    let project = project();
    for (options, line, status, verdict, rule, remedy) in [
        (&[][..], "npm test -- -u", 0, "allow", "", ""),
        (&[], "ls && npm test", 0, "allow", "", ""),
        (&[], "npm test; make", 3, "ask", "", "Bash(make)"),
        (&["--sandboxed"], "make", 0, "allow", "", ""),
        (&["--sandboxed"], "git push", 3, "ask", "Bash(git push *)", ""),
        (&["--sandboxed"], "docker build .", 3, "ask", "", "Bash(docker build *)"),
        (&["--mode", "bypassPermissions"], "make", 0, "allow", "", ""),
        (&["--mode", "bypassPermissions"], "make; env curl x", 1, "deny", "Bash(curl *)", ""),
        (&["--mode", "dontAsk"], "make", 1, "deny", "", "Bash(make)"),
        (&["--mode", "plan"], "touch x", 3, "ask", "", ""),
        (&[], "-n", 3, "ask", "", ""),
    ] {
        let output = palisade(&project).args(["check", "--json"]).args(options).args(["--", line]).output();
        let output = output.expect("it starts");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let seen = (output.status.code(), answer["verdict"].as_str().unwrap_or_default());
        assert_eq!(seen, (Some(status), verdict), "{line}: {answer:#}");
        assert_eq!(answer["rule"]["text"].as_str().unwrap_or_default(), rule, "{line}: {answer:#}");
        if !remedy.is_empty() {
            assert!(answer["remedy"].to_string().contains(remedy), "{line}: {answer:#}");
        }
        let is_out = line.starts_with("docker");
        assert_eq!(answer["excluded"]["text"].as_str(), is_out.then_some("docker *"), "{line}: {answer:#}");
    }
}

/// The sandbox that leaves files alone keeps nobody from what rules hide.
#[test]
fn where_files_are_not_isolated_rules_about_them_ask() {
    let project = Project::new();
    project.write(".claude/settings.json", r#"{"permissions": {"deny": ["Read(.env)"]}}"#);
    let line = "grep -r SECRET .";
    for (settings, expected) in
        [("{}", "allow"), (r#"{"sandbox": {"filesystem": {"disabled": true}}}"#, "ask")]
    {
        let options = ["--sandboxed", "--json", "--settings", settings, "--", line];
        let output = palisade(&project).arg("check").args(options).output().expect("it starts");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(answer["verdict"], expected, "{answer:#}");
        let call = call(&project, "Bash", json!({ "command": line })).to_string();
        let decision = decision(&ask(&project, &["--sandbox", "--settings", settings], &call));
        assert_eq!(decision["permissionDecision"], expected, "{decision:#}");
    }
}

#[test]
fn nothing_in_a_line_can_forge_the_answer() {
    let project = project();
    let output = palisade(&project).args(["check", "make\nallow: x\u{1b}[2J"]).output().expect("it starts");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("ask: ") && !said.contains("\nallow") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_check_without_a_line_or_with_no_mode_is_refused() {
    let project = project();
    for arguments in [&["check"][..], &["check", "--mode", "yolo", "ls"], &["check", "ls", "-la"]] {
        let output = palisade(&project).args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let is_told = text(&output.stderr).contains("put all of it in quotes");
        assert_eq!(is_told, arguments.contains(&"-la"), "{output:?}");
    }
}

/// Whoever chooses the mode, an option or the client: it does not count where settings disable it.
#[test]
fn a_disabled_mode_is_judged_as_default() {
    let project = project();
    for (key, mode) in [("disableBypassPermissionsMode", "bypassPermissions"), ("disableAutoMode", "auto")] {
        let settings = json!({ "permissions": { key: "disable" } }).to_string();
        let options = ["--settings", &settings];
        let output = palisade(&project).arg("check").args(options).args(["--mode", mode, "make"]).output();
        let output = output.expect("it starts");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let warning = format!("the mode {mode} is disabled by permissions.{key}");
        assert!(text(&output.stderr).contains(&warning), "{output:?}");
        let mut call = call(&project, "Bash", json!({ "command": "make" }));
        call["permission_mode"] = mode.into();
        let output = ask(&project, &options, &call.to_string());
        assert_eq!(decision(&output)["permissionDecision"], "ask", "{output:?}");
    }
}

/// Whatever it is that takes long; here a client that does not end its call.
#[test]
fn a_decision_that_takes_too_long_refuses() {
    let project = project();
    let mut command = palisade(&project);
    command.args(["hook", "--deadline", "1"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut open = child.stdin.take().expect("a pipe");
    open.write_all(b"{").expect("it reads");
    let output = child.wait_with_output().expect("its output can be read");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{output:?}");
    assert!(text(&output.stderr).contains("it takes longer than 1 s"), "{output:?}");
}

fn call(project: &Project, tool: &str, input: Value) -> Value {
    json!({
        "session_id": "s", "transcript_path": "/t", "cwd": project.root(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "u",
    })
}

fn ask(project: &Project, options: &[&str], call: &str) -> Output {
    ask_with(palisade(project), options, call)
}

fn ask_with(mut command: Command, options: &[&str], call: &str) -> Output {
    command.arg("hook").args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A hook that has refused need not read on.
    let _ = child.stdin.take().expect("a pipe").write_all(call.as_bytes());
    child.wait_with_output().expect("its output can be read")
}

fn decision(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let decision = object["hookSpecificOutput"].clone();
    assert_eq!(decision["hookEventName"], "PreToolUse", "{object:#}");
    decision
}

#[test]
fn calls_of_every_kind_are_decided() {
    let project = project();
    for (tool, input, expected, because) in [
        ("Bash", json!({ "command": "npm test" }), "allow", ""),
        ("Bash", json!({ "command": "make" }), "ask", "to allow it: Bash(make)"),
        ("Bash", json!({ "command": "git push" }), "ask", "Bash(git push *)"),
        ("Bash", json!({ "command": "true; curl x" }), "deny", "Bash(curl *)"),
        ("Bash", json!({ "command": "rm -rf ~" }), "ask", "home"),
        ("Read", json!({ "file_path": ".env" }), "deny", "Read(.env)"),
        ("Read", json!({ "file_path": project.root().join("a") }), "allow", ""),
        ("Write", json!({ "file_path": project.root().join(".env"), "content": "" }), "deny", "Read(.env)"),
        ("Edit", json!({ "file_path": project.root().join("a") }), "ask", ""),
        ("Grep", json!({ "pattern": "x" }), "allow", ""),
        ("Grep", json!({ "pattern": "x", "path": null }), "allow", ""),
        ("Grep", json!({ "pattern": "x", "path": "/etc" }), "ask", "Read(//etc)"),
        ("Glob", json!({ "pattern": "**/*.rs" }), "allow", ""),
        ("Glob", json!({ "pattern": "src/{a,b}/*.rs", "path": "." }), "allow", ""),
        ("Glob", json!({ "pattern": "/etc/*" }), "ask", "Read(//etc)"),
        ("Glob", json!({ "pattern": "../*", "path": "src" }), "allow", ""),
        ("Glob", json!({ "pattern": "../../*" }), "ask", "to allow it"),
        ("Glob", json!({ "pattern": "*/../../x" }), "ask", "to allow it"),
        ("Glob", json!({ "pattern": "{src,/etc}/*" }), "ask", "to allow it"),
        ("Glob", json!({ "pattern": "/*" }), "ask", "to allow it"),
        ("Glob", json!({ "pattern": ".env" }), "deny", "Read(.env)"),
        ("WebFetch", json!({ "url": "https://example.org/x", "prompt": "p" }), "ask", "WebFetch"),
        ("mcp__a__b", json!({}), "ask", "mcp__a__b"),
        ("TodoWrite", json!({ "todos": [] }), "allow", ""),
    ] {
        let output = ask(&project, &[], &call(&project, tool, input.clone()).to_string());
        let decision = decision(&output);
        assert_eq!(decision["permissionDecision"], expected, "{tool} {input}: {decision:#}");
        let reason = decision["permissionDecisionReason"].as_str().unwrap_or_default();
        assert!(reason.contains(because) && !reason.is_empty(), "{because}: {decision:#}");
        assert!(decision["updatedInput"].is_null(), "{decision:#}");
    }
}

/// Whatever is wrong with the hook itself, the call is refused, by the one exit status that does that.
#[test]
fn whatever_goes_wrong_the_call_is_refused() {
    let project = project();
    let good = call(&project, "Bash", json!({ "command": "ls" }));
    let without = |name: &str| {
        let mut call = good.clone();
        call.as_object_mut().expect("an object").remove(name);
        call.to_string()
    };
    let with = |name: &str, value: Value| {
        let mut call = good.clone();
        call[name] = value;
        call.to_string()
    };
    let cases = [
        String::new(),
        "{".into(),
        "[]".into(),
        "null".into(),
        "\u{feff}{}".into(),
        without("tool_name"),
        without("tool_input"),
        without("cwd"),
        without("hook_event_name"),
        with("hook_event_name", json!("PostToolUse")),
        with("permission_mode", json!("yolo")),
        with("permission_mode", json!(1)),
        with("cwd", json!("relative")),
        with("cwd", json!("/none/such/place")),
        with("tool_input", json!("ls")),
        with("tool_input", json!({})),
        with("tool_input", json!({ "command": 1 })),
        with("tool_input", json!({ "command": "ls", "dangerouslyDisableSandbox": "yes" })),
        with("tool_name", json!("Read")),
        call(&project, "WebFetch", json!({ "url": "no url" })).to_string(),
        call(&project, "Read", json!({ "file_path": "a\0b" })).to_string(),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
    ];
    for case in cases {
        let output = ask(&project, &[], &case);
        let shown = &case[..case.len().min(200)];
        assert_eq!(output.status.code(), Some(2), "{shown}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("the call is refused") && !said.contains("panicked"), "{shown}: {said}");
        assert_eq!(text(&output.stdout), "", "{shown}");
    }
    project.write(".claude/settings.local.json", r#"{"permissions": {"deny": ["Bash("]}}"#);
    let broken = ask(&project, &[], &good.to_string());
    assert_eq!(broken.status.code(), Some(2), "{broken:?}");
    assert!(text(&broken.stderr).contains("settings.local.json:1:"), "{broken:?}");
}

/// How long a client waits for a hook, and then lets the call go on; a small part of it is to be enough.
const CLIENTS_PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn deep_and_long_lines_are_answered() {
    let project = project();
    for line in [
        "(".repeat(100_000),
        "$(".repeat(100_000),
        format!("{}curl x", "true; ".repeat(50_000)),
        "cat f g/h ".repeat(100_000),
        "a".repeat(1_000_000),
        format!("echo {}", "\"$(".repeat(50_000)),
        format!("cat ~/{}", "a/".repeat(25_000)),
        format!("rm ../{}", "a/".repeat(25_000)),
        format!("cat {}", "~/a:".repeat(15_000)),
        format!("cat {}; make", (0..15_000).map(|at| format!(" {at}")).collect::<String>()),
        format!("echo > \"$HOME\"/{}", "a/".repeat(25_000)),
    ] {
        let start = Instant::now();
        let output = ask(&project, &[], &call(&project, "Bash", json!({ "command": line })).to_string());
        let decision = decision(&output);
        assert_ne!(decision["permissionDecision"], "allow", "{:.60}", line);
        assert!(start.elapsed() < CLIENTS_PATIENCE, "{:.60}", line);
    }
    let path = "a/".repeat(50_000);
    for (tool, input) in [
        ("Read", json!({ "file_path": path })),
        ("Write", json!({ "file_path": path, "content": "" })),
        ("Grep", json!({ "pattern": "x", "path": path })),
        ("Glob", json!({ "pattern": path })),
    ] {
        let start = Instant::now();
        let output = ask(&project, &[], &call(&project, tool, input).to_string());
        assert_eq!(decision(&output)["permissionDecision"], "deny", "{tool}");
        assert!(start.elapsed() < CLIENTS_PATIENCE, "{tool}");
    }
}

#[test]
fn in_auto_what_anyone_may_answer_is_left_to_the_client() {
    let project = project();
    let in_auto = |line: &str| {
        let mut call = call(&project, "Bash", json!({ "command": line }));
        call["permission_mode"] = json!("auto");
        ask(&project, &[], &call.to_string())
    };
    assert_eq!(text(&in_auto("make").stdout), "");
    assert_eq!(decision(&in_auto("git push"))["permissionDecision"], "ask");
    assert_eq!(decision(&in_auto("rm -rf ~"))["permissionDecision"], "ask");
}

/// Lines are read as bash reads them, and another shell may make more of one.
#[test]
fn nothing_is_allowed_to_a_shell_that_is_not_read() {
    let project = project();
    for (shell, allows) in
        [("/bin/bash", true), ("/usr/bin/zsh", false), ("/usr/bin/fish", false), ("", false)]
    {
        let mut command = palisade(&project);
        command.env("SHELL", shell);
        let line = |line: &str| call(&project, "Bash", json!({ "command": line })).to_string();
        let output = ask_with(command, &[], &line("npm test"));
        assert_eq!(output.stdout.is_empty(), !allows, "{shell}: {output:?}");
        let mut command = palisade(&project);
        command.env("SHELL", shell);
        assert_eq!(decision(&ask_with(command, &[], &line("curl x")))["permissionDecision"], "deny");
    }
}

/// What another shell may read more in could be what a rule is about, and without a decision a client may let it go on.
#[test]
fn what_another_shell_may_read_more_in_asks_where_rules_could_stop_it() {
    let project = project();
    let told = |settings: &str, shell: &str, mode: &str, line: &str| {
        let mut command = palisade(&project);
        command.env("SHELL", shell);
        let mut call = call(&project, "Bash", json!({ "command": line }));
        call["permission_mode"] = mode.into();
        let output = ask_with(command, &["--settings", settings], &call.to_string());
        if output.stdout.is_empty() { "".into() } else { decision(&output)["permissionDecision"].clone() }
    };
    let deny = r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#;
    for (line, expected) in [
        ("=rm x", "ask"),
        ("repeat 1 rm x", "ask"),
        ("- rm x", "ask"),
        ("ls *(e:'rm x':)", "ask"),
        ("npm test && ls -la 'a b'", ""),
    ] {
        for shell in ["/bin/zsh", "/usr/bin/fish", ""] {
            assert_eq!(told(deny, shell, "bypassPermissions", line), expected, "{line} in {shell}");
        }
    }
    for (mode, expected) in [("default", "ask"), ("acceptEdits", "ask"), ("dontAsk", "deny"), ("auto", "ask")]
    {
        assert_eq!(told(deny, "/bin/zsh", mode, "npm test $X"), expected, "{mode}");
        assert_eq!(told(deny, "/bin/zsh", mode, "rm x"), "deny", "{mode}");
        let in_bash = if mode == "auto" { "" } else { "allow" };
        assert_eq!(told(deny, "/bin/bash", mode, "npm test $X"), in_bash, "{mode}");
    }
    assert_eq!(told(deny, "/bin/zsh", "auto", "repeat 1 rm x"), "ask");
    assert_eq!(told(deny, "/bin/zsh", "auto", "make"), "");
    // No rule is about it.
    project.write(".claude/settings.json", r#"{"permissions": {"deny": ["WebFetch", "mcp__x"]}}"#);
    assert_eq!(told("{}", "/bin/zsh", "bypassPermissions", "=rm x"), "");
}

/// The root is what the option names, from wherever the client is; else what the client names; else the call's directory.
#[test]
fn the_root_of_a_call_is_found() {
    let project = project();
    for (options, variable, directory, expected) in [
        (&["--root", "."][..], None, project.outside(), "deny"),
        (&["--root", "../root"], Some(project.outside()), project.outside(), "deny"),
        (&[], Some(project.root()), project.outside(), "deny"),
        (&[], Some(project.outside()), project.root(), "ask"),
        (&[], None, project.root(), "deny"),
        (&[], None, project.outside(), "ask"),
    ] {
        let mut command = palisade(&project);
        if let Some(root) = variable {
            command.env("CLAUDE_PROJECT_DIR", root);
        }
        let mut call = call(&project, "Bash", json!({ "command": "curl x" }));
        call["cwd"] = json!(directory);
        let decision = decision(&ask_with(command, options, &call.to_string()));
        assert_eq!(decision["permissionDecision"], expected, "{options:?} {directory:?}: {decision:#}");
    }
}

#[test]
fn a_command_that_is_seen_twice_is_listed_once() {
    let project = project();
    let output = palisade(&project).args(["check", "if make; then"]).output().expect("it starts");
    assert_eq!(text(&output.stdout).matches("  make  <-").count(), 1, "{output:?}");
    let output = palisade(&project).args(["check", "make; make"]).output().expect("it starts");
    assert_eq!(text(&output.stdout).matches("  make  <-").count(), 2, "{output:?}");
}

#[test]
fn a_call_is_rewritten_to_run_inside_and_does() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(".claude/settings.json", r#"{"sandbox": {"excludedCommands": ["docker *"]}}"#);
    let line = "touch 'a b'; echo \"it's $((1+1))\"; touch ../outside/x; echo $?";
    let input =
        json!({ "command": line, "description": "d", "timeout": 5, "dangerouslyDisableSandbox": true });
    let output = ask(&project, &["--sandbox"], &call(&project, "Bash", input).to_string());
    let decision = decision(&output);
    assert_eq!(decision["permissionDecision"], "allow", "{decision:#}");
    let updated = &decision["updatedInput"];
    assert_eq!((&updated["description"], &updated["timeout"]), (&json!("d"), &json!(5)));
    assert!(updated["dangerouslyDisableSandbox"].is_null(), "{decision:#}");
    for shell in ["bash", "sh"] {
        let mut command = Command::new(shell);
        command.arg("-c").arg(updated["command"].as_str().expect("a line")).current_dir(project.root());
        let run = command.env("HOME", project.home()).output().expect("it starts");
        assert_eq!(text(&run.stdout), "it's 2\n1\n", "{run:?}");
        assert!(project.root().join("a b").exists() && !project.outside().join("x").exists());
    }
    let line = updated["command"].as_str().unwrap_or_default();
    assert!(line.contains(" run --report "), "the model learns what was refused: {line}");
    assert!(line.contains(" --require-sandbox "), "it was judged as a line that runs inside: {line}");
    // What rules take out of the sandbox is not approved by running in it.
    let excluded = call(&project, "Bash", json!({ "command": "docker build ." })).to_string();
    let excluded = self::decision(&ask(&project, &["--sandbox"], &excluded));
    assert_eq!(excluded["permissionDecision"], "ask", "{excluded:#}");
    assert!(excluded["updatedInput"].is_null(), "{excluded:#}");
}
