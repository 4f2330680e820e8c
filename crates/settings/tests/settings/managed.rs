//! An administrator's files: which there are, in which order, and who must not be able to change them.

use crate::fixture::{Fixture, LOCAL, MANAGED, PROJECT, USER, merged, with};
use insta::assert_snapshot;
use palisade_settings::ManagedPlaces;
use std::os::unix::fs::{PermissionsExt, symlink};

fn hosts(host: &str, enabled: bool) -> String {
    format!(r#"{{"sandbox": {{"enabled": {enabled}, "network": {{"allowedDomains": ["{host}"]}}}}}}"#)
}

#[test]
fn stand_above_every_other_layer() {
    let mut fixture = with(&[
        (MANAGED, &hosts("managed.test", true)),
        (LOCAL, &hosts("local.test", false)),
        (PROJECT, &hosts("project.test", false)),
        (USER, &hosts("user.test", false)),
    ]);
    fixture.flags.allow_host = vec!["flag.test".into()];
    fixture.extras.push(palisade_settings::Extra::Json(hosts("option.test", false)));
    assert_snapshot!(fixture.print(), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/claude-code/managed-settings.json:1
    allow host managed.test  <- managed: sandbox.network.allowedDomains "managed.test" in /etc/claude-code/managed-settings.json:1
    allow host flag.test  <- command line: --allow-host "flag.test"
    allow host option.test  <- command line: sandbox.network.allowedDomains "option.test" in --settings:1
    allow host local.test  <- local: sandbox.network.allowedDomains "local.test" in /project/.claude/settings.local.json:1
    allow host project.test  <- project: sandbox.network.allowedDomains "project.test" in /project/.claude/settings.json:1
    allow host user.test  <- user: sandbox.network.allowedDomains "user.test" in /home/.claude/settings.json:1
    "#);
}

/// A later name replaces switches of an earlier one and of the main file; lists are joined. Hidden files and other
/// endings are not read (which is said where somebody may think otherwise).
#[test]
fn drop_ins_in_the_order_of_their_names() {
    assert_snapshot!(merged(&[
        (MANAGED, &hosts("main.test", false)),
        ("/etc/claude-code/managed-settings.d/10-first.json", &hosts("first.test", false)),
        ("/etc/claude-code/managed-settings.d/20-second.json", &hosts("second.test", true)),
        ("/etc/claude-code/managed-settings.d/9.json", r#"{"sandbox": {"network": {"allowedDomains": ["9.test", "main.test"]}}}"#),
        ("/etc/claude-code/managed-settings.d/.hidden.json", "not read"),
        ("/etc/claude-code/managed-settings.d/30.json.bak", "not read"),
        ("/etc/claude-code/managed-settings.d/README", "not read"),
    ]), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/claude-code/managed-settings.d/20-second.json:1
    allow host 9.test  <- managed: sandbox.network.allowedDomains "9.test" in /etc/claude-code/managed-settings.d/9.json:1
    allow host main.test  <- managed: sandbox.network.allowedDomains "main.test" in /etc/claude-code/managed-settings.d/9.json:1
    allow host second.test  <- managed: sandbox.network.allowedDomains "second.test" in /etc/claude-code/managed-settings.d/20-second.json:1
    allow host first.test  <- managed: sandbox.network.allowedDomains "first.test" in /etc/claude-code/managed-settings.d/10-first.json:1
    warning: /etc/claude-code/managed-settings.d/.hidden.json: is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)
    "#);
}

/// Its author counts on it.
#[test]
fn what_only_looks_like_one_of_them_is_told() {
    let fixture = with(&[
        ("/etc/palisade/managed-settings.d/A.JSON", "{}"),
        ("/etc/palisade/managed-settings.d/.a.json", "{}"),
        ("/etc/palisade/managed-settings.d/a.json5", "{}"),
        ("/etc/palisade/managed-settings.d/a.json.bak", "{}"),
        ("/etc/palisade/managed_settings.json", "{}"),
        ("/etc/palisade/managed-mcp.json", "{}"),
    ]);
    assert_snapshot!(fixture.print(), @"
    warning: /etc/palisade/managed-settings.d/a.json5: is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)
    warning: /etc/palisade/managed-settings.d/A.JSON: is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)
    warning: /etc/palisade/managed-settings.d/.a.json: is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)
    warning: /etc/palisade/managed_settings.json: is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)
    ");
}

