//! Permission rules: where their paths start, what they add to the sandbox's lists, and what they do not.

use crate::fixture::{Fixture, LOCAL, MANAGED, PROJECT, USER, merged, project, with};
use insta::assert_snapshot;
use palisade_settings::Extra;

#[test]
fn what_rules_add_to_the_lists() {
    assert_snapshot!(project(r#"{"permissions": {
      "allow": ["Edit(//tmp/build/**)", "Read(//opt/**)", "WebFetch(domain:docs.test)", "WebFetch(domain:*.cdn.test)", "Edit", "WebFetch", "Bash(npm *)"],
      "ask": ["Edit(//asked)", "Read(//asked)", "WebFetch(domain:asked.test)"],
      "deny": ["Edit(//etc/**)", "Read(~/.ssh/**)", "WebFetch(domain:evil.test)", "Edit", "Read", "Bash(curl *)"],
      "additionalDirectories": ["../docs/", "~/notes", "/srv/[x]"]
    }}"#), @r#"
    allow write /tmp/build  <- project: permissions.allow "Edit(//tmp/build/**)" in /project/.claude/settings.json:2
    allow write /docs  <- project: permissions.additionalDirectories "../docs/" in /project/.claude/settings.json:5
    allow write /home/notes  <- project: permissions.additionalDirectories "~/notes" in /project/.claude/settings.json:5
    allow write /srv/[x]  <- project: permissions.additionalDirectories "/srv/[x]" in /project/.claude/settings.json:5
    deny write /etc  <- project: permissions.deny "Edit(//etc/**)" in /project/.claude/settings.json:4
    deny read /home/.ssh  <- project: permissions.deny "Read(~/.ssh/**)" in /project/.claude/settings.json:4
    allow host docs.test  <- project: permissions.allow "WebFetch(domain:docs.test)" in /project/.claude/settings.json:2
    allow host *.cdn.test  <- project: permissions.allow "WebFetch(domain:*.cdn.test)" in /project/.claude/settings.json:2
    deny host evil.test  <- project: permissions.deny "WebFetch(domain:evil.test)" in /project/.claude/settings.json:4
    deny Edit(//etc/**)  <- project: permissions.deny "Edit(//etc/**)" in /project/.claude/settings.json:4
    deny Read(~/.ssh/**)  <- project: permissions.deny "Read(~/.ssh/**)" in /project/.claude/settings.json:4
    deny WebFetch(domain:evil.test)  <- project: permissions.deny "WebFetch(domain:evil.test)" in /project/.claude/settings.json:4
    deny Edit  <- project: permissions.deny "Edit" in /project/.claude/settings.json:4
    deny Read  <- project: permissions.deny "Read" in /project/.claude/settings.json:4
    deny Bash(curl *)  <- project: permissions.deny "Bash(curl *)" in /project/.claude/settings.json:4
    ask Edit(//asked)  <- project: permissions.ask "Edit(//asked)" in /project/.claude/settings.json:3
    ask Read(//asked)  <- project: permissions.ask "Read(//asked)" in /project/.claude/settings.json:3
    ask WebFetch(domain:asked.test)  <- project: permissions.ask "WebFetch(domain:asked.test)" in /project/.claude/settings.json:3
    allow Edit(//tmp/build/**)  <- project: permissions.allow "Edit(//tmp/build/**)" in /project/.claude/settings.json:2
    allow Read(//opt/**)  <- project: permissions.allow "Read(//opt/**)" in /project/.claude/settings.json:2
    allow WebFetch(domain:docs.test)  <- project: permissions.allow "WebFetch(domain:docs.test)" in /project/.claude/settings.json:2
    allow WebFetch(domain:*.cdn.test)  <- project: permissions.allow "WebFetch(domain:*.cdn.test)" in /project/.claude/settings.json:2
    allow Edit  <- project: permissions.allow "Edit" in /project/.claude/settings.json:2
    allow WebFetch  <- project: permissions.allow "WebFetch" in /project/.claude/settings.json:2
    allow Bash(npm *)  <- project: permissions.allow "Bash(npm *)" in /project/.claude/settings.json:2
    directory /docs  <- project: permissions.additionalDirectories "../docs/" in /project/.claude/settings.json:5
    directory /home/notes  <- project: permissions.additionalDirectories "~/notes" in /project/.claude/settings.json:5
    directory /srv/[x]  <- project: permissions.additionalDirectories "/srv/[x]" in /project/.claude/settings.json:5
    "#);
}

/// Where the paths of rules start, layer by layer. The working directory is `/cwd`.
#[test]
fn where_paths_of_rules_start() {
    let text = r#"{"permissions": {"deny": ["Read(//abs)", "Read(~/h)", "Read(/source)", "Read(./here)", "Read(a/b)", "Read(bare)", "Read(src/**)"]}}"#;
    assert_snapshot!(merged(&[(PROJECT, text)]), @r#"
    deny read /abs  <- project: permissions.deny "Read(//abs)" in /project/.claude/settings.json:1
    deny read /home/h  <- project: permissions.deny "Read(~/h)" in /project/.claude/settings.json:1
    deny read /project/source  <- project: permissions.deny "Read(/source)" in /project/.claude/settings.json:1
    deny read /cwd/here  <- project: permissions.deny "Read(./here)" in /project/.claude/settings.json:1
    deny read /cwd/a/b  <- project: permissions.deny "Read(a/b)" in /project/.claude/settings.json:1
    deny read /cwd/**/bare (wildcards)  <- project: permissions.deny "Read(bare)" in /project/.claude/settings.json:1
    deny read /cwd/**/src (wildcards)  <- project: permissions.deny "Read(src/**)" in /project/.claude/settings.json:1
    deny Read(//abs)  <- project: permissions.deny "Read(//abs)" in /project/.claude/settings.json:1
    deny Read(~/h)  <- project: permissions.deny "Read(~/h)" in /project/.claude/settings.json:1
    deny Read(/source)  <- project: permissions.deny "Read(/source)" in /project/.claude/settings.json:1
    deny Read(./here)  <- project: permissions.deny "Read(./here)" in /project/.claude/settings.json:1
    deny Read(a/b)  <- project: permissions.deny "Read(a/b)" in /project/.claude/settings.json:1
    deny Read(bare)  <- project: permissions.deny "Read(bare)" in /project/.claude/settings.json:1
    deny Read(src/**)  <- project: permissions.deny "Read(src/**)" in /project/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(LOCAL, text)]), @r#"
    deny read /abs  <- local: permissions.deny "Read(//abs)" in /project/.claude/settings.local.json:1
    deny read /home/h  <- local: permissions.deny "Read(~/h)" in /project/.claude/settings.local.json:1
    deny read /project/source  <- local: permissions.deny "Read(/source)" in /project/.claude/settings.local.json:1
    deny read /cwd/here  <- local: permissions.deny "Read(./here)" in /project/.claude/settings.local.json:1
    deny read /cwd/a/b  <- local: permissions.deny "Read(a/b)" in /project/.claude/settings.local.json:1
    deny read /cwd/**/bare (wildcards)  <- local: permissions.deny "Read(bare)" in /project/.claude/settings.local.json:1
    deny read /cwd/**/src (wildcards)  <- local: permissions.deny "Read(src/**)" in /project/.claude/settings.local.json:1
    deny Read(//abs)  <- local: permissions.deny "Read(//abs)" in /project/.claude/settings.local.json:1
    deny Read(~/h)  <- local: permissions.deny "Read(~/h)" in /project/.claude/settings.local.json:1
    deny Read(/source)  <- local: permissions.deny "Read(/source)" in /project/.claude/settings.local.json:1
    deny Read(./here)  <- local: permissions.deny "Read(./here)" in /project/.claude/settings.local.json:1
    deny Read(a/b)  <- local: permissions.deny "Read(a/b)" in /project/.claude/settings.local.json:1
    deny Read(bare)  <- local: permissions.deny "Read(bare)" in /project/.claude/settings.local.json:1
    deny Read(src/**)  <- local: permissions.deny "Read(src/**)" in /project/.claude/settings.local.json:1
    "#);
    assert_snapshot!(merged(&[(USER, text)]), @r#"
    deny read /abs  <- user: permissions.deny "Read(//abs)" in /home/.claude/settings.json:1
    deny read /home/h  <- user: permissions.deny "Read(~/h)" in /home/.claude/settings.json:1
    deny read /home/.claude/source  <- user: permissions.deny "Read(/source)" in /home/.claude/settings.json:1
    deny read /cwd/here  <- user: permissions.deny "Read(./here)" in /home/.claude/settings.json:1
    deny read /cwd/a/b  <- user: permissions.deny "Read(a/b)" in /home/.claude/settings.json:1
    deny read /cwd/**/bare (wildcards)  <- user: permissions.deny "Read(bare)" in /home/.claude/settings.json:1
    deny read /cwd/**/src (wildcards)  <- user: permissions.deny "Read(src/**)" in /home/.claude/settings.json:1
    deny Read(//abs)  <- user: permissions.deny "Read(//abs)" in /home/.claude/settings.json:1
    deny Read(~/h)  <- user: permissions.deny "Read(~/h)" in /home/.claude/settings.json:1
    deny Read(/source)  <- user: permissions.deny "Read(/source)" in /home/.claude/settings.json:1
    deny Read(./here)  <- user: permissions.deny "Read(./here)" in /home/.claude/settings.json:1
    deny Read(a/b)  <- user: permissions.deny "Read(a/b)" in /home/.claude/settings.json:1
    deny Read(bare)  <- user: permissions.deny "Read(bare)" in /home/.claude/settings.json:1
    deny Read(src/**)  <- user: permissions.deny "Read(src/**)" in /home/.claude/settings.json:1
    warning: /home/.claude/settings.json:1:55: permissions.deny: denies nothing now: /home/.claude/source does not exist; in this file a single slash starts at /home/.claude, ./ at the working directory, // at the file system's root
    "#);
    assert_snapshot!(merged(&[(MANAGED, &text.replace(r#""Read(/source)", "#, ""))]), @r#"
    deny read /abs  <- managed: permissions.deny "Read(//abs)" in /etc/claude-code/managed-settings.json:1
    deny read /home/h  <- managed: permissions.deny "Read(~/h)" in /etc/claude-code/managed-settings.json:1
    deny read /cwd/here  <- managed: permissions.deny "Read(./here)" in /etc/claude-code/managed-settings.json:1
    deny read /cwd/a/b  <- managed: permissions.deny "Read(a/b)" in /etc/claude-code/managed-settings.json:1
    deny read /cwd/**/bare (wildcards)  <- managed: permissions.deny "Read(bare)" in /etc/claude-code/managed-settings.json:1
    deny read /cwd/**/src (wildcards)  <- managed: permissions.deny "Read(src/**)" in /etc/claude-code/managed-settings.json:1
    deny Read(//abs)  <- managed: permissions.deny "Read(//abs)" in /etc/claude-code/managed-settings.json:1
    deny Read(~/h)  <- managed: permissions.deny "Read(~/h)" in /etc/claude-code/managed-settings.json:1
    deny Read(./here)  <- managed: permissions.deny "Read(./here)" in /etc/claude-code/managed-settings.json:1
    deny Read(a/b)  <- managed: permissions.deny "Read(a/b)" in /etc/claude-code/managed-settings.json:1
    deny Read(bare)  <- managed: permissions.deny "Read(bare)" in /etc/claude-code/managed-settings.json:1
    deny Read(src/**)  <- managed: permissions.deny "Read(src/**)" in /etc/claude-code/managed-settings.json:1
    "#);
    let mut fixture = with(&[("/elsewhere/s.json", text)]);
    fixture.extras.push(Extra::File(fixture.abs("/elsewhere/s.json")));
    assert_snapshot!(fixture.print(), @r#"
    deny read /abs  <- command line: permissions.deny "Read(//abs)" in /elsewhere/s.json:1
    deny read /home/h  <- command line: permissions.deny "Read(~/h)" in /elsewhere/s.json:1
    deny read /elsewhere/source  <- command line: permissions.deny "Read(/source)" in /elsewhere/s.json:1
    deny read /cwd/here  <- command line: permissions.deny "Read(./here)" in /elsewhere/s.json:1
    deny read /cwd/a/b  <- command line: permissions.deny "Read(a/b)" in /elsewhere/s.json:1
    deny read /cwd/**/bare (wildcards)  <- command line: permissions.deny "Read(bare)" in /elsewhere/s.json:1
    deny read /cwd/**/src (wildcards)  <- command line: permissions.deny "Read(src/**)" in /elsewhere/s.json:1
    deny Read(//abs)  <- command line: permissions.deny "Read(//abs)" in /elsewhere/s.json:1
    deny Read(~/h)  <- command line: permissions.deny "Read(~/h)" in /elsewhere/s.json:1
    deny Read(/source)  <- command line: permissions.deny "Read(/source)" in /elsewhere/s.json:1
    deny Read(./here)  <- command line: permissions.deny "Read(./here)" in /elsewhere/s.json:1
    deny Read(a/b)  <- command line: permissions.deny "Read(a/b)" in /elsewhere/s.json:1
    deny Read(bare)  <- command line: permissions.deny "Read(bare)" in /elsewhere/s.json:1
    deny Read(src/**)  <- command line: permissions.deny "Read(src/**)" in /elsewhere/s.json:1
    warning: /elsewhere/s.json:1:55: permissions.deny: denies nothing now: /elsewhere/source does not exist; in this file a single slash starts at /elsewhere, ./ at the working directory, // at the file system's root
    "#);
    let mut fixture = with(&[]);
    fixture.extras.push(Extra::Json(text.into()));
    assert_snapshot!(fixture.print(), @r#"
    deny read /abs  <- command line: permissions.deny "Read(//abs)" in --settings:1
    deny read /home/h  <- command line: permissions.deny "Read(~/h)" in --settings:1
    deny read /cwd/source  <- command line: permissions.deny "Read(/source)" in --settings:1
    deny read /cwd/here  <- command line: permissions.deny "Read(./here)" in --settings:1
    deny read /cwd/a/b  <- command line: permissions.deny "Read(a/b)" in --settings:1
    deny read /cwd/**/bare (wildcards)  <- command line: permissions.deny "Read(bare)" in --settings:1
    deny read /cwd/**/src (wildcards)  <- command line: permissions.deny "Read(src/**)" in --settings:1
    deny Read(//abs)  <- command line: permissions.deny "Read(//abs)" in --settings:1
    deny Read(~/h)  <- command line: permissions.deny "Read(~/h)" in --settings:1
    deny Read(/source)  <- command line: permissions.deny "Read(/source)" in --settings:1
    deny Read(./here)  <- command line: permissions.deny "Read(./here)" in --settings:1
    deny Read(a/b)  <- command line: permissions.deny "Read(a/b)" in --settings:1
    deny Read(bare)  <- command line: permissions.deny "Read(bare)" in --settings:1
    deny Read(src/**)  <- command line: permissions.deny "Read(src/**)" in --settings:1
    "#);
}

#[test]
fn where_extra_directories_start() {
    let text = r#"{"permissions": {"additionalDirectories": ["../docs", "~/notes", "/srv"]}}"#;
    assert_snapshot!(merged(&[(PROJECT, text)]), @r#"
    allow write /docs  <- project: permissions.additionalDirectories "../docs" in /project/.claude/settings.json:1
    allow write /home/notes  <- project: permissions.additionalDirectories "~/notes" in /project/.claude/settings.json:1
    allow write /srv  <- project: permissions.additionalDirectories "/srv" in /project/.claude/settings.json:1
    directory /docs  <- project: permissions.additionalDirectories "../docs" in /project/.claude/settings.json:1
    directory /home/notes  <- project: permissions.additionalDirectories "~/notes" in /project/.claude/settings.json:1
    directory /srv  <- project: permissions.additionalDirectories "/srv" in /project/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(USER, text)]), @r#"
    allow write /docs  <- user: permissions.additionalDirectories "../docs" in /home/.claude/settings.json:1
    allow write /home/notes  <- user: permissions.additionalDirectories "~/notes" in /home/.claude/settings.json:1
    allow write /srv  <- user: permissions.additionalDirectories "/srv" in /home/.claude/settings.json:1
    directory /docs  <- user: permissions.additionalDirectories "../docs" in /home/.claude/settings.json:1
    directory /home/notes  <- user: permissions.additionalDirectories "~/notes" in /home/.claude/settings.json:1
    directory /srv  <- user: permissions.additionalDirectories "/srv" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[(MANAGED, r#"{"permissions": {"additionalDirectories": ["~/notes", "/srv"]}}"#)]), @r#"
    allow write /home/notes  <- managed: permissions.additionalDirectories "~/notes" in /etc/claude-code/managed-settings.json:1
    allow write /srv  <- managed: permissions.additionalDirectories "/srv" in /etc/claude-code/managed-settings.json:1
    directory /home/notes  <- managed: permissions.additionalDirectories "~/notes" in /etc/claude-code/managed-settings.json:1
    directory /srv  <- managed: permissions.additionalDirectories "/srv" in /etc/claude-code/managed-settings.json:1
    "#);
}

/// An allow of one directory is one directory; a deny of the same text is any of that name, which no write rule on Linux
/// can be: the deny is kept, and every command is refused with its name.
#[test]
#[cfg(target_os = "linux")]
fn wildcards_in_edit_rules() {
    assert_snapshot!(project(r#"{"permissions": {
      "allow": ["Edit(src/**)", "Edit(*.log)", "Edit(docs/*/out/**)", "Edit(name)"],
      "deny": ["Edit(/dist/**)", "Edit(src/**)", "Edit(*.lock)"]
    }}"#), @r#"
    allow write /cwd/src  <- project: permissions.allow "Edit(src/**)" in /project/.claude/settings.json:2
    deny write /project/dist  <- project: permissions.deny "Edit(/dist/**)" in /project/.claude/settings.json:3
    deny write /cwd/**/src (wildcards)  <- project: permissions.deny "Edit(src/**)" in /project/.claude/settings.json:3
    deny write /cwd/**/*.lock (wildcards)  <- project: permissions.deny "Edit(*.lock)" in /project/.claude/settings.json:3
    deny Edit(/dist/**)  <- project: permissions.deny "Edit(/dist/**)" in /project/.claude/settings.json:3
    deny Edit(src/**)  <- project: permissions.deny "Edit(src/**)" in /project/.claude/settings.json:3
    deny Edit(*.lock)  <- project: permissions.deny "Edit(*.lock)" in /project/.claude/settings.json:3
    allow Edit(src/**)  <- project: permissions.allow "Edit(src/**)" in /project/.claude/settings.json:2
    allow Edit(*.log)  <- project: permissions.allow "Edit(*.log)" in /project/.claude/settings.json:2
    allow Edit(docs/*/out/**)  <- project: permissions.allow "Edit(docs/*/out/**)" in /project/.claude/settings.json:2
    allow Edit(name)  <- project: permissions.allow "Edit(name)" in /project/.claude/settings.json:2
    warning: /project/.claude/settings.json:2:33: permissions.allow: approves edits, but opens nothing to commands: "Edit(*.log)" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    warning: /project/.claude/settings.json:2:48: permissions.allow: approves edits, but opens nothing to commands: "Edit(docs/*/out/**)" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    warning: /project/.claude/settings.json:2:71: permissions.allow: approves edits, but opens nothing to commands: "Edit(name)" means every name, at any depth, and on Linux a write rule of the sandbox names one path; write "Edit(./name)" for the one of the working directory
    warning: /project/.claude/settings.json:3:34: permissions.deny: every command is refused while this stands: "Edit(src/**)" means every src, at any depth, and on Linux a write rule of the sandbox names one path; write "Edit(./src/**)" for the one of the working directory
    warning: /project/.claude/settings.json:3:50: permissions.deny: every command is refused while this stands: "Edit(*.lock)" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    "#);
    assert_snapshot!(project(r#"{"sandbox": {"filesystem": {"allowWrite": ["a*", "ok/**"], "denyWrite": ["**/x", "ok/**"]}}}"#), @r#"
    allow write /project/a* (wildcards)  <- project: sandbox.filesystem.allowWrite "a*" in /project/.claude/settings.json:1
    allow write /project/ok  <- project: sandbox.filesystem.allowWrite "ok/**" in /project/.claude/settings.json:1
    deny write /project/**/x (wildcards)  <- project: sandbox.filesystem.denyWrite "**/x" in /project/.claude/settings.json:1
    deny write /project/ok  <- project: sandbox.filesystem.denyWrite "ok/**" in /project/.claude/settings.json:1
    warning: /project/.claude/settings.json:1:44: sandbox.filesystem.allowWrite: every command is refused while this stands: "a*" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    warning: /project/.claude/settings.json:1:74: sandbox.filesystem.denyWrite: every command is refused while this stands: "**/x" has a wildcard, and on Linux a write rule of the sandbox names one path (a trailing /** is fine), since files that do not exist yet could match; name the directory or the files
    "#);
}

/// A deny or an ask that cannot be read stops everything, whoever wrote it.
#[test]
fn denies_and_asks_that_cannot_be_read() {
    let error = |rule: &str| {
        ["deny", "ask"]
            .map(|list| {
                let text = format!(
                    "{{\"permissions\": {{\n \"{list}\": [\"Bash(ls)\", {}]}}}}",
                    serde_json::json!(rule)
                );
                format!("{rule}\n  {}", project(&text))
            })
            .concat()
    };
    assert_snapshot!([
        "Bash(",
        "",
        "Bash(npm:* publish)",
        "Bash()",
        "Read(!x)",
        "Read(~root/x)",
        "Edit([[:alpha:]])",
        "WebFetch(https://a.test)",
        "WebFetch(domain:example.*)",
        "Bash(command:rm *)",
    ].map(error).concat(), @r#"
    Bash(
      error: /project/.claude/settings.json:2:23: permissions.deny: "Bash(": does not end with the ")" of its pattern; close it, and put nothing behind it
    Bash(
      error: /project/.claude/settings.json:2:22: permissions.ask: "Bash(": does not end with the ")" of its pattern; close it, and put nothing behind it

      error: /project/.claude/settings.json:2:23: permissions.deny: "": names no tool; write one in front of the parentheses, as in "Bash(npm test)"

      error: /project/.claude/settings.json:2:22: permissions.ask: "": names no tool; write one in front of the parentheses, as in "Bash(npm test)"
    Bash(npm:* publish)
      error: /project/.claude/settings.json:2:23: permissions.deny: "Bash(npm:* publish)": has ":*" elsewhere than at its end, where it would match nothing; write " *"
    Bash(npm:* publish)
      error: /project/.claude/settings.json:2:22: permissions.ask: "Bash(npm:* publish)": has ":*" elsewhere than at its end, where it would match nothing; write " *"
    Bash()
      error: /project/.claude/settings.json:2:23: permissions.deny: "Bash()": has nothing in its parentheses; write the tool alone to cover all its calls
    Bash()
      error: /project/.claude/settings.json:2:22: permissions.ask: "Bash()": has nothing in its parentheses; write the tool alone to cover all its calls
    Read(!x)
      error: /project/.claude/settings.json:2:23: permissions.deny: "Read(!x)": starts with "!", but no rule can take paths out of another
    Read(!x)
      error: /project/.claude/settings.json:2:22: permissions.ask: "Read(!x)": starts with "!", but no rule can take paths out of another
    Read(~root/x)
      error: /project/.claude/settings.json:2:23: permissions.deny: "Read(~root/x)": names another user's home directory; write the directory's full path instead
    Read(~root/x)
      error: /project/.claude/settings.json:2:22: permissions.ask: "Read(~root/x)": names another user's home directory; write the directory's full path instead
    Edit([[:alpha:]])
      error: /project/.claude/settings.json:2:23: permissions.deny: "Edit([[:alpha:]])": is not a valid pattern: a named class such as [:alpha:]; list the characters instead (the brackets of a name are written \[ and \])
    Edit([[:alpha:]])
      error: /project/.claude/settings.json:2:22: permissions.ask: "Edit([[:alpha:]])": is not a valid pattern: a named class such as [:alpha:]; list the characters instead (the brackets of a name are written \[ and \])
    WebFetch(https://a.test)
      error: /project/.claude/settings.json:2:23: permissions.deny: "WebFetch(https://a.test)": names no domain; write "WebFetch(domain:example.com)"
    WebFetch(https://a.test)
      error: /project/.claude/settings.json:2:22: permissions.ask: "WebFetch(https://a.test)": names no domain; write "WebFetch(domain:example.com)"
    WebFetch(domain:example.*)
      error: /project/.claude/settings.json:2:23: permissions.deny: "WebFetch(domain:example.*)": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"
    WebFetch(domain:example.*)
      error: /project/.claude/settings.json:2:22: permissions.ask: "WebFetch(domain:example.*)": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"
    Bash(command:rm *)
      error: /project/.claude/settings.json:2:23: permissions.deny: "Bash(command:rm *)": names the field "command", which the tool's own patterns are about; write the pattern alone
    Bash(command:rm *)
      error: /project/.claude/settings.json:2:22: permissions.ask: "Bash(command:rm *)": names the field "command", which the tool's own patterns are about; write the pattern alone
    "#);
}

/// A deny of a tool that does not exist closes nothing, and the tools of others are not known here.
#[test]
fn rules_about_unknown_tools() {
    assert_snapshot!(project(r#"{"permissions": {
      "deny": ["bash(rm *)", "Raed", "mcp__server__tool", "Web*", "Deploy(x)", "Task(x)"],
      "ask": ["webfetch"],
      "allow": ["bash"]
    }}"#), @r#"
    deny bash(rm *)  <- project: permissions.deny "bash(rm *)" in /project/.claude/settings.json:2
    deny Raed  <- project: permissions.deny "Raed" in /project/.claude/settings.json:2
    deny mcp__server__tool  <- project: permissions.deny "mcp__server__tool" in /project/.claude/settings.json:2
    deny Web*  <- project: permissions.deny "Web*" in /project/.claude/settings.json:2
    deny Deploy(x)  <- project: permissions.deny "Deploy(x)" in /project/.claude/settings.json:2
    deny Agent(x)  <- project: permissions.deny "Task(x)" in /project/.claude/settings.json:2
    ask webfetch  <- project: permissions.ask "webfetch" in /project/.claude/settings.json:3
    allow bash  <- project: permissions.allow "bash" in /project/.claude/settings.json:4
    warning: /project/.claude/settings.json:2:16: permissions.deny: "bash" is no tool that is known here; if there is none, the rule CLOSES NOTHING; did you mean Bash?
    warning: /project/.claude/settings.json:2:30: permissions.deny: "Raed" is no tool that is known here; if there is none, the rule CLOSES NOTHING; did you mean Read?
    warning: /project/.claude/settings.json:2:67: permissions.deny: "Deploy" is no tool that is known here; if there is none, the rule CLOSES NOTHING
    warning: /project/.claude/settings.json:3:15: permissions.ask: "webfetch" is no tool that is known here; if there is none, the rule CLOSES NOTHING; did you mean WebFetch?
    "#);
}

/// What the same rule says twice is kept once.
#[test]
fn rules_join() {
    assert_snapshot!(merged(&[
        (USER, r#"{"permissions": {"allow": ["Bash(ls:*)", "Bash(make)"], "deny": ["Bash(rm *)"], "additionalDirectories": ["/a"]}}"#),
        (PROJECT, r#"{"permissions": {"allow": ["Bash(ls *)"], "deny": ["Bash(rm:*)"], "additionalDirectories": ["/a/", "/b"]}}"#),
    ]), @r#"
    allow write /a  <- user: permissions.additionalDirectories "/a" in /home/.claude/settings.json:1
    allow write /b  <- project: permissions.additionalDirectories "/b" in /project/.claude/settings.json:1
    deny Bash(rm *)  <- project: permissions.deny "Bash(rm:*)" in /project/.claude/settings.json:1
    allow Bash(ls *)  <- project: permissions.allow "Bash(ls *)" in /project/.claude/settings.json:1
    allow Bash(make)  <- user: permissions.allow "Bash(make)" in /home/.claude/settings.json:1
    directory /a  <- project: permissions.additionalDirectories "/a/" in /project/.claude/settings.json:1
    directory /b  <- project: permissions.additionalDirectories "/b" in /project/.claude/settings.json:1
    "#);
}

/// A single slash that starts elsewhere than in the project is seldom meant: told of at every command where it denies
/// nothing.
#[test]
fn a_single_slash_outside_the_project_is_told_of() {
    let text = r#"{"permissions": {"deny": ["Read(/x)", "Edit(/x/**)", "Read(//x)", "Read(./x)", "Read(~/x)"], "ask": ["Read(/x)"], "allow": ["Edit(/x)"]}}"#;
    let warnings = |fixture: &Fixture| {
        let said = fixture.print();
        said.lines().filter(|line| line.contains("a single slash starts at")).count()
    };
    for (path, expected) in [(USER, 2), (PROJECT, 0), (LOCAL, 0)] {
        assert_eq!(warnings(&with(&[(path, text)])), expected, "{path}");
    }
    let fixture = with(&[(USER, text), ("/home/.claude/x", "")]);
    assert_eq!(warnings(&fixture), 0, "it names something");
    let mut fixture = with(&[("/home/x.json", text)]);
    fixture.extras = vec![Extra::File(fixture.abs("/home/x.json"))];
    assert_eq!(warnings(&fixture), 2);
    fixture.extras = vec![Extra::Json(text.into())];
    assert_eq!(warnings(&fixture), 0, "it starts at the working directory");
}
