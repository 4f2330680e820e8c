//! Worked examples of settings that meet each other, as they are known of Claude Code; with a word where the answer here
//! is another one.

use crate::fixture::{MANAGED, PROJECT, USER, merged, project, untrusted};
use insta::assert_snapshot;

#[test]
fn an_edit_allow_opens_the_sandbox_to_writes() {
    assert_snapshot!(merged(&[(USER, r#"{"permissions": {"allow": ["Edit(~/.kube/**)"]}}"#)]), @r#"
    allow write /home/.kube  <- user: permissions.allow "Edit(~/.kube/**)" in /home/.claude/settings.json:1
    allow Edit(~/.kube/**)  <- user: permissions.allow "Edit(~/.kube/**)" in /home/.claude/settings.json:1
    "#);
}

#[test]
fn a_read_deny_hides_from_the_sandbox() {
    assert_snapshot!(merged(&[(USER, r#"{"permissions": {"deny": ["Read(~/.aws/**)"]}}"#)]), @r#"
    deny read /home/.aws  <- user: permissions.deny "Read(~/.aws/**)" in /home/.claude/settings.json:1
    deny Read(~/.aws/**)  <- user: permissions.deny "Read(~/.aws/**)" in /home/.claude/settings.json:1
    "#);
}

/// The root is writable anyhow; what is protected in it is so whatever allows it, which is for the resolver.
#[test]
fn the_root_as_an_allow() {
    assert_snapshot!(project(r#"{"sandbox": {"filesystem": {"allowWrite": ["."]}}}"#), @r#"allow write /project  <- project: sandbox.filesystem.allowWrite "." in /project/.claude/settings.json:1"#);
}

#[test]
fn a_broad_read_allow_and_a_narrow_deny() {
    assert_snapshot!(merged(&[(USER, r#"{"sandbox": {"filesystem": {"denyRead": ["~/**/.env"], "allowRead": ["~/"]}}}"#)]), @r#"
    deny read /home/**/.env (wildcards)  <- user: sandbox.filesystem.denyRead "~/**/.env" in /home/.claude/settings.json:1
    allow read /home  <- user: sandbox.filesystem.allowRead "~/" in /home/.claude/settings.json:1
    "#);
}

#[test]
fn a_repositorys_host_where_the_sandbox_is_required() {
    assert_snapshot!(merged(&[
        (MANAGED, r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#),
        (PROJECT, r#"{"sandbox": {"network": {"allowedDomains": ["evil.test"]}}}"#),
    ]), @r#"
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowedDomains "evil.test" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    "#);
}

#[test]
fn a_repository_switches_the_sandbox_off() {
    let files = [
        (PROJECT, r#"{"sandbox": {"enabled": false}}"#),
        (USER, r#"{"sandbox": {"enabled": true}}"#),
        (MANAGED, r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#),
    ];
    assert_snapshot!(merged(&files[..2]), @r#"enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:1"#);
    assert_snapshot!(merged(&files), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.enabled "false" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    "#);
}

#[test]
fn a_repository_lets_commands_out() {
    assert_snapshot!(merged(&[
        (PROJECT, r#"{"sandbox": {"allowUnsandboxedCommands": true}}"#),
        (USER, r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#),
    ]), @r#"
    allow unsandboxed = false  <- user: sandbox.allowUnsandboxedCommands "false" in /home/.claude/settings.json:1
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:1 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in /home/.claude/settings.json:1
    "#);
}

/// Claude Code rejects the whole file. Here comments are welcome: what they surround counts.
#[test]
fn a_comment() {
    assert_snapshot!(project("{\n  // only what we need\n  \"sandbox\": {\"enabled\": true,},\n}"), @r#"enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:3"#);
}

#[test]
fn rules_of_a_project_that_is_not_trusted() {
    assert_snapshot!(untrusted(&[(PROJECT, r#"{"permissions": {"allow": ["Bash(rm *)"]}}"#)]), @r#"dropped: project: permissions.allow "Bash(rm *)" in /project/.claude/settings.json:1 is left out: the project is not trusted, so only what tightens counts"#);
    assert_snapshot!(untrusted(&[(PROJECT, r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#)]), @r#"deny Bash(rm *)  <- project: permissions.deny "Bash(rm *)" in /project/.claude/settings.json:1"#);
}

/// Neither `strictAllowlist` nor anything else of a repository makes hosts ask or not: the user's does.
#[test]
fn who_can_be_strict() {
    let strict = r#"{"sandbox": {"network": {"strictAllowlist": true}}}"#;
    assert_snapshot!(merged(&[(USER, strict)]), @r#"strict = true  <- user: sandbox.network.strictAllowlist "true" in /home/.claude/settings.json:1"#);
    assert_snapshot!(merged(&[(PROJECT, strict)]), @"warning: /project/.claude/settings.json:1:26: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are project settings");
}

#[test]
fn a_deny_anywhere_stands_beside_an_allow_anywhere() {
    assert_snapshot!(merged(&[
        (USER, r#"{"permissions": {"deny": ["Bash(git push *)"]}}"#),
        (PROJECT, r#"{"permissions": {"allow": ["Bash(git *)"]}}"#),
    ]), @r#"
    deny Bash(git push *)  <- user: permissions.deny "Bash(git push *)" in /home/.claude/settings.json:1
    allow Bash(git *)  <- project: permissions.allow "Bash(git *)" in /project/.claude/settings.json:1
    "#);
}
