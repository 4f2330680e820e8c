//! What an administrator's locks, and the user's denies, take away from the layers below.

use crate::fixture::{LOCAL, MANAGED, PROJECT, USER, merged, with};
use insta::assert_snapshot;
use palisade_settings::{Extra, Flags};
use std::os::unix::fs::symlink;

/// Everything that a repository could loosen the sandbox with.
const LOOSE: &str = r#"{
  "sandbox": {
    "enabled": false, "failIfUnavailable": false, "allowUnsandboxedCommands": true,
    "autoAllowBashIfSandboxed": true,
    "excludedCommands": ["docker *"], "ignoreViolations": {"*": ["x"]},
    "filesystem": {"allowWrite": ["/w"], "allowRead": ["/r"]},
    "network": {
      "allowedDomains": ["evil.test"], "allowUnixSockets": ["/run/x"],
      "allowAllUnixSockets": true, "allowLocalBinding": true
    }
  },
  "permissions": {
    "allow": ["Edit(//e/**)", "WebFetch(domain:web.test)", "WebFetch", "Bash(make)", "Read(//r)"],
    "additionalDirectories": ["/extra"]
  }
}"#;

/// What only tightens, of everything that could be said.
const TIGHT: &str = r#"{
  "sandbox": {
    "enabled": true, "failIfUnavailable": true, "allowUnsandboxedCommands": false, "autoAllowBashIfSandboxed": false,
    "filesystem": {"denyWrite": ["/w"], "denyRead": ["/r"]},
    "network": {"deniedDomains": ["evil.test"], "allowAllUnixSockets": false, "allowLocalBinding": false},
    "credentials": {"files": [{"path": "/c", "mode": "deny"}], "envVars": [{"name": "V", "mode": "deny"}]}
  },
  "permissions": {"deny": ["Edit(//e/**)", "WebFetch(domain:web.test)"], "ask": ["Bash(make)"]}
}"#;

const REQUIRED: &str = r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#;

