//! `palisade settings`, by its output and its exit status; an administrator's files are put in place in a mount
//! namespace of the test's own.

use palisade_tests::{Project, Tools};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn palisade(project: &Project) -> Command {
    in_project(project, Command::new(&Tools::here().palisade))
}

fn in_project(project: &Project, mut command: Command) -> Command {
    command.current_dir(project.root()).env("HOME", project.home()).env_remove("CLAUDE_CONFIG_DIR");
    command
}

/// `palisade` for whoever is root, or seems to be, on a machine with this in `managed-settings.json`, and a temporary
/// directory of its own.
fn managed(project: &Project, settings: &Value) -> Command {
    let file = project.outside().join("managed-settings.json");
    std::fs::write(&file, settings.to_string()).expect("own directory");
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--uid", "0", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"]);
    let program = &Tools::here().palisade;
    command.args(["--bind", "/proc", "/proc", "--tmpfs", "/tmp", "--ro-bind"]).arg(program).arg(program);
    command.arg("--bind").arg(project.base()).arg(project.base());
    command.args(["--tmpfs", "/etc", "--dir", "/etc/claude-code", "--ro-bind"]).arg(&file);
    command.args(["/etc/claude-code/managed-settings.json", "--"]).arg(program);
    in_project(project, command)
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

