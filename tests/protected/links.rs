//! Links at protected paths, symbolic and hard: what they lead to is protected, and no other name is a way in.

use palisade_tests::Project;
use serde_json::json;
use std::os::unix::fs::symlink;

fn refused(project: &Project, line: &str) {
    let run = project.line(line);
    assert!(run.status != 0, "{line}: {run:#?}");
}

#[test]
fn a_link_at_a_protected_path_protects_what_it_leads_to() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    project.write("common/settings.json", "{}");
    project.write("common/hooks/h", "orig\n");
    project.write("rc", "orig\n");
    std::fs::create_dir(root.join(".claude")).expect("own directory");
    symlink("../common/settings.json", root.join(".claude/settings.json")).expect("own directory");
    symlink("../common/hooks", root.join(".claude/hooks")).expect("own directory");
    symlink(root.join("rc"), root.join(".bashrc")).expect("own directory");
    symlink("not-there", root.join(".zshrc")).expect("own directory");
    symlink("common", root.join(".palisade")).expect("own directory");
    for line in [
        "echo evil > common/settings.json",
        "echo evil > .claude/settings.json",
        "mv common/settings.json x",
        "mv common other",
        "echo evil > common/hooks/h",
        "echo evil > common/hooks/new",
        "echo evil > common/agents",
        "echo evil > rc",
        "echo evil > .bashrc",
        "echo evil > not-there",
        "echo evil > .zshrc",
    ] {
        refused(&project, line);
    }
    project.line("echo ok > common/other").ok();
    assert_eq!((project.read("common/settings.json"), project.read("rc")), ("{}".into(), "orig\n".into()));
}

/// Hooks and skills are often links to where they are kept.
#[test]
fn what_a_link_in_a_protected_directory_leads_to_is_protected() {
    let Some(project) = Project::where_it_works() else { return };
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(project.root()).status();
    assert!(git.expect("git runs").success());
    let link = |to: &str, at: &str| {
        let at = project.root().join(at);
        std::fs::create_dir_all(at.parent().expect("below the root")).expect("own directory");
        symlink(to, at).expect("own directory");
    };
    for file in ["scripts/lint", "kept/skill/SKILL.md", "kept/skill/tools/t", "kept/c.md", "bin/run", "far/x"]
    {
        project.write(file, "orig\n");
    }
    link("../../scripts/lint", ".git/hooks/pre-commit");
    link("../../scripts/none/yet", ".git/hooks/pre-push");
    link("../../kept/skill", ".claude/skills/skill");
    link("../../../bin/run", "kept/skill/tools/run");
    link("../../../kept/c.md", ".claude/commands/deep/c.md");
    link("/nowhere", ".claude/commands/nowhere");
    link("loop", ".claude/commands/loop");
    link("../far", ".vscode/far");
    for line in [
        "echo evil > scripts/lint",
        "mv scripts other",
        "echo evil > new; mv new scripts/lint",
        "mkdir -p scripts/none && echo evil > scripts/none/yet",
        "echo evil > kept/skill/SKILL.md",
        "echo evil > kept/skill/new",
        "rm kept/skill/tools/t",
        "mv kept/skill x",
        "echo evil > kept/c.md",
        "echo evil > bin/run",
        "mv bin x",
        "mv far x",
    ] {
        refused(&project, line);
    }
    project.line("echo ok > scripts/other; echo ok > kept/other; mkdir kept/more; echo ok > bin/other").ok();
}

#[test]
fn a_link_in_a_protected_directory_closes_no_root() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::create_dir_all(project.root().join(".claude/skills")).expect("own directory");
    symlink("../..", project.root().join(".claude/skills/this")).expect("own directory");
    let run = project.line("echo x > f").ok();
    assert!(run.stderr.contains(".claude/skills/this leads to"), "{run:#?}");
}

/// Each of these leaves a link of another's making, or a file, where there was one that leads to what is protected.
const REPLACEMENTS: [&str; 7] = [
    "rm LINK",
    "mv LINK other; rm other",
    "ln -sfn /tmp LINK",
    "ln -sfT /tmp LINK",
    "echo evil > new && mv -T new LINK",
    "python3 -c 'import os; os.unlink(\"LINK\")'",
    "python3 -c 'import os; open(\"new\", \"w\"); os.replace(\"new\", \"LINK\")'",
];