#[test]
fn the_products_own_names_stand_above_claudes() {
    assert_snapshot!(merged(&[
        ("/etc/claude-code/managed-settings.d/99.json", &hosts("claude.test", true)),
        ("/etc/cogitator/managed-settings.json", &hosts("cogitator.test", true)),
        ("/etc/palisade/managed-settings.json", &hosts("palisade.test", false)),
    ]), @r#"
    enabled = false  <- managed: sandbox.enabled "false" in /etc/palisade/managed-settings.json:1
    allow host palisade.test  <- managed: sandbox.network.allowedDomains "palisade.test" in /etc/palisade/managed-settings.json:1
    allow host cogitator.test  <- managed: sandbox.network.allowedDomains "cogitator.test" in /etc/cogitator/managed-settings.json:1
    allow host claude.test  <- managed: sandbox.network.allowedDomains "claude.test" in /etc/claude-code/managed-settings.d/99.json:1
    "#);
}

#[test]
fn only_drop_ins() {
    assert_snapshot!(merged(&[("/etc/palisade/managed-settings.d/a.json", &hosts("a.test", true))]), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/palisade/managed-settings.d/a.json:1
    allow host a.test  <- managed: sandbox.network.allowedDomains "a.test" in /etc/palisade/managed-settings.d/a.json:1
    "#);
}

/// Whatever is wrong in them: an administrator's limits are not to get lost.
#[test]
fn what_is_wrong_in_them_is_an_error() {
    let error = |text: &str| format!("{}\n  {}", text.escape_debug(), merged(&[(MANAGED, text)]));
    assert_snapshot!([
        "{",
        r#"{"sandbox": {"network": {"allowedDomains": ["https://a.test"]}}}"#,
        r#"{"sandbox": {"filesystem": {"allowRead": ["a[b"]}}}"#,
        r#"{"sandbox": {"filesystem": {"denyRead": ["relative"]}}}"#,
        r#"{"sandbox": {"filesystem": {"allowWrite": ["."]}}}"#,
        r#"{"sandbox": {"credentials": {"files": [{"path": "x", "mode": "deny"}]}}}"#,
        r#"{"sandbox": {"excludedCommands": [""]}}"#,
        r#"{"sandbox": {"bwrapPath": "bwrap"}}"#,
        r#"{"sandbox": {"socatPath": ["/usr/bin/socat"]}}"#,
        r#"{"permissions": {"allow": ["Bash(npm:* publish)"]}}"#,
        r#"{"permissions": {"deny": ["Read(/secrets/**)"]}}"#,
        r#"{"permissions": {"defaultMode": "careful"}}"#,
        r#"{"permissions": {"additionalDirectories": ["../docs"]}}"#,
        r#"{"allowManagedPermissionRulesOnly": "yes"}"#,
    ].map(error).concat(), @r#"
    {
      error: /etc/claude-code/managed-settings.json:1:2: expected "}" or another key, but the text ends
    {\"sandbox\": {\"network\": {\"allowedDomains\": [\"https://a.test\"]}}}
      error: /etc/claude-code/managed-settings.json:1:45: sandbox.network.allowedDomains: "https://a.test": has a scheme; write the host alone, such as "a.test"
    {\"sandbox\": {\"filesystem\": {\"allowRead\": [\"a[b\"]}}}
      error: /etc/claude-code/managed-settings.json:1:43: sandbox.filesystem.allowRead: "a[b": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    {\"sandbox\": {\"filesystem\": {\"denyRead\": [\"relative\"]}}}
      error: /etc/claude-code/managed-settings.json:1:42: sandbox.filesystem.denyRead: "relative": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    {\"sandbox\": {\"filesystem\": {\"allowWrite\": [\".\"]}}}
      error: /etc/claude-code/managed-settings.json:1:44: sandbox.filesystem.allowWrite: ".": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    {\"sandbox\": {\"credentials\": {\"files\": [{\"path\": \"x\", \"mode\": \"deny\"}]}}}
      error: /etc/claude-code/managed-settings.json:1:49: sandbox.credentials.files: "x": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    {\"sandbox\": {\"excludedCommands\": [\"\"]}}
      error: /etc/claude-code/managed-settings.json:1:35: sandbox.excludedCommands: "": is empty; write "*" for every command
    {\"sandbox\": {\"bwrapPath\": \"bwrap\"}}
      error: /etc/claude-code/managed-settings.json:1:27: sandbox.bwrapPath: expected an absolute path, found the string "bwrap"
    {\"sandbox\": {\"socatPath\": [\"/usr/bin/socat\"]}}
      error: /etc/claude-code/managed-settings.json:1:27: sandbox.socatPath: expected an absolute path, found a list
    {\"permissions\": {\"allow\": [\"Bash(npm:* publish)\"]}}
      error: /etc/claude-code/managed-settings.json:1:28: permissions.allow: "Bash(npm:* publish)": has ":*" elsewhere than at its end, where it would match nothing; write " *"
    {\"permissions\": {\"deny\": [\"Read(/secrets/**)\"]}}
      error: /etc/claude-code/managed-settings.json:1:27: permissions.deny: "Read(/secrets/**)": starts with a single slash, which no rule of this file has a meaning for; write // for the file system's root
    {\"permissions\": {\"defaultMode\": \"careful\"}}
      error: /etc/claude-code/managed-settings.json:1:33: permissions.defaultMode: "careful": is not the name of a permission mode; write one of default, acceptEdits, plan, auto, dontAsk, bypassPermissions
    {\"permissions\": {\"additionalDirectories\": [\"../docs\"]}}
      error: /etc/claude-code/managed-settings.json:1:44: permissions.additionalDirectories: "../docs": is relative, and an administrator's file has no directory to start at; write the full path, or ~/
    {\"allowManagedPermissionRulesOnly\": \"yes\"}
      error: /etc/claude-code/managed-settings.json:1:37: allowManagedPermissionRulesOnly: expected true or false, found the string "yes"
    "#);
}

#[test]
fn programs_that_they_name() {
    let text = r#"{"sandbox": {"bwrapPath": "/opt/bwrap/bin/bwrap", "socatPath": "/opt/../usr/bin/socat"}}"#;
    assert_snapshot!(merged(&[(MANAGED, text)]), @r#"
    sandbox.bwrapPath /opt/bwrap/bin/bwrap  <- managed: sandbox.bwrapPath "/opt/bwrap/bin/bwrap" in /etc/claude-code/managed-settings.json:1
    sandbox.socatPath /usr/bin/socat  <- managed: sandbox.socatPath "/opt/../usr/bin/socat" in /etc/claude-code/managed-settings.json:1
    "#);
    assert_snapshot!(merged(&[(USER, text), (LOCAL, text)]), @"
    warning: /project/.claude/settings.local.json:1:14: sandbox.bwrapPath: left out: it counts from managed settings only, and these are local settings
    warning: /project/.claude/settings.local.json:1:51: sandbox.socatPath: left out: it counts from managed settings only, and these are local settings
    warning: /home/.claude/settings.json:1:14: sandbox.bwrapPath: left out: it counts from managed settings only, and these are user settings
    warning: /home/.claude/settings.json:1:51: sandbox.socatPath: left out: it counts from managed settings only, and these are user settings
    ");
}

#[test]
fn the_places_of_this_machine() {
    let ManagedPlaces { directories, owner } = ManagedPlaces::of_this_machine();
    assert_eq!(owner, 0);
    let shown: Vec<_> = directories.iter().map(ToString::to_string).collect();
    if cfg!(target_os = "macos") {
        assert_eq!(shown[0], "/Library/Application Support/Palisade");
    } else {
        assert_eq!(shown, ["/etc/palisade", "/etc/cogitator", "/etc/claude-code"]);
    }
}

fn fixture() -> Fixture {
    with(&[(MANAGED, &hosts("a.test", true)), ("/etc/claude-code/managed-settings.d/a.json", "{}")])
}

/// The mode of one thing on the way, and what comes of it.
fn with_mode(path: &str, mode: u32) -> String {
    let fixture = fixture();
    std::fs::set_permissions(fixture.path(path), PermissionsExt::from_mode(mode)).expect("a new mode");
    fixture.print()
}

#[test]
fn what_others_can_write_is_refused() {
    assert_snapshot!(with_mode(MANAGED, 0o664), @"error: /etc/claude-code/managed-settings.json: can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    assert_snapshot!(with_mode(MANAGED, 0o646), @"error: /etc/claude-code/managed-settings.json: can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    assert_snapshot!(with_mode("/etc/claude-code", 0o775), @"error: /etc/claude-code/managed-settings.d: /etc/claude-code can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    assert_snapshot!(with_mode("/etc/claude-code/managed-settings.d", 0o777), @"error: /etc/claude-code/managed-settings.d: can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    assert_snapshot!(with_mode("/etc/claude-code/managed-settings.d/a.json", 0o666), @"error: /etc/claude-code/managed-settings.d/a.json: can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    assert_snapshot!(with_mode("/etc", 0o777), @"error: /etc/palisade/managed-settings.d: /etc can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
    // Nobody can replace what is another's in a sticky directory.
    assert!(with_mode("/etc", 0o1777).starts_with("enabled = true"));
    assert!(with_mode(MANAGED, 0o600).starts_with("enabled = true"));
}

/// An empty directory of others would do: they could take away what the administrator puts there.
#[test]
fn a_directory_of_others_is_refused_even_if_it_is_empty() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.path("/etc/palisade/managed-settings.d")).expect("new directories");
    for (path, mode) in
        [("/etc", 0o755), ("/etc/palisade", 0o777), ("/etc/palisade/managed-settings.d", 0o755)]
    {
        std::fs::set_permissions(fixture.path(path), PermissionsExt::from_mode(mode)).expect("a new mode");
    }
    assert_snapshot!(fixture.print(), @"error: /etc/palisade/managed-settings.d: /etc/palisade can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");
}

/// Only root can give a file away, so only there this can be tried.
#[test]
fn what_belongs_to_others_is_refused() {
    let mut fixture = fixture();
    fixture.places.managed.owner = 0;
    if nix::unistd::geteuid().is_root() {
        assert!(fixture.load().is_ok());
        std::os::unix::fs::chown(fixture.path(MANAGED), Some(1234), None).expect("root can");
        assert_snapshot!(fixture.print(), @"error: /etc/claude-code/managed-settings.json: belongs to user 1234, who could change what an administrator says; give it to root, or remove it");
    } else {
        let printed = fixture.print();
        assert!(printed.contains("belongs to user"), "{printed}");
    }
}

/// A link is followed when nobody else could turn it elsewhere.
#[test]
fn links() {
    let fixture = Fixture::new();
    fixture.write("/store/managed.json", hosts("a.test", true));
    fixture.write("/etc/claude-code/other", "");
    symlink(fixture.path("/store/managed.json"), fixture.path(MANAGED)).expect("a link");
    assert_snapshot!(fixture.print(), @r#"
    enabled = true  <- managed: sandbox.enabled "true" in /etc/claude-code/managed-settings.json:1
    allow host a.test  <- managed: sandbox.network.allowedDomains "a.test" in /etc/claude-code/managed-settings.json:1
    "#);

    std::fs::set_permissions(fixture.path("/store"), PermissionsExt::from_mode(0o777)).expect("a new mode");
    assert_snapshot!(fixture.print(), @"error: /etc/claude-code/managed-settings.json: /store can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)");

    let fixture = Fixture::new();
    fixture.write("/etc/claude-code/other", "");
    symlink("nothing.json", fixture.path(MANAGED)).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /etc/claude-code/managed-settings.json: is behind a symbolic link that leads nowhere; restore what it leads to, or remove the link");

    let fixture = Fixture::new();
    fixture.write("/etc/claude-code/other", "");
    symlink("nothing.d", fixture.path("/etc/claude-code/managed-settings.d")).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /etc/claude-code/managed-settings.d: is behind a symbolic link that leads nowhere; restore what it leads to, or remove the link");

    let fixture = Fixture::new();
    fixture.write("/etc/claude-code/other", "");
    symlink("managed-settings.json", fixture.path(MANAGED)).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /etc/claude-code/managed-settings.json: is behind symbolic links that lead in a circle");
}
