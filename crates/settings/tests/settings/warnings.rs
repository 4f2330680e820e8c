//! What is left out, and how it is said.

use crate::fixture::{merged, project, with};
use insta::assert_snapshot;
use palisade_policy::Layer;
use palisade_settings::check;

#[test]
fn keys_that_are_not_supported() {
    assert_snapshot!(project(r#"{
      "sandbox": {
        "enableWeakerNestedSandbox": true, "enableWeakerNetworkIsolation": true, "allowAppleEvents": true,
        "allowNestedUserNamespaces": true, "ripgrep": {"command": "rg"}, "enabledPlatforms": ["macos"],
        "ignoreViolations": {"*": ["x"]}, "bwrapPath": "/x/bwrap", "socatPath": "/x/socat",
        "network": {
          "httpProxyPort": 1, "socksProxyPort": 2, "tlsTerminate": {}, "allowMachLookup": ["*"],
          "allowLocalBinding": true, "allowManagedDomainsOnly": true
        },
        "filesystem": {"allowManagedReadPathsOnly": true},
        "credentials": {"allowPlaintextInject": true, "awsPairs": [], "sigv4": {}}
      }
    }"#), @r#"
    sandbox.network.allowLocalBinding true  <- project: sandbox.network.allowLocalBinding "true" in /project/.claude/settings.json:8
    ignore violation *: x  <- project: sandbox.ignoreViolations "x" in /project/.claude/settings.json:5
    warning: /project/.claude/settings.json:3:9: sandbox.enableWeakerNestedSandbox: left out: the sandbox is not weakened
    warning: /project/.claude/settings.json:3:44: sandbox.enableWeakerNetworkIsolation: left out: the sandbox is not weakened
    warning: /project/.claude/settings.json:3:82: sandbox.allowAppleEvents: left out: the sandbox is not weakened
    warning: /project/.claude/settings.json:4:9: sandbox.allowNestedUserNamespaces: left out: the sandbox is not weakened
    warning: /project/.claude/settings.json:4:44: sandbox.ripgrep: left out: nothing here needs ripgrep
    warning: /project/.claude/settings.json:4:74: sandbox.enabledPlatforms: left out: the sandbox is the same on every platform
    warning: /project/.claude/settings.json:5:43: sandbox.bwrapPath: left out: it counts from managed settings only, and these are project settings
    warning: /project/.claude/settings.json:5:68: sandbox.socatPath: left out: it counts from managed settings only, and these are project settings
    warning: /project/.claude/settings.json:7:11: sandbox.network.httpProxyPort: left out: the only way to the network is Palisade's own proxy
    warning: /project/.claude/settings.json:7:31: sandbox.network.socksProxyPort: left out: the only way to the network is Palisade's own proxy
    warning: /project/.claude/settings.json:7:52: sandbox.network.tlsTerminate: left out: the proxy does not look inside TLS
    warning: /project/.claude/settings.json:7:72: sandbox.network.allowMachLookup: left out: the sandbox is not weakened
    warning: /project/.claude/settings.json:8:11: sandbox.network.allowLocalBinding: has no effect: on Linux a command may always listen, within its own network, and nothing else changes
    warning: /project/.claude/settings.json:8:38: sandbox.network.allowManagedDomainsOnly: left out: it counts from managed settings only, and these are project settings
    warning: /project/.claude/settings.json:10:24: sandbox.filesystem.allowManagedReadPathsOnly: left out: it counts from managed settings only, and these are project settings
    warning: /project/.claude/settings.json:11:25: sandbox.credentials.allowPlaintextInject: left out: credentials are hidden, never put into requests
    warning: /project/.claude/settings.json:11:55: sandbox.credentials.awsPairs: left out: credentials are hidden, never put into requests
    warning: /project/.claude/settings.json:11:71: sandbox.credentials.sigv4: left out: credentials are hidden, never put into requests
    "#);
}

#[test]
fn keys_that_do_not_exist() {
    assert_snapshot!(project(r#"{"sandbox": {
      "network": {"allow": ["a.test"], "parentProxy": {"http": "x"}},
      "additionalAllowedHosts": ["b.test"],
      "allowedDomains": ["c.test"],
      "Enabled": false,
      "filesystem": {"allowWrites": ["x"], "denyExec": ["y"]},
      "blockedPorts": [25],
      "git": {"safeDirectories": []},
      "": 1,
      "a\n\u001b[31m": 2,
      "mandatoryDenySearchDepth": 3
    }}"#), @r#"
    warning: /project/.claude/settings.json:2:19: sandbox.network.allow: is not a key; left out; did you mean sandbox.network.allowedDomains?
    warning: /project/.claude/settings.json:2:40: sandbox.network.parentProxy: is not a key; left out
    warning: /project/.claude/settings.json:3:7: sandbox.additionalAllowedHosts: is not a key; left out
    warning: /project/.claude/settings.json:4:7: sandbox.allowedDomains: is not a key; left out; did you mean sandbox.network.allowedDomains?
    warning: /project/.claude/settings.json:5:7: sandbox.Enabled: is not a key; left out; did you mean sandbox.enabled?
    warning: /project/.claude/settings.json:6:22: sandbox.filesystem.allowWrites: is not a key; left out; did you mean sandbox.filesystem.allowWrite?
    warning: /project/.claude/settings.json:6:44: sandbox.filesystem.denyExec: is not a key, so it DENIES NOTHING; did you mean sandbox.filesystem.denyRead?
    warning: /project/.claude/settings.json:7:7: sandbox.blockedPorts: is not a key, so it DENIES NOTHING
    warning: /project/.claude/settings.json:8:7: sandbox.git: is not a key; left out
    warning: /project/.claude/settings.json:9:7: sandbox."": is not a key; left out
    warning: /project/.claude/settings.json:10:7: sandbox."a\n\u{1b}[31m": is not a key; left out
    warning: /project/.claude/settings.json:11:7: sandbox.mandatoryDenySearchDepth: is not a key, so it DENIES NOTHING
    "#);
}

/// All but `sandbox` and `permissions` belongs to Claude Code; what is near to a name of ours is not.
#[test]
fn other_sections_are_left_alone() {
    assert_snapshot!(project(r#"{"myTool": {"denyRead": ["x"]}, "env": {"sandbox": 1}, "hooks": 3}"#), @"");
    assert_snapshot!(project(r#"{"enabled": false, "allowedDomains": ["x"]}"#), @"
    warning: /project/.claude/settings.json:1:2: enabled: is not a key; left out; did you mean sandbox.enabled?
    warning: /project/.claude/settings.json:1:20: allowedDomains: is not a key; left out; did you mean sandbox.network.allowedDomains?
    ");
}

/// What only opens may be lost: it costs itself, and the rest of the list counts.
#[test]
fn entries_whose_loss_only_tightens() {
    assert_snapshot!(project(r#"{
      "sandbox": {
        "filesystem": {"allowWrite": ["a[b", "ok"], "allowRead": ["../*", "ok"]},
        "network": {
          "allowUnixSockets": [""],
          "allowedDomains": ["https://example.com", "example.com/path", "example.com:70000", "::1", "ok.test"]
        }
      },
      "permissions": {
        "allow": ["Bash(git commit -m *)bad", "Bash(ls)", "Write(docs/**)", "mcp__*", "WebFetch(domain:example.*)"],
        "additionalDirectories": ["", "~root/x", "../docs"],
        "defaultMode": "cautious"
      }
    }"#), @r#"
    allow write /project/ok  <- project: sandbox.filesystem.allowWrite "ok" in /project/.claude/settings.json:3
    allow write /docs  <- project: permissions.additionalDirectories "../docs" in /project/.claude/settings.json:11
    allow read /project/ok  <- project: sandbox.filesystem.allowRead "ok" in /project/.claude/settings.json:3
    allow host ok.test  <- project: sandbox.network.allowedDomains "ok.test" in /project/.claude/settings.json:6
    allow Bash(ls)  <- project: permissions.allow "Bash(ls)" in /project/.claude/settings.json:10
    directory /docs  <- project: permissions.additionalDirectories "../docs" in /project/.claude/settings.json:11
    warning: /project/.claude/settings.json:3:39: sandbox.filesystem.allowWrite: "a[b": is not a valid pattern: [ without ]; write \[ for a bracket itself; left out
    warning: /project/.claude/settings.json:3:67: sandbox.filesystem.allowRead: "../*": is not a valid pattern: ".." together with wildcards; write the path that is meant without ".."; left out
    warning: /project/.claude/settings.json:5:32: sandbox.network.allowUnixSockets: "": is empty; write "." for the directory itself; left out
    warning: /project/.claude/settings.json:6:30: sandbox.network.allowedDomains: "https://example.com": has a scheme; write the host alone, such as "example.com"; left out
    warning: /project/.claude/settings.json:6:53: sandbox.network.allowedDomains: "example.com/path": has a path; a rule covers a whole host, so write the host alone; left out
    warning: /project/.claude/settings.json:6:73: sandbox.network.allowedDomains: "example.com:70000": has a port that is not a number from 1 to 65535; left out
    warning: /project/.claude/settings.json:6:94: sandbox.network.allowedDomains: "::1": an IPv6 address must stand in brackets; left out
    warning: /project/.claude/settings.json:10:19: permissions.allow: "Bash(git commit -m *)bad": does not end with the ")" of its pattern; close it, and put nothing behind it; left out
    warning: /project/.claude/settings.json:10:59: permissions.allow: "Write(docs/**)": covers nothing, since paths are allowed to this tool by "Edit(…)" rules; write "Edit(docs/**)"; left out
    warning: /project/.claude/settings.json:10:77: permissions.allow: "mcp__*": has a "*" in the tool's name; an allow rule may have one only behind a server's name, as in "mcp__server__get_*"; left out
    warning: /project/.claude/settings.json:10:87: permissions.allow: "WebFetch(domain:example.*)": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"; left out
    warning: /project/.claude/settings.json:11:35: permissions.additionalDirectories: "": is empty; write "." for the directory itself; left out
    warning: /project/.claude/settings.json:11:39: permissions.additionalDirectories: "~root/x": names another user's home directory; write the directory's full path instead; left out
    warning: /project/.claude/settings.json:12:24: permissions.defaultMode: "cautious": is not the name of a permission mode; write one of default, acceptEdits, plan, auto, dontAsk, bypassPermissions; left out
    "#);
}

#[test]
fn masked_credentials_are_denied() {
    assert_snapshot!(project(r#"{"sandbox": {"credentials": {
      "files": [{"path": "~/.netrc", "mode": "mask", "extract": "x", "injectHosts": ["a.test"]}],
      "envVars": [{"name": "TOKEN", "mode": "mask"}, {"name": "OTHER", "mode": "deny", "path": "/k"}]
    }}}"#), @r#"
    deny read /home/.netrc  <- project: sandbox.credentials.files "~/.netrc" in /project/.claude/settings.json:2
    hide variable TOKEN  <- project: sandbox.credentials.envVars "TOKEN" in /project/.claude/settings.json:3
    hide variable OTHER  <- project: sandbox.credentials.envVars "OTHER" in /project/.claude/settings.json:3
    warning: /project/.claude/settings.json:2:46: sandbox.credentials.files[0].mode: "mask" is taken for "deny": masking would need to look inside TLS
    warning: /project/.claude/settings.json:3:45: sandbox.credentials.envVars[0].mode: "mask" is taken for "deny": masking would need to look inside TLS
    warning: /project/.claude/settings.json:3:88: sandbox.credentials.envVars[1].path: is not a key, so it DENIES NOTHING
    "#);
}

/// An exclusion that is lost leaves its command in the sandbox, which only tightens.
#[test]
fn exclusions_that_cannot_be_read() {
    assert_snapshot!(project(r#"{"sandbox": {"excludedCommands":
      ["", "npm:* publish", "Bash(docker *)", " docker *", "a\nb", "kubectl *", "*"]}}"#), @r#"
    outside the sandbox kubectl *  <- project: sandbox.excludedCommands "kubectl *" in /project/.claude/settings.json:2
    outside the sandbox *  <- project: sandbox.excludedCommands "*" in /project/.claude/settings.json:2
    warning: /project/.claude/settings.json:2:8: sandbox.excludedCommands: "": is empty; write "*" for every command; left out
    warning: /project/.claude/settings.json:2:12: sandbox.excludedCommands: "npm:* publish": has ":*" elsewhere than at its end, where it would match nothing; write " *"; left out
    warning: /project/.claude/settings.json:2:29: sandbox.excludedCommands: "Bash(docker *)": is a whole rule; write its pattern alone, such as "docker *"; left out
    warning: /project/.claude/settings.json:2:47: sandbox.excludedCommands: " docker *": has blanks around it; left out
    warning: /project/.claude/settings.json:2:60: sandbox.excludedCommands: "a\nb": holds the control character '\n'; left out
    "#);
}

#[test]
fn the_users_own_directory() {
    assert_snapshot!(merged(&[("/home/.claude/settings.json", r#"{"sandbox": {"filesystem": {
      "denyRead": ["~/"], "allowRead": ["."], "allowWrite": ["./x", "./"]}}}"#)]), @r#"
    allow write /home/.claude/x  <- user: sandbox.filesystem.allowWrite "./x" in /home/.claude/settings.json:2
    allow write /home/.claude  <- user: sandbox.filesystem.allowWrite "./" in /home/.claude/settings.json:2
    deny read /home  <- user: sandbox.filesystem.denyRead "~/" in /home/.claude/settings.json:2
    allow read /home/.claude  <- user: sandbox.filesystem.allowRead "." in /home/.claude/settings.json:2
    warning: /home/.claude/settings.json:2:41: sandbox.filesystem.allowRead: "." means /home/.claude in this file, not the project
    warning: /home/.claude/settings.json:2:69: sandbox.filesystem.allowWrite: "." means /home/.claude in this file, not the project
    "#);
}

/// What a peer's configuration accepts or refuses. Different on purpose: `*` stands for every host, a name needs no
/// dot, and what would be masked is hidden.
#[test]
fn a_peers_table_of_host_entries() {
    for (list, entry, is_read) in [
        ("allowedDomains", "example.com", true),
        ("allowedDomains", "*.example.com", true),
        ("allowedDomains", "api.example.com:443", true),
        ("allowedDomains", "*.example.com:8443", true),
        ("allowedDomains", "localhost", true),
        ("allowedDomains", "localhost:3000", true),
        ("allowedDomains", "127.0.0.1", true),
        ("allowedDomains", "[2001:db8::1]:443", true),
        ("allowedDomains", "https://example.com", false),
        ("allowedDomains", "example.com/path", false),
        ("allowedDomains", "example.com:70000", false),
        ("allowedDomains", "2001:db8::1", false),
        ("allowedDomains", "*", true),
        ("allowedDomains", "*.com", true),
        ("allowedDomains", "no-dot", true),
        ("deniedDomains", "*", true),
        ("deniedDomains", "*:22", true),
    ] {
        let printed = project(&format!(r#"{{"sandbox": {{"network": {{"{list}": ["{entry}"]}}}}}}"#));
        let lists = ["allow host ", "deny host "];
        assert_eq!(lists.iter().any(|list| printed.starts_with(list)), is_read, "{entry}: {printed}");
    }
}

/// One file may hold thousands of them.
#[test]
fn so_many_are_told() {
    let entries = vec![r#""https://x""#; 150].join(",\n");
    let printed = project(&format!(r#"{{"sandbox": {{"network": {{"allowedDomains": [{entries}]}}}}}}"#));
    assert_eq!(printed.lines().count(), 101, "{printed}");
    assert_snapshot!(printed.lines().last().expect("a line"), @"warning: /project/.claude/settings.json:101:1: settings: and 50 more warnings from here on");

    let fixture = with(&[]);
    let keys: String = (0..150).map(|n| format!("\n\"denyRead{}\": 1,", " ".repeat(n))).collect();
    let text = format!(r#"{{"sandbox": {{{keys}}}}}"#);
    let findings = check(text.into(), &fixture.abs("/project/x.json"), Layer::Project, &fixture.places);
    assert_eq!((findings.errors.len(), findings.warnings.len()), (100, 1));
    let told = findings.warnings[0].to_string().replace(&*fixture.path("/").to_string_lossy(), "/");
    assert_snapshot!(told, @"/project/x.json:102:1: settings: and 50 more errors from here on");
}