fn shown(mut command: Command) -> Value {
    let output = output(command.args(["settings", "show", "--json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// The values of one key, with the layers that say them.
fn values(shown: &Value, key: &str) -> Vec<String> {
    let all = shown["in_force"].as_array().cloned().unwrap_or_default();
    let of_key = all.iter().filter(|value| value["key"] == key);
    let text = |value: &Value| match value {
        Value::Null => "default".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    of_key.map(|value| format!("{} {}", text(&value["value"]), text(&value["origin"]["layer"]))).collect()
}

fn project_with(settings: &Value) -> Project {
    let project = Project::new();
    project.write(".claude/settings.json", settings.to_string());
    project
}

#[test]
fn what_is_in_force_is_shown_with_who_says_it() {
    let project = project_with(&json!({
        "sandbox": { "enabled": true, "network": { "allowedDomains": ["a.test"], "httpProxyPort": 1 } },
        "permissions": { "deny": ["Read(.env)"] },
    }));
    project.write(".claude/settings.local.json", r#"{"sandbox": {"enabled": false}} // mine"#);
    let shown = shown(palisade(&project));
    assert_eq!(values(&shown, "sandbox.enabled"), ["false local"], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.failIfUnavailable"), ["true default"], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.network.allowedDomains"), ["a.test project"], "{shown:#}");
    assert_eq!(values(&shown, "permissions.deny"), ["Read(.env) project"], "{shown:#}");
    assert!(values(&shown, "sandbox.filesystem.denyRead")[0].ends_with("/**/.env project"), "{shown:#}");
    assert!(shown["warnings"].to_string().contains("httpProxyPort"), "{shown:#}");
    let text = output(palisade(&project).args(["settings", "show"]));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("sandbox.enabled = false  <- sandbox.enabled false in /"), "{text}");
    assert!(text.contains("<- permissions.deny \"Read(.env)\" in /"), "{text}");
}

#[test]
fn a_project_that_is_not_trusted_only_tightens() {
    let project = project_with(&json!({ "sandbox": {
        "filesystem": { "allowWrite": ["/opt"], "denyWrite": ["docs"] },
        "network": { "allowedDomains": ["a.test"], "deniedDomains": ["b.test"] },
    }}));
    let mut untrusted = palisade(&project);
    let output = output(untrusted.args(["settings", "show", "--json", "--untrusted"]));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(values(&shown, "sandbox.filesystem.allowWrite"), [""; 0], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.network.allowedDomains"), [""; 0], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.network.deniedDomains"), ["b.test project"], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.filesystem.denyWrite").len(), 1, "{shown:#}");
    assert_eq!(shown["dropped"].as_array().map(Vec::len), Some(2), "{shown:#}");
}

#[test]
fn what_an_administrator_locks_a_project_does_not_open() {
    let project = project_with(&json!({ "sandbox": {
        "enabled": false, "network": { "allowedDomains": ["b.test"], "deniedDomains": ["d.test"] },
    }}));
    let command = managed(
        &project,
        &json!({ "sandbox": { "enabled": true, "network": {
            "allowManagedDomainsOnly": true, "allowedDomains": ["a.test"],
        }}}),
    );
    let shown = shown(command);
    assert_eq!(values(&shown, "sandbox.enabled"), ["true managed"], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.network.allowedDomains"), ["a.test managed"], "{shown:#}");
    assert_eq!(values(&shown, "sandbox.network.deniedDomains"), ["d.test project"], "{shown:#}");
    let dropped = shown["dropped"].to_string();
    assert!(dropped.contains("b.test") && dropped.contains("allowManagedDomainsOnly"), "{dropped}");
}

/// A way to change an answer is one that works.
#[test]
fn what_only_managed_settings_can_open_is_said_to_be_so() {
    let Some(project) = Project::where_it_works() else { return };
    let settings = json!({
        "allowManagedPermissionRulesOnly": true,
        "sandbox": {
            "filesystem": { "denyRead": ["~/"], "allowManagedReadPathsOnly": true },
            "network": { "allowManagedDomainsOnly": true },
        },
    });
    for (words, status, says) in [
        (
            &["explain", "host", "b.test"][..],
            1,
            "\"b.test\" to sandbox.network.allowedDomains of managed settings",
        ),
        (&["explain", "read", "~/x"], 1, "x\" to sandbox.filesystem.allowRead of managed settings"),
        (&["check", "make"], 3, "to allow it: Bash(make) in managed settings"),
    ] {
        let output = output(managed(&project, &settings).args(words));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(said.contains(says) && said.contains("no others count, by "), "{said}");
        assert!(!said.contains("for one run"), "{said}");
    }
}

/// Before each command there is one line for all that a lock takes from one file, and each is named where one looks.
#[test]
fn what_a_lock_takes_from_one_file_is_told_in_one_line() {
    let project = project_with(
        &json!({ "sandbox": { "network": { "allowedDomains": ["a.test", "b.test", "c.test"] }}}),
    );
    let settings = json!({ "sandbox": { "network": { "allowManagedDomainsOnly": true }}});
    let check = output(managed(&project, &settings).args(["check", "ls"]));
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("\"a.test\"") && said.contains("and so for 2 more of that file"), "{said}");
    let shown = shown(managed(&project, &settings));
    assert_eq!(shown["dropped"].as_array().map(Vec::len), Some(3), "{shown:#}");
}

#[test]
fn a_managed_file_that_others_can_change_does_not_pass_the_check() {
    let project = Project::new();
    let check = || {
        let mut command = managed(&project, &json!({}));
        command.args(["settings", "check", "/etc/claude-code/managed-settings.json"]);
        command
    };
    let (good, mut bad) = (output(&mut check()), check());
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    let file = project.outside().join("managed-settings.json");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).expect("own file");
    let bad = output(&mut bad);
    let said = String::from_utf8_lossy(&bad.stdout).into_owned();
    assert!(bad.status.code() == Some(1) && said.contains("can be written by others"), "{bad:?}");
}

/// Whoever starts a command chooses `$HOME`.
#[test]
fn what_an_administrator_denies_below_the_home_directory_is_denied_below_that_of_the_account() {
    let project = Project::new();
    let settings = json!({ "sandbox": {
        "filesystem": { "denyRead": ["~/.ssh", "/abs"], "denyWrite": ["~/w"] },
        "credentials": { "files": [{ "path": "~/token", "mode": "deny" }] },
    }, "permissions": { "deny": ["Read(~/.netrc)"] } });
    let account = project.outside().join("account");
    let passwd = project.outside().join("passwd");
    std::fs::write(&passwd, format!("root:x:0:0::{}:/bin/sh\n", account.display())).expect("own directory");
    let home = project.home();
    for (variable, homes) in
        [(Some(&home), vec![&home, &account]), (Some(&account), vec![&account]), (None, vec![&account])]
    {
        let mut words: Vec<_> =
            managed(&project, &settings).get_args().map(std::ffi::OsStr::to_owned).collect();
        let program = words.iter().position(|word| word == "--").expect("it stands before the program");
        words.splice(program..program, ["--ro-bind".into(), passwd.clone().into(), "/etc/passwd".into()]);
        let mut command = in_project(&project, Command::new("bwrap"));
        command.args(words).env_remove("HOME").envs(variable.map(|home| ("HOME", home)));
        let shown = shown(command);
        let below = |name: &str| {
            let below = |home: &&std::path::PathBuf| format!("{} managed", home.join(name).display());
            homes.iter().map(below).collect::<Vec<_>>()
        };
        let denied = |key: &str| values(&shown, key).into_iter().collect::<BTreeSet<_>>();
        let read = [below(".ssh"), below("token"), below(".netrc"), vec!["/abs managed".into()]].concat();
        assert_eq!(denied("sandbox.filesystem.denyRead"), read.into_iter().collect(), "{shown:#}");
        assert_eq!(denied("sandbox.filesystem.denyWrite"), below("w").into_iter().collect(), "{shown:#}");
    }
}

/// Dotfiles are often links into a directory of their own, and a wildcard hides where its matches lead.
#[test]
fn a_repository_does_not_open_what_a_wildcard_hides_behind_a_link() {
    let Some(project) = Project::where_it_works() else { return };
    let home = project.home();
    for directory in [".claude", ".config", "dot/gh"] {
        std::fs::create_dir_all(home.join(directory)).expect("own directory");
    }
    std::fs::write(home.join("dot/gh/hosts"), "s3cret").expect("own directory");
    std::os::unix::fs::symlink("../dot/gh", home.join(".config/gh")).expect("own directory");
    let denied = json!({ "sandbox": { "filesystem": { "denyRead": ["~/.config/*"] } } });
    let opened = json!({ "sandbox": { "filesystem": { "allowRead": ["~/dot/gh/hosts"] } } });
    let read = |user: &Value, repository: &Value| {
        std::fs::write(home.join(".claude/settings.json"), user.to_string()).expect("own directory");
        project.write(".claude/settings.json", repository.to_string());
        let mut command = palisade(&project);
        let ended = output(command.args(["run", "-c", "cat ~/dot/gh/hosts; echo x >>~/dot/gh/hosts"]));
        String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned()
    };
    for (user, repository) in [
        (&denied, &opened),
        (&json!({ "permissions": { "deny": ["Read(~/.config/*)"] } }), &opened),
        (&json!({ "sandbox": { "credentials": { "files": ["~/.config/g?"] } } }), &opened),
        (&denied, &json!({ "sandbox": { "filesystem": { "allowWrite": ["~/dot/gh"] } } })),
        (&denied, &json!({ "permissions": { "allow": ["Edit(~/dot/gh/**)"] } })),
        (&denied, &json!({ "permissions": { "additionalDirectories": ["~/dot/gh"] } })),
        // A deny that a repository repeats is not its own to open.
        (
            &denied,
            &json!({ "sandbox": { "filesystem": { "denyRead": ["~/.config/*"], "allowRead": ["~/dot/*/h*"] } } }),
        ),
    ] {
        let said = read(user, repository);
        assert!(
            !said.contains("s3cret") && said.contains("hosts: Permission denied"),
            "{repository}: {said}"
        );
        assert!(said.contains("does not open"), "{repository}: {said}");
        let kept = std::fs::read(home.join("dot/gh/hosts")).expect("it is there");
        assert_eq!(kept, b"s3cret", "{repository}: {said}");
    }
    let both = json!({ "sandbox": { "filesystem": { "denyRead": ["~/.config/*"], "allowRead": ["~/dot/gh/hosts"] } } });
    for (user, repository) in [(&both, &json!({})), (&json!({}), &both)] {
        assert!(read(user, repository).contains("s3cret"), "who hides it may open it: {user} {repository}");
    }
}

/// A repository may open what it hides itself, match by match, whatever a user hides everywhere.
#[test]
fn a_wildcard_of_a_repositorys_opens_what_nobody_else_hides() {
    let Some(project) = Project::where_it_works() else { return };
    for name in ["out/a.txt", "out/b.txt/.env", "out/c.txt", ".env"] {
        project.write(name, "s3cret");
    }
    project.write(
        ".claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyRead": ["out"], "allowRead": ["out/*.txt", "out/**/.env"]}}}"#,
    );
    std::fs::create_dir(project.home().join(".claude")).expect("own directory");
    let denied = r#"{"permissions": {"deny": ["Read(.env)", "Read(out/c.*)"]}}"#;
    std::fs::write(project.home().join(".claude/settings.json"), denied).expect("own directory");
    for (name, is_open) in
        [("out/a.txt", true), ("out/b.txt/.env", false), ("out/c.txt", false), (".env", false)]
    {
        let read = output(palisade(&project).args(["run", "--", "cat", name]));
        assert_eq!(read.stdout == b"s3cret", is_open, "{name}: {read:?}");
        let said = String::from_utf8_lossy(&read.stderr).into_owned();
        assert_eq!(said.matches("does not open").count(), 2, "once for each two rules: {said}");
    }
}

/// Neither a root nor what belongs to git in it.
#[test]
fn nothing_opens_what_an_administrator_keeps_to_himself() {
    let Some(project) = Project::where_it_works() else { return };
    let git = r#"
        cd ../outside && mkdir vault && git init -q vault/main && cd vault/main && echo s3cret >key
        git -c user.name=x -c user.email=x commit -q --allow-empty -m x
        git worktree add -q ../../tree && mkdir -p ../open && ln -s vault ../../link"#;
    let mut made = in_project(&project, Command::new("sh"));
    assert!(output(made.args(["-c", git])).status.success(), "git works here");
    let outside = project.outside();
    let said_of = |denied: &str, lock: bool, words: &[&str]| {
        let settings = json!({ "sandbox": { "filesystem": {
            "denyRead": [outside.join(denied)], "allowRead": [outside.join("vault/open")],
            "allowManagedReadPathsOnly": lock,
        } } });
        let ended = output(managed(&project, &settings).args(words));
        (ended.status.code(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
    };
    let main = outside.join("vault/main").display().to_string();
    let read = format!("cat {main}/key; echo x >{main}/new");
    for denied in ["vault", "l*k"] {
        let (status, said) = said_of(denied, true, &["explain", "read", "--root", &main, &main]);
        assert!(status == Some(125) && said.contains("start somewhere else"), "{denied}: {said}");
        let (_, said) = said_of(denied, false, &["explain", "read", "--root", &main, &main]);
        assert!(said.contains(": allowed"), "there is no lock: {said}");
    }
    // To others the bubblewrap of the machine seems to be nobody's in there, and is not used.
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    for denied in ["vault", "l*k"] {
        let (status, said) = said_of(denied, true, &["run", "--root", &main, "-c", &read]);
        assert!(status == Some(125) && said.contains("start somewhere else"), "{denied}: {said}");
        let (_, said) = said_of(denied, true, &["run", "--allow-write", &main, "-c", &read]);
        assert!(!said.contains("s3cret") && said.contains("--allow-write"), "{denied}: {said}");
    }
    let tree = outside.join("tree").display().to_string();
    let (_, said) =
        said_of("vault", true, &["run", "--root", &tree, "-c", &format!("cat {main}/.git/config")]);
    assert!(!said.contains("[core]") && said.contains("is not opened to git"), "{said}");
    assert!(!outside.join("vault/main/new").exists());

    let open = outside.join("vault/open").display().to_string();
    let (status, said) =
        said_of("vault", true, &["run", "--root", &open, "--", "touch", &format!("{open}/x")]);
    assert_eq!(status, Some(0), "he opens it himself: {said}");
    let (_, said) = said_of("vault", false, &["run", "--root", &main, "-c", &read]);
    assert!(said.contains("s3cret"), "there is no lock: {said}");
}

/// What an administrator meant is not known then, so nothing runs by the rest.
#[test]
fn an_administrators_mistake_stops_everything() {
    let project = Project::new();
    for (settings, says) in [
        (json!({ "sandbox": { "filesystem": { "denyRead": ["relative"] } } }), "relative"),
        (json!({ "sandbox": { "network": { "allowedDomains": ["http://a.test"] } } }), "scheme"),
        (json!({ "permissions": { "allow": ["Bash("] } }), "Bash("),
    ] {
        let output = output(managed(&project, &settings).args(["run", "--", "touch", "ran"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(said.contains(says) && said.contains("managed-settings.json"), "{said}");
        assert_eq!(project.tree(), [""; 0], "{said}");
    }
}

#[test]
fn all_that_is_wrong_with_a_file_is_said_at_once() {
    let project = project_with(&json!({ "sandbox": {
        "enabled": "yes",
        "filesystem": { "denyRead": ["a[", "~nobody/x"] },
        "network": { "allow": ["a.test"] },
    }}));
    let checked = output(palisade(&project).args(["settings", "check", ".claude/settings.json"]));
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{said}");
    for part in ["sandbox.enabled", "a[", "~nobody/x", "allowedDomains"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    project.write("good.json", "{}");
    let good = output(palisade(&project).args(["settings", "check", "good.json"]));
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    let missing = output(palisade(&project).args(["settings", "check", "none.json"]));
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    for checked in [checked, good, missing] {
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(said.contains(".json: read as "), "{said}");
    }
}

/// Of a run a status of 2 could be the command's own.
#[test]
fn what_is_called_wrongly_is_told_from_what_cannot_be_answered() {
    let project = Project::new();
    project.write("good.json", "{}");
    for (words, status) in [
        (&["settings", "check", "--root", "/no/such", "good.json"][..], 2),
        (&["settings", "show", "--root", "/no/such"], 2),
        (&["check", "--root", "/no/such", "ls"], 2),
        (&["check", "--allow-host", "git*.com", "ls"], 2),
        (&["explain", "--root", "/no/such", "read", "x"], 2),
        (&["explain", "host", "git*.com"], 2),
        (&["run", "--root", "/no/such", "true"], 125),
        (&["run", "--allow-host", "git*.com", "true"], 125),
        (&["check", "--settings", "none.json", "ls"], 125),
    ] {
        let output = output(palisade(&project).args(words));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(!said.contains("git*") || said.contains("*.example.com"), "{said}");
    }
    let help = output(palisade(&project).args(["help", "run"]));
    let said = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.status.success() && said.contains("--require-sandbox"), "{help:?}");
}

/// Whatever keeps every command from starting here is an error, also where the machine has to be looked at for that.
#[test]
fn a_policy_under_which_nothing_runs_does_not_pass_the_check() {
    let Some(project) = Project::where_it_works() else { return };
    let secret = project.write("secret", "s");
    std::fs::hard_link(&secret, project.outside().join("other")).expect("own directory");
    for (settings, wrong, opens) in [
        (json!({ "sandbox": { "filesystem": { "denyRead": ["/usr"] } } }), true, "\"allowRead\""),
        (json!({ "sandbox": { "filesystem": { "denyRead": ["/"] } } }), true, "\"allowRead\""),
        (json!({ "sandbox": { "filesystem": { "denyRead": ["/"], "allowRead": ["/usr"] } } }), false, ""),
        (json!({ "sandbox": { "filesystem": { "denyRead": ["secret"] } } }), true, "hard link"),
        (json!({ "permissions": { "deny": ["Edit(.env)"] } }), true, "\"Edit(./.env)\""),
        (json!({ "permissions": { "deny": ["Edit(./.env)"] } }), false, ""),
    ] {
        project.write("draft.json", settings.to_string());
        let checked = output(palisade(&project).args(["settings", "check", "--json", "draft.json"]));
        let said: Value = serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{checked:?}"));
        let errors = said["files"][0]["errors"].as_array().cloned().unwrap_or_default();
        let expected = (usize::from(wrong), Some(i32::from(wrong)));
        assert_eq!((errors.len(), checked.status.code()), expected, "{said:#}");
        let is_told = |error: &Value| {
            let error = error.as_str().unwrap_or_default();
            error.contains("every command is refused while this stands") && error.contains(opens)
        };
        assert!(errors.iter().all(is_told), "{said:#}");
        // A run is refused in the very same cases, and says so once.
        let run = output(palisade(&project).args(["run", "--settings", "draft.json", "--", "true"]));
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(if wrong { 125 } else { 0 }), "{said}");
        assert_eq!(said.matches(" cannot be enforced").count(), usize::from(wrong), "{said}");
        assert!(!said.contains("every command"), "{said}");
    }
}

/// What keeps those commands only that start where the file is checked is none of its faults, but told.
#[test]
fn a_policy_that_hides_where_the_check_is_made_is_told_of() {
    let Some(project) = Project::where_it_works() else { return };
    let hides_root = json!({ "sandbox": { "filesystem": { "denyRead": ["."] } } });
    for (settings, is_hidden) in [(hides_root, true), (json!({}), false)] {
        project.write("draft.json", settings.to_string());
        for (directory, is_told) in [(project.root(), is_hidden), ("/".into(), false)] {
            let mut check = palisade(&project);
            check
                .current_dir(directory)
                .args(["settings", "check", "--json", "--layer", "project", "--root"]);
            let checked = output(check.arg(project.root()).arg(project.root().join("draft.json")));
            let said: Value =
                serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{checked:?}"));
            let warning = "a command that starts here is refused while this stands: the working directory";
            assert_eq!(said["files"][0]["warnings"].to_string().contains(warning), is_told, "{said:#}");
            assert!(checked.status.success(), "{said:#}");
        }
        let run = output(palisade(&project).args(["run", "--settings", "draft.json", "--", "true"]));
        assert_eq!(run.status.success(), !is_hidden, "{run:?}");
    }
}

#[test]
fn the_schema_is_json_and_knows_the_keys() {
    let project = Project::new();
    let output = output(palisade(&project).args(["settings", "schema"]));
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let network = &schema["properties"]["sandbox"]["properties"]["network"]["properties"];
    assert_eq!(network["deniedDomains"]["type"], "array", "{network:#}");
}

/// An answer that did not arrive is no answer, but a reader that has seen enough (`| head`) is none's failure.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let project = Project::new();
    for words in [&["settings", "show"][..], &["settings", "schema"], &["check", "ls"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let failed = output(palisade(&project).args(words).stdout(full));
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert!(failed.status.code() == Some(125) && said.contains("standard output"), "{failed:?}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let unread = output(palisade(&project).args(words).stdout(writer));
        assert_eq!(unread.status.code(), Some(0), "{unread:?}");
    }
}

/// A relative one would anchor rules nobody knows where.
#[test]
fn a_variable_that_names_no_directory_is_refused() {
    let project = Project::new();
    for name in ["HOME", "CLAUDE_CONFIG_DIR"] {
        let refused = output(palisade(&project).env(name, "relative").args(["settings", "show"]));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            refused.status.code() == Some(125) && said.contains(&format!("the variable {name} ")),
            "{said}"
        );
    }
}

/// What would be left out by the lock is not advised.
#[test]
fn under_a_lock_on_reads_what_is_advised_is_the_administrators_to_do() {
    let Some(project) = Project::where_it_works() else { return };
    let vault = project.home().join("vault");
    std::fs::create_dir(&vault).expect("own directory");
    std::fs::write(vault.join("key"), "").expect("own directory");
    let settings = json!({ "sandbox": { "filesystem": {
        "denyRead": [vault.to_str()], "allowManagedReadPathsOnly": true,
    }}});
    for (verb, says) in [
        ("read", vec!["allowRead of managed settings; no others count"]),
        ("write", vec!["take sandbox.filesystem.denyRead", "--allow-write"]),
    ] {
        let mut command = managed(&project, &settings);
        let output = output(command.args(["explain", "--json", verb]).arg(vault.join("key")));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let changes = answer["changes"].as_array().cloned().unwrap_or_default();
        let are_said = says.iter().all(|says| changes.iter().any(|change| change.to_string().contains(says)));
        assert!(changes.len() == says.len() && are_said, "{answer:#}");
    }
}
