//! Rules name any path that can exist, and none by accident: brackets, spaces, line ends, bytes that are no text.

use super::attempt;
use palisade_tests::Project;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

const UNUSUAL: &[&[u8]] = &[
    b"with space",
    b" leading and trailing ",
    b"new\nline",
    b"carriage\rreturn\ttab",
    b"quote'\"quote",
    b"$HOME`id`$(id)",
    b"back\\slash",
    b"-dash",
    b"--bind",
    b"{brace,brace}",
    b"semi;colon&amp|pipe",
    b"hash#percent%25",
    b"colon:equals=",
    b"~tilde",
    b"...",
    "\u{fc}n\u{ef}c\u{f6}d\u{e9} \u{1f980}".as_bytes(),
    "right-to-left \u{202e}".as_bytes(),
    b"no text \xff\xfe\x80",
    b"\x01\x1b]0;\x07",
];

/// Names that are patterns as well. `denyWrite` refuses those, unless every wildcard is escaped.
const BRACKETS: &[&[u8]] = &[b"[WIP] project", b"app[id]", b"file[1]", b"what?", b"all*"];

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// `DIRECTORY/NAME/`, so that no name is read as `~` or as an option, or refused for its blanks.
fn below(directory: &str, bytes: &[u8]) -> OsString {
    OsString::from_vec([directory.as_bytes(), b"/", bytes, b"/"].concat())
}

/// Makes `DIRECTORY/NAME/f` below a place of the project.
fn make(below: PathBuf, bytes: &[u8]) {
    let directory = below.join(name(bytes));
    std::fs::create_dir_all(&directory).expect("own directory");
    std::fs::write(directory.join("f"), "orig\n").expect("own directory");
}

