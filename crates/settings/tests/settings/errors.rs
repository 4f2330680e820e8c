//! Texts that no policy can be made from: the message for each kind.

use crate::fixture::{Fixture, project};
use insta::assert_snapshot;
use palisade_settings::{Extra, Flags};

/// The message for a project's file that holds `text`.
fn error(text: &str) -> String {
    let printed = project(text);
    assert!(printed.starts_with("error: "), "{text} was read as:\n{printed}");
    printed.replace("error: /project/.claude/settings.json", "FILE")
}

/// Each text on a line of its own, with its message below.
fn errors(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{}\n  {}", text.escape_debug(), error(text))).collect()
}

#[test]
fn syntax() {
    assert_snapshot!(errors(&[
        "",
        "  \n ",
        "// nothing else",
        "{ not json",
        "{",
        "{\"sandbox\": {",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\" 1}",
        "{\"a\": }",
        "{\"a\": [1 2]}",
        "{\"a\": [1, 2}",
        "{\"a\": tru}",
        "{\"a\": True}",
        "{\"a\": 012}",
        "{\"a\": 0x}",
        "{\"a\": 0xfffffffffffffffffffffffffffffffff}",
        "{\"a\": -}",
        "{\"a\": 1.2.3}",
        "{\"a\": \"b\nc\"}",
        "{\"a\": \"b",
        "{\"a\": \"\\x4\"}",
        "{\"a\": \"\\ud800\"}",
        "{\"a\": \"\\ud800\\u0041\"}",
        "{1: 2}",
        "{\"a\": 1} x",
        "{\"a\": 1}\n}",
        "{} []",
        "{} // fine\n /* not",
        "{} /",
        "{,}",
        "{\"a\": 1,, \"b\": 2}",
        "{\r\n\"a\": ü}",
        "{\u{2028} \"ü\": ü}",
    ]), @r#"

      FILE:1:1: expected a value, such as {}, but the text ends
      \n 
      FILE:2:2: expected a value, such as {}, but the text ends
    // nothing else
      FILE:1:16: expected a value, such as {}, but the text ends
    { not json
      FILE:1:7: expected ":" after the key
    {
      FILE:1:2: expected "}" or another key, but the text ends
    {\"sandbox\": {
      FILE:1:14: expected "}" or another key, but the text ends
    {\"a\": 1 \"b\": 2}
      FILE:1:9: expected a comma or the closing bracket
    {\"a\" 1}
      FILE:1:6: expected ":" after the key
    {\"a\": }
      FILE:1:7: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\"a\": [1 2]}
      FILE:1:10: expected a comma or the closing bracket
    {\"a\": [1, 2}
      FILE:1:12: expected a comma or the closing bracket
    {\"a\": tru}
      FILE:1:10: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\"a\": True}
      FILE:1:7: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\"a\": 012}
      FILE:1:7: expected a number without a zero in front
    {\"a\": 0x}
      FILE:1:9: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\"a\": 0xfffffffffffffffffffffffffffffffff}
      FILE:1:41: expected a smaller number
    {\"a\": -}
      FILE:1:8: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\"a\": 1.2.3}
      FILE:1:7: expected a valid value: invalid float literal
    {\"a\": \"b\nc\"}
      FILE:1:9: expected the quote that ends the string, before the end of the line
    {\"a\": \"b
      FILE:1:9: expected the quote that ends the string, but the text ends
    {\"a\": \"\\x4\"}
      FILE:1:8: expected an escape sequence that JSON5 has
    {\"a\": \"\\ud800\"}
      FILE:1:14: expected an escape sequence that JSON5 has
    {\"a\": \"\\ud800\\u0041\"}
      FILE:1:8: expected both halves of a pair behind \u, since one of them alone is no character
    {1: 2}
      FILE:1:2: expected a key, best in double quotes
    {\"a\": 1} x
      FILE:1:10: expected the end of the text, since the value before is complete
    {\"a\": 1}\n}
      FILE:2:1: expected the end of the text, since the value before is complete
    {} []
      FILE:1:4: expected the end of the text, since the value before is complete
    {} // fine\n /* not
      FILE:2:8: expected the rest of a comment, but the text ends
    {} /
      FILE:1:5: expected the rest of a comment, but the text ends
    {,}
      FILE:1:2: expected a key, best in double quotes
    {\"a\": 1,, \"b\": 2}
      FILE:1:9: expected a key, best in double quotes
    {\r\n\"a\": ü}
      FILE:2:6: expected a value: true, false, null, a number, a string in quotes, a list or an object
    {\u{2028} \"ü\": ü}
      FILE:1:9: expected a value: true, false, null, a number, a string in quotes, a list or an object
    "#);
}

#[test]
fn types() {
    assert_snapshot!(errors(&[
        "[]",
        "null",
        "\"{}\"",
        r#"{"sandbox": true}"#,
        r#"{"sandbox": null}"#,
        r#"{"sandbox": {"enabled": "true"}}"#,
        r#"{"sandbox": {"enabled": 1}}"#,
        r#"{"sandbox": {"enabled": null}}"#,
        r#"{"sandbox": {"excludedCommands": "docker *"}}"#,
        r#"{"sandbox": {"excludedCommands": ["docker *", 1]}}"#,
        r#"{"sandbox": {"filesystem": []}}"#,
        "{\"sandbox\": {\n  \"filesystem\": {\n    \"denyRead\": \"~/.ssh\"\n}}}",
        "{\"sandbox\": {\"filesystem\": {\"denyRead\": [\n\"a\",\n {\"path\": \"~/.ssh\"}]}}}",
        r#"{"sandbox": {"ignoreViolations": ["x"]}}"#,
        r#"{"sandbox": {"ignoreViolations": {"*": "x"}}}"#,
        r#"{"sandbox": {"ignoreViolations": {"npm test": ["x", 1]}}}"#,
        r#"{"permissions": []}"#,
        r#"{"permissions": {"deny": "Bash"}}"#,
        r#"{"permissions": {"allow": [{"rule": "Bash"}]}}"#,
        r#"{"permissions": {"defaultMode": true}}"#,
        r#"{"permissions": {"disableBypassPermissionsMode": true}}"#,
        r#"{"permissions": {"additionalDirectories": "../docs"}}"#,
        r#"{"sandbox": {"network": {"allowedDomains": {"a.test": true}}}}"#,
        r#"{"sandbox": {"network": {"allowLocalBinding": 0x10}}}"#,
        r#"{"sandbox": {"credentials": {"files": {}}}}"#,
        r#"{"sandbox": {"credentials": {"files": [1]}}}"#,
        r#"{"sandbox": {"credentials": {"files": [{"mode": "deny"}]}}}"#,
        r#"{"sandbox": {"credentials": {"files": [{"path": 1}]}}}"#,
        r#"{"sandbox": {"credentials": {"files": [{"path": "x", "mode": "allow"}]}}}"#,
        r#"{"sandbox": {"credentials": {"envVars": [{"path": "X", "mode": "deny"}]}}}"#,
    ]), @r#"
    []
      FILE:1:1: settings: expected an object in braces, found a list
    null
      FILE:1:1: settings: expected an object in braces, found null
    \"{}\"
      FILE:1:1: settings: expected an object in braces, found the string "{}"
    {\"sandbox\": true}
      FILE:1:13: sandbox: expected an object in braces, found true
    {\"sandbox\": null}
      FILE:1:13: sandbox: expected an object in braces, found null
    {\"sandbox\": {\"enabled\": \"true\"}}
      FILE:1:25: sandbox.enabled: expected true or false, found the string "true"
    {\"sandbox\": {\"enabled\": 1}}
      FILE:1:25: sandbox.enabled: expected true or false, found the number 1
    {\"sandbox\": {\"enabled\": null}}
      FILE:1:25: sandbox.enabled: expected true or false, found null
    {\"sandbox\": {\"excludedCommands\": \"docker *\"}}
      FILE:1:34: sandbox.excludedCommands: expected a list of strings, found the string "docker *"
    {\"sandbox\": {\"excludedCommands\": [\"docker *\", 1]}}
      FILE:1:47: sandbox.excludedCommands[1]: expected a string, found the number 1
    {\"sandbox\": {\"filesystem\": []}}
      FILE:1:28: sandbox.filesystem: expected an object in braces, found a list
    {\"sandbox\": {\n  \"filesystem\": {\n    \"denyRead\": \"~/.ssh\"\n}}}
      FILE:3:17: sandbox.filesystem.denyRead: expected a list of strings, found the string "~/.ssh"
    {\"sandbox\": {\"filesystem\": {\"denyRead\": [\n\"a\",\n {\"path\": \"~/.ssh\"}]}}}
      FILE:3:2: sandbox.filesystem.denyRead[1]: expected a string, found an object
    {\"sandbox\": {\"ignoreViolations\": [\"x\"]}}
      FILE:1:34: sandbox.ignoreViolations: expected an object of lists, found a list
    {\"sandbox\": {\"ignoreViolations\": {\"*\": \"x\"}}}
      FILE:1:40: sandbox.ignoreViolations."*": expected a list of strings, found the string "x"
    {\"sandbox\": {\"ignoreViolations\": {\"npm test\": [\"x\", 1]}}}
      FILE:1:53: sandbox.ignoreViolations."npm test"[1]: expected a string, found the number 1
    {\"permissions\": []}
      FILE:1:17: permissions: expected an object in braces, found a list
    {\"permissions\": {\"deny\": \"Bash\"}}
      FILE:1:26: permissions.deny: expected a list of strings, found the string "Bash"
    {\"permissions\": {\"allow\": [{\"rule\": \"Bash\"}]}}
      FILE:1:28: permissions.allow[0]: expected a string, found an object
    {\"permissions\": {\"defaultMode\": true}}
      FILE:1:33: permissions.defaultMode: expected the name of a permission mode, found true
    {\"permissions\": {\"disableBypassPermissionsMode\": true}}
      FILE:1:50: permissions.disableBypassPermissionsMode: expected "disable", found true
    {\"permissions\": {\"additionalDirectories\": \"../docs\"}}
      FILE:1:43: permissions.additionalDirectories: expected a list of strings, found the string "../docs"
    {\"sandbox\": {\"network\": {\"allowedDomains\": {\"a.test\": true}}}}
      FILE:1:44: sandbox.network.allowedDomains: expected a list of strings, found an object
    {\"sandbox\": {\"network\": {\"allowLocalBinding\": 0x10}}}
      FILE:1:47: sandbox.network.allowLocalBinding: expected true or false, found the number 16
    {\"sandbox\": {\"credentials\": {\"files\": {}}}}
      FILE:1:39: sandbox.credentials.files: expected a list of objects, found an object
    {\"sandbox\": {\"credentials\": {\"files\": [1]}}}
      FILE:1:40: sandbox.credentials.files[0]: expected an object, found the number 1
    {\"sandbox\": {\"credentials\": {\"files\": [{\"mode\": \"deny\"}]}}}
      FILE:1:40: sandbox.credentials.files[0].path: expected a string, found nothing
    {\"sandbox\": {\"credentials\": {\"files\": [{\"path\": 1}]}}}
      FILE:1:49: sandbox.credentials.files[0].path: expected a string, found the number 1
    {\"sandbox\": {\"credentials\": {\"files\": [{\"path\": \"x\", \"mode\": \"allow\"}]}}}
      FILE:1:62: sandbox.credentials.files[0].mode: expected "deny" or "mask", found the string "allow"
    {\"sandbox\": {\"credentials\": {\"envVars\": [{\"path\": \"X\", \"mode\": \"deny\"}]}}}
      FILE:1:42: sandbox.credentials.envVars[0].name: expected a string, found nothing
    "#);
}

#[test]
fn entries() {
    assert_snapshot!(errors(&[
        r#"{"sandbox": {"filesystem": {"denyRead": [""]}}}"#,
        r#"{"sandbox": {"filesystem": {"denyRead": ["ok", "~root/x"]}}}"#,
        r#"{"sandbox": {"filesystem": {"denyWrite": ["a\u0000b"]}}}"#,
        r#"{"sandbox": {"filesystem": {"denyRead": ["a[b"]}}}"#,
        r#"{"sandbox": {"filesystem": {"denyWrite": ["../*"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["https://example.com"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["example.com/path"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["example.com:70000"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["*."]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": [".*.foo.com"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["*.*.example.com"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["a*.example.com"]}}}"#,
        r#"{"sandbox": {"network": {"deniedDomains": ["evil.test\n"]}}}"#,
        r#"{"sandbox": {"credentials": {"files": [{"path": "", "mode": "deny"}]}}}"#,
        r#"{"sandbox": {"credentials": {"envVars": [{"name": "A-B", "mode": "deny"}]}}}"#,
        r#"{"sandbox": {"credentials": {"envVars": ["1A"]}}}"#,
        r#"{"sandbox": {"credentials": {"envVars": [""]}}}"#,
        &format!(r#"{{"sandbox": {{"network": {{"deniedDomains": ["{}/"]}}}}}}"#, "long".repeat(40)),
    ]), @r#"
    {\"sandbox\": {\"filesystem\": {\"denyRead\": [\"\"]}}}
      FILE:1:42: sandbox.filesystem.denyRead: "": is empty; write "." for the directory itself
    {\"sandbox\": {\"filesystem\": {\"denyRead\": [\"ok\", \"~root/x\"]}}}
      FILE:1:48: sandbox.filesystem.denyRead: "~root/x": names another user's home directory; write the directory's full path instead
    {\"sandbox\": {\"filesystem\": {\"denyWrite\": [\"a\\u0000b\"]}}}
      FILE:1:43: sandbox.filesystem.denyWrite: "a\0b": holds a NUL byte
    {\"sandbox\": {\"filesystem\": {\"denyRead\": [\"a[b\"]}}}
      FILE:1:42: sandbox.filesystem.denyRead: "a[b": is not a valid pattern: [ without ]; write \[ for a bracket itself
    {\"sandbox\": {\"filesystem\": {\"denyWrite\": [\"../*\"]}}}
      FILE:1:43: sandbox.filesystem.denyWrite: "../*": is not a valid pattern: ".." together with wildcards; write the path that is meant without ".."
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"https://example.com\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "https://example.com": has a scheme; write the host alone, such as "example.com"
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"example.com/path\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "example.com/path": has a path; a rule covers a whole host, so write the host alone
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"example.com:70000\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "example.com:70000": has a port that is not a number from 1 to 65535
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"*.\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "*.": starts or ends with a dot; write "*." in front to cover the names below a host
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\".*.foo.com\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: ".*.foo.com": starts or ends with a dot; write "*." in front to cover the names below a host
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"*.*.example.com\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "*.*.example.com": has more than one *
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"a*.example.com\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "a*.example.com": has a * that is neither a whole first nor a whole middle label; write it as one, as in "*.example.com"
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"evil.test\\n\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "evil.test\n": the host holds '\n', which no host name may
    {\"sandbox\": {\"credentials\": {\"files\": [{\"path\": \"\", \"mode\": \"deny\"}]}}}
      FILE:1:49: sandbox.credentials.files: "": is empty; write "." for the directory itself
    {\"sandbox\": {\"credentials\": {\"envVars\": [{\"name\": \"A-B\", \"mode\": \"deny\"}]}}}
      FILE:1:51: sandbox.credentials.envVars: "A-B": expected a variable's name: a letter or _, then letters, digits and _
    {\"sandbox\": {\"credentials\": {\"envVars\": [\"1A\"]}}}
      FILE:1:42: sandbox.credentials.envVars: "1A": expected a variable's name: a letter or _, then letters, digits and _
    {\"sandbox\": {\"credentials\": {\"envVars\": [\"\"]}}}
      FILE:1:42: sandbox.credentials.envVars: "": expected a variable's name: a letter or _, then letters, digits and _
    {\"sandbox\": {\"network\": {\"deniedDomains\": [\"longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong/\"]}}}
      FILE:1:44: sandbox.network.deniedDomains: "longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"…: has a path; a rule covers a whole host, so write the host alone
    "#);
}

#[test]
fn duplicate_keys() {
    assert_snapshot!(errors(&[
        r#"{"sandbox": {}, "sandbox": {}}"#,
        "{\n\"sandbox\": {\"enabled\": true,\n enabled: false}}",
        r#"{"hooks": [{"a": 1, "b": 2, "\u0061": 3}]}"#,
        "{'a\\nb': 1, 'a\\nb': 2}",
    ]), @r#"
    {\"sandbox\": {}, \"sandbox\": {}}
      FILE:1:17: the key "sandbox" stands here again, after line 1; keep one of the two
    {\n\"sandbox\": {\"enabled\": true,\n enabled: false}}
      FILE:3:2: the key "enabled" stands here again, after line 2; keep one of the two
    {\"hooks\": [{\"a\": 1, \"b\": 2, \"\\u0061\": 3}]}
      FILE:1:29: the key "a" stands here again, after line 1; keep one of the two
    {\'a\\nb\': 1, \'a\\nb\': 2}
      FILE:1:13: the key "a\nb" stands here again, after line 1; keep one of the two
    "#);
}

/// A key that is not known is a warning, but not one that was meant to close something.
#[test]
fn misspelt_denies() {
    assert_snapshot!(errors(&[
        r#"{"sandbox": {"denyRead": ["~/.ssh"]}}"#,
        r#"{"sandbox": {"filesystem": {"denyReads": ["~/.ssh"]}}}"#,
        r#"{"sandbox": {"filesytem": {"denyRead": ["~/.ssh"]}}}"#,
        r#"{"sandbox": {"network": {"denyDomains": ["x.test"]}}}"#,
        r#"{"sandbox": {"credential": {"files": ["~/.ssh"]}}}"#,
        r#"{"sandbox": {"os": {"linux": {"envvars": ["A"]}}}}"#,
    ]), @r#"
    {\"sandbox\": {\"denyRead\": [\"~/.ssh\"]}}
      FILE:1:14: sandbox.denyRead: is not a key, so it denies nothing; write sandbox.filesystem.denyRead
    {\"sandbox\": {\"filesystem\": {\"denyReads\": [\"~/.ssh\"]}}}
      FILE:1:29: sandbox.filesystem.denyReads: is not a key, so it denies nothing; write sandbox.filesystem.denyRead
    {\"sandbox\": {\"filesytem\": {\"denyRead\": [\"~/.ssh\"]}}}
      FILE:1:14: sandbox.filesytem: is not a key, so it is not looked into; write sandbox.filesystem
    {\"sandbox\": {\"network\": {\"denyDomains\": [\"x.test\"]}}}
      FILE:1:26: sandbox.network.denyDomains: is not a key, so it denies nothing; write sandbox.network.deniedDomains
    {\"sandbox\": {\"credential\": {\"files\": [\"~/.ssh\"]}}}
      FILE:1:14: sandbox.credential: is not a key, so it denies nothing; write sandbox.credentials
    {\"sandbox\": {\"os\": {\"linux\": {\"envvars\": [\"A\"]}}}}
      FILE:1:31: sandbox.os.linux.envvars: is not a key, so it denies nothing; write sandbox.credentials.envVars
    "#);
}

#[test]
fn nesting() {
    let nested = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_snapshot!(project(&nested(63)), @"");
    assert_snapshot!(error(&nested(64)), @"FILE:1:70: is nested deeper than 64 lists and objects");
    for opening in ["[", "{\"a\":", "{a:[", "[[],"] {
        let text = format!("{{\"sandbox\":\n{}", opening.repeat(100_000));
        assert!(error(&text).contains("is nested deeper than 64"), "{opening}");
    }
}

#[test]
fn options() {
    let with = |flags: Flags| {
        let mut fixture = Fixture::new();
        fixture.flags = flags;
        fixture.print()
    };
    let deny_read = vec![b"~other/x\n".to_vec()];
    assert_snapshot!(with(Flags { deny_read, ..Flags::default() }), @r#"error: --deny-read "~other/x\n": starts or ends with white space; take it away (a name that is so is written "./ x", "x /")"#);
    let allow_host = vec!["http://x.test/".into()];
    assert_snapshot!(with(Flags { allow_host, ..Flags::default() }), @r#"error: --allow-host "http://x.test/": has a scheme; write the host alone, such as "x.test""#);

    let mut fixture = Fixture::new();
    fixture.extras = vec![Extra::Json("{\"sandbox\": {\n\"enabled\": 0}}".into())];
    assert_snapshot!(fixture.print(), @"error: --settings:2:12: sandbox.enabled: expected true or false, found the number 0");
    fixture.extras = vec![Extra::File(fixture.abs("/cwd/none.json"))];
    assert_snapshot!(fixture.print(), @"error: /cwd/none.json: there is no such file");
}