/// Where there is a link on the way to what may not be written, the next to follow it must come to the same place.
#[test]
fn a_link_to_what_is_protected_cannot_be_replaced() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    project.write("common/claude/settings.json", "{}");
    project.write("common/rc", "orig\n");
    project.write("deep/down/kept", "orig\n");
    std::fs::create_dir(root.join(".palisade")).expect("own directory");
    let links = [
        ("common/claude", ".claude"),
        ("common/rc", ".bashrc"),
        (".bashrc", ".zshrc"),
        ("../common/claude/settings.json", ".palisade/settings.json"),
        ("missing", ".profile"),
        ("/etc/hosts", ".mcp.json"),
        ("deep", "way"),
    ];
    for (target, link) in links {
        symlink(target, root.join(link)).expect("own directory");
    }
    let run = |line: &str| project.run().options(["--deny-write", "way/down/kept"]).line(line);
    for (_, link) in links {
        let replaced = run(&REPLACEMENTS.join("; ").replace("LINK", link));
        let busy = replaced.stderr.matches("busy").count();
        assert!(busy >= 5 && !replaced.stderr.contains("warning"), "{link}: {replaced:#?}");
        for (target, link) in links {
            assert_eq!(
                std::fs::read_link(root.join(link)).ok(),
                Some(target.into()),
                "{link}: {replaced:#?}"
            );
        }
    }
    for line in ["mv .palisade x", "mv deep/down x", "mv deep x"] {
        assert!(run(line).status != 0, "{line}");
    }
    let seen = run(
        "readlink way .bashrc && cat .bashrc .claude/settings.json && echo new > way/other && rm way/other && ls way/",
    );
    assert_eq!(seen.ok().stdout, "deep\ncommon/rc\norig\n{}down\n");
}

/// So it is where thousands of mounts are made beside it, and below a hidden directory.
#[test]
fn a_link_is_held_in_a_plan_of_any_kind() {
    let Some(project) = Project::where_it_works() else { return };
    for number in 0..100 {
        project.write(format!("many/{number}/secret"), "");
    }
    project.write("w/in/rc", "orig\n");
    symlink("in/rc", project.root().join("w/.bashrc")).expect("own directory");
    for rules in [
        json!({ "denyRead": ["many/*/secret"], "denyWrite": ["w/.bashrc"] }),
        json!({ "denyRead": [".."], "allowRead": ["."], "denyWrite": ["w/.bashrc"] }),
        json!({ "denyRead": ["..", "many/*/secret"], "allowRead": ["."], "denyWrite": ["w/.bashrc"] }),
        json!({ "denyRead": ["."], "allowWrite": ["w"], "allowRead": ["w"], "denyWrite": ["w/.bashrc"] }),
    ] {
        let run = |line| project.run().sandbox(json!({ "filesystem": rules.clone() })).line(line);
        for line in ["rm w/.bashrc", "ln -sfn in/x w/.bashrc", "mv w/in x", "echo evil > w/.bashrc"] {
            let run = run(line);
            assert!(run.status != 0, "{line} by {rules}: {run:#?}");
        }
        assert_eq!(run("cat w/.bashrc").ok().stdout, "orig\n", "{rules}");
    }
}

/// git replaces a link by removing it.
#[test]
fn git_cannot_replace_a_link_either() {
    let Some(project) = Project::where_it_works() else { return };
    let git = |words: &[&str]| {
        let own = ["-c", "user.name=u", "-c", "user.email=u@example.com"];
        let mut command = std::process::Command::new("git");
        let output = command.current_dir(project.root()).args(own).args(words).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    project.write("rc", "orig\n");
    project.write(".bashrc", "evil\n");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "a file"]);
    git(&["tag", "file"]);
    std::fs::remove_file(project.root().join(".bashrc")).expect("own file");
    symlink("rc", project.root().join(".bashrc")).expect("own directory");
    git(&["commit", "-qam", "a link"]);
    assert_eq!(project.line("git status --porcelain").ok().stdout, "");
    for line in ["git checkout -q file", "git checkout -q file -- .bashrc", "git reset -q --hard file"] {
        let run = project.line(line);
        assert!(run.stderr.contains("busy"), "{line}: {run:#?}");
        assert_eq!(
            std::fs::read_link(project.root().join(".bashrc")).expect("a link"),
            std::path::Path::new("rc")
        );
    }
}

