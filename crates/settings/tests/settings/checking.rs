//! Checking one file: all that is wrong with it at once.

use crate::fixture::{Fixture, LOCAL, MANAGED, PROJECT, USER};
use insta::assert_snapshot;
use palisade_policy::Layer;
use palisade_settings::{Findings, check, check_file};

fn print(fixture: &Fixture, Findings { errors, warnings, .. }: Findings) -> String {
    let errors = errors.iter().map(|error| format!("error: {error}\n"));
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}\n"));
    let text: String = errors.chain(warnings).collect();
    text.replace(&*fixture.path("/").to_string_lossy(), "/")
}

#[test]
fn every_error_and_warning_in_the_order_of_the_text() {
    let fixture = Fixture::new();
    fixture.write("/project/there", "");
    let text = r#"{
      "permissions": {"deny": ["Read(", "Bash(a:*b)", "Read(//nowhere/x)"], "allow": ["Bash(", 1]},
      "sandbox": {
        "filesystem": {"denyRead": ["~root/x", "there", "misspelt"], "denyReads": ["x"], "denyWrite": "x"},
        "network": {"deniedDomains": ["a.test/x"], "allowedDomains": ["*", "*.com", "*:80", "b.test/y"], "allow": []},
        "enabled": "yes"
      }
    }"#;
    let findings = check(text.into(), &fixture.abs(PROJECT), Layer::Project, &fixture.places);
    assert_snapshot!(print(&fixture, findings), @r#"
    error: /project/.claude/settings.json:2:32: permissions.deny: "Read(": does not end with the ")" of its pattern; close it, and put nothing behind it
    error: /project/.claude/settings.json:2:41: permissions.deny: "Bash(a:*b)": has ":*" elsewhere than at its end, where it would match nothing; write " *"
    error: /project/.claude/settings.json:2:96: permissions.allow[1]: expected a string, found the number 1
    error: /project/.claude/settings.json:4:37: sandbox.filesystem.denyRead: "~root/x": names another user's home directory; write the directory's full path instead
    error: /project/.claude/settings.json:4:70: sandbox.filesystem.denyReads: is not a key, so it denies nothing; write sandbox.filesystem.denyRead
    error: /project/.claude/settings.json:4:103: sandbox.filesystem.denyWrite: expected a list of strings, found the string "x"
    error: /project/.claude/settings.json:5:39: sandbox.network.deniedDomains: "a.test/x": has a path; a rule covers a whole host, so write the host alone
    error: /project/.claude/settings.json:6:20: sandbox.enabled: expected true or false, found the string "yes"
    warning: /project/.claude/settings.json:2:55: permissions.deny: denies nothing now: /nowhere/x does not exist
    warning: /project/.claude/settings.json:2:87: permissions.allow: "Bash(": does not end with the ")" of its pattern; close it, and put nothing behind it; left out
    warning: /project/.claude/settings.json:4:57: sandbox.filesystem.denyRead: denies nothing now: /project/misspelt does not exist
    warning: /project/.claude/settings.json:5:71: sandbox.network.allowedDomains: * opens the network to nearly everybody; what a command can read can leave
    warning: /project/.claude/settings.json:5:76: sandbox.network.allowedDomains: *.com opens the network to nearly everybody; what a command can read can leave
    warning: /project/.claude/settings.json:5:85: sandbox.network.allowedDomains: *:80 opens the network to nearly everybody; what a command can read can leave
    warning: /project/.claude/settings.json:5:93: sandbox.network.allowedDomains: "b.test/y": has a path; a rule covers a whole host, so write the host alone; left out
    warning: /project/.claude/settings.json:5:106: sandbox.network.allow: is not a key; left out; did you mean sandbox.network.allowedDomains?
    "#);
}

