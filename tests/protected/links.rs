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
    project.write("shared/settings.json", "{}");
    project.write("shared/hooks/h", "orig\n");
    project.write("rc", "orig\n");
    std::fs::create_dir(root.join(".claude")).expect("own directory");
    symlink("../shared/settings.json", root.join(".claude/settings.json")).expect("own directory");
    symlink("../shared/hooks", root.join(".claude/hooks")).expect("own directory");
    symlink(root.join("rc"), root.join(".bashrc")).expect("own directory");
    symlink("not-there", root.join(".zshrc")).expect("own directory");
    symlink("shared", root.join(".palisade")).expect("own directory");
    for line in [
        "echo evil > shared/settings.json",
        "echo evil > .claude/settings.json",
        "mv shared/settings.json x",
        "mv shared other",
        "echo evil > shared/hooks/h",
        "echo evil > shared/hooks/new",
        "echo evil > shared/agents",
        "echo evil > rc",
        "echo evil > .bashrc",
        "echo evil > not-there",
        "echo evil > .zshrc",
    ] {
        refused(&project, line);
    }
    project.line("echo ok > shared/other").ok();
    assert_eq!((project.read("shared/settings.json"), project.read("rc")), ("{}".into(), "orig\n".into()));
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
