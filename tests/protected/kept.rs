//! Stand-ins: nothing of them is left, git sees none, and commands that run at once share them.

use palisade_tests::{Project, eventually};
use std::process::Command;

fn git(project: &Project, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@x"])
        .args(words)
        .current_dir(project.root())
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn repository() -> Option<Project> {
    let project = Project::where_it_works()?;
    project.write("f", "one\n");
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "first"]);
    Some(project)
}

#[test]
fn git_sees_no_stand_in_inside_or_outside_during_or_after() {
    let Some(project) = repository() else { return };
    let line = "set -e; git status --porcelain --ignored -uall; git add -A; git diff --cached --name-only; \
        git stash list; echo x > untracked; git stash -q -u; git stash pop -q > /dev/null; git clean -fdxq; git status --porcelain";
    let run = project
        .run()
        .env("GIT_COMMITTER_NAME", "n")
        .env("GIT_COMMITTER_EMAIL", "e@x")
        .env("GIT_AUTHOR_NAME", "n")
        .env("GIT_AUTHOR_EMAIL", "e@x")
        .line(line)
        .ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let running = project.run().start("echo started", "true");
    assert_eq!(git(&project, &["status", "--porcelain", "-uall"]), "");
    assert_eq!(git(&project, &["clean", "-ndx"]), "");
    running.end();
    assert_eq!(git(&project, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(project.tree(), ["f"]);
}

/// Settings are read while another command runs, or when one was killed and its stand-ins are still there.
#[test]
fn a_stand_in_is_no_settings_file_to_the_next_command() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(".claude/settings.json", "{}");
    let local = project.root().join(".claude/settings.local.json");
    let running = project.run().start("echo started", "true");
    assert!(local.symlink_metadata().is_ok(), "something stands in");
    project.run().line("true").ok();
    running.end();
    assert!(local.symlink_metadata().is_err());
}

#[test]
fn an_empty_root_is_empty_again() {
    let Some(project) = Project::where_it_works() else { return };
    for line in [
        "true",
        "exit 3",
        "kill -KILL $$",
        "(sleep 600 &); true",
        "mkdir .claude; echo x > HEAD; git init",
        "chmod 555 .",
        "chmod 0 .",
    ] {
        project.line(line);
        assert_eq!(project.tree(), [""; 0], "{line}");
        assert!(!project.root().join(".git").exists(), "{line}");
    }
}

/// Whoever clears away takes nothing for a stand-in that was there before, however much it looks like one.
#[test]
fn what_is_there_and_empty_stays_and_cannot_be_filled() {
    use std::os::unix::fs::PermissionsExt;
    let Some(project) = Project::where_it_works() else { return };
    let names =
        [".bashrc", ".git", ".mcp.json", ".claude/settings.json", ".vscode/", ".idea/", ".claude/hooks/"];
    for name in names {
        match name.strip_suffix('/') {
            Some(directory) => {
                std::fs::create_dir_all(project.root().join(directory)).expect("own directory");
            }
            None => drop(project.write(name, "")),
        }
    }
    let socket =
        std::os::unix::net::UnixListener::bind(project.root().join(".zshrc")).expect("own directory");
    for name in [".bashrc", ".zshrc"] {
        std::fs::set_permissions(project.root().join(name), PermissionsExt::from_mode(0o444))
            .expect("own file");
    }
    let before = project.tree();
    let line = format!(
        "for f in {}; do echo evil > $f; echo evil > $f/x; rm -rf $f; mv $f gone; done",
        names.join(" ")
    );
    for line in ["true", line.as_str(), "kill -KILL $$"] {
        project.line(line);
        assert_eq!(project.tree(), before, "{line}");
    }
    drop(socket);
    for name in names.into_iter().filter(|name| !name.ends_with('/')) {
        assert_eq!(project.read(name), "", "{name}");
    }
}

/// What the user makes while a command runs is the user's.
#[test]
fn what_the_user_makes_meanwhile_stays() {
    let Some(project) = Project::where_it_works() else { return };
    let running = project.run().start("echo started", "true");
    let rc = project.root().join(".bashrc");
    std::fs::remove_file(&rc).expect("own directory");
    std::fs::write(&rc, "mine\n").expect("own directory");
    running.end();
    assert_eq!(project.read(".bashrc"), "mine\n");
}

/// The end of one command opens nothing to another.
#[test]
fn stand_ins_stay_until_the_last_command_ends() {
    let Some(project) = Project::where_it_works() else { return };
    let running = project.run().start("echo started", "echo evil > .bashrc; mkdir .claude");
    for _ in 0..3 {
        project.line("true").ok();
    }
    assert_eq!(running.end().0, Some(1));
    assert_eq!(project.tree(), [""; 0]);
}

/// A host that is killed leaves them to the next start.
/// Whoever took a lock on what counts them could have them stay, in anybody's directories.
#[test]
fn no_command_gets_at_what_counts_them() {
    let (Some(project), Some(other)) = (Project::where_it_works(), Project::where_it_works()) else { return };
    let line = "for d in /tmp/palisade-covers-$(id -u) /tmp/palisade-private-$(id -u); do ls $d $d/*; flock -n $d true; \
                flock -ns $d/* true; done 2>&1";
    let run = project.line(line);
    let is_refusal = |line: &str| line.contains("Permission denied") || line.contains("No such file");
    assert!(run.stdout.lines().count() == 8 && run.stdout.lines().all(is_refusal), "{run:#?}");
    let opened =
        serde_json::json!({ "filesystem": { "allowRead": ["/tmp/palisade-covers-*/**"], "denyRead": [] } });
    let running = other.run().start("echo started", "true");
    let run =
        project.run().sandbox(opened).line("ls /tmp/palisade-covers-*/ && ls -R /tmp/palisade-covers-*");
    assert!(run.stderr.contains("Permission denied"), "{run:#?}");
    running.end();
    assert!(other.tree().is_empty());
}

#[test]
fn what_a_killed_host_leaves_is_gone_after_the_next_command() {
    let Some(project) = repository() else { return };
    let running = project.run().start("echo started; echo ../evil > .git/commondir", "true");
    eventually("the command has written", || project.root().join(".git/commondir").exists());
    running.kill();
    eventually("what was left is swept", || {
        project.line("true");
        project.tree() == ["f"] && !project.root().join(".git/commondir").exists()
    });
}

/// Nothing can stand in where the user cannot write; but the command could change that.
#[test]
fn a_root_that_nobody_can_write_starts() {
    use std::os::unix::fs::PermissionsExt;
    let Some(project) = Project::where_it_works() else { return };
    let set = |mode| {
        std::fs::set_permissions(project.root(), PermissionsExt::from_mode(mode)).expect("own directory")
    };
    set(0o555);
    let run = project.line("echo ran; chmod 755 . 2> /dev/null; echo evil > .bashrc");
    set(0o755);
    assert!(run.status != 0 && run.stdout == "ran\n", "{run:#?}");
    assert_eq!(project.tree(), [""; 0]);
}
