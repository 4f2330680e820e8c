//! A project that nobody trusts.

use crate::fixture::{LOCAL, MANAGED, PROJECT, USER, untrusted};
use insta::assert_snapshot;

#[test]
fn only_what_tightens_counts() {
    let text = r#"{
      "sandbox": {
        "enabled": true, "failIfUnavailable": false, "autoAllowBashIfSandboxed": true, "allowUnsandboxedCommands": true,
        "excludedCommands": ["docker *"], "ignoreViolations": {"*": ["x"]},
        "filesystem": {"allowWrite": ["/w"], "allowRead": ["/r/x"], "denyRead": ["/r"], "denyWrite": ["/d"]},
        "network": {
          "allowedDomains": ["evil.test"], "deniedDomains": ["bad.test"], "allowUnixSockets": ["/run/x"],
          "allowAllUnixSockets": true, "allowLocalBinding": true, "strictAllowlist": true
        },
        "credentials": {"files": ["/c"], "envVars": ["V"]}
      },
      "permissions": {
        "allow": ["Bash(rm *)", "Edit(//e)"], "ask": ["Bash(git push *)"], "deny": ["Bash(curl *)", "Read(//s)"],
        "additionalDirectories": ["/extra"], "defaultMode": "acceptEdits", "disableAutoMode": "disable"
      }
    }"#;
    assert_snapshot!(untrusted(&[(PROJECT, text)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:3
    auto-allow = false  <- project: sandbox.enabled "true" in /project/.claude/settings.json:3
    deny write /d  <- project: sandbox.filesystem.denyWrite "/d" in /project/.claude/settings.json:5
    deny read /r  <- project: sandbox.filesystem.denyRead "/r" in /project/.claude/settings.json:5
    deny read /s  <- project: permissions.deny "Read(//s)" in /project/.claude/settings.json:13
    deny read /c  <- project: sandbox.credentials.files "/c" in /project/.claude/settings.json:10
    deny host bad.test  <- project: sandbox.network.deniedDomains "bad.test" in /project/.claude/settings.json:7
    hide variable V  <- project: sandbox.credentials.envVars "V" in /project/.claude/settings.json:10
    deny Bash(curl *)  <- project: permissions.deny "Bash(curl *)" in /project/.claude/settings.json:13
    deny Read(//s)  <- project: permissions.deny "Read(//s)" in /project/.claude/settings.json:13
    ask Bash(git push *)  <- project: permissions.ask "Bash(git push *)" in /project/.claude/settings.json:13
    permissions.disableAutoMode disable  <- project: permissions.disableAutoMode "disable" in /project/.claude/settings.json:14
    dropped: project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:3 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.autoAllowBashIfSandboxed "true" in /project/.claude/settings.json:3 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:3 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.excludedCommands "docker *" in /project/.claude/settings.json:4 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.ignoreViolations "x" in /project/.claude/settings.json:4 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.filesystem.allowWrite "/w" in /project/.claude/settings.json:5 is left out: the project is not trusted, so only what tightens counts
    dropped: project: permissions.additionalDirectories "/extra" in /project/.claude/settings.json:14 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.filesystem.allowRead "/r/x" in /project/.claude/settings.json:5 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.network.allowedDomains "evil.test" in /project/.claude/settings.json:7 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.network.allowUnixSockets "/run/x" in /project/.claude/settings.json:7 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.json:8 is left out: the project is not trusted, so only what tightens counts
    dropped: project: sandbox.network.allowLocalBinding "true" in /project/.claude/settings.json:8 is left out: the project is not trusted, so only what tightens counts
    dropped: project: permissions.allow "Bash(rm *)" in /project/.claude/settings.json:13 is left out: the project is not trusted, so only what tightens counts
    dropped: project: permissions.allow "Edit(//e)" in /project/.claude/settings.json:13 is left out: the project is not trusted, so only what tightens counts
    dropped: project: permissions.defaultMode "acceptEdits" in /project/.claude/settings.json:14 is left out: the project is not trusted, so only what tightens counts
    warning: /project/.claude/settings.json:7:75: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    warning: /project/.claude/settings.json:8:40: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    warning: /project/.claude/settings.json:8:67: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are project settings
    "#);
}

#[test]
fn switches_that_tighten() {
    let text = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": false,
      "allowUnsandboxedCommands": false, "network": {"allowAllUnixSockets": false}}}"#;
    let user = r#"{"sandbox": {"enabled": false, "failIfUnavailable": false, "autoAllowBashIfSandboxed": true,
      "allowUnsandboxedCommands": true, "network": {"allowAllUnixSockets": true}}}"#;
    assert_snapshot!(untrusted(&[(PROJECT, text), (USER, user)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    fail if unavailable = true  <- project: sandbox.failIfUnavailable "true" in /project/.claude/settings.json:1
    auto-allow = false  <- project: sandbox.autoAllowBashIfSandboxed "false" in /project/.claude/settings.json:1
    allow unsandboxed = false  <- project: sandbox.allowUnsandboxedCommands "false" in /project/.claude/settings.json:2
    sandbox.network.allowAllUnixSockets false  <- project: sandbox.network.allowAllUnixSockets "false" in /project/.claude/settings.json:2
    "#);
}

/// A repository can commit a local file, too.
#[test]
fn a_local_file_is_the_repositorys() {
    assert_snapshot!(untrusted(&[(LOCAL, r#"{"sandbox": {"enabled": false}, "permissions": {"allow": ["Bash"]}}"#), (USER, r#"{"sandbox": {"enabled": true}}"#)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    dropped: local: sandbox.enabled "false" in /project/.claude/settings.local.json:1 is left out: the project is not trusted, so only what tightens counts
    dropped: local: permissions.allow "Bash" in /project/.claude/settings.local.json:1 is left out: the project is not trusted, so only what tightens counts
    "#);
}

/// What runs inside a sandbox skips its approval. So a sandbox that only such a project switched on must not waive any.
#[test]
fn a_sandbox_that_it_switches_on_waives_no_approval() {
    let on = r#"{"sandbox": {"enabled": true}}"#;
    assert_snapshot!(untrusted(&[(PROJECT, on)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    auto-allow = false  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    "#);
    assert_snapshot!(untrusted(&[(PROJECT, on), (USER, r#"{"sandbox": {"enabled": false, "autoAllowBashIfSandboxed": true}}"#)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    auto-allow = false  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    dropped: user: sandbox.autoAllowBashIfSandboxed "true" in /home/.claude/settings.json:1 is left out: sandbox.enabled "true" in /project/.claude/settings.json:1 of a project that is not trusted switched the sandbox on, so that waives no approval
    "#);
    assert_snapshot!(untrusted(&[(PROJECT, on), (MANAGED, r#"{"sandbox": {"autoAllowBashIfSandboxed": true}}"#)]), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    auto-allow = false  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1
    dropped: managed: sandbox.autoAllowBashIfSandboxed "true" in /etc/claude-code/managed-settings.json:1 is left out: sandbox.enabled "true" in /project/.claude/settings.json:1 of a project that is not trusted switched the sandbox on, so that waives no approval
    "#);
    assert_snapshot!(untrusted(&[(PROJECT, on), (USER, on)]), @r#"enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1"#);
}

/// The other layers are as they are, and locks hold besides.
#[test]
fn the_user_is_trusted_all_the_same() {
    assert_snapshot!(untrusted(&[
        (MANAGED, r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true}}}"#),
        (USER, r#"{"sandbox": {"filesystem": {"allowWrite": ["/u"]}, "network": {"allowedDomains": ["u.test"]}}, "permissions": {"allow": ["Bash(ls)"]}}"#),
        (PROJECT, r#"{"sandbox": {"network": {"allowedDomains": ["p.test"]}}}"#),
    ]), @r#"
    strict = true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowManagedDomainsOnly true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    allow write /u  <- user: sandbox.filesystem.allowWrite "/u" in /home/.claude/settings.json:1
    allow Bash(ls)  <- user: permissions.allow "Bash(ls)" in /home/.claude/settings.json:1
    dropped: project: sandbox.network.allowedDomains "p.test" in /project/.claude/settings.json:1 is left out: the project is not trusted, so only what tightens counts
    dropped: user: sandbox.network.allowedDomains "u.test" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    "#);
}

/// Nothing runs on half of a project's settings, trusted or not: the half that cannot be read may hold a deny.
#[test]
fn malformed_settings_stop_everything() {
    assert_snapshot!(untrusted(&[(PROJECT, r#"{"permissions": {"deny": ["Read(~root/x)"]}}"#)]), @r#"error: /project/.claude/settings.json:1:27: permissions.deny: "Read(~root/x)": names another user's home directory; write the directory's full path instead"#);
    assert_snapshot!(untrusted(&[(LOCAL, "{")]), @r#"error: /project/.claude/settings.local.json:1:2: expected "}" or another key, but the text ends"#);
}
