//! `denyRead` hides files and directories with `Permission denied`, never with emptiness; `allowRead` and
//! writable directories open what they name inside.

use super::attempt;
use palisade_tests::{Project, Run};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};

/// What must never be seen.
const SECRET: &str = "s3cret-content";
const DENIED: &str = "Permission denied";
const BUSY: &str = "Device or resource busy";

/// A project with something to hide in the root and in the home directory.
fn project() -> Option<Project> {
    let project = Project::where_it_works()?;
    for name in ["secret.txt", "keys/id", "keys/deep/id", "config/app/secret.txt"] {
        project.write(name, SECRET);
    }
    project.write("open.txt", "open\n");
    symlink("secret.txt", project.root().join("to-file")).expect("own directory");
    symlink("keys", project.root().join("to-directory")).expect("own directory");
    for name in ["tool", "keys/tool"] {
        let tool = project.write(name, format!("#!/bin/sh\necho {SECRET}\n"));
        std::fs::set_permissions(tool, PermissionsExt::from_mode(0o755)).expect("own file");
    }
    for (name, text) in [
        (".netrc", SECRET),
        (".ssh/id", SECRET),
        (".env", SECRET),
        (".config/tool/.env", SECRET),
        (".config/tool/settings", "settings\n"),
        ("projects/readme", "readme\n"),
        ("projects/.env", SECRET),
        ("projects/private/key", SECRET),
        ("projects/private/public/cert", "cert\n"),
        ("cache/kept", "kept\n"),
    ] {
        let path = project.home().join(name);
        std::fs::create_dir_all(path.parent().expect("below home")).expect("own directory");
        std::fs::write(path, text).expect("own directory");
    }
    Some(project)
}

#[track_caller]
fn assert_unseen(line: &str, run: &Run) {
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{line}: {run:#?}");
}

/// Each line must fail in the given words and show nothing.
fn refuse(filesystem: &Value, attempts: &[(&str, &str)]) {
    let Some(project) = project() else { return };
    for (line, said) in attempts {
        refuse_in(&project, filesystem, line, said);
    }
    for name in ["secret.txt", "keys/id", "keys/deep/id", "config/app/secret.txt"] {
        assert_eq!(project.read(name), SECRET, "{name} is as it was");
    }
}

fn refuse_in(project: &Project, filesystem: &Value, line: &str, said: &str) {
    let run = attempt(project, filesystem.clone(), line);
    assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
    assert_unseen(line, &run);
}

/// Each line must print exactly this, and nothing to standard error.
fn allow(project: &Project, filesystem: &Value, attempts: &[(&str, &str)]) {
    for (line, printed) in attempts {
        let run = attempt(project, filesystem.clone(), line);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, *printed, ""), "{line}");
    }
}

/// Each line must fail with `Permission denied` and show nothing.
fn deny(project: &Project, filesystem: &Value, lines: &[&str]) {
    fail(project, filesystem, DENIED, lines);
}

/// Below a hidden directory that something is open in, only that exists.
fn miss(project: &Project, filesystem: &Value, lines: &[&str]) {
    fail(project, filesystem, "No such file or directory", lines);
}

fn fail(project: &Project, filesystem: &Value, said: &str, lines: &[&str]) {
    for line in lines {
        refuse_in(project, filesystem, line, said);
    }
}

#[test]
fn a_hidden_file_cannot_be_read_in_any_way() {
    let rules = json!({ "denyRead": ["secret.txt", "tool", "config/app/secret.txt", "~/.netrc"] });
    refuse(
        &rules,
        &[
            ("cat secret.txt", DENIED),
            ("read -r line < secret.txt; echo \"$line\"; exit 1", DENIED),
            ("cp secret.txt copy && cat copy", DENIED),
            ("dd if=secret.txt status=none", DENIED),
            ("tar cf - secret.txt", DENIED),
            ("grep -r . secret.txt", DENIED),
            ("python3 -c \"print(open('secret.txt').read())\"", DENIED),
            ("python3 -c \"import os; print(os.open('secret.txt', os.O_RDWR))\"", DENIED),
            ("cat to-file", DENIED),
            ("ln -s secret.txt another && cat another", DENIED),
            ("ln secret.txt hard && cat hard", "Invalid cross-device link"),
            ("mv secret.txt plain && cat plain", BUSY),
            ("rm -f secret.txt", BUSY),
            ("echo evil > evil; mv -f evil secret.txt", BUSY),
            ("mv config other && cat other/app/secret.txt", BUSY),
            ("mv config/app config/other && cat config/other/secret.txt", BUSY),
            ("chmod 644 secret.txt && cat secret.txt", "Read-only file system"),
            ("cat \"/proc/self/root$PWD/secret.txt\"", DENIED),
            ("cat \"/proc/$$/root$PWD/secret.txt\"", DENIED),
            ("exec 3< . && cat /proc/self/fd/3/secret.txt", DENIED),
            ("./tool", DENIED),
            ("sh tool", DENIED),
            (". ./tool", DENIED),
            ("cat ~/.netrc", DENIED),
        ],
    );
}

