//! What people reported of sandboxes that read such settings, each as settings and what comes of them. A comment says so
//! where the right answer is another one than was asked for.

use crate::fixture::{LOCAL, MANAGED, PROJECT, USER, merged, project, with};
use insta::assert_snapshot;
use palisade_permissions::spell_path;
use palisade_policy::AbsPath;
use palisade_settings::{Extra, Flags};

/// A name at any depth is a file or a directory; of a directory all that is below is hidden. That hides a source
/// directory of the name, too: it is what the rule says, and the violation names the rule.
#[test]
fn a_rule_that_names_a_file_covers_a_directory_of_that_name() {
    let loaded = with(&[(PROJECT, r#"{"permissions": {"deny": ["Read(**/token)"]}}"#)]);
    let policy = loaded.load().expect("valid").policy;
    let denied = loaded.abs("/cwd/internal/token/token.go");
    let verdict = policy.files.judge(palisade_policy::Access::Read, &denied);
    assert_snapshot!(verdict.rule.expect("a rule decides").origin.to_string().replace(&loaded.abs("/").to_string(), ""), @r#"permissions.deny "Read(**/token)" in /project/.claude/settings.json:1"#);
}

#[test]
fn a_lock_on_rules_drops_those_of_other_layers() {
    assert_snapshot!(merged(&[
        (MANAGED, r#"{"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["Bash(ls:*)"]}}"#),
        (USER, r#"{"permissions": {"allow": ["Bash(rm:*)"]}}"#),
    ]), @r#"
    allowManagedPermissionRulesOnly true  <- managed: allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1
    allow Bash(ls *)  <- managed: permissions.allow "Bash(ls:*)" in /etc/claude-code/managed-settings.json:1
    dropped: user: permissions.allow "Bash(rm:*)" in /home/.claude/settings.json:1 is left out: only managed rules count, by allowManagedPermissionRulesOnly "true" in /etc/claude-code/managed-settings.json:1; what a deny closes to the sandbox stays closed
    "#);
}

/// The engine of the rules sees `cat .env`; a program that opens it is stopped by the sandbox, which has the path, too.
#[test]
fn a_read_deny_is_a_deny_of_the_sandbox() {
    assert_snapshot!(project(r#"{"permissions": {"deny": ["Read(./.env)"]}}"#), @r#"
    deny read /cwd/.env  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    deny Read(./.env)  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    "#);
}

/// As it is written: the template is hidden, too. Nothing takes something out of a rule; name the files one by one.
#[test]
fn a_wildcard_covers_what_it_matches() {
    assert_snapshot!(project(r#"{"permissions": {"deny": ["Read(.env*)"]}}"#), @r#"
    deny read /cwd/**/.env* (wildcards)  <- project: permissions.deny "Read(.env*)" in /project/.claude/settings.json:1
    deny Read(.env*)  <- project: permissions.deny "Read(.env*)" in /project/.claude/settings.json:1
    "#);
}

/// A `.env` file is no settings file: nothing of it is read, allowed or denied.
#[test]
fn a_projects_env_file_is_not_read() {
    assert_snapshot!(merged(&[
        ("/project/.env", "SECRET=1\n"),
        (PROJECT, r#"{"permissions": {"deny": ["Read(./.env)"]}}"#),
    ]), @r#"
    deny read /cwd/.env  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    deny Read(./.env)  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    "#);
}

#[test]
fn absolute_paths_of_the_sandbox_are_absolute_in_every_layer() {
    let text =
        r#"{"sandbox": {"filesystem": {"allowWrite": ["/srv/cache/uv"], "denyRead": ["//srv/secret"]}}}"#;
    for file in [MANAGED, LOCAL, PROJECT, USER] {
        let printed = merged(&[(file, text)]);
        assert!(printed.contains("allow write /srv/cache/uv "), "{printed}");
        assert!(printed.contains("deny read /srv/secret "), "{printed}");
    }
}

/// A deny of nothing is told to whoever checks the file, not at every command: most are precautions. A home directory
/// that nobody can find out is an error.
#[test]
fn a_deny_that_names_nothing() {
    let fixture = with(&[(
        USER,
        r#"{"sandbox": {"filesystem": {"denyWrite": ["/nowhere/.ssh"], "denyRead": [".ssh"]}}, "permissions":
            {"deny": ["Edit(//nowhere/x)", "Edit(/y)", "Read(//nowhere/x)", "Edit(/loop/x)", "Read(/loop/x)"]}}"#,
    )]);
    // Nobody can tell what is there.
    std::os::unix::fs::symlink("loop", fixture.path("/home/.claude/loop")).expect("own directory");
    let path = fixture.abs(USER);
    let findings = palisade_settings::check_file(&path, palisade_policy::Layer::User, &fixture.places);
    let warnings: String = findings.warnings.iter().map(|warning| format!("{warning}\n")).collect();
    assert_snapshot!(warnings.replace(&fixture.abs("/").to_string(), ""), @"
    /home/.claude/settings.json:1:43: sandbox.filesystem.denyWrite: names nothing now: /nowhere/.ssh does not exist
    /home/.claude/settings.json:1:74: sandbox.filesystem.denyRead: denies nothing now: /home/.claude/.ssh does not exist
    /home/.claude/settings.json:2:23: permissions.deny: names nothing now: /nowhere/x does not exist
    /home/.claude/settings.json:2:44: permissions.deny: names nothing now: /home/.claude/y does not exist; in this file a single slash starts at /home/.claude, ./ at the working directory, // at the file system's root
    /home/.claude/settings.json:2:56: permissions.deny: denies nothing now: /nowhere/x does not exist
    ");
    fixture.write(
        USER,
        r#"{"sandbox": {"filesystem": {"denyWrite": ["/nowhere/.ssh"], "denyRead": [".ssh"]}}}"#,
    );
    assert_snapshot!(fixture.print(), @r#"
    deny write /nowhere/.ssh  <- user: sandbox.filesystem.denyWrite "/nowhere/.ssh" in /home/.claude/settings.json:1
    deny read /home/.claude/.ssh  <- user: sandbox.filesystem.denyRead ".ssh" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(USER, r#"{"sandbox": {"filesystem": {"denyRead": ["~nosuchuser/x"]}}}"#)]), @r#"error: /home/.claude/settings.json:1:42: sandbox.filesystem.denyRead: "~nosuchuser/x": names another user's home directory; write the directory's full path instead"#);
}

/// In a user's file a relative path starts at the file's directory, and a warning says so.
#[test]
fn a_dot_in_the_users_file() {
    assert_snapshot!(merged(&[(USER, r#"{"sandbox": {"filesystem": {"denyRead": ["~/"], "allowRead": ["."]}}}"#)]), @r#"
    deny read /home  <- user: sandbox.filesystem.denyRead "~/" in /home/.claude/settings.json:1
    allow read /home/.claude  <- user: sandbox.filesystem.allowRead "." in /home/.claude/settings.json:1
    warning: /home/.claude/settings.json:1:63: sandbox.filesystem.allowRead: "." means /home/.claude in this file, not the project
    "#);
}

/// Not where the file lies: where the command was started, as for every other option. In a project's file the same list
/// starts at the root.
#[test]
fn a_file_given_as_an_option() {
    let text = r#"{"sandbox": {"filesystem": {"denyWrite": ["./spec"]}}}"#;
    let mut fixture = with(&[("/cwd/cfg/sandbox.json", text)]);
    fixture.extras.push(Extra::File(fixture.abs("/cwd/cfg/sandbox.json")));
    assert_snapshot!(fixture.print(), @r#"deny write /cwd/spec  <- command line: sandbox.filesystem.denyWrite "./spec" in /cwd/cfg/sandbox.json:1"#);
    fixture.places.working_directory = fixture.places.root.clone();
    assert_snapshot!(fixture.print(), @r#"deny write /project/spec  <- command line: sandbox.filesystem.denyWrite "./spec" in /cwd/cfg/sandbox.json:1"#);
    assert_snapshot!(project(text), @r#"deny write /project/spec  <- project: sandbox.filesystem.denyWrite "./spec" in /project/.claude/settings.json:1"#);
}

/// An allow that is as broad as the deny opens nothing; the repository's is left out; under the lock the user's, too.
#[test]
fn reopening_what_an_administrator_hides() {
    let files = |lock: &str| {
        merged(&[
            (MANAGED, &format!(r#"{{"sandbox": {{"filesystem": {{{lock}"denyRead": ["~/"]}}}}}}"#)),
            (USER, r#"{"sandbox": {"filesystem": {"allowRead": ["~/"]}}}"#),
            (PROJECT, r#"{"sandbox": {"filesystem": {"allowRead": ["~/.ssh"]}}}"#),
        ])
    };
    assert_snapshot!(files(""), @r#"
    deny read /home  <- managed: sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1
    allow read /home  <- user: sandbox.filesystem.allowRead "~/" in /home/.claude/settings.json:1
    dropped: project: sandbox.filesystem.allowRead "~/.ssh" in /project/.claude/settings.json:1 is left out: it would open /home/.ssh, which sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1 hides
    "#);
    assert_snapshot!(files(r#""allowManagedReadPathsOnly": true, "#), @r#"
    sandbox.filesystem.allowManagedReadPathsOnly true  <- managed: sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    deny read /home  <- managed: sandbox.filesystem.denyRead "~/" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.filesystem.allowRead "~/.ssh" in /project/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.filesystem.allowRead "~/" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.filesystem.allowManagedReadPathsOnly "true" in /etc/claude-code/managed-settings.json:1
    "#);
}

/// A program that writes a rule for an absolute path has a function for it.
#[test]
fn a_rule_for_an_absolute_path() {
    let rule =
        |path: &str| format!("Edit({})", spell_path(&AbsPath::new(path).expect("absolute")).expect("UTF-8"));
    let text =
        serde_json::json!({"permissions": {"allow": ["Edit(/app/**)", rule("/app"), rule("/srv/a[1]*b")]}});
    assert_snapshot!(project(&text.to_string()), @r#"
    allow write /project/app  <- project: permissions.allow "Edit(/app/**)" in /project/.claude/settings.json:1
    allow write /app  <- project: permissions.allow "Edit(//app/**)" in /project/.claude/settings.json:1
    allow write /srv/a[1]*b  <- project: permissions.allow "Edit(//srv/a\\[1\\]\\*b/**)" in /project/.claude/settings.json:1
    allow Edit(/app/**)  <- project: permissions.allow "Edit(/app/**)" in /project/.claude/settings.json:1
    allow Edit(//app/**)  <- project: permissions.allow "Edit(//app/**)" in /project/.claude/settings.json:1
    allow Edit(//srv/a\[1\]\*b/**)  <- project: permissions.allow "Edit(//srv/a\\[1\\]\\*b/**)" in /project/.claude/settings.json:1
    "#);
}

#[test]
fn keys_of_the_user_in_a_projects_file() {
    assert_snapshot!(project(r#"{"sandbox": {"network": {"strictAllowlist": true}, "filesystem": {"disabled": true}, "bwrapPath": "/x"}}"#), @"
    warning: /project/.claude/settings.json:1:26: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are project settings
    warning: /project/.claude/settings.json:1:67: sandbox.filesystem.disabled: left out: it counts from the user's and managed settings only, and these are project settings
    warning: /project/.claude/settings.json:1:86: sandbox.bwrapPath: left out: it counts from managed settings only, and these are project settings
    ");
}

/// Where nobody requires the sandbox, a trusted repository's switches count; where an administrator does, none has an
/// effect.
#[test]
fn a_repository_that_switches_everything_off() {
    let off = r#"{"sandbox": {"enabled": false, "failIfUnavailable": false, "allowUnsandboxedCommands": true,
        "network": {"allowAllUnixSockets": true}}}"#;
    let on = r#"{"sandbox": {"enabled": true}}"#;
    assert_snapshot!(merged(&[(USER, on), (PROJECT, off)]), @r#"
    enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:1
    fail if unavailable = false  <- project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:1
    allow unsandboxed = true  <- project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:1
    sandbox.network.allowAllUnixSockets true  <- project: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.json:2
    every Unix socket is open
    "#);
    assert_snapshot!(merged(&[(MANAGED, r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#), (USER, on), (PROJECT, off)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    allow unsandboxed = false  <- managed: sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.allowUnsandboxedCommands "true" in /project/.claude/settings.json:1 is left out: a repository cannot undo sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowAllUnixSockets "true" in /project/.claude/settings.json:2 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.enabled "false" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.allowUnsandboxedCommands "false" in /etc/claude-code/managed-settings.json:1
    "#);
}

/// A call's own list is refused by `strict`, which the lock implies.
#[test]
fn a_lock_on_domains() {
    let allows = |host: &str| {
        format!(
            r#"{{"sandbox": {{"network": {{"allowedDomains": ["{host}"]}}}}, "permissions": {{"allow": ["WebFetch(domain:web-{host})"]}}}}"#
        )
    };
    assert_snapshot!(merged(&[
        (MANAGED, r#"{"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["a.test"]}}}"#),
        (LOCAL, &allows("local.test")),
        (PROJECT, &allows("project.test")),
        (USER, r#"{"sandbox": {"network": {"allowedDomains": ["b.test"], "deniedDomains": ["d.test"]}}}"#),
    ]), @r#"
    strict = true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    sandbox.network.allowManagedDomainsOnly true  <- managed: sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    allow host a.test  <- managed: sandbox.network.allowedDomains "a.test" in /etc/claude-code/managed-settings.json:1
    deny host d.test  <- user: sandbox.network.deniedDomains "d.test" in /home/.claude/settings.json:1
    dropped: local: sandbox.network.allowedDomains "local.test" in /project/.claude/settings.local.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: local: permissions.allow "WebFetch(domain:web-local.test)" in /project/.claude/settings.local.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: sandbox.network.allowedDomains "project.test" in /project/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: project: permissions.allow "WebFetch(domain:web-project.test)" in /project/.claude/settings.json:1 is left out: a repository cannot loosen the sandbox that managed settings require, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    dropped: user: sandbox.network.allowedDomains "b.test" in /home/.claude/settings.json:1 is left out: only managed settings count here, by sandbox.network.allowManagedDomainsOnly "true" in /etc/claude-code/managed-settings.json:1
    "#);
}

/// Files that do not exist are no settings. That no command can make them is for the sandbox.
#[test]
fn settings_that_are_not_there() {
    assert_snapshot!(merged(&[("/project/.mcp.json", "{}"), ("/.claude/settings.json", r#"{"sandbox": {"enabled": true}}"#)]), @"");
}

/// Never without effect: on Linux the launch is refused, and loading says so before.
#[test]
#[cfg(target_os = "linux")]
fn a_write_deny_with_a_wildcard() {
    assert_snapshot!(project(r#"{"sandbox": {"filesystem": {"denyWrite": ["./p/**/secret.cfg"]}}}"#), @r#"
    deny write /project/p/**/secret.cfg (wildcards)  <- project: sandbox.filesystem.denyWrite "./p/**/secret.cfg" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:43: sandbox.filesystem.denyWrite: every command is refused while this stands: "./p/**/secret.cfg" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    "#);
}

/// `**/.env` starts where the file's paths start, wherever a command runs; `/**/.env` is everywhere.
#[test]
fn a_pattern_at_any_depth_starts_somewhere() {
    assert_snapshot!(project(r#"{"sandbox": {"filesystem": {"denyRead": ["**/.env", "/**/.envrc"]}}}"#), @r#"
    deny read /project/**/.env (wildcards)  <- project: sandbox.filesystem.denyRead "**/.env" in /project/.claude/settings.json:1
    deny read /**/.envrc (wildcards)  <- project: sandbox.filesystem.denyRead "/**/.envrc" in /project/.claude/settings.json:1
    "#);
}

/// Directories that a program supplies are names, whatever they are spelled with; a pattern can escape, and one that is
/// written without that covers what is called so all the same.
#[test]
fn brackets_in_the_name_of_the_root() {
    let mut fixture = with(&[(
        "/app[1]/.claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyRead": ["secret", "*.pem", "/x\\[1\\]/*", "/y[1]/z", "/y[1]/*.c"]}}}"#,
    )]);
    fixture.places.root = fixture.abs("/app[1]");
    assert_snapshot!(fixture.print(), @r#"
    deny read /app[1]/secret  <- project: sandbox.filesystem.denyRead "secret" in /app[1]/.claude/settings.json:1
    deny read /app[1]/*.pem (wildcards)  <- project: sandbox.filesystem.denyRead "*.pem" in /app[1]/.claude/settings.json:1
    deny read /x\\[1\\]/* (wildcards)  <- project: sandbox.filesystem.denyRead "/x\\[1\\]/*" in /app[1]/.claude/settings.json:1
    deny read /y[1]/z (wildcards)  <- project: sandbox.filesystem.denyRead "/y[1]/z" in /app[1]/.claude/settings.json:1
    deny read /y[1]/*.c (wildcards)  <- project: sandbox.filesystem.denyRead "/y[1]/*.c" in /app[1]/.claude/settings.json:1
    "#);
    let policy = fixture.load().expect("valid").policy;
    let absolute = |path: &str| AbsPath::new(path).expect("absolute");
    for (path, denied) in [
        (fixture.abs("/app[1]/secret"), true),
        (fixture.abs("/app[1]/a.pem"), true),
        (fixture.abs("/app1/secret"), false),
        (fixture.abs("/app1/a.pem"), false),
        (absolute("/y[1]/z"), true),
        (absolute("/y[1]/a.c"), true),
        (absolute("/y1/z"), true),
        (absolute("/y[2]/z"), false),
    ] {
        let effect = policy.files.judge(palisade_policy::Access::Read, &path).effect;
        assert_eq!(effect == palisade_policy::Effect::Deny, denied, "{path}");
    }
}

/// As an allow, what cannot be read costs itself, and what opens nearly everything is spoken of; as a deny, what cannot
/// be read is an error.
#[test]
fn odd_host_patterns() {
    const ODD: [&str; 6] = ["*.", "*", ".*.foo.com", "*.*.example.com", "a*.example.com", "*.com"];
    let list =
        |key: &str, entries: &[&str]| serde_json::json!({"sandbox": {"network": {key: entries}}}).to_string();
    assert_snapshot!(project(&list("allowedDomains", &ODD)), @r#"
    allow host *  <- project: sandbox.network.allowedDomains "*" in /project/.claude/settings.json:1
    allow host *.com  <- project: sandbox.network.allowedDomains "*.com" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:42: sandbox.network.allowedDomains: "*.": starts or ends with a dot; write "*." in front to cover the names below a host; left out
    warning: /project/.claude/settings.json:1:47: sandbox.network.allowedDomains: * opens the network to nearly everybody; what a command can read can leave
    warning: /project/.claude/settings.json:1:51: sandbox.network.allowedDomains: ".*.foo.com": starts or ends with a dot; write "*." in front to cover the names below a host; left out
    warning: /project/.claude/settings.json:1:64: sandbox.network.allowedDomains: "*.*.example.com": has more than one *; left out
    warning: /project/.claude/settings.json:1:82: sandbox.network.allowedDomains: "a*.example.com": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"; left out
    warning: /project/.claude/settings.json:1:99: sandbox.network.allowedDomains: *.com opens the network to nearly everybody; what a command can read can leave
    "#);
    // A rule opens no less.
    assert_snapshot!(project(r#"{"permissions": {"allow": ["WebFetch(domain:*)"], "deny": ["WebFetch(domain:*:22)"]}}"#), @r#"
    allow host *  <- project: permissions.allow "WebFetch(domain:*)" in /project/.claude/settings.json:1
    deny host *:22  <- project: permissions.deny "WebFetch(domain:*:22)" in /project/.claude/settings.json:1
    deny WebFetch(domain:*:22)  <- project: permissions.deny "WebFetch(domain:*:22)" in /project/.claude/settings.json:1
    allow WebFetch(domain:*)  <- project: permissions.allow "WebFetch(domain:*)" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:28: permissions.allow: * opens the network to nearly everybody; what a command can read can leave
    "#);
    assert_snapshot!(ODD.map(|entry| format!("{entry}\n  {}", project(&list("deniedDomains", &[entry])))).concat(), @r#"
    *.
      error: /project/.claude/settings.json:1:41: sandbox.network.deniedDomains: "*.": starts or ends with a dot; write "*." in front to cover the names below a host
    *
      deny host *  <- project: sandbox.network.deniedDomains "*" in /project/.claude/settings.json:1
    .*.foo.com
      error: /project/.claude/settings.json:1:41: sandbox.network.deniedDomains: ".*.foo.com": starts or ends with a dot; write "*." in front to cover the names below a host
    *.*.example.com
      error: /project/.claude/settings.json:1:41: sandbox.network.deniedDomains: "*.*.example.com": has more than one *
    a*.example.com
      error: /project/.claude/settings.json:1:41: sandbox.network.deniedDomains: "a*.example.com": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"
    *.com
      deny host *.com  <- project: sandbox.network.deniedDomains "*.com" in /project/.claude/settings.json:1
    "#);
}

/// An error where its loss would leave something open. In an allow it costs itself.
#[test]
fn a_colon_and_star_in_the_middle() {
    assert_snapshot!(project(r#"{"permissions": {"ask": ["Bash(npm:* publish)"]}}"#), @r#"error: /project/.claude/settings.json:1:26: permissions.ask: "Bash(npm:* publish)": has ":*" elsewhere than at its end, where it would match nothing; write " *""#);
    assert_snapshot!(project(r#"{"permissions": {"deny": ["Bash(a:*b)"]}}"#), @r#"error: /project/.claude/settings.json:1:27: permissions.deny: "Bash(a:*b)": has ":*" elsewhere than at its end, where it would match nothing; write " *""#);
    assert_snapshot!(project(r#"{"permissions": {"allow": ["Bash(npm:* publish)", "Bash(ls)"]}}"#), @r#"
    allow Bash(ls)  <- project: permissions.allow "Bash(ls)" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:28: permissions.allow: "Bash(npm:* publish)": has ":*" elsewhere than at its end, where it would match nothing; write " *"; left out
    "#);
}

#[test]
fn one_rule_that_cannot_be_read() {
    assert_snapshot!(project(r#"{"permissions": {"allow": ["Bash(git commit -m *)bad", "Bash(ls)"], "deny": ["Bash(git add .)"]}}"#), @r#"
    deny Bash(git add .)  <- project: permissions.deny "Bash(git add .)" in /project/.claude/settings.json:1
    allow Bash(ls)  <- project: permissions.allow "Bash(ls)" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:28: permissions.allow: "Bash(git commit -m *)bad": does not end with the ")" of its pattern; close it, and put nothing behind it; left out
    "#);
}

/// A deny of `Write` is one of editing, so the write list has it. `Glob` is about that tool's calls alone.
#[test]
fn rules_of_other_file_tools() {
    assert_snapshot!(project(r#"{"permissions": {"deny": ["Write(//etc/**)", "Glob(**/dist/**)"], "allow": ["Write(docs/**)"]}}"#), @r#"
    deny write /etc  <- project: permissions.deny "Write(//etc/**)" in /project/.claude/settings.json:1
    deny Write(//etc/**)  <- project: permissions.deny "Write(//etc/**)" in /project/.claude/settings.json:1
    deny Glob(**/dist/**)  <- project: permissions.deny "Glob(**/dist/**)" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:77: permissions.allow: "Write(docs/**)": covers nothing, since paths are allowed to this tool by "Edit(…)" rules; write "Edit(docs/**)"; left out
    "#);
}

#[test]
fn every_rule_knows_its_file() {
    assert_snapshot!(merged(&[
        (MANAGED, "{\"permissions\": {\"deny\": [\n  \"Bash(ssh:*)\"\n]}}"),
        (USER, "{\"sandbox\": {\"filesystem\": {\"denyRead\": [\n\n  \"~/.ssh\"]},\n \"network\": {\"deniedDomains\": [\"x.test\"]}}}"),
    ]), @r#"
    deny read /home/.ssh  <- user: sandbox.filesystem.denyRead "~/.ssh" in /home/.claude/settings.json:3
    deny host x.test  <- user: sandbox.network.deniedDomains "x.test" in /home/.claude/settings.json:4
    deny Bash(ssh *)  <- managed: permissions.deny "Bash(ssh:*)" in /etc/claude-code/managed-settings.json:2
    "#);
}

#[test]
fn each_switch_comes_from_the_highest_layer_that_sets_it() {
    let managed = r#"{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true}}"#;
    assert_snapshot!(merged(&[(MANAGED, managed)]), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/claude-code/managed-settings.json:1
    auto-allow = true  <- managed: sandbox.autoAllowBashIfSandboxed "true" in /etc/claude-code/managed-settings.json:1
    "#);
    assert_snapshot!(merged(&[(MANAGED, managed), (USER, r#"{"sandbox": {"autoAllowBashIfSandboxed": false, "failIfUnavailable": false}}"#)]), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/claude-code/managed-settings.json:1
    fail if unavailable = false  <- user: sandbox.failIfUnavailable "false" in /home/.claude/settings.json:1
    auto-allow = true  <- managed: sandbox.autoAllowBashIfSandboxed "true" in /etc/claude-code/managed-settings.json:1
    "#);
}

#[test]
fn misnamed_keys() {
    assert_snapshot!(project(r#"{"sandbox": {"network": {"allow": ["a.test"]}, "additionalAllowedHosts": ["b.test"]}}"#), @"
    warning: /project/.claude/settings.json:1:26: sandbox.network.allow: is not a key; left out; did you mean sandbox.network.allowedDomains?
    warning: /project/.claude/settings.json:1:48: sandbox.additionalAllowedHosts: is not a key; left out
    ");
    assert_snapshot!(project(r#"{"sandbox": {"network": {"blockedHosts": ["c.test"]}}}"#), @"error: /project/.claude/settings.json:1:26: sandbox.network.blockedHosts: is not a key, so it denies nothing; write sandbox.network.deniedDomains");
}

/// An option is the user's, above the files.
#[test]
fn hosts_given_as_options() {
    let mut fixture = with(&[(PROJECT, r#"{"sandbox": {"network": {"deniedDomains": ["a.test"]}}}"#)]);
    fixture.flags =
        Flags { allow_host: vec!["a.test".into()], deny_host: vec!["::1:80".into()], ..Flags::default() };
    assert_snapshot!(fixture.print(), @r#"
    allow host a.test  <- command line: --allow-host "a.test"
    deny host [::1:80]  <- command line: --deny-host "::1:80"
    deny host [::1]:80  <- command line: --deny-host "::1:80"
    deny host a.test  <- project: sandbox.network.deniedDomains "a.test" in /project/.claude/settings.json:1
    "#);
}
