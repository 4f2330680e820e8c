//! Ways with `..` in them: whoever steps out of a directory must not step out of somewhere else the next time, since a
//! command has put a link in its place.

use palisade_tests::{Project, Run};
use std::process::Command;

/// Puts a link in the place of the directory `b`, or makes one where nothing is. `b/..` then is `e`.
const SWAP: &str = "mkdir -p e/f e/h e/.config/git; mv b b2; rm -f b; ln -s e/f b; ln -sfn e/f b";

/// What a shell outside the sandbox says to a line.
fn outside(project: &Project, line: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(project.root()).env("HOME", project.home());
    for role in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{role}_NAME"), "u").env(format!("GIT_{role}_EMAIL"), "u@example.com");
    }
    let output = shell.output().expect("sh runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Of each case the line that makes it, the one that a command attacks it by, and the path that others follow.
const CASES: &[(&str, &str, &str)] = &[
    ("mkdir b c; ln -s b/../c .claude", "mkdir e/c; echo evil > e/c/settings.json", ".claude/settings.json"),
    (
        "mkdir b .claude; echo {} > s; ln -s ../b/../s .claude/settings.json",
        "echo evil > e/s",
        ".claude/settings.json",
    ),
    ("mkdir b; ln -s b/../z .zshrc", "echo evil > e/z", ".zshrc"),
    ("mkdir b; ln -s ./b/.././/z .zshrc", "echo evil > e/z", ".zshrc"),
    ("ln -s b/../z .zshrc", "echo evil > e/z", ".zshrc"),
    ("touch b; ln -s b/../z .zshrc", "echo evil > e/z", ".zshrc"),
    ("mkdir -p d/b b; ln -s d/b way; ln -s way/../z .zshrc", "echo evil > d/z", ".zshrc"),
    (
        "mkdir -p d/b; ln -s d/b way; ln -s way/../z .zshrc",
        "mv d/b d/x; ln -s ../e/f d/b; echo evil > e/z",
        ".zshrc",
    ),
    (
        "mkdir -p b/c/d; ln -s b/c/d/../../../z .zshrc",
        "mkdir -p e/f/g/d; ln -s g e/f/c; echo evil > e/z",
        ".zshrc",
    ),
    ("mkdir -p x/b; ln -s x/b/../../z .zshrc", "mv x y; ln -s e x; mkdir e/b; echo evil > z", ".zshrc"),
    (
        "mkdir -p x/b; chmod 0 x; ln -s x/b/../../z .zshrc",
        "chmod 700 x; mv x/b y; ln -s ../e/f x/b; echo evil > z; mkdir e/z; echo evil > e/z",
        ".zshrc",
    ),
    (
        "mkdir b; ln -s root/b/../../conf ../.claude",
        "mkdir conf; echo evil > conf/settings.json",
        "../.claude/settings.json",
    ),
    (
        "mkdir ../conf; ln -s root/way ../.claude; ln -s ../conf way",
        "rm way; mkdir way; echo evil > way/settings.json",
        "../.claude/settings.json",
    ),
    (
        "touch .claude",
        "rm .claude; mkdir .claude; echo evil > .claude/settings.json",
        ".claude/settings.json",
    ),
    (
        "mkdir -p .claude/commands; ln -s ../../l .claude/commands/c; ln -s l l",
        "rm l; echo evil > l",
        ".claude/commands/c",
    ),
];

/// Makes a case twice: the attack finds its way where nothing is confined, and none where something is. `follow` is what
/// is done outside afterwards.
fn is_held(made: &str, attack: &str, follow: &str, run: impl Fn(&Project, &str) -> Run) -> Option<()> {
    let (project, free) = (Project::where_it_works()?, Project::new());
    for project in [&project, &free] {
        project.write("hook", "#!/bin/sh\necho evil\n");
        assert_eq!(outside(project, made), "", "{made}");
    }
    outside(&free, attack);
    assert!(outside(&free, follow).contains("evil"), "{made}: this is no attack");
    let run = run(&project, &format!("echo started; {attack}"));
    assert!(run.stdout.starts_with("started\n"), "{made}: {run:#?}");
    let found = outside(&project, &format!("chmod -f 700 x; {follow}"));
    assert!(!found.contains("evil"), "{made}: {found} {run:#?}");
    Some(())
}

#[test]
fn what_a_link_steps_out_of_stays() {
    for (made, attack, followed) in CASES {
        let attack = format!("{SWAP}; {attack}");
        is_held(made, &attack, &format!("cat {followed}"), |project, line| project.line(line));
    }
}

/// Such a directory is the command's to use as ever.
#[test]
fn what_is_stepped_out_of_is_written_as_ever() {
    let Some(project) = Project::where_it_works() else { return };
    outside(&project, "mkdir -p a/b a/c; ln -s a/b/../c .claude; touch a/b/old");
    project.line("rm a/b/old && echo new > a/b/new && mkdir a/d && mv a/d a/b/d && chmod 700 a/b").ok();
    let run = project.line("python3 -c 'import os; os.rename(\"a/b\", \"a/x\")'");
    assert!(run.stderr.contains("busy"), "{run:#?}");
    assert_eq!(project.tree(), [".claude", "a", "a/b", "a/b/d", "a/b/new", "a/c"]);
}

/// Of each case the line that makes it, in a fresh repository, and what the attack makes a copy of the hooks in.
const OF_GIT: &[(&str, &str)] = &[
    ("mkdir b h; ln -s ../b/../h .git/hooks", "e/h"),
    ("mkdir b h; git config core.hooksPath b/../h", "e/h"),
    ("mkdir b; git config core.hooksPath b/../h/", "e/h"),
    ("git config core.hooksPath b/../h", "e/h"),
    ("mkdir -p d/x; ln -s d/x way; git config core.hooksPath way/../h", "d/h"),
    ("mkdir b; git config core.hooksPath \"$PWD/b/../h\"", "e/h"),
    ("mkdir b; git config include.path ../b/../inc; echo > inc", "h"),
    ("mkdir b; git config include.path ../b/../inc", "h"),
    ("mkdir b; echo '[include] path = b/../inc' > .inc; git config include.path ../.inc", "h"),
    ("mkdir b; git config --global include.path \"$PWD/b/../inc\"", "h"),
    ("mkdir b; git config core.worktree ../b/..; git config core.hooksPath h", "e/h"),
    ("mkdir w; git config core.worktree ../w; git config core.hooksPath h", "w/h"),
    ("mkdir b; mv .git g; echo 'gitdir: b/../g' > .git", "e/g/hooks"),
    ("mv .git g; echo 'gitdir: b/../g' > .git", "e/g/hooks"),
    ("mv .git x; echo 'gitdir: g' > .git", "g/hooks"),
    ("mkdir b; mv .git g; ln -s b/../g .git", "e/g/hooks"),
    ("mkdir b; cp -r .git g; mv g/HEAD .git; echo ../b/../g > .git/commondir", "e/g/hooks"),
    ("cp -r .git x; echo ../g > .git/commondir", "g/hooks"),
    ("mv .git ..; git config core.hooksPath root/h", "h"),
    ("mkdir b; mv .git ..; git config core.hooksPath root/b/../h", "e/h"),
    ("mkdir b; mv .git g; ln -s root/b/../g ../.git", "e/g/hooks"),
    ("mv .git g; ln -s root/g ../.git", "g/hooks"),
];

#[test]
fn what_git_steps_out_of_on_its_way_stays() {
    for (made, hooks) in OF_GIT {
        let made = format!("git init -q --template=; chmod +x hook; {made}");
        let attack = format!(
            "{SWAP}; for g in .git x g; do [ -d $g/objects ] && mkdir -p g e/g && cp -r $g/. g; cp -r $g/. e/g; done; rm -f g/commondir e/g/commondir; \
             rm -rf {hooks}; mkdir -p {hooks}; cp hook {hooks}/pre-commit; printf '[core]\\nhooksPath = h' | tee inc > e/inc"
        );
        let commit = "git commit --allow-empty -m message";
        is_held(&made, &attack, commit, |project, line| project.line(line));
    }
}

/// git runs them in its own directory, and there looks for the directory that its configuration names.
#[test]
fn hooks_of_a_push_are_no_commands_to_make() {
    let made = "git init -q --template=; chmod +x hook; git config core.hooksPath h; git config receive.denyCurrentBranch ignore";
    let attack = "mkdir .git/h; cp hook .git/h/post-receive";
    let push = "git clone -q . ../clone; cd ../clone; git commit -q --allow-empty -m message; git push -q origin HEAD";
    is_held(made, attack, push, |project, line| project.line(line));
}

/// As their names come from variables: shells follow a path as it is, other programs by its letters.
#[test]
fn what_a_variable_steps_out_of_stays() {
    for (made, name, value, attack, followed) in [
        ("mkdir b z", "ZDOTDIR", "b/../z", "mkdir e/z; echo evil > e/z/.zshrc", "b/../z/.zshrc"),
        ("mkdir z", "ZDOTDIR", "b/../z", "mkdir e/z; echo evil > e/z/.zshrc", "b/../z/.zshrc"),
        (
            "mkdir -p d/x; ln -s d/x way",
            "ZDOTDIR",
            "way/../z",
            "mkdir d/z; echo evil > d/z/.zshrc",
            "way/../z/.zshrc",
        ),
        ("mkdir -p d/x z; ln -s d/x way", "ZDOTDIR", "way/../z", "echo evil > z/.zshrc", "z/.zshrc"),
        (
            "mkdir b",
            "XDG_CONFIG_HOME",
            "b/../.config",
            "echo evil > e/.config/git/config",
            "b/../.config/git/config",
        ),
        (
            "mkdir b c",
            "CLAUDE_CONFIG_DIR",
            "b/../c",
            "mkdir e/c; echo evil > e/c/settings.json",
            "b/../c/settings.json",
        ),
        ("mkdir b c", "HOME", "b/../c", "mkdir e/c; echo evil > e/c/.bashrc", "b/../c/.bashrc"),
        (
            "mkdir ../c; ln -s ../c way",
            "HOME",
            "way",
            "rm way; mkdir way; echo evil > way/.bashrc",
            "way/.bashrc",
        ),
    ] {
        let attack = format!("{SWAP}; {attack}");
        is_held(made, &attack, &format!("cat {followed}"), |project, line| {
            project.run().env(name, project.root().join(value)).line(line)
        });
    }
}