#[test]
fn a_hidden_directory_is_neither_listed_nor_entered() {
    let rules = json!({ "denyRead": ["keys", "~/.ssh"] });
    refuse(
        &rules,
        &[
            ("ls keys", DENIED),
            ("ls -a keys/deep", DENIED),
            ("find keys", DENIED),
            ("cd keys", DENIED),
            ("cat keys/id", DENIED),
            ("cat keys/deep/../id", DENIED),
            ("cat to-directory/id", DENIED),
            ("stat keys/id", DENIED),
            ("stat keys/none-such", DENIED),
            ("cp -r keys copy", DENIED),
            ("tar cf - keys", DENIED),
            ("keys/tool", DENIED),
            ("python3 -c \"import os; print(os.listdir('keys'))\"", DENIED),
            ("exec 3< keys", DENIED),
            (
                "python3 -c \"import os; print(os.open('id', os.O_RDONLY, dir_fd=os.open('keys', os.O_PATH)))\"",
                DENIED,
            ),
            ("ls \"/proc/self/root$PWD/keys\"", DENIED),
            ("mv keys other && cat other/id", BUSY),
            ("rm -rf keys", BUSY),
            ("rmdir keys", BUSY),
            ("chmod 755 keys", "Read-only file system"),
            ("echo evil > keys/new", DENIED),
            ("mkdir keys/new", DENIED),
            ("touch keys/id", DENIED),
            ("ls ~/.ssh", DENIED),
            ("cat ~/.ssh/id", DENIED),
            ("echo evil > ~/.ssh/authorized_keys", DENIED),
        ],
    );
}

#[test]
fn what_is_hidden_does_not_keep_the_rest_from_working() {
    let Some(project) = project() else { return };
    let rules = json!({ "denyRead": ["secret.txt", "keys", "none-such", "none/such", "~/.ssh"] });
    allow(
        &project,
        &rules,
        &[
            ("cat open.txt; echo new > new.txt; cat new.txt", "open\nnew\n"),
            ("ls -d secret.txt keys; echo keys/*", "keys\nsecret.txt\nkeys/*\n"),
            ("cat ~/projects/readme", "readme\n"),
            ("mv open.txt moved && cat moved", "open\n"),
        ],
    );
    let run = attempt(&project, rules, "grep -rl . .");
    assert_eq!(run.status, 2, "{run:#?}");
    assert_unseen("grep -r", &run);
}

/// What an option hides is hidden as what a settings file hides, and `credentials.files` is another name for it.
#[test]
fn options_and_credentials_hide_as_well() {
    let Some(project) = project() else { return };
    let line = "cat secret.txt ~/.netrc keys/id";
    let flags = project.run().options([
        "--deny-read",
        "secret.txt",
        "--deny-read",
        "~/.netrc",
        "--deny-read",
        "keys",
    ]);
    let files = json!({ "credentials": { "files": [
        { "path": "secret.txt", "mode": "deny" }, { "path": "~/.netrc", "mode": "deny" }, { "path": "keys" },
    ] } });
    for run in [flags.line(line), project.run().sandbox(files).line(line)] {
        assert_unseen(line, &run);
        assert_eq!(run.stderr.matches(DENIED).count(), 3, "{run:#?}");
    }
}

