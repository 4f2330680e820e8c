//! Ways to have somebody else's next program run the command's code, each tried to its end: the program is run
//! outside afterwards, and nothing of the command's has come to run.

use palisade_tests::Project;
use std::path::Path;
use std::process::{Command, Output};

fn git(at: &Path, words: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(at)
        .output()
        .expect("git runs")
}

/// What git does when a person, a prompt or an editor uses it in a directory.
fn use_git(at: &Path) {
    for words in [
        &["status"][..],
        &["diff"],
        &["log", "-1"],
        &["add", "-A"],
        &["commit", "-q", "--allow-empty", "-m", "m"],
        &["stash", "list"],
        &["checkout", "-q", "-b", "b"],
    ] {
        git(at, words);
    }
}

/// A configuration that runs `touch $OUT/pwned` on nearly everything, a hook that does, a git directory with both.
const PREPARE: &str = r#"
PWN="touch $OUT/pwned; false"
config() { printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = %s\n' "$PWD" "$PWN"; }
hook() { mkdir -p "$1"; for h in pre-commit post-checkout post-commit; do printf '#!/bin/sh\ntouch %s/pwned\n' "$OUT" > "$1/$h"; chmod +x "$1/$h"; done; }
directory() { mkdir -p "$1"; git init -q "$1/x"; cp -r "$1/x/.git/." "$1/"; rm -rf "$1/x"; config > "$1/config"; hook "$1/hooks"; }
"#;

const ATTACKS: &[&str] = &[
    "config > .git/config",
    "hook .git/hooks",
    "git config core.fsmonitor \"$PWN\"",
    "git config --worktree core.fsmonitor \"$PWN\"",
    "rm -rf .git; directory .git",
    "mv .git old; directory .git",
    "mv .git old; directory new; echo 'gitdir: new' > .git",
    "mv .git old; directory new; ln -s new .git",
    "mv .git/hooks .git/old; hook .git/hooks; mv .git/config .git/c; config > .git/config",
    "rm -rf .git/hooks; mkdir h; hook h; ln -s ../h .git/hooks",
    "directory e; echo ../e > .git/commondir",
    "directory e; echo ../e > .git/commondir; chmod 555 .git",
    "rm -f .git/HEAD; directory e; cp -r e/. .; chmod 555 .",
    "config > .git/config.worktree",
    "mkdir .git/config.worktree .git/commondir",
    "ln .git/config c; config > c",
    "directory e; cp -r e/. .",
    "rm -f .git/HEAD; directory e; cp -r e/. .",
    "mv .git/objects .git/o; directory e; cp -r e/. .",
    "rm -rf .git/refs; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; config > config",
    "git init -q .; config > .git/config; hook .git/hooks",
    "git init -q --separate-git-dir=e .; config > e/config",
    "git init -q --bare .; config > config",
    "echo '* filter=x' > .gitattributes; config > .gitconfig",
    "for d in .git/worktrees/* .git/modules/*; do config > $d/config.worktree; config > $d/config; hook $d/hooks; \
     directory e; echo $PWD/e > $d/commondir; mv $d $d.old; directory $d; done",
    "mv .git/worktrees .git/w; mv .git/modules .git/m; cp -r .git/w .git/worktrees; cp -r .git/m .git/modules; \
     directory e; for d in .git/worktrees/*; do echo $PWD/e > $d/commondir; done; for d in .git/modules/*; do \
     config > $d/config; done",
    "git config -f .gitmodules submodule.sub.update \"!touch $OUT/pwned\"",
    "mkdir -p .husky/_; hook .husky/_; config > inc/a; config > inc/b",
];

/// A repository with a linked worktree, a submodule, an included configuration and a directory of hooks of its own.
fn repository() -> Option<Project> {
    let project = Project::where_it_works()?;
    let (root, outside) = (project.root(), project.outside());
    let run = |at: &Path, words: &[&str]| {
        let output = git(at, words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    run(&outside, &["init", "-q", "origin"]);
    run(&outside.join("origin"), &["commit", "-q", "--allow-empty", "-m", "m"]);
    run(&root, &["init", "-q"]);
    project.write("f", "one\n");
    run(&root, &["add", "-A"]);
    run(&root, &["commit", "-q", "-m", "m"]);
    run(&root, &["submodule", "add", "-q", outside.join("origin").to_str().expect("text"), "sub"]);
    run(&root, &["commit", "-q", "-m", "sub"]);
    run(&root, &["worktree", "add", "-q", "-b", "other", outside.join("tree").to_str().expect("text")]);
    project.write("inc/a", "[user]\n\tname = n\n[include]\n\tpath = b\n");
    run(&root, &["config", "include.path", "../inc/a"]);
    run(&root, &["config", "core.hooksPath", ".husky/_"]);
    run(&root, &["config", "extensions.worktreeConfig", "true"]);
    Some(project)
}

/// Whether a line that runs inside has code of its own run outside, afterwards.
fn is_lost(project: &Project, line: &str, is_open: bool) -> bool {
    let line = format!("{PREPARE}\nexec 2> /dev/null\n{line}");
    let rules = serde_json::json!({ "filesystem": { "disabled": is_open } });
    project.run().env("OUT", project.outside()).sandbox(rules).line(&line);
    for at in [project.root(), project.outside().join("tree"), project.root().join("sub")] {
        if at.exists() {
            use_git(&at);
        }
    }
    project.outside().join("pwned").exists()
}

fn attack(project: &Project, line: &str) {
    assert!(!is_lost(project, line, false), "{line}");
}

/// What is tried here is no empty gesture: without protection, most of it works in one of the two roots.
#[test]
fn the_attacks_are_real() {
    let mut lost = 0;
    for line in ATTACKS {
        let (Some(repository), Some(empty)) = (repository(), Project::where_it_works()) else { return };
        lost += usize::from(is_lost(&repository, line, true) || is_lost(&empty, line, true));
    }
    assert!(lost >= 18, "{lost} of {}", ATTACKS.len());
}

#[test]
fn no_git_that_is_run_later_runs_what_a_command_left() {
    for line in ATTACKS {
        let Some(project) = repository() else { return };
        attack(&project, line);
    }
}

#[test]
fn no_root_without_a_repository_becomes_one() {
    for line in ATTACKS {
        let Some(project) = Project::where_it_works() else { return };
        attack(&project, line);
    }
}

/// A root in the middle of a repository: git looks there first.
#[test]
fn no_root_below_a_repository_becomes_one_of_its_own() {
    for line in ATTACKS {
        let Some(project) = Project::where_it_works() else { return };
        assert!(git(project.base(), &["init", "-q"]).status.success());
        attack(&project, line);
    }
}

/// git itself knows a bare repository that others made, and uses it.
#[test]
fn a_bare_repository_keeps_its_hooks_and_configuration() {
    for line in [
        "config > config",
        "hook hooks",
        "mv hooks h; hook hooks",
        "directory e; echo e > commondir",
        "mv config c; config > config",
    ] {
        let Some(project) = Project::where_it_works() else { return };
        assert!(git(&project.root(), &["init", "-q", "--bare"]).status.success());
        attack(&project, line);
    }
}

/// One command makes a git directory look like none for a while, so that the next one may write there.
#[test]
fn no_command_hides_a_git_directory_from_the_next_one() {
    for (first, second, rest) in [
        (
            "mv .git/modules/sub/HEAD .git/modules/sub/H",
            "config > .git/modules/sub/config; hook .git/modules/sub/hooks",
            "mv .git/modules/sub/H .git/modules/sub/HEAD",
        ),
        (
            "chmod 0 .git/modules",
            "chmod 755 .git/modules; config > .git/modules/sub/config",
            "chmod 755 .git/modules",
        ),
        ("chmod 0 .git", "mkdir -p .husky/_; hook .husky/_", "chmod 755 .git"),
        (
            "chmod 444 .git/modules/sub",
            "chmod 755 .git/modules/sub; config > .git/modules/sub/config",
            "chmod 755 .git/modules/sub",
        ),
        (
            "chmod 0 .git/worktrees",
            "chmod 755 .git/worktrees; config > .git/worktrees/tree/config.worktree",
            "chmod 755 .git/worktrees",
        ),
    ] {
        let Some(project) = repository() else { return };
        project.write(".husky/_/h", "");
        let running = project.run().start(&format!("{first}; echo started"), rest);
        assert!(!is_lost(&project, second, false), "{second}");
        running.end();
        attack(&project, second);
    }
}

#[test]
fn no_command_hides_a_bare_repository_from_the_next_one() {
    let Some(project) = Project::where_it_works() else { return };
    assert!(git(&project.root(), &["init", "-q", "--bare"]).status.success());
    let running = project.run().start("mv HEAD H; echo started", "mv -f H HEAD");
    attack(&project, "config > config; hook hooks");
    running.end();
    attack(&project, "true");
}