/// git follows a link to its directory, which so must stay, as must one on the way that a `.git` file names.
#[test]
fn a_link_to_a_git_directory_cannot_be_replaced() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    let status = std::process::Command::new("git").args(["init", "-q", "real"]).current_dir(&root).status();
    assert!(status.expect("git runs").success());
    symlink("real/.git", root.join(".git")).expect("own directory");
    for line in ["rm .git", "ln -sfn /tmp .git", "mv real x", "echo > real/.git/hooks/x"] {
        refused(&project, line);
    }
    std::fs::remove_file(root.join(".git")).expect("own file");
    symlink("real", root.join("way")).expect("own directory");
    project.write(".git", "gitdir: way/.git\n");
    for line in ["rm way", "ln -sfn /tmp way", "mv real x", "echo > real/.git/hooks/x"] {
        refused(&project, line);
    }
    project.line("git status && echo x > real/.git/description").ok();
}

/// A home whose files are kept in a repository, by links: working there must not change what shells run.
#[test]
fn what_a_home_links_to_in_the_root_is_protected() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("files/bash", "orig\n");
    project.write("claude/settings.json", "{}");
    symlink(project.root().join("files/bash"), project.home().join(".bashrc")).expect("own directory");
    symlink(project.root().join("claude"), project.home().join(".claude")).expect("own directory");
    for line in [
        "echo evil > files/bash",
        "mv files moved",
        "echo evil > claude/settings.json",
        "echo evil > claude/x",
    ] {
        refused(&project, line);
    }
    project.line("echo ok > files/other").ok();
}

#[test]
fn a_link_that_protects_the_root_itself_closes_it_and_says_so() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::create_dir(project.root().join(".claude")).expect("own directory");
    symlink("..", project.root().join(".claude/commands")).expect("own directory");
    let run = project.line("echo x > f");
    assert!(run.status != 0 && run.stderr.contains("nothing in"), "{run:#?}");
}

#[test]
fn a_second_name_of_a_protected_file_keeps_the_command_from_starting() {
    for name in [
        ".bashrc",
        ".claude/settings.json",
        ".mcp.json",
        ".git/config",
        ".git/hooks/pre-commit",
        ".claude/hooks/h",
    ] {
        let Some(project) = Project::where_it_works() else { return };
        let git = std::process::Command::new("git").args(["init", "-q"]).arg(project.root()).status();
        assert!(git.expect("git runs").success());
        if name != ".git/config" {
            project.write(name, "{}\n");
        }
        std::fs::hard_link(project.root().join(name), project.root().join("other")).expect("own directory");
        let run = project.line("echo evil > other");
        assert_eq!(run.status, 125, "{name}: {run:#?}");
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{name}: {run:#?}");
        assert!(run.stderr.contains(name), "{name}: {run:#?}");
        std::fs::remove_file(project.root().join("other")).expect("own directory");
        project.line("true").ok();
    }
}

#[test]
fn a_second_name_of_a_hidden_file_keeps_the_command_from_starting() {
    for (deny, other, starts) in [
        (&["keys/a.pem"][..], "other", false),
        (&["keys"], "other", false),
        (&["**/*.pem"], "other", false),
        (&["keys"], "keys/deep/other", true),
        (&["keys/a.pem", "other"], "other", true),
        (&["keys/a.pem"], "keys/deep/other", false),
    ] {
        let Some(project) = Project::where_it_works() else { return };
        std::fs::create_dir_all(project.root().join("keys/deep")).expect("own directory");
        let path = project.write("keys/a.pem", "s3cret");
        std::fs::hard_link(path, project.root().join(other)).expect("own directory");
        let rules = json!({ "filesystem": { "denyRead": deny } });
        let run = project.run().sandbox(rules).line("true");
        let is_refused =
            run.json["error"]["code"] == "SANDBOX_UNENFORCEABLE" && run.stderr.contains("keys/a.pem");
        assert_eq!((run.status == 0, is_refused), (starts, !starts), "{deny:?} {other}: {run:#?}");
    }
}

/// Looking through a large directory stops somewhere, and says so.
#[test]
fn a_large_hidden_directory_is_looked_through_so_far() {
    let Some(project) = Project::where_it_works() else { return };
    for number in 0..5_100 {
        project.write(format!("many/{number:04}"), "");
    }
    let rules = json!({ "filesystem": { "denyRead": ["many"] } });
    let run = project.run().sandbox(rules).line("ls many");
    assert!(run.status != 0 && run.stderr.contains("too much to be looked through"), "{run:#?}");
}