#[test]
fn the_narrower_of_a_deny_and_an_allow_wins() {
    let Some(project) = project() else { return };
    let narrow_allow = json!({
        "denyRead": ["~/", "~/projects/private"],
        "allowRead": ["~/projects", "~/projects/private/public", "~/.config/tool/settings"],
    });
    allow(
        &project,
        &narrow_allow,
        &[
            ("cat ~/projects/readme ~/projects/private/public/cert", "readme\ncert\n"),
            ("ls -A ~/projects ~/projects/private/public | grep -v : | xargs", ".env private readme cert\n"),
            ("cat ~/.config/tool/settings; cd ~/projects && pwd -P | sed 's,.*/,,'", "settings\nprojects\n"),
        ],
    );
    deny(
        &project,
        &narrow_allow,
        &["ls ~", "ls ~/.config", "ls ~/.config/tool", "ls ~/projects/private", "find ~", "cp -r ~ copy"],
    );
    miss(
        &project,
        &narrow_allow,
        &[
            "cat ~/projects/private/key",
            "cat ~/.netrc",
            "cat ~/.ssh/id",
            "cat ~/.config/tool/.env",
            "stat ~/none-such",
        ],
    );
    for line in
        ["echo evil > ~/new", "mkdir ~/.config/new", "echo evil > ~/projects/new", "mv ~/projects ~/p"]
    {
        let run = attempt(&project, narrow_allow.clone(), line);
        let said = [DENIED, "Read-only file system", BUSY];
        assert!(run.status != 0 && said.iter().any(|said| run.stderr.contains(said)), "{line}: {run:#?}");
    }
    assert!(!project.home().join("new").exists() && !project.home().join("projects/new").exists());

    let broad_allow = json!({ "allowRead": ["~/"], "denyRead": ["~/.env", "~/.ssh"] });
    allow(&project, &broad_allow, &[("cat ~/projects/readme", "readme\n")]);
    deny(&project, &broad_allow, &["cat ~/.env", "ls ~/.ssh", "cat ~/.ssh/id"]);

    let tie = json!({ "allowRead": ["~/.env"], "denyRead": ["~/.env"] });
    deny(&project, &tie, &["cat ~/.env"]);
}

#[test]
fn a_wildcard_hides_what_matches_when_the_command_starts() {
    let Some(project) = project() else { return };
    for name in
        ["a.pem", "deep/b.pem", ".env", "deep/down/.env", "env", "set1/x", "set2/x", "set3/x", "app/[id]/x"]
    {
        project.write(name, SECRET);
    }
    project.write(".gitignore", "*\n");
    symlink(project.outside(), project.root().join("elsewhere")).expect("own directory");
    std::fs::write(project.outside().join(".env"), "elsewhere\n").expect("own directory");
    let rules = json!({ "denyRead": ["*.pem", "**/.env", "set[12]", "app/[id]", "~/**/.env"] });
    deny(
        &project,
        &rules,
        &[
            "cat a.pem",
            "cat .env",
            "cat deep/down/.env",
            "cat set1/x",
            "ls set2",
            "cat 'app/[id]/x'",
            "cat ~/.env",
            "cat ~/projects/.env",
            "cat ~/.config/tool/.env",
        ],
    );
    for line in ["cat deep/b.pem", "cat env", "cat set3/x", "cat ~/projects/private/key"] {
        assert_eq!(attempt(&project, rules.clone(), line).ok().stdout, SECRET, "{line}");
    }
    allow(
        &project,
        &rules,
        &[("echo mine > new.pem; cat new.pem", "mine\n"), ("cat elsewhere/.env", "elsewhere\n")],
    );
}

#[test]
fn a_whole_directory_of_any_size_is_hidden_at_once() {
    let Some(project) = project() else { return };
    for number in 0..4_000 {
        project.write(format!("data/x{number}.parquet"), SECRET);
    }
    deny(&project, &json!({ "denyRead": ["data/**"] }), &["cat data/x7.parquet", "ls data"]);
}

/// More matches than can be hidden one by one is an error that names the rule, not a hole.
#[test]
fn too_many_matches_are_refused_by_name() {
    let Some(project) = project() else { return };
    for number in 0..50_001 {
        project.write(format!("data/x{number}.parquet"), "");
    }
    let run = attempt(&project, json!({ "denyRead": ["**/*.parquet"] }), "touch ran");
    assert_eq!(run.status, 125, "{}", run.stderr);
    assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{}", run.stderr);
    assert!(run.stderr.contains("parquet"), "{}", run.stderr);
    assert!(!project.root().join("ran").exists());
}

