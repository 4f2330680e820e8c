//! Which layer wins, what lists join to, where relative paths start.

use crate::fixture::{Fixture, merged, project};
use insta::assert_snapshot;
use palisade_settings::{Extra, Flags};

#[test]
fn nothing_said() {
    assert_snapshot!(merged(&[]), @"");
    assert_snapshot!(project("{}"), @"");
    assert_snapshot!(project(r#"{"model": "opus", "permissions": {"deny": ["Read(./.env)"]}, "hooks": {}}"#), @r#"
    deny read /cwd/.env  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    deny Read(./.env)  <- project: permissions.deny "Read(./.env)" in /project/.claude/settings.json:1
    "#);
    assert_snapshot!(project(r#"{"sandbox": {"filesystem": {}, "network": {"allowedDomains": []}}}"#), @"");
}

/// As people write them.
#[test]
fn a_project_file_as_it_is() {
    assert_snapshot!(project(r#"{
      "sandbox": {
        "enabled": true,
        "excludedCommands": ["docker *"],
        "filesystem": {
          "allowWrite": ["~/.kube", "/tmp/build"],
          "denyRead": ["~/.aws/credentials"]
        },
        "network": {
          "allowedDomains": ["github.com", "*.npmjs.org"],
          "deniedDomains": ["uploads.github.com"]
        }
      }
    }"#), @r#"
    enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:3
    allow write /home/.kube  <- project: sandbox.filesystem.allowWrite "~/.kube" in /project/.claude/settings.json:6
    allow write /tmp/build  <- project: sandbox.filesystem.allowWrite "/tmp/build" in /project/.claude/settings.json:6
    deny read /home/.aws/credentials  <- project: sandbox.filesystem.denyRead "~/.aws/credentials" in /project/.claude/settings.json:7
    allow host github.com  <- project: sandbox.network.allowedDomains "github.com" in /project/.claude/settings.json:10
    allow host *.npmjs.org  <- project: sandbox.network.allowedDomains "*.npmjs.org" in /project/.claude/settings.json:10
    deny host uploads.github.com  <- project: sandbox.network.deniedDomains "uploads.github.com" in /project/.claude/settings.json:11
    outside the sandbox docker *  <- project: sandbox.excludedCommands "docker *" in /project/.claude/settings.json:4
    "#);
}

#[test]
fn every_key_that_is_read() {
    assert_snapshot!(merged(&[("/home/.claude/settings.json", r#"
      {
        // Comments, single quotes, bare keys and trailing commas are fine.
        sandbox: {
          enabled: true, failIfUnavailable: false, autoAllowBashIfSandboxed: false,
          allowUnsandboxedCommands: true,
          excludedCommands: ['docker *', 'npm run test:*', 'make', 'git * main',],
          filesystem: {
            allowWrite: ['/w'], denyWrite: ['/w/x'], denyRead: ['/r'], allowRead: ['/r/x'],
            disabled: true, /* the user may */
          },
          network: {
            allowedDomains: ['a.test:443', '[::1]:8080'], deniedDomains: ['*', '*:22'],
            strictAllowlist: true, allowUnixSockets: ['/run/x.sock'], allowAllUnixSockets: false,
            allowLocalBinding: false,
          },
          credentials: {
            files: [{path: '~/.netrc', mode: 'deny'}, {path: '~/.npmrc'}, '~/.pgpass'],
            envVars: [{name: 'GITHUB_TOKEN', mode: 'deny'}, 'NPM_TOKEN'],
          },
        },
      }"#)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:5
    fail if unavailable = false  <- user: sandbox.failIfUnavailable "false" in /home/.claude/settings.json:5
    auto-allow = false  <- user: sandbox.autoAllowBashIfSandboxed "false" in /home/.claude/settings.json:5
    allow unsandboxed = true  <- user: sandbox.allowUnsandboxedCommands "true" in /home/.claude/settings.json:6
    files disabled = true  <- user: sandbox.filesystem.disabled "true" in /home/.claude/settings.json:10
    strict = true  <- user: sandbox.network.strictAllowlist "true" in /home/.claude/settings.json:14
    sandbox.network.allowAllUnixSockets false  <- user: sandbox.network.allowAllUnixSockets "false" in /home/.claude/settings.json:14
    sandbox.network.allowLocalBinding false  <- user: sandbox.network.allowLocalBinding "false" in /home/.claude/settings.json:15
    allow write /w  <- user: sandbox.filesystem.allowWrite "/w" in /home/.claude/settings.json:9
    deny write /w/x  <- user: sandbox.filesystem.denyWrite "/w/x" in /home/.claude/settings.json:9
    deny read /r  <- user: sandbox.filesystem.denyRead "/r" in /home/.claude/settings.json:9
    deny read /home/.netrc  <- user: sandbox.credentials.files "~/.netrc" in /home/.claude/settings.json:18
    deny read /home/.npmrc  <- user: sandbox.credentials.files "~/.npmrc" in /home/.claude/settings.json:18
    deny read /home/.pgpass  <- user: sandbox.credentials.files "~/.pgpass" in /home/.claude/settings.json:18
    allow read /r/x  <- user: sandbox.filesystem.allowRead "/r/x" in /home/.claude/settings.json:9
    sandbox.network.allowUnixSockets /run/x.sock  <- user: sandbox.network.allowUnixSockets "/run/x.sock" in /home/.claude/settings.json:14
    allow host a.test:443  <- user: sandbox.network.allowedDomains "a.test:443" in /home/.claude/settings.json:13
    allow host [::1]:8080  <- user: sandbox.network.allowedDomains "[::1]:8080" in /home/.claude/settings.json:13
    deny host *  <- user: sandbox.network.deniedDomains "*" in /home/.claude/settings.json:13
    deny host *:22  <- user: sandbox.network.deniedDomains "*:22" in /home/.claude/settings.json:13
    hide variable GITHUB_TOKEN  <- user: sandbox.credentials.envVars "GITHUB_TOKEN" in /home/.claude/settings.json:19
    hide variable NPM_TOKEN  <- user: sandbox.credentials.envVars "NPM_TOKEN" in /home/.claude/settings.json:19
    outside the sandbox docker *  <- user: sandbox.excludedCommands "docker *" in /home/.claude/settings.json:7
    outside the sandbox npm run test *  <- user: sandbox.excludedCommands "npm run test:*" in /home/.claude/settings.json:7
    outside the sandbox make  <- user: sandbox.excludedCommands "make" in /home/.claude/settings.json:7
    outside the sandbox git * main  <- user: sandbox.excludedCommands "git * main" in /home/.claude/settings.json:7
    every Unix socket is open
    warning: /home/.claude/settings.json:14:36: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    "#);
}

#[test]
fn the_highest_layer_that_sets_a_switch_wins_each_for_itself() {
    let user =
        r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": false}}"#;
    let shared = r#"{"sandbox": {"enabled": false, "failIfUnavailable": false}}"#;
    let local = r#"{"sandbox": {"failIfUnavailable": true}}"#;
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", user),
        ("/project/.claude/settings.json", shared),
        ("/project/.claude/settings.local.json", local),
    ]), @r#"
    enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:1
    fail if unavailable = true  <- local: sandbox.failIfUnavailable "true" in /project/.claude/settings.local.json:1
    auto-allow = false  <- user: sandbox.autoAllowBashIfSandboxed "false" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", user),
        ("/project/.claude/settings.json", shared),
    ]), @r#"
    enabled = false  <- project: sandbox.enabled "false" in /project/.claude/settings.json:1
    fail if unavailable = false  <- project: sandbox.failIfUnavailable "false" in /project/.claude/settings.json:1
    auto-allow = false  <- user: sandbox.autoAllowBashIfSandboxed "false" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(merged(&[("/home/.claude/settings.json", user)]), @r#"
    enabled = true  <- user: sandbox.enabled "true" in /home/.claude/settings.json:1
    fail if unavailable = true  <- user: sandbox.failIfUnavailable "true" in /home/.claude/settings.json:1
    auto-allow = false  <- user: sandbox.autoAllowBashIfSandboxed "false" in /home/.claude/settings.json:1
    "#);
}

#[test]
fn the_products_own_names_stand_above_claudes_in_one_layer() {
    let says = |host: &str, enabled: bool| {
        format!(r#"{{"sandbox": {{"enabled": {enabled}, "network": {{"allowedDomains": ["{host}"]}}}}}}"#)
    };
    let files = |directories: &[&'static str]| {
        let texts: Vec<(String, String)> = directories
            .iter()
            .flat_map(|directory| {
                let name = directory.trim_start_matches('.');
                let claude = *directory == ".claude";
                [
                    (format!("/project/{directory}/settings.json"), says(&format!("{name}.project"), claude)),
                    (
                        format!("/project/{directory}/settings.local.json"),
                        says(&format!("{name}.local"), claude),
                    ),
                    (format!("/home/{directory}/settings.json"), says(&format!("{name}.user"), claude)),
                ]
            })
            .collect();
        let texts: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        merged(&texts)
    };
    assert_snapshot!(files(&[".claude"]), @r#"
    enabled = true  <- local: sandbox.enabled "true" in /project/.claude/settings.local.json:1
    allow host claude.local  <- local: sandbox.network.allowedDomains "claude.local" in /project/.claude/settings.local.json:1
    allow host claude.project  <- project: sandbox.network.allowedDomains "claude.project" in /project/.claude/settings.json:1
    allow host claude.user  <- user: sandbox.network.allowedDomains "claude.user" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(files(&[".claude", ".cogitator"]), @r#"
    enabled = false  <- local: sandbox.enabled "false" in /project/.cogitator/settings.local.json:1
    allow host cogitator.local  <- local: sandbox.network.allowedDomains "cogitator.local" in /project/.cogitator/settings.local.json:1
    allow host claude.local  <- local: sandbox.network.allowedDomains "claude.local" in /project/.claude/settings.local.json:1
    allow host cogitator.project  <- project: sandbox.network.allowedDomains "cogitator.project" in /project/.cogitator/settings.json:1
    allow host claude.project  <- project: sandbox.network.allowedDomains "claude.project" in /project/.claude/settings.json:1
    allow host cogitator.user  <- user: sandbox.network.allowedDomains "cogitator.user" in /home/.cogitator/settings.json:1
    allow host claude.user  <- user: sandbox.network.allowedDomains "claude.user" in /home/.claude/settings.json:1
    "#);
    assert_snapshot!(files(&[".claude", ".cogitator", ".palisade"]), @r#"
    enabled = false  <- local: sandbox.enabled "false" in /project/.palisade/settings.local.json:1
    allow host palisade.local  <- local: sandbox.network.allowedDomains "palisade.local" in /project/.palisade/settings.local.json:1
    allow host cogitator.local  <- local: sandbox.network.allowedDomains "cogitator.local" in /project/.cogitator/settings.local.json:1
    allow host claude.local  <- local: sandbox.network.allowedDomains "claude.local" in /project/.claude/settings.local.json:1
    allow host palisade.project  <- project: sandbox.network.allowedDomains "palisade.project" in /project/.palisade/settings.json:1
    allow host cogitator.project  <- project: sandbox.network.allowedDomains "cogitator.project" in /project/.cogitator/settings.json:1
    allow host claude.project  <- project: sandbox.network.allowedDomains "claude.project" in /project/.claude/settings.json:1
    allow host palisade.user  <- user: sandbox.network.allowedDomains "palisade.user" in /home/.palisade/settings.json:1
    allow host cogitator.user  <- user: sandbox.network.allowedDomains "cogitator.user" in /home/.cogitator/settings.json:1
    allow host claude.user  <- user: sandbox.network.allowedDomains "claude.user" in /home/.claude/settings.json:1
    "#);
}

#[test]
fn lists_join_and_what_is_said_twice_is_kept_once_with_its_strongest_origin() {
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", r#"{"sandbox": {
            "excludedCommands": ["docker:*", "make"],
            "filesystem": {"denyRead": ["~/.ssh/", "/x/../secret", "*.pem"]},
            "network": {"allowedDomains": ["GitHub.com", "a.test"]},
            "credentials": {"files": [{"path": "/secret", "mode": "deny"}, {"path": "~/.netrc", "mode": "deny"}]}
        }}"#),
        ("/project/.claude/settings.json", r#"{"sandbox": {
            "excludedCommands": ["docker *", "docker *"],
            "filesystem": {"denyRead": ["~/.ssh", "/secret", "*.pem"]},
            "network": {"allowedDomains": ["github.com", "b.test"]}
        }}"#),
    ]), @r#"
    deny read /home/.ssh  <- user: sandbox.filesystem.denyRead "~/.ssh/" in /home/.claude/settings.json:3
    deny read /secret  <- user: sandbox.credentials.files "/secret" in /home/.claude/settings.json:5
    deny read /project/*.pem (wildcards)  <- project: sandbox.filesystem.denyRead "*.pem" in /project/.claude/settings.json:3
    deny read /secret  <- user: sandbox.filesystem.denyRead "/x/../secret" in /home/.claude/settings.json:3
    deny read /home/.claude/*.pem (wildcards)  <- user: sandbox.filesystem.denyRead "*.pem" in /home/.claude/settings.json:3
    deny read /home/.netrc  <- user: sandbox.credentials.files "~/.netrc" in /home/.claude/settings.json:5
    allow host github.com  <- project: sandbox.network.allowedDomains "github.com" in /project/.claude/settings.json:4
    allow host b.test  <- project: sandbox.network.allowedDomains "b.test" in /project/.claude/settings.json:4
    allow host a.test  <- user: sandbox.network.allowedDomains "a.test" in /home/.claude/settings.json:4
    outside the sandbox docker *  <- project: sandbox.excludedCommands "docker *" in /project/.claude/settings.json:2
    outside the sandbox make  <- user: sandbox.excludedCommands "make" in /home/.claude/settings.json:2
    "#);
}

/// A user who repeats an administrator's word in another key does not take its place, which would take it from its lock.
#[test]
fn what_hides_is_by_the_highest_layer_whatever_its_key() {
    assert_snapshot!(merged(&[
        ("/etc/claude-code/managed-settings.json", r#"{"sandbox": {"credentials": {"files": ["/k", "/c"]}, "filesystem": {"denyRead": ["/d"]}}}"#),
        ("/home/.claude/settings.json", r#"{"sandbox": {"filesystem": {"denyRead": ["/k", "/u"]}, "credentials": {"files": ["/d"]}}}"#),
    ]), @r#"
    deny read /d  <- managed: sandbox.filesystem.denyRead "/d" in /etc/claude-code/managed-settings.json:1
    deny read /k  <- managed: sandbox.credentials.files "/k" in /etc/claude-code/managed-settings.json:1
    deny read /c  <- managed: sandbox.credentials.files "/c" in /etc/claude-code/managed-settings.json:1
    deny read /u  <- user: sandbox.filesystem.denyRead "/u" in /home/.claude/settings.json:1
    "#);
}

#[test]
fn objects_merge_key_by_key() {
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", r#"{"sandbox": {"filesystem": {"denyRead": ["/a"]}, "network": {"strictAllowlist": true}}}"#),
        ("/project/.claude/settings.json", r#"{"sandbox": {"filesystem": {"allowRead": ["/a/b"]}, "network": {"deniedDomains": ["x.test"]}}}"#),
        ("/project/.claude/settings.local.json", r#"{"sandbox": {"filesystem": {}, "network": {}}}"#),
    ]), @r#"
    strict = true  <- user: sandbox.network.strictAllowlist "true" in /home/.claude/settings.json:1
    deny read /a  <- user: sandbox.filesystem.denyRead "/a" in /home/.claude/settings.json:1
    deny host x.test  <- project: sandbox.network.deniedDomains "x.test" in /project/.claude/settings.json:1
    dropped: project: sandbox.filesystem.allowRead "/a/b" in /project/.claude/settings.json:1 is left out: it would open /a/b, which sandbox.filesystem.denyRead "/a" in /home/.claude/settings.json:1 hides
    "#);
}

/// `/x` is absolute in every layer (in permission rules it would not be), `~` is the home directory, and all
/// else starts where the layer's relative paths start.
#[test]
fn where_paths_start() {
    let text = r#"{"sandbox": {"filesystem": {"denyRead":
        ["/abs", "//abs2", "~/h", "~", "./dot", "bare", "../up", "**/.env", "/w/[WIP]", "dir/", "dir/**"]}}}"#;
    assert_snapshot!(merged(&[("/project/.claude/settings.json", text)]), @r#"
    deny read /abs  <- project: sandbox.filesystem.denyRead "/abs" in /project/.claude/settings.json:2
    deny read /abs2  <- project: sandbox.filesystem.denyRead "//abs2" in /project/.claude/settings.json:2
    deny read /home/h  <- project: sandbox.filesystem.denyRead "~/h" in /project/.claude/settings.json:2
    deny read /home  <- project: sandbox.filesystem.denyRead "~" in /project/.claude/settings.json:2
    deny read /project/dot  <- project: sandbox.filesystem.denyRead "./dot" in /project/.claude/settings.json:2
    deny read /project/bare  <- project: sandbox.filesystem.denyRead "bare" in /project/.claude/settings.json:2
    deny read /up  <- project: sandbox.filesystem.denyRead "../up" in /project/.claude/settings.json:2
    deny read /project/**/.env (wildcards)  <- project: sandbox.filesystem.denyRead "**/.env" in /project/.claude/settings.json:2
    deny read /w/[WIP] (wildcards)  <- project: sandbox.filesystem.denyRead "/w/[WIP]" in /project/.claude/settings.json:2
    deny read /project/dir  <- project: sandbox.filesystem.denyRead "dir/" in /project/.claude/settings.json:2
    "#);
    assert_snapshot!(merged(&[("/project/.claude/settings.local.json", text)]), @r#"
    deny read /abs  <- local: sandbox.filesystem.denyRead "/abs" in /project/.claude/settings.local.json:2
    deny read /abs2  <- local: sandbox.filesystem.denyRead "//abs2" in /project/.claude/settings.local.json:2
    deny read /home/h  <- local: sandbox.filesystem.denyRead "~/h" in /project/.claude/settings.local.json:2
    deny read /home  <- local: sandbox.filesystem.denyRead "~" in /project/.claude/settings.local.json:2
    deny read /project/dot  <- local: sandbox.filesystem.denyRead "./dot" in /project/.claude/settings.local.json:2
    deny read /project/bare  <- local: sandbox.filesystem.denyRead "bare" in /project/.claude/settings.local.json:2
    deny read /up  <- local: sandbox.filesystem.denyRead "../up" in /project/.claude/settings.local.json:2
    deny read /project/**/.env (wildcards)  <- local: sandbox.filesystem.denyRead "**/.env" in /project/.claude/settings.local.json:2
    deny read /w/[WIP] (wildcards)  <- local: sandbox.filesystem.denyRead "/w/[WIP]" in /project/.claude/settings.local.json:2
    deny read /project/dir  <- local: sandbox.filesystem.denyRead "dir/" in /project/.claude/settings.local.json:2
    "#);
    assert_snapshot!(merged(&[("/home/.claude/settings.json", text)]), @r#"
    deny read /abs  <- user: sandbox.filesystem.denyRead "/abs" in /home/.claude/settings.json:2
    deny read /abs2  <- user: sandbox.filesystem.denyRead "//abs2" in /home/.claude/settings.json:2
    deny read /home/h  <- user: sandbox.filesystem.denyRead "~/h" in /home/.claude/settings.json:2
    deny read /home  <- user: sandbox.filesystem.denyRead "~" in /home/.claude/settings.json:2
    deny read /home/.claude/dot  <- user: sandbox.filesystem.denyRead "./dot" in /home/.claude/settings.json:2
    deny read /home/.claude/bare  <- user: sandbox.filesystem.denyRead "bare" in /home/.claude/settings.json:2
    deny read /home/up  <- user: sandbox.filesystem.denyRead "../up" in /home/.claude/settings.json:2
    deny read /home/.claude/**/.env (wildcards)  <- user: sandbox.filesystem.denyRead "**/.env" in /home/.claude/settings.json:2
    deny read /w/[WIP] (wildcards)  <- user: sandbox.filesystem.denyRead "/w/[WIP]" in /home/.claude/settings.json:2
    deny read /home/.claude/dir  <- user: sandbox.filesystem.denyRead "dir/" in /home/.claude/settings.json:2
    "#);
    assert_snapshot!(merged(&[("/home/.cogitator/settings.json", text)]), @r#"
    deny read /abs  <- user: sandbox.filesystem.denyRead "/abs" in /home/.cogitator/settings.json:2
    deny read /abs2  <- user: sandbox.filesystem.denyRead "//abs2" in /home/.cogitator/settings.json:2
    deny read /home/h  <- user: sandbox.filesystem.denyRead "~/h" in /home/.cogitator/settings.json:2
    deny read /home  <- user: sandbox.filesystem.denyRead "~" in /home/.cogitator/settings.json:2
    deny read /home/.cogitator/dot  <- user: sandbox.filesystem.denyRead "./dot" in /home/.cogitator/settings.json:2
    deny read /home/.cogitator/bare  <- user: sandbox.filesystem.denyRead "bare" in /home/.cogitator/settings.json:2
    deny read /home/up  <- user: sandbox.filesystem.denyRead "../up" in /home/.cogitator/settings.json:2
    deny read /home/.cogitator/**/.env (wildcards)  <- user: sandbox.filesystem.denyRead "**/.env" in /home/.cogitator/settings.json:2
    deny read /w/[WIP] (wildcards)  <- user: sandbox.filesystem.denyRead "/w/[WIP]" in /home/.cogitator/settings.json:2
    deny read /home/.cogitator/dir  <- user: sandbox.filesystem.denyRead "dir/" in /home/.cogitator/settings.json:2
    "#);
    let mut fixture = Fixture::new();
    fixture.write("/elsewhere/s.json", text);
    fixture.extras.push(Extra::File(fixture.abs("/elsewhere/s.json")));
    assert_snapshot!(fixture.print(), @r#"
    deny read /abs  <- command line: sandbox.filesystem.denyRead "/abs" in /elsewhere/s.json:2
    deny read /abs2  <- command line: sandbox.filesystem.denyRead "//abs2" in /elsewhere/s.json:2
    deny read /home/h  <- command line: sandbox.filesystem.denyRead "~/h" in /elsewhere/s.json:2
    deny read /home  <- command line: sandbox.filesystem.denyRead "~" in /elsewhere/s.json:2
    deny read /cwd/dot  <- command line: sandbox.filesystem.denyRead "./dot" in /elsewhere/s.json:2
    deny read /cwd/bare  <- command line: sandbox.filesystem.denyRead "bare" in /elsewhere/s.json:2
    deny read /up  <- command line: sandbox.filesystem.denyRead "../up" in /elsewhere/s.json:2
    deny read /cwd/**/.env (wildcards)  <- command line: sandbox.filesystem.denyRead "**/.env" in /elsewhere/s.json:2
    deny read /w/[WIP] (wildcards)  <- command line: sandbox.filesystem.denyRead "/w/[WIP]" in /elsewhere/s.json:2
    deny read /cwd/dir  <- command line: sandbox.filesystem.denyRead "dir/" in /elsewhere/s.json:2
    "#);
}

#[test]
fn options_stand_above_every_file_and_the_last_above_the_others() {
    let mut fixture = Fixture::new();
    fixture.write("/project/.claude/settings.local.json", r#"{"sandbox": {"enabled": true, "network": {"strictAllowlist": true, "allowedDomains": ["local.test"]}}}"#);
    fixture.write("/cwd/one.json", r#"{"sandbox": {"enabled": false, "network": {"strictAllowlist": true, "allowedDomains": ["one.test"]}}}"#);
    fixture.extras = vec![
        Extra::File(fixture.abs("/cwd/one.json")),
        Extra::Json(
            " {sandbox: {network: {strictAllowlist: false, allowedDomains: ['two.test', 'one.test']}}}"
                .into(),
        ),
    ];
    fixture.flags = Flags {
        allow_host: vec!["flag.test".into()],
        deny_host: vec!["bad.test".into()],
        allow_write: vec![b"out".to_vec(), b"/tmp/a*b".to_vec()],
        deny_write: vec![b"out/x".to_vec()],
        allow_read: vec![b"~/.ssh/known_hosts".to_vec()],
        deny_read: vec![b"~/.ssh".to_vec(), b"bytes\xff".to_vec()],
    };
    assert_snapshot!(fixture.print(), @r#"
    enabled = false  <- command line: sandbox.enabled "false" in /cwd/one.json:1
    strict = true  <- command line: sandbox.network.strictAllowlist "true" in /cwd/one.json:1
    allow write /cwd/out  <- command line: --allow-write "out"
    allow write /tmp/a*b (wildcards)  <- command line: --allow-write "/tmp/a*b"
    deny write /cwd/out/x  <- command line: --deny-write "out/x"
    deny read /home/.ssh  <- command line: --deny-read "~/.ssh"
    deny read /cwd/bytes\xff  <- command line: --deny-read "bytes�"
    allow read /home/.ssh/known_hosts  <- command line: --allow-read "~/.ssh/known_hosts"
    allow host flag.test  <- command line: --allow-host "flag.test"
    allow host two.test  <- command line: sandbox.network.allowedDomains "two.test" in --settings:1
    allow host one.test  <- command line: sandbox.network.allowedDomains "one.test" in --settings:1
    allow host local.test  <- local: sandbox.network.allowedDomains "local.test" in /project/.claude/settings.local.json:1
    deny host bad.test  <- command line: --deny-host "bad.test"
    warning: /project/.claude/settings.local.json:1:43: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are local settings
    "#);
}

#[test]
fn the_configuration_directory_takes_the_place_of_claudes_only() {
    let mut fixture = Fixture::new();
    let hosts = |host: &str| {
        format!(
            r#"{{"sandbox": {{"network": {{"allowedDomains": ["{host}"]}}, "filesystem": {{"denyRead": ["x"]}}}}}}"#
        )
    };
    fixture.write("/config/settings.json", hosts("config.test"));
    fixture.write("/home/.claude/settings.json", hosts("claude.test"));
    fixture.write("/home/.cogitator/settings.json", hosts("cogitator.test"));
    fixture.places.config_dir = Some(fixture.abs("/config"));
    assert_snapshot!(fixture.print(), @r#"
    deny read /home/.cogitator/x  <- user: sandbox.filesystem.denyRead "x" in /home/.cogitator/settings.json:1
    deny read /config/x  <- user: sandbox.filesystem.denyRead "x" in /config/settings.json:1
    allow host cogitator.test  <- user: sandbox.network.allowedDomains "cogitator.test" in /home/.cogitator/settings.json:1
    allow host config.test  <- user: sandbox.network.allowedDomains "config.test" in /config/settings.json:1
    "#);
    fixture.places.home = None;
    assert_snapshot!(fixture.print(), @r#"
    deny read /config/x  <- user: sandbox.filesystem.denyRead "x" in /config/settings.json:1
    allow host config.test  <- user: sandbox.network.allowedDomains "config.test" in /config/settings.json:1
    "#);
}

#[test]
fn without_a_home_there_are_no_user_files_and_no_tilde() {
    let mut fixture = Fixture::new();
    fixture.places.home = None;
    fixture.write(
        "/project/.claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyRead": ["x", "~/y"]}}}"#,
    );
    assert_snapshot!(fixture.print(), @r#"error: /project/.claude/settings.json:1:47: sandbox.filesystem.denyRead: "~/y": starts with ~, but there is no home directory (HOME is not set)"#);
}

/// In a home directory that is a project, the user's file counts once and as the user's.
#[test]
fn a_project_that_is_the_home_directory() {
    let mut fixture = Fixture::new();
    fixture.places.root = fixture.abs("/home");
    fixture.write(
        "/home/.claude/settings.json",
        r#"{"sandbox": {"network": {"strictAllowlist": true}, "filesystem": {"denyRead": ["x"]}}}"#,
    );
    fixture.write("/home/.claude/settings.local.json", r#"{"sandbox": {"filesystem": {"denyRead": ["y"]}}}"#);
    assert_snapshot!(fixture.print(), @r#"
    strict = true  <- user: sandbox.network.strictAllowlist "true" in /home/.claude/settings.json:1
    deny read /home/y  <- local: sandbox.filesystem.denyRead "y" in /home/.claude/settings.local.json:1
    deny read /home/.claude/x  <- user: sandbox.filesystem.denyRead "x" in /home/.claude/settings.json:1
    "#);

    // `$HOME` may lead there through a link, and a file may be named either way.
    std::os::unix::fs::symlink("home", fixture.path("/link")).expect("own directory");
    fixture.places.home = Some(fixture.abs("/link"));
    assert_snapshot!(fixture.print(), @r#"
    strict = true  <- user: sandbox.network.strictAllowlist "true" in /link/.claude/settings.json:1
    deny read /home/y  <- local: sandbox.filesystem.denyRead "y" in /home/.claude/settings.local.json:1
    deny read /link/.claude/x  <- user: sandbox.filesystem.denyRead "x" in /link/.claude/settings.json:1
    "#);
    for path in ["/link/.claude/settings.json", "/home/.claude/settings.json"] {
        assert_eq!(fixture.places.layer(&fixture.abs(path)), Some(palisade_policy::Layer::User), "{path}");
    }
}

/// `filesystem.disabled` and `network.strictAllowlist` count from the user and the command line, never from a
/// repository's files.
#[test]
fn what_a_repository_cannot_say() {
    let text = r#"{"sandbox": {"network": {"strictAllowlist": true}, "filesystem": {"disabled": true}}}"#;
    assert_snapshot!(merged(&[("/project/.cogitator/settings.json", text)]), @"
    warning: /project/.cogitator/settings.json:1:26: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are project settings
    warning: /project/.cogitator/settings.json:1:67: sandbox.filesystem.disabled: left out: it counts from the user's and managed settings only, and these are project settings
    ");
    assert_snapshot!(merged(&[("/project/.claude/settings.local.json", text)]), @"
    warning: /project/.claude/settings.local.json:1:26: sandbox.network.strictAllowlist: left out: it counts from the user's and managed settings only, and these are local settings
    warning: /project/.claude/settings.local.json:1:67: sandbox.filesystem.disabled: left out: it counts from the user's and managed settings only, and these are local settings
    ");
    assert_snapshot!(merged(&[("/home/.claude/settings.json", text)]), @r#"
    files disabled = true  <- user: sandbox.filesystem.disabled "true" in /home/.claude/settings.json:1
    strict = true  <- user: sandbox.network.strictAllowlist "true" in /home/.claude/settings.json:1
    "#);
    let mut fixture = Fixture::new();
    fixture.extras.push(Extra::Json(text.into()));
    assert_snapshot!(fixture.print(), @r#"
    files disabled = true  <- command line: sandbox.filesystem.disabled "true" in --settings:1
    strict = true  <- command line: sandbox.network.strictAllowlist "true" in --settings:1
    "#);
}

#[test]
fn any_socket_entry_opens_every_socket() {
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", r#"{"sandbox": {"network": {"allowUnixSockets": ["/run/docker.sock"]}}}"#),
        ("/project/.claude/settings.json", r#"{"sandbox": {"network": {"allowAllUnixSockets": false}}}"#),
    ]), @r#"
    sandbox.network.allowAllUnixSockets false  <- project: sandbox.network.allowAllUnixSockets "false" in /project/.claude/settings.json:1
    sandbox.network.allowUnixSockets /run/docker.sock  <- user: sandbox.network.allowUnixSockets "/run/docker.sock" in /home/.claude/settings.json:1
    every Unix socket is open
    warning: /home/.claude/settings.json:1:26: sandbox.network.allowUnixSockets: on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox
    "#);
    assert_snapshot!(merged(&[
        ("/home/.claude/settings.json", r#"{"sandbox": {"network": {"allowAllUnixSockets": true}}}"#),
        ("/project/.claude/settings.json", r#"{"sandbox": {"network": {"allowAllUnixSockets": false}}}"#),
    ]), @r#"sandbox.network.allowAllUnixSockets false  <- project: sandbox.network.allowAllUnixSockets "false" in /project/.claude/settings.json:1"#);
}

#[test]
fn what_a_settings_option_may_be() {
    let fixture = Fixture::new();
    let parse = |value: &[u8]| match Extra::parse(value, &fixture.abs("/cwd")) {
        Ok(Extra::Json(text)) => format!("text {text}"),
        Ok(Extra::File(path)) => format!("file {path}").replace(&fixture.abs("/").to_string(), ""),
        Err(error) => format!("error: {error}"),
    };
    for (value, meant) in [
        (&b"{}"[..], "text {}"),
        (b" \n\t{}", "text  \n\t{}"),
        (b"s.json", "file /cwd/s.json"),
        (b"./a/../s.json", "file /cwd/s.json"),
        (b"/etc/s.json", "file /etc/s.json"),
        (b"[]", "file /cwd/[]"),
        (b"", "error: --settings \"\": is empty; name a file, or write settings in braces, such as {}"),
        (b"\xff{}", r"file /cwd/\xff{}"),
        (b"{\n \xff", "error: --settings:2:2: expected UTF-8 text; save the file in that encoding"),
        (b"a\0b", "error: --settings \"a\\0b\": holds a NUL byte"),
    ] {
        assert_eq!(parse(value), meant, "{value:?}");
    }
}