#[test]
fn options_take_every_name() {
    let Some(project) = Project::where_it_works() else { return };
    for bytes in UNUSUAL {
        for place in ["hidden", "kept"] {
            make(project.root().join(place), bytes);
        }
        make(project.outside(), bytes);
        let run = project
            .run()
            .env("NAME", name(bytes))
            .options([
                OsStr::new("--deny-read"),
                &below("hidden", bytes),
                OsStr::new("--deny-write"),
                &below("kept", bytes),
            ])
            .options([OsStr::new("--allow-write"), &below("../outside", bytes)])
            .line(r#"cat "hidden/$NAME/f"; echo evil > "kept/$NAME/f"; echo new > "../outside/$NAME/new""#);
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{shown:?}: {run:#?}");
        assert!(run.stderr.contains("Permission denied"), "{shown:?}: {run:#?}");
        assert!(run.stderr.contains("Read-only file system"), "{shown:?}: {run:#?}");
        assert_eq!(project.read(PathBuf::from("kept").join(name(bytes)).join("f")), "orig\n", "{shown:?}");
        let new = project.outside().join(name(bytes)).join("new");
        assert_eq!(std::fs::read_to_string(new).expect("written"), "new\n", "{shown:?}");
    }
}

#[test]
fn settings_take_every_name_that_is_text() {
    let Some(project) = Project::where_it_works() else { return };
    let names: Vec<&str> = UNUSUAL.iter().filter_map(|bytes| std::str::from_utf8(bytes).ok()).collect();
    for text in &names {
        make(project.root(), text.as_bytes());
    }
    let all: Vec<String> = names.iter().map(|text| format!("./{text}/f")).collect();
    let run = attempt(
        &project,
        json!({ "denyRead": all }),
        "for f in ./*/f ./.../f; do cat \"$f\" && exit 1; done; true",
    );
    assert_eq!(run.ok().stderr.matches("Permission denied").count(), names.len());
}

#[test]
fn a_missing_path_of_any_name_cannot_be_made() {
    let Some(project) = Project::where_it_works() else { return };
    for bytes in UNUSUAL {
        let run = project
            .run()
            .env("NAME", name(bytes))
            .options([OsStr::new("--deny-write"), &below(".", bytes)])
            .line(r#"echo evil > "./$NAME""#);
        assert!(run.stderr.contains("Permission denied"), "{run:#?}");
        assert_eq!(project.tree(), [""; 0], "{:?}", String::from_utf8_lossy(bytes));
    }
}

/// A text with wildcards names what is called just that, too, be it the last name or one on the way.
#[test]
fn names_with_brackets_are_names() {
    let Some(project) = Project::where_it_works() else { return };
    for (bytes, file) in BRACKETS.iter().flat_map(|bytes| [(bytes, "f"), (bytes, "[!x]")]) {
        make(project.root(), bytes);
        make(project.outside(), bytes);
        let text = String::from_utf8_lossy(bytes);
        let escaped: String =
            text.chars().map(|c| if "*?[]".contains(c) { format!("\\{c}") } else { c.into() }).collect();
        let rules = json!({
            "allowWrite": [format!("{}/{text}", project.outside().display())],
            "denyRead": [format!("./{text}/{file}")],
            "denyWrite": [format!("./{escaped}")],
        });
        let line =
            r#"cat "$NAME/f"; echo evil > "$NAME/new"; echo new > "$OUT/$NAME/new"; cat "$OUT/$NAME/f""#;
        let sandbox = json!({ "filesystem": rules });
        let run =
            project.run().env("OUT", project.outside()).env("NAME", name(bytes)).sandbox(sandbox).line(line);
        assert_eq!((run.status, run.stdout.as_str()), (0, "orig\n"), "{text}/{file}: {run:#?}");
        assert!(run.stderr.contains("Permission denied"), "{text}/{file}: {run:#?}");
        assert!(run.stderr.contains("Read-only file system"), "{text}/{file}: {run:#?}");
        assert!(!project.root().join(name(bytes)).join("new").exists(), "{text}");
    }
}

#[test]
fn a_trailing_slash_or_double_star_is_the_directory_itself() {
    let Some(project) = Project::where_it_works() else { return };
    make(project.root(), b"kept");
    make(project.root(), b"hidden");
    for end in ["", "/", "/**", "/**/", "//"] {
        let rules = json!({
            "allowWrite": [format!("../outside{end}")],
            "denyWrite": [format!("kept{end}")],
            "denyRead": [format!("hidden{end}")],
        });
        let line = "echo new > $OUT/new && rm $OUT/new && mkdir $OUT/d && rmdir $OUT/d && echo written; echo evil > kept/f; mv kept x; ls hidden";
        let run = attempt(&project, rules, line);
        assert_eq!(run.stdout, "written\n", "{end}: {run:#?}");
        for said in ["Read-only file system", "Device or resource busy", "Permission denied"] {
            assert!(run.stderr.contains(said), "{end}: {said}: {run:#?}");
        }
        assert_eq!(project.read("kept/f"), "orig\n", "{end}");
    }
}

/// bubblewrap mounts what has a name. A wildcard in a write list cannot be enforced, so nothing runs.
#[test]
fn wildcards_in_write_lists_are_refused_with_their_rule_and_file() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("build/a.log", "");
    for (key, text) in [
        ("allowWrite", "build/*.log"),
        ("allowWrite", "**/cache"),
        ("denyWrite", "build/*.log"),
        ("denyWrite", "build/?.log"),
        ("denyWrite", "[ab]/x"),
        ("denyWrite", "**/.env"),
    ] {
        let settings = json!({ "sandbox": { "filesystem": { key: [text] } } });
        let file = project.write(".claude/settings.json", settings.to_string());
        let run = project.line("touch ran");
        assert_eq!(run.status, 125, "{run:#?}");
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{run:#?}");
        for named in [key, text, &file.display().to_string()] {
            assert!(run.stderr.contains(named), "{named}: {run:#?}");
        }
        let by_option =
            project.run().options([if key == "allowWrite" { "--allow-write" } else { "--deny-write" }, text]);
        let run = by_option.options(["--settings", "{}"]).line("touch ran");
        assert_eq!(run.status, 125, "{run:#?}");
        assert!(run.stderr.contains(text), "{run:#?}");
        assert!(!project.root().join("ran").exists(), "{key} {text}");
    }
}

#[test]
fn relative_paths_start_at_the_project_of_their_settings_file() {
    let Some(project) = Project::where_it_works() else { return };
    for place in ["", "sub"] {
        make(project.root().join(place), b"hidden");
    }
    project.write(
        ".claude/settings.json",
        json!({ "sandbox": { "filesystem": { "denyRead": ["hidden"] } } }).to_string(),
    );
    let sub = project.root().join("sub");
    let run = project.run().options(["--root", ".."]).directory(&sub).line("cat hidden/f; cat ../hidden/f");
    assert_eq!(run.stdout, "orig\n", "{run:#?}");
    assert!(run.status != 0 && run.stderr.contains("../hidden/f: Permission denied"), "{run:#?}");
}

/// No file rule holds then, protected ones included; the network stays closed.
#[test]
fn without_file_isolation_everything_is_as_on_the_host() {
    let Some(project) = Project::where_it_works() else { return };
    make(project.root(), b"kept");
    let rules = json!({ "disabled": true, "denyRead": ["kept"], "denyWrite": ["kept"] });
    let line = "echo new > $OUT/new; cat kept/f; echo more >> kept/f; curl -s -m 10 -o none http://127.0.0.1:9 ; ls /proc | grep -c '^[0-9]'";
    let run = attempt(&project, rules, line).ok();
    let (text, processes) = run.stdout.trim_end().split_once('\n').expect("two lines");
    assert_eq!(text, "orig");
    assert!(
        processes.parse::<u32>().expect("a number") < 10,
        "processes are still the sandbox's own: {run:#?}"
    );
    assert_eq!(std::fs::read_to_string(project.outside().join("new")).expect("written"), "new\n");
    assert_eq!(project.read("kept/f"), "orig\nmore\n");
}

/// Whoever wrote the repository must not turn the sandbox off with it.
#[test]
fn a_repository_cannot_turn_file_isolation_off() {
    let Some(project) = Project::where_it_works() else { return };
    for file in [".claude/settings.json", ".claude/settings.local.json"] {
        project.write(file, json!({ "sandbox": { "filesystem": { "disabled": true } } }).to_string());
        let run = project.run().env("OUT", project.outside()).line("echo evil > $OUT/new");
        assert!(run.status != 0 && run.stderr.contains("Read-only file system"), "{run:#?}");
        assert!(run.stderr.contains("sandbox.filesystem.disabled: left out"), "{run:#?}");
        assert!(!project.outside().join("new").exists());
    }
}