#[test]
fn a_writable_directory_below_a_hidden_one_works() {
    let Some(project) = project() else { return };
    let rules = json!({ "denyRead": ["~/"], "allowRead": ["~/projects"], "allowWrite": ["~/cache", "~/projects/private/public"] });
    allow(
        &project,
        &rules,
        &[
            (
                "cat ~/cache/kept; echo new > ~/cache/new; mkdir ~/cache/d; mv ~/cache/new ~/cache/d/; cat ~/cache/d/new",
                "kept\nnew\n",
            ),
            ("echo new > ~/projects/private/public/new; cat ~/projects/private/public/new", "new\n"),
        ],
    );
    assert_eq!(std::fs::read_to_string(project.home().join("cache/d/new")).expect("written"), "new\n");
    deny(&project, &rules, &["ls ~"]);
    miss(&project, &rules, &["cat ~/.netrc", "cat ~/cache/../.netrc"]);
    let run = attempt(&project, rules.clone(), "echo evil > ~/projects/new");
    assert!(run.status != 0 && run.stderr.contains("Read-only file system"), "{run:#?}");
}

#[test]
fn the_root_may_lie_below_a_hidden_directory() {
    let Some(project) = project() else { return };
    let work = project.home().join("projects");
    let above = std::fs::canonicalize(project.base()).expect("it exists");
    let rules = json!({ "filesystem": { "denyRead": ["~/", above] } });
    let line =
        "pwd -P; cat readme; echo new > new; mktemp > made; test -s made && echo made; ls | grep -v HEAD";
    let run = project.run().sandbox(rules.clone()).directory(&work).line(line).ok();
    assert_eq!(run.stdout, format!("{}\nreadme\nmade\nmade\nnew\nprivate\nreadme\n", work.display()));
    for (line, said) in [("cat ../.netrc", "No such file"), ("ls ..", DENIED), ("ls ../..", DENIED)] {
        let run = project.run().sandbox(rules.clone()).directory(&work).line(line);
        assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
        assert_unseen(line, &run);
    }
}

/// Root looks everywhere. Others name paths in policies that they cannot get to.
#[test]
fn what_the_user_cannot_look_into_is_closed_as_a_whole_and_no_obstacle() {
    let Some(project) = project() else { return };
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let closed = project.root().join("closed");
    project.write("closed/x/f", SECRET);
    symlink(closed.join("x"), project.root().join("to-closed")).expect("own directory");
    let set_mode =
        |mode| std::fs::set_permissions(&closed, PermissionsExt::from_mode(mode)).expect("own directory");
    set_mode(0o000);
    for path in ["closed/x/f", "closed/x", "closed/**/f", "to-closed/f"] {
        let rules = json!({ "denyRead": [path, "/root/none-such/x"] });
        refuse_in(&project, &rules, "chmod 700 closed; cat closed/x/f", DENIED);
        allow(&project, &rules, &[("cat open.txt", "open\n")]);
        if !path.contains('*') {
            let rules = json!({ "denyWrite": [path, "/root/none-such/x"] });
            refuse_in(
                &project,
                &rules,
                "chmod 700 closed && echo evil > closed/x/f",
                "Read-only file system",
            );
        }
    }
    for key in ["allowRead", "allowWrite"] {
        let run = attempt(&project, json!({ "denyRead": ["~/"], key: ["closed/x"] }), "cat open.txt");
        assert_eq!((run.status, run.stdout.as_str()), (0, "open\n"), "{run:#?}");
        assert!(run.stderr.contains(key) && run.stderr.contains("cannot be looked into"), "{run:#?}");
    }
    set_mode(0o700);
    assert_eq!(project.read("closed/x/f"), SECRET);
}

/// Masks are laid after every bind of a directory above them.
#[test]
fn what_is_hidden_stays_hidden_inside_what_is_bound_again() {
    let Some(project) = project() else { return };
    for rules in [
        json!({ "denyRead": ["keys/id"], "denyWrite": ["keys"] }),
        json!({ "denyRead": ["keys/id"], "allowWrite": ["keys"] }),
        json!({ "denyRead": ["keys/id"], "allowWrite": ["keys"], "denyWrite": ["keys/deep"] }),
        json!({ "denyRead": ["keys/id"], "allowRead": ["keys"] }),
        json!({ "denyRead": ["keys/id", "."], "allowRead": ["keys"], "denyWrite": ["keys/id"] }),
    ] {
        deny(&project, &rules, &["cat keys/id"]);
        assert_eq!(attempt(&project, rules.clone(), "cat keys/deep/id").stdout, SECRET, "{rules}");
    }
}