#[test]
fn without_a_lock_a_trusted_repository_loosens() {
    assert_snapshot!(merged(&[(PROJECT, LOOSE)]), @r#"
    enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:3
    fail if unavailable = false  <- project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:3
    auto-allow = true  <- project: sandbox.autoAllowBashIfSandboxed "true" in /project/.claude/settings.json:4
    allow unsandboxed = true  <- project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:3
    sandbox.network.allowAllUnixSockets true  <- project: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.json:9
    sandbox.network.allowLocalBinding true  <- project: sandbox.network.allowLocalBinding "true" in /project/.claude/settings.json:9
    allow write /w  <- project: sandbox.filesystem.allowWrite "/w" in /project/.claude/settings.json:6
    allow write /e  <- project: permissions.allow "Edit(//e/**)" in /project/.claude/settings.json:13
    allow write /extra  <- project: permissions.additionalDirectories "/extra" in /project/.claude/settings.json:14
    allow read /r  <- project: sandbox.filesystem.allowRead "/r" in /project/.claude/settings.json:6
    sandbox.network.allowUnixSockets /run/x  <- project: sandbox.network.allowUnixSockets "/run/x" in /project/.claude/settings.json:8
    allow host evil.test  <- project: sandbox.network.allowedDomains "evil.test" in /project/.claude/settings.json:8
    allow host web.test  <- project: permissions.allow "WebFetch(domain:web.test)" in /project/.claude/settings.json:13
    ignore violation *: x  <- project: sandbox.ignoreViolations "x" in /project/.claude/settings.json:5
    outside the sandbox docker *  <- project: sandbox.excludedCommands "docker *" in /project/.claude/settings.json:5
    allow Edit(//e/**)  <- project: permissions.allow "Edit(//e/**)" in /project/.claude/settings.json:13
    allow WebFetch(domain:web.test)  <- project: permissions.allow "WebFetch(domain:web.test)" in /project/.claude/settings.json:13
    allow WebFetch  <- project: permissions.allow "WebFetch" in /project/.claude/settings.json:13
    allow Bash(make)  <- project: permissions.allow "Bash(make)" in /project/.claude/settings.json:13
    allow Read(//r)  <- project: permissions.allow "Read(//r)" in /project/.claude/settings.json:13
    directory /extra  <- project: permissions.additionalDirectories "/extra" in /project/.claude/settings.json:14
    every Unix socket is open
    warning: /project/.claude/settings.json:8:40: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    warning: /project/.claude/settings.json:9:36: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    "#);
}

#[test]
fn a_required_sandbox_is_not_loosened_by_a_repository() {
    let on = r#"{"sandbox": {"enabled": true}}"#;
    assert_snapshot!(merged(&[(MANAGED, REQUIRED), (USER, on), (PROJECT, LOOSE)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    auto-allow = true  <- project: sandbox.autoAllowBashIfSandboxed "true" in /project/.claude/settings.json:4
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    allow read /r  <- project: sandbox.filesystem.allowRead "/r" in /project/.claude/settings.json:6
    allow Bash(make)  <- project: permissions.allow "Bash(make)" in /project/.claude/settings.json:13
    allow Read(//r)  <- project: permissions.allow "Read(//r)" in /project/.claude/settings.json:13
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:3 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.excludedCommands "docker *" in /project/.claude/settings.json:5 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.ignoreViolations "x" in /project/.claude/settings.json:5 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowedDomains "evil.test" in /project/.claude/settings.json:8 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowUnixSockets "/run/x" in /project/.claude/settings.json:8 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.filesystem.allowWrite "/w" in /project/.claude/settings.json:6 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.additionalDirectories "/extra" in /project/.claude/settings.json:14 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.allow "Edit(//e/**)" in /project/.claude/settings.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.allow "WebFetch(domain:web.test)" in /project/.claude/settings.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.allow "WebFetch" in /project/.claude/settings.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowLocalBinding "true" in /project/.claude/settings.json:9 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.json:9 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.enabled "false" in /project/.claude/settings.json:3 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:3 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    warning: /project/.claude/settings.json:8:40: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    warning: /project/.claude/settings.json:9:36: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    "#);
    assert_snapshot!(merged(&[(MANAGED, REQUIRED), (USER, on), (LOCAL, LOOSE)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    auto-allow = true  <- local: sandbox.autoAllowBashIfSandboxed "true" in /project/.claude/settings.local.json:4
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    allow read /r  <- local: sandbox.filesystem.allowRead "/r" in /project/.claude/settings.local.json:6
    allow Bash(make)  <- local: permissions.allow "Bash(make)" in /project/.claude/settings.local.json:13
    allow Read(//r)  <- local: permissions.allow "Read(//r)" in /project/.claude/settings.local.json:13
    dropped: local: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.local.json:3 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.excludedCommands "docker *" in /project/.claude/settings.local.json:5 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.ignoreViolations "x" in /project/.claude/settings.local.json:5 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.network.allowedDomains "evil.test" in /project/.claude/settings.local.json:8 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.network.allowUnixSockets "/run/x" in /project/.claude/settings.local.json:8 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.filesystem.allowWrite "/w" in /project/.claude/settings.local.json:6 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.additionalDirectories "/extra" in /project/.claude/settings.local.json:14 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.allow "Edit(//e/**)" in /project/.claude/settings.local.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.allow "WebFetch(domain:web.test)" in /project/.claude/settings.local.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.allow "WebFetch" in /project/.claude/settings.local.json:13 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.network.allowLocalBinding "true" in /project/.claude/settings.local.json:9 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.local.json:9 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.enabled "false" in /project/.claude/settings.local.json:3 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.failIfUnavailable "false" in /project/.claude/settings.local.json:3 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    warning: /project/.claude/settings.local.json:8:40: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    warning: /project/.claude/settings.local.json:9:36: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    "#);
}

#[test]
fn it_is_tightened_by_one() {
    assert_snapshot!(merged(&[(MANAGED, REQUIRED), (PROJECT, TIGHT)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:3
    fail if unavailable = true  <- project: sandbox.failIfUnavailable "true" in /project/.claude/settings.json:3
    auto-allow = false  <- project: sandbox.autoAllowBashIfSandboxed "false" in /project/.claude/settings.json:3
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowAllUnixSockets false  <- project: sandbox.network.allowAllUnixSockets "false" in /project/.claude/settings.json:5
    sandbox.network.allowLocalBinding false  <- project: sandbox.network.allowLocalBinding "false" in /project/.claude/settings.json:5
    deny write /w  <- project: sandbox.filesystem.denyWrite "/w" in /project/.claude/settings.json:4
    deny write /e  <- project: permissions.deny "Edit(//e/**)" in /project/.claude/settings.json:8
    deny read /r  <- project: sandbox.filesystem.denyRead "/r" in /project/.claude/settings.json:4
    deny read /c  <- project: sandbox.credentials.files "/c" in /project/.claude/settings.json:6
    deny host evil.test  <- project: sandbox.network.deniedDomains "evil.test" in /project/.claude/settings.json:5
    deny host web.test  <- project: permissions.deny "WebFetch(domain:web.test)" in /project/.claude/settings.json:8
    hide variable V  <- project: sandbox.credentials.envVars "V" in /project/.claude/settings.json:6
    deny Edit(//e/**)  <- project: permissions.deny "Edit(//e/**)" in /project/.claude/settings.json:8
    deny WebFetch(domain:web.test)  <- project: permissions.deny "WebFetch(domain:web.test)" in /project/.claude/settings.json:8
    ask Bash(make)  <- project: permissions.ask "Bash(make)" in /project/.claude/settings.json:8
    "#);
}

/// A `false` of `enabled` is held against a `true` only; what the user loosens is his to loosen.
#[test]
fn what_a_required_sandbox_leaves_alone() {
    assert_snapshot!(merged(&[(MANAGED, REQUIRED), (PROJECT, r#"{"sandbox": {"enabled": false}}"#)]), @r#"
    enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:1
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    "#);
    assert_snapshot!(merged(&[(MANAGED, REQUIRED), (USER, LOOSE)]), @r#"
    enabled = false  <- user: sandbox.enabled "false" in /home/.claude/settings.json:3
    fail if unavailable = false  <- user: sandbox.failIfUnavailable "false" in /home/.claude/settings.json:3
    auto-allow = true  <- user: sandbox.autoAllowBashIfSandboxed "true" in /home/.claude/settings.json:4
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowAllUnixSockets true  <- user: sandbox.network.allowAllUnixSockets "true" in /home/.claude/settings.json:9
    sandbox.network.allowLocalBinding true  <- user: sandbox.network.allowLocalBinding "true" in /home/.claude/settings.json:9
    allow write /w  <- user: sandbox.filesystem.allowWrite "/w" in /home/.claude/settings.json:6
    allow write /e  <- user: permissions.allow "Edit(//e/**)" in /home/.claude/settings.json:13
    allow write /extra  <- user: permissions.additionalDirectories "/extra" in /home/.claude/settings.json:14
    allow read /r  <- user: sandbox.filesystem.allowRead "/r" in /home/.claude/settings.json:6
    sandbox.network.allowUnixSockets /run/x  <- user: sandbox.network.allowUnixSockets "/run/x" in /home/.claude/settings.json:8
    allow host evil.test  <- user: sandbox.network.allowedDomains "evil.test" in /home/.claude/settings.json:8
    allow host web.test  <- user: permissions.allow "WebFetch(domain:web.test)" in /home/.claude/settings.json:13
    ignore violation *: x  <- user: sandbox.ignoreViolations "x" in /home/.claude/settings.json:5
    outside the sandbox docker *  <- user: sandbox.excludedCommands "docker *" in /home/.claude/settings.json:5
    allow Edit(//e/**)  <- user: permissions.allow "Edit(//e/**)" in /home/.claude/settings.json:13
    allow WebFetch(domain:web.test)  <- user: permissions.allow "WebFetch(domain:web.test)" in /home/.claude/settings.json:13
    allow WebFetch  <- user: permissions.allow "WebFetch" in /home/.claude/settings.json:13
    allow Bash(make)  <- user: permissions.allow "Bash(make)" in /home/.claude/settings.json:13
    allow Read(//r)  <- user: permissions.allow "Read(//r)" in /home/.claude/settings.json:13
    directory /extra  <- user: permissions.additionalDirectories "/extra" in /home/.claude/settings.json:14
    every Unix socket is open
    warning: /home/.claude/settings.json:8:40: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    warning: /home/.claude/settings.json:9:36: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    "#);
    let mut fixture = with(&[(MANAGED, REQUIRED)]);
    fixture
        .extras
        .push(Extra::Json(r#"{"sandbox": {"enabled": false, "excludedCommands": ["make"]}}"#.into()));
    assert_snapshot!(fixture.print(), @r#"
    enabled = false  <- command line: sandbox.enabled "false" in --settings:1
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    outside the sandbox make  <- command line: sandbox.excludedCommands "make" in --settings:1
    "#);
}

/// An option of the user's own requires nothing of a repository: the condition is the administrator's.
#[test]
fn who_can_require_the_sandbox() {
    assert_snapshot!(merged(&[(USER, REQUIRED), (PROJECT, r#"{"sandbox": {"excludedCommands": ["make"]}}"#)]), @r#"
    allow unsandboxed = false  <- user: sandbox.allowUnsandboxedCommands "false" in /home/.claude/settings.json:1
    outside the sandbox make  <- project: sandbox.excludedCommands "make" in /project/.claude/settings.json:1
    "#);
    let domains = r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true}}}"#;
    assert_snapshot!(merged(&[(MANAGED, domains), (PROJECT, r#"{"sandbox": {"excludedCommands": ["make"], "allowUnsandboxedCommands": true}}"#)]), @r#"
    strict = true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowManagedDomainsOnly true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.excludedCommands "make" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    "#);
    let off =
        r#"{"sandbox": {"allowUnsandboxedCommands": true, "network": {"allowManagedDomainsOnly": false}}}"#;
    assert_snapshot!(merged(&[(MANAGED, off), (PROJECT, r#"{"sandbox": {"excludedCommands": ["make"]}}"#)]), @r#"
    allow unsandboxed = true  <- managed: sandbox.allowUnsandboxedCommands "true" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowManagedDomainsOnly false  <- managed: sandbox.network.allowManagedDomainsOnly "false" in /etc/claude-code/managed-settings.json:1
    outside the sandbox make  <- project: sandbox.excludedCommands "make" in /project/.claude/settings.json:1
    "#);
}

#[test]
fn only_managed_domains() {
    let lock = r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["a.test"],
        "strictAllowlist": false}}, "permissions": {"allow": ["WebFetch(domain:w.test)"]}}"#;
    let others = |host: &str| {
        format!(
            r#"{{"sandbox": {{"network": {{"allowedDomains": ["{host}.test"], "deniedDomains": ["bad-{host}.test"]}}}},
                "permissions": {{"allow": ["WebFetch(domain:w-{host}.test)"]}}}}"#
        )
    };
    let mut fixture = with(&[
        (MANAGED, lock),
        (LOCAL, &others("local")),
        (PROJECT, &others("project")),
        (USER, &others("user")),
    ]);
    fixture.flags = Flags { allow_host: vec!["flag.test".into()], ..Flags::default() };
    assert_snapshot!(fixture.print(), @r#"
    strict = true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowManagedDomainsOnly true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    allow host a.test  <- managed: sandbox.network.allowedDomains "a.test" in /etc/claude-code/managed-settings.json:1
    allow host w.test  <- managed: permissions.allow "WebFetch(domain:w.test)" in /etc/claude-code/managed-settings.json:2
    deny host bad-local.test  <- local: sandbox.network.deniedDomains "bad-local.test" in /project/.claude/settings.local.json:1
    deny host bad-project.test  <- project: sandbox.network.deniedDomains "bad-project.test" in /project/.claude/settings.json:1
    deny host bad-user.test  <- user: sandbox.network.deniedDomains "bad-user.test" in /home/.claude/settings.json:1
    allow WebFetch(domain:w.test)  <- managed: permissions.allow "WebFetch(domain:w.test)" in /etc/claude-code/managed-settings.json:2
    allow WebFetch(domain:w-user.test)  <- user: permissions.allow "WebFetch(domain:w-user.test)" in /home/.claude/settings.json:2
    dropped: command line: --allow-host "flag.test" is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: local: sandbox.network.allowedDomains "local.test" in /project/.claude/settings.local.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.allow "WebFetch(domain:w-local.test)" in /project/.claude/settings.local.json:2 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowedDomains "project.test" in /project/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.allow "WebFetch(domain:w-project.test)" in /project/.claude/settings.json:2 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.network.allowedDomains "user.test" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: permissions.allow "WebFetch(domain:w-user.test)" in /home/.claude/settings.json:2 opens nothing to commands: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    "#);
}

#[test]
fn only_managed_read_paths() {
    let lock = r#"{"sandbox": {"filesystem": {"allowManagedReadPathsOnly": true, "denyRead": ["~/"],
        "allowRead": ["~/public"]}}}"#;
    let mut fixture = with(&[
        (MANAGED, lock),
        (
            USER,
            r#"{"sandbox": {"filesystem": {"denyRead": ["/u"], "allowRead": ["~/mine", "/u/x"], "allowWrite": ["~/w", "/elsewhere", "~/*"]}}}"#,
        ),
        (PROJECT, r#"{"sandbox": {"filesystem": {"allowRead": ["."]}}}"#),
    ]);
    fixture.flags = Flags { allow_read: vec![b"~/flag".to_vec()], ..Flags::default() };
    assert_snapshot!(fixture.print(), @r#"
    sandbox.filesystem.allowManagedReadPathsOnly true  <- managed: sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    allow write /elsewhere  <- user: sandbox.filesystem.allowWrite "/elsewhere" in /home/.claude/settings.json:1
    deny read /home  <- managed: sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1
    deny read /u  <- user: sandbox.filesystem.denyRead "/u" in /home/.claude/settings.json:1
    allow read /home/public  <- managed: sandbox.filesystem.allowRead "~/public" in /etc/claude-code/managed-settings.json:2
    dropped: command line: --allow-read "~/flag" is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.filesystem.allowRead "." in /project/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.filesystem.allowRead "~/mine" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.filesystem.allowRead "/u/x" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.filesystem.allowWrite "~/w" in /home/.claude/settings.json:1 is left out: it would open /home/w, which sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1 hides
    dropped: user: sandbox.filesystem.allowWrite "~/*" in /home/.claude/settings.json:1 is left out: it would open /home, which sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1 hides
    warning: /home/.claude/settings.json:1:118: sandbox.filesystem.allowWrite: every command is refused while this stands: "~/*" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    "#);
}

/// The denies among the rules stay in the sandbox: the lock is about approvals.
#[test]
fn only_managed_rules() {
    let lock = r#"{"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["Bash(ls *)"]}}"#;
    let rules = r#"{"permissions": {
        "allow": ["Bash(rm *)", "Edit(//e)", "WebFetch(domain:a.test)"],
        "ask": ["Bash(git *)"],
        "deny": ["Read(//secret)", "WebFetch(domain:b.test)", "Bash(curl *)"]},
        "sandbox": {"filesystem": {"allowWrite": ["/w"]}}}"#;
    assert_snapshot!(merged(&[(MANAGED, lock), (USER, rules)]), @r#"
    allowManagedPermissionRulesOnly true  <- managed: allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1
    allow write /w  <- user: sandbox.filesystem.allowWrite "/w" in /home/.claude/settings.json:5
    deny read /secret  <- user: permissions.deny "Read(//secret)" in /home/.claude/settings.json:4
    deny host b.test  <- user: permissions.deny "WebFetch(domain:b.test)" in /home/.claude/settings.json:4
    allow Bash(ls *)  <- managed: permissions.allow "Bash(ls *)" in /etc/claude-code/managed-settings.json:1
    dropped: user: permissions.allow "Bash(rm *)" in /home/.claude/settings.json:2 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.allow "Edit(//e)" in /home/.claude/settings.json:2 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.allow "WebFetch(domain:a.test)" in /home/.claude/settings.json:2 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.ask "Bash(git *)" in /home/.claude/settings.json:3 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.deny "Read(//secret)" in /home/.claude/settings.json:4 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.deny "WebFetch(domain:b.test)" in /home/.claude/settings.json:4 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    dropped: user: permissions.deny "Bash(curl *)" in /home/.claude/settings.json:4 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    "#);
    // From anybody else it is no lock.
    assert_snapshot!(merged(&[(USER, r#"{"allowManagedPermissionRulesOnly": true}"#), (PROJECT, r#"{"permissions": {"allow": ["Bash(ls)"]}}"#)]), @r#"
    allow Bash(ls)  <- project: permissions.allow "Bash(ls)" in /project/.claude/settings.json:1
    warning: /home/.claude/settings.json:1:2: allowManagedPermissionRulesOnly: left out: it counts from managed settings only, and these are user settings
    "#);
}

#[test]
fn who_can_turn_file_isolation_off() {
    let off = r#"{"sandbox": {"filesystem": {"disabled": true}}}"#;
    for managed in [
        r#"{"sandbox": {"enabled": true}}"#,
        r#"{"sandbox": {"credentials": {"envVars": ["V"]}, "network": {"deniedDomains": ["a.test"]}}}"#,
    ] {
        let printed = merged(&[(MANAGED, managed), (USER, off)]);
        assert!(printed.contains("files disabled = true  <- user"), "{printed}");
    }
    for managed in [
        r#"{"sandbox": {"filesystem": {"denyRead": ["/r"]}}}"#,
        r#"{"sandbox": {"filesystem": {"allowWrite": ["/w"]}}}"#,
        r#"{"sandbox": {"filesystem": {"disabled": false}}}"#,
        r#"{"sandbox": {"filesystem": {"allowManagedReadPathsOnly": false}}}"#,
        r#"{"sandbox": {"credentials": {"files": ["/c"]}}}"#,
        r#"{"permissions": {"deny": ["Read(//r)"]}}"#,
    ] {
        let printed = merged(&[(MANAGED, managed), (USER, off)]);
        assert!(!printed.contains("files disabled = true"), "{printed}");
        assert!(printed.contains("dropped: user: sandbox.filesystem.disabled"), "{printed}");
    }
    assert_snapshot!(merged(&[(MANAGED, off), (USER, r#"{"sandbox": {"filesystem": {"disabled": false}}}"#)]), @r#"
    files disabled = true  <- managed: sandbox.filesystem.disabled "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.filesystem.disabled "false" in /home/.claude/settings.json:1 is left out: managed settings say what holds for files, by sandbox.filesystem.disabled "true" in /etc/claude-code/managed-settings.json:1, so only they can turn that off
    "#);
}

#[test]
fn a_false_of_allow_unsandboxed_commands_holds() {
    let says = |value: bool| format!(r#"{{"sandbox": {{"allowUnsandboxedCommands": {value}}}}}"#);
    assert_snapshot!(merged(&[(USER, &says(false)), (PROJECT, &says(true))]), @r#"
    allow unsandboxed = false  <- user: sandbox.allowUnsandboxedCommands "false" in /home/.claude/settings.json:1
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:1 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(USER, &says(true)), (PROJECT, &says(false)), (LOCAL, &says(true))]), @r#"allow unsandboxed = true  <- local: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.local.json:1"#);
    assert_snapshot!(merged(&[(MANAGED, &says(false)), (USER, &says(true))]), @r#"allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1"#);
    let mut fixture = with(&[(LOCAL, &says(true))]);
    fixture.extras.push(Extra::Json(says(false)));
    assert_snapshot!(fixture.print(), @r#"
    allow unsandboxed = false  <- command line: sandbox.allowUnsandboxedCommands "false" in --settings:1
    dropped: local: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.local.json:1 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in --settings:1
    "#);
}

/// A repository's paths at or under what others hide, as written and as they are.
#[test]
fn a_repository_does_not_reopen_what_others_hide() {
    let fixture = with(&[
        (
            USER,
            r#"{"sandbox": {"filesystem": {"denyRead": ["~/.ssh", "~/**/.env"]}, "credentials": {"files": ["~/.netrc"]}},
            "permissions": {"deny": ["Read(~/private/**)"]}}"#,
        ),
        (
            PROJECT,
            r#"{
          "sandbox": {"filesystem": {
            "allowRead": ["~/.ssh", "~/.ssh/known_hosts", "~/", "~/work/.env", "link", "link/id", "~/*", "/elsewhere", "loop"],
            "allowWrite": ["~/.netrc", "up/.ssh/new", "~/private/x", "ok"]
          }},
          "permissions": {"additionalDirectories": ["~/.ssh", "link", "../common"], "allow": ["Edit(~/.ssh/config)"]}
        }"#,
        ),
    ]);
    fixture.write("/home/.ssh/id", "");
    symlink(fixture.path("/home/.ssh"), fixture.path("/project/link")).expect("a link");
    symlink("../home", fixture.path("/project/up")).expect("a link");
    symlink("loop", fixture.path("/project/loop")).expect("a link");
    assert_snapshot!(fixture.print(), @r#"
    allow write /project/ok  <- project: sandbox.filesystem.allowWrite "ok" in /project/.claude/settings.json:4
    allow write /common  <- project: permissions.additionalDirectories "../common" in /project/.claude/settings.json:6
    deny read /home/.ssh  <- user: sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1
    deny read /home/**/.env (wildcards)  <- user: sandbox.filesystem.denyRead "~/**/.env" in /home/.claude/settings.json:1
    deny read /home/private  <- user: permissions.deny "Read(~/private/**)" in /home/.claude/settings.json:2
    deny read /home/.netrc  <- user: sandbox.credentials.files "~/.netrc" in /home/.claude/settings.json:1
    allow read /home  <- project: sandbox.filesystem.allowRead "~/" in /project/.claude/settings.json:3
    allow read /home/* (wildcards)  <- project: sandbox.filesystem.allowRead "~/*" in /project/.claude/settings.json:3
    allow read /elsewhere  <- project: sandbox.filesystem.allowRead "/elsewhere" in /project/.claude/settings.json:3
    deny Read(~/private/**)  <- user: permissions.deny "Read(~/private/**)" in /home/.claude/settings.json:2
    allow Edit(~/.ssh/config)  <- project: permissions.allow "Edit(~/.ssh/config)" in /project/.claude/settings.json:6
    directory /common  <- project: permissions.additionalDirectories "../common" in /project/.claude/settings.json:6
    dropped: project: sandbox.filesystem.allowRead "~/.ssh" in /project/.claude/settings.json:3 is left out: it would open /home/.ssh, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "~/.ssh/known_hosts" in /project/.claude/settings.json:3 is left out: it would open /home/.ssh/known_hosts, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "~/work/.env" in /project/.claude/settings.json:3 is left out: it would open /home/work/.env, which sandbox.filesystem.denyRead "~/**/.env" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "link" in /project/.claude/settings.json:3 is left out: it would open /home/.ssh, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "link/id" in /project/.claude/settings.json:3 is left out: it would open /home/.ssh/id, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "loop" in /project/.claude/settings.json:3 is left out: where it leads cannot be found out, and other rules hide something
    dropped: project: sandbox.filesystem.allowWrite "~/.netrc" in /project/.claude/settings.json:4 is left out: it would open /home/.netrc, which sandbox.credentials.files "~/.netrc" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowWrite "up/.ssh/new" in /project/.claude/settings.json:4 is left out: it would open /home/.ssh/new, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowWrite "~/private/x" in /project/.claude/settings.json:4 is left out: it would open /home/private/x, which permissions.deny "Read(~/private/**)" in /home/.claude/settings.json:2 hides
    dropped: project: permissions.additionalDirectories "~/.ssh" in /project/.claude/settings.json:6 is left out: it would open /home/.ssh, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: permissions.additionalDirectories "link" in /project/.claude/settings.json:6 is left out: it would open /home/.ssh, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: permissions.allow "Edit(~/.ssh/config)" in /project/.claude/settings.json:6 opens nothing to commands: it would open /home/.ssh/config, which sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:1 hides
    "#);
}

/// What is hidden under another name, too: a home directory that is a link.
#[test]
fn what_is_hidden_is_hidden_where_it_really_is() {
    let mut fixture = with(&[(
        "/data/u/.claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyRead": ["~/.ssh", "~/**/.env"]}}}"#,
    )]);
    fixture.write("/data/u/.ssh/id", "");
    fixture.write(PROJECT, r#"{"sandbox": {"filesystem": {"allowRead": ["../data/u/.ssh/id", "../data/u/w/.env", "../data/u/w"]}}}"#);
    symlink(fixture.path("/data/u"), fixture.path("/home/link")).expect("a link");
    fixture.places.home = Some(fixture.abs("/home/link"));
    assert_snapshot!(fixture.print(), @r#"
    deny read /home/link/.ssh  <- user: sandbox.filesystem.denyRead "~/.ssh" in /home/link/.claude/settings.json:1
    deny read /home/link/**/.env (wildcards)  <- user: sandbox.filesystem.denyRead "~/**/.env" in /home/link/.claude/settings.json:1
    allow read /data/u/w  <- project: sandbox.filesystem.allowRead "../data/u/w" in /project/.claude/settings.json:1
    dropped: project: sandbox.filesystem.allowRead "../data/u/.ssh/id" in /project/.claude/settings.json:1 is left out: it would open /data/u/.ssh/id, which sandbox.filesystem.denyRead "~/.ssh" in /home/link/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "../data/u/w/.env" in /project/.claude/settings.json:1 is left out: it would open /data/u/w/.env, which sandbox.filesystem.denyRead "~/**/.env" in /home/link/.claude/settings.json:1 hides
    "#);
}

/// What a repository hides itself it may reopen, and a user may reopen what he hides.
#[test]
fn own_denies_are_ones_own() {
    let text = r#"{"sandbox": {"filesystem": {"denyRead": ["/a"], "allowRead": ["/a/b"]}}}"#;
    assert_snapshot!(merged(&[(PROJECT, text)]), @r#"
    deny read /a  <- project: sandbox.filesystem.denyRead "/a" in /project/.claude/settings.json:1
    allow read /a/b  <- project: sandbox.filesystem.allowRead "/a/b" in /project/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(USER, text)]), @r#"
    deny read /a  <- user: sandbox.filesystem.denyRead "/a" in /home/.claude/settings.json:1
    allow read /a/b  <- user: sandbox.filesystem.allowRead "/a/b" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[
        (PROJECT, r#"{"sandbox": {"filesystem": {"denyRead": ["/a"]}}}"#),
        (LOCAL, r#"{"sandbox": {"filesystem": {"allowRead": ["/a/b"]}}}"#),
    ]), @r#"
    deny read /a  <- project: sandbox.filesystem.denyRead "/a" in /project/.claude/settings.json:1
    allow read /a/b  <- local: sandbox.filesystem.allowRead "/a/b" in /project/.claude/settings.local.json:1
    "#);
}

/// What wildcards match is looked at before each command, and only where they could match nothing else is it known now.
#[test]
fn a_wildcard_of_a_repositorys_counts_where_not_all_of_it_is_hidden() {
    let user = r#"{"permissions": {"deny": ["Read(//**/.env)", "Read(~/keys/*/*.pem)"]}, "sandbox": {"credentials": {"files": ["~/.ssh"]}}}"#;
    let project = r#"{"sandbox": {"filesystem": {
        "denyRead": ["out"],
        "allowRead": ["out/*.txt", "out/.env/*", "~/.ssh/*.pub", "~/keys/a/b.pem/*", "~/keys/*"]}}}"#;
    assert_snapshot!(merged(&[(USER, user), (PROJECT, project)]), @r#"
    deny read /project/out  <- project: sandbox.filesystem.denyRead "out" in /project/.claude/settings.json:2
    deny read /**/.env (wildcards)  <- user: permissions.deny "Read(//**/.env)" in /home/.claude/settings.json:1
    deny read /home/keys/*/*.pem (wildcards)  <- user: permissions.deny "Read(~/keys/*/*.pem)" in /home/.claude/settings.json:1
    deny read /home/.ssh  <- user: sandbox.credentials.files "~/.ssh" in /home/.claude/settings.json:1
    allow read /project/out/*.txt (wildcards)  <- project: sandbox.filesystem.allowRead "out/*.txt" in /project/.claude/settings.json:3
    allow read /home/keys/* (wildcards)  <- project: sandbox.filesystem.allowRead "~/keys/*" in /project/.claude/settings.json:3
    deny Read(//**/.env)  <- user: permissions.deny "Read(//**/.env)" in /home/.claude/settings.json:1
    deny Read(~/keys/*/*.pem)  <- user: permissions.deny "Read(~/keys/*/*.pem)" in /home/.claude/settings.json:1
    dropped: project: sandbox.filesystem.allowRead "out/.env/*" in /project/.claude/settings.json:3 is left out: it would open /project/out/.env, which permissions.deny "Read(//**/.env)" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "~/.ssh/*.pub" in /project/.claude/settings.json:3 is left out: it would open /home/.ssh, which sandbox.credentials.files "~/.ssh" in /home/.claude/settings.json:1 hides
    dropped: project: sandbox.filesystem.allowRead "~/keys/a/b.pem/*" in /project/.claude/settings.json:3 is left out: it would open /home/keys/a/b.pem, which permissions.deny "Read(~/keys/*/*.pem)" in /home/.claude/settings.json:1 hides
    "#);
}

/// An option hides as the user's files do.
#[test]
fn what_an_option_hides() {
    let mut fixture =
        with(&[(LOCAL, r#"{"sandbox": {"filesystem": {"allowRead": ["/a/b"], "allowWrite": ["/a"]}}}"#)]);
    fixture.flags = Flags { deny_read: vec![b"/a".to_vec()], ..Flags::default() };
    assert_snapshot!(fixture.print(), @r#"
    deny read /a  <- command line: --deny-read "/a"
    dropped: local: sandbox.filesystem.allowRead "/a/b" in /project/.claude/settings.local.json:1 is left out: it would open /a/b, which --deny-read "/a" hides
    dropped: local: sandbox.filesystem.allowWrite "/a" in /project/.claude/settings.local.json:1 is left out: it would open /a, which --deny-read "/a" hides
    "#);
}

#[test]
fn modes_that_are_disabled() {
    let bypass = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
    assert_snapshot!(merged(&[(USER, bypass)]), @r#"mode bypassPermissions  <- user: permissions.defaultMode "bypassPermissions" in /home/.claude/settings.json:1"#);
    assert_snapshot!(merged(&[(USER, bypass), (PROJECT, r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#)]), @r#"
    permissions.disableBypassPermissionsMode disable  <- project: permissions.disableBypassPermissionsMode "disable" in /project/.claude/settings.json:1
    dropped: user: permissions.defaultMode "bypassPermissions" in /home/.claude/settings.json:1 is left out: the mode is disabled by permissions.disableBypassPermissionsMode "disable" in /project/.claude/settings.json:1
    "#);
    // Claude Code has the key at the top as well.
    assert_snapshot!(merged(&[(MANAGED, r#"{"disableAutoMode": "disable"}"#), (USER, r#"{"permissions": {"defaultMode": "auto"}}"#)]), @r#"
    permissions.disableAutoMode disable  <- managed: disableAutoMode "disable" in /etc/claude-code/managed-settings.json:1
    dropped: user: permissions.defaultMode "auto" in /home/.claude/settings.json:1 is left out: the mode is disabled by disableAutoMode "disable" in /etc/claude-code/managed-settings.json:1
    "#);
    assert_snapshot!(merged(&[(MANAGED, r#"{"permissions": {"disableAutoMode": "disable"}}"#), (USER, r#"{"permissions": {"defaultMode": "auto"}}"#)]), @r#"
    permissions.disableAutoMode disable  <- managed: permissions.disableAutoMode "disable" in /etc/claude-code/managed-settings.json:1
    dropped: user: permissions.defaultMode "auto" in /home/.claude/settings.json:1 is left out: the mode is disabled by permissions.disableAutoMode "disable" in /etc/claude-code/managed-settings.json:1
    "#);
    for mode in ["bypassPermissions", "auto"] {
        let text = format!(r#"{{"permissions": {{"defaultMode": "{mode}"}}}}"#);
        for file in [PROJECT, LOCAL] {
            let printed = merged(&[(file, &text), (USER, r#"{"permissions": {"defaultMode": "plan"}}"#)]);
            assert!(printed.starts_with("mode plan  <- user"), "{printed}");
            assert!(printed.contains("counts from the user's and managed settings only"), "{printed}");
        }
    }
    assert_snapshot!(merged(&[(PROJECT, r#"{"permissions": {"defaultMode": "acceptEdits"}}"#), (USER, r#"{"permissions": {"defaultMode": "manual"}}"#)]), @r#"mode acceptEdits  <- project: permissions.defaultMode "acceptEdits" in /project/.claude/settings.json:1"#);
}