#[test]
fn every_key_that_stands_twice() {
    let fixture = Fixture::new();
    let findings = check(
        r#"{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "a": 2}"#.into(),
        &fixture.abs(USER),
        Layer::User,
        &fixture.places,
    );
    assert_snapshot!(print(&fixture, findings), @r#"
    error: /home/.claude/settings.json:1:24: the key "c" stands here again, after line 1; keep one of the two
    error: /home/.claude/settings.json:1:32: the key "c" stands here again, after line 1; keep one of the two
    error: /home/.claude/settings.json:1:41: the key "a" stands here again, after line 1; keep one of the two
    "#);
}

#[test]
fn what_counts_depends_on_the_layer() {
    let fixture = Fixture::new();
    let text = r#"{"sandbox": {"filesystem": {"disabled": true, "allowRead": ["."]}, "bwrapPath": "/usr/bin/bwrap"}}"#;
    for (path, layer) in [(MANAGED, Layer::Managed), (USER, Layer::User), (LOCAL, Layer::Local)] {
        assert_eq!(fixture.places.layer(&fixture.abs(path)), Some(layer));
    }
    assert_eq!(fixture.places.layer(&fixture.abs("/project/other.json")), None);
    let check =
        |path: &str, layer| print(&fixture, check(text.into(), &fixture.abs(path), layer, &fixture.places));
    assert_snapshot!(check(MANAGED, Layer::Managed), @r#"
    error: /etc/claude-code/managed-settings.json:1:61: sandbox.filesystem.allowRead: ".": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    "#);
    assert_snapshot!(check(USER, Layer::User), @r#"
    warning: /home/.claude/settings.json:1:61: sandbox.filesystem.allowRead: "." means /home/.claude in this file, not the project
    warning: /home/.claude/settings.json:1:68: sandbox.bwrapPath: left out: it counts from managed settings only, and these are user settings
    "#);
    assert_snapshot!(check(LOCAL, Layer::Local), @"
    warning: /project/.claude/settings.local.json:1:29: sandbox.filesystem.disabled: left out: it counts from the user's and managed settings only, and these are local settings
    warning: /project/.claude/settings.local.json:1:68: sandbox.bwrapPath: left out: it counts from managed settings only, and these are local settings
    ");
}

#[test]
fn a_file_that_cannot_be_read() {
    let fixture = Fixture::new();
    let findings = check_file(&fixture.abs("/cwd/none.json"), Layer::Flag, &fixture.places);
    assert_snapshot!(print(&fixture, findings), @"error: /cwd/none.json: there is no such file");
    let findings = check_file(&fixture.abs("/cwd"), Layer::Flag, &fixture.places);
    assert_snapshot!(print(&fixture, findings), @"error: /cwd: is a directory, where a regular file is expected");
    fixture.write("/cwd/x.json", b"{\"\xff\": 1}");
    let findings = check_file(&fixture.abs("/cwd/x.json"), Layer::Flag, &fixture.places);
    assert_snapshot!(print(&fixture, findings), @"error: /cwd/x.json:1:3: expected UTF-8 text; save the file in that encoding");
}

/// A rule that keeps every command from running is an error to whoever checks the file, however much else is odd about it.
#[test]
#[cfg(target_os = "linux")]
fn what_keeps_everything_from_running_is_an_error() {
    let fixture = Fixture::new();
    let count = |text: &str| {
        let findings = check(text.into(), &fixture.abs(PROJECT), Layer::Project, &fixture.places);
        let is_said = |error: &palisade_settings::Error| {
            error.to_string().contains("every command is refused while this stands: ")
        };
        assert!(findings.errors.iter().all(is_said), "{:?}", findings.errors);
        (findings.errors.len(), findings.warnings.len())
    };
    for text in [
        r#"{"permissions": {"deny": ["Edit(src/**)"]}}"#,
        r#"{"permissions": {"deny": ["Write(.env)"]}}"#,
        r#"{"permissions": {"deny": ["Edit(*.lock)"]}}"#,
        r#"{"sandbox": {"filesystem": {"denyWrite": ["**/x"]}}}"#,
        r#"{"sandbox": {"filesystem": {"allowWrite": ["b*"]}}}"#,
    ] {
        assert_eq!(count(text), (1, 0), "{text}");
    }
    let odd = "\"BASH(x)\",".repeat(150);
    let (errors, _) = count(&format!(r#"{{"permissions": {{"deny": [{odd} "Edit(.env)"]}}}}"#));
    assert_eq!(errors, 1);
    // Where files are not isolated nothing is mounted; an ask is no rule of the sandbox.
    fixture.write("/project/a*", "");
    for text in [
        r#"{"sandbox": {"filesystem": {"allowWrite": ["a*"]}}}"#,
        r#"{"permissions": {"ask": ["Edit(.env)"]}}"#,
        r#"{"permissions": {"deny": ["Read(.env)"]}}"#,
    ] {
        assert_eq!(count(text).0, 0, "{text}");
    }
    let disabled = r#"{"sandbox": {"filesystem": {"denyWrite": ["**/x"], "disabled": true}}, "permissions": {"deny": ["Edit(.env)"]}}"#;
    let findings = check(disabled.into(), &fixture.abs(USER), Layer::User, &fixture.places);
    assert!(findings.errors.is_empty() && findings.warnings.is_empty(), "{findings:?}");
}

#[test]
fn a_program_that_is_not_here_is_told_of() {
    let fixture = Fixture::new();
    let text = r#"{"sandbox": {"bwrapPath": "/no/such/bwrap", "socatPath": "/bin/sh"}}"#;
    let findings = check(text.into(), &fixture.abs(MANAGED), Layer::Managed, &fixture.places);
    assert_snapshot!(print(&fixture, findings), @"warning: /etc/claude-code/managed-settings.json:1:14: sandbox.bwrapPath: /no/such/bwrap does not exist here; where it does not, the sandbox cannot run");
    fixture.write(MANAGED, text);
    assert!(fixture.load().expect("good settings").warnings.is_empty());
}
