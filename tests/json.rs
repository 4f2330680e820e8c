//! `docs/json.md`: every object that `--json` writes has the fields of that page with their types, and no others.

use palisade_tests::{Project, Tools};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The rows of one table: the type by the field.
type Rows = BTreeMap<String, String>;

/// The rows under each heading; those of an origin, which stand on the page once, under none.
fn page() -> BTreeMap<String, Rows> {
    let mut sections: BTreeMap<String, Rows> = BTreeMap::new();
    let mut heading = String::new();
    for line in include_str!("../docs/json.md").lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text.replace('`', "");
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", field, kind, _, ""] = cells[..]
            && let Some(field) = field.strip_prefix('`')
        {
            let field = field.trim_end_matches('`').to_owned();
            sections.entry(heading.clone()).or_default().insert(field, kind.to_owned());
        }
    }
    sections
}

/// The last line of what `palisade` writes to `stdout`, or else to standard error, for `words`.
fn object(project: &Project, words: &[&str]) -> Value {
    let mut command = Command::new(&Tools::here().palisade);
    command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
    let output = command.args(words).output().expect("palisade starts");
    let text = if words[0] == "run" { &output.stderr } else { &output.stdout };
    let text = String::from_utf8_lossy(text);
    let object = if words[0] == "run" { text.lines().last().unwrap_or_default() } else { &*text };
    serde_json::from_str(object).unwrap_or_else(|_| panic!("{words:?}: {output:?}"))
}

/// Compares `value`, the field at `path`, with the page, and notes the fields that are met.
fn compare(value: &Value, path: &str, page: [&Rows; 2], met: &mut BTreeSet<String>) {
    let [section, origin] = page;
    let kind = section.get(path).map(String::as_str).unwrap_or_default();
    let is_right = match value {
        Value::Null => kind.contains("null"),
        Value::Bool(_) => kind.contains("boolean"),
        Value::Number(_) => kind.contains("number"),
        Value::String(_) => kind.contains("string"),
        Value::Array(_) => kind.contains("list"),
        Value::Object(_) => kind.contains("object") || kind.contains("origin"),
    };
    assert!(is_right, "{path} is {value}, and on the page {kind:?}");
    met.insert(path.to_owned());
    match value {
        Value::Array(elements) if kind == "list of strings" => {
            assert!(elements.iter().all(Value::is_string), "{path}: {value}");
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| compare_fields(element, &format!("{path}[]."), page, met));
        }
        Value::Object(_) if kind.contains("origin") => {
            compare_fields(value, "", [origin, origin], &mut BTreeSet::new());
        }
        Value::Object(_) => compare_fields(value, &format!("{path}."), page, met),
        _ => {}
    }
}

fn compare_fields(value: &Value, before: &str, page: [&Rows; 2], met: &mut BTreeSet<String>) {
    let fields = value.as_object().unwrap_or_else(|| panic!("{before}: {value}"));
    for (name, value) in fields {
        compare(value, &format!("{before}{name}"), page, met);
    }
    for (field, kind) in page[0] {
        let is_own = field.strip_prefix(before).is_some_and(|rest| !rest.contains(['.', '[']));
        if is_own && !kind.contains("absent") {
            assert!(fields.contains_key(&field[before.len()..]), "{field} is missing in {value}");
        }
    }
}

#[test]
fn every_object_has_the_fields_of_the_page() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({
        "sandbox": {
            "filesystem": { "denyRead": ["secret"], "denyWrite": ["secret"] }, "colour": 1,
            "excludedCommands": ["docker *"],
        },
        "permissions": { "allow": ["Bash(npm *)"], "deny": ["Bash(curl *)"], "defaultMode": "auto" },
    });
    project.write(".claude/settings.json", settings.to_string());
    project.write("secret", "");
    project.write("wrong.json", r#"{"sandbox": {"enabled": 1}}"#);
    std::os::unix::fs::symlink("secret", project.root().join("link")).expect("own directory");
    let refused = "curl -s --noproxy '' http://refused.invalid:81/";
    let metadata = "curl -s --noproxy '' http://169.254.169.254/";
    let asked: [(&str, &[&[&str]]); 6] = [
        (
            "run",
            &[
                &["run", "--json", "-c", refused],
                &["run", "--json", "--deny-host", "169.254.169.254", "-c", metadata],
                &["run", "--json", "--", "no-such-program"],
            ],
        ),
        (
            "explain",
            &[
                &["explain", "--json", "read", "link"],
                &["explain", "--json", "write", "page"],
                &["explain", "--json", "host", "a.test"],
                &["explain", "--json", "--allow-host", "a.test", "host", "a.test"],
            ],
        ),
        (
            "check",
            &[
                &["check", "--json", "npm test; make"],
                &["check", "--json", "--sandboxed", "docker ps"],
                &["check", "--json", "true; curl x"],
            ],
        ),
        ("settings show", &[&["settings", "show", "--json"], &["settings", "show", "--json", "--untrusted"]]),
        ("settings check", &[&["settings", "check", "--json", ".claude/settings.json", "wrong.json"]]),
        ("probe", &[&["probe", "--json"]]),
    ];
    let page = page();
    assert_eq!(page.len(), asked.len() + 1, "{:?}", page.keys());
    for (section, commands) in asked {
        let (fields, origin) = (&page[section], &page[""]);
        let mut met = BTreeSet::new();
        for words in commands {
            compare_fields(&object(&project, words), "", [fields, origin], &mut met);
        }
        // This one takes a machine on which the sandbox does not work.
        met.insert("sandbox.unsandboxed_reason".into());
        let unmet: Vec<&String> = fields.keys().filter(|field| !met.contains(*field)).collect();
        assert!(unmet.is_empty(), "{section}: no answer has {unmet:?}");
    }
}
