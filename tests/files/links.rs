//! Symbolic links: a deny holds where its link leads, and no link opens what a rule closes, whoever made it.

use super::attempt;
use palisade_tests::{Project, Tree};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const SECRET: &str = "s3cret-content";

fn project() -> Option<Project> {
    let project = Project::where_it_works()?;
    for (directory, text) in [(project.outside(), "outside"), (project.home(), SECRET)] {
        std::fs::create_dir(directory.join("d")).expect("own directory");
        std::fs::write(directory.join("d/f"), text).expect("own directory");
        std::fs::write(directory.join("f"), text).expect("own directory");
    }
    Some(project)
}

fn link(project: &Project, name: &str, target: impl AsRef<std::path::Path>) {
    symlink(target, project.root().join(name)).expect("own directory");
}

/// Runs a line under rules: it fails with `said`, and nothing secret is printed.
fn refused(project: &Project, rules: &Value, line: &str, said: &str) -> palisade_tests::Run {
    let run = attempt(project, rules.clone(), line);
    assert!(run.status != 0 && run.stderr.contains(said), "{rules} {line}: {run:#?}");
    assert!(!run.stdout.contains(SECRET), "{rules} {line}: {run:#?}");
    run
}

#[test]
fn a_read_deny_holds_at_both_ends_of_a_link() {
    let Some(project) = project() else { return };
    link(&project, "to-f", project.outside().join("f"));
    link(&project, "to-d", project.outside().join("d"));
    link(&project, "twice", "to-d");
    for (deny, lines) in [
        ("to-f", ["cat to-f", "cat $OUT/f"]),
        ("to-d", ["ls to-d", "cat $OUT/d/f"]),
        ("to-d/f", ["cat to-d/f", "cat $OUT/d/f"]),
        ("twice/f", ["cat twice/f", "cat $OUT/d/f"]),
        ("../outside/d", ["cat twice/f", "ls $OUT/d"]),
    ] {
        for line in lines {
            refused(&project, &json!({ "denyRead": [deny] }), line, "Permission denied");
        }
    }
}

/// Else the next command's rules would hide what it leads to by then, or nothing.
#[test]
fn a_link_that_a_read_deny_goes_through_stays_for_the_next_command() {
    let Some(project) = project() else { return };
    std::fs::create_dir(project.root().join("links")).expect("own directory");
    link(&project, "links/to-d", project.home().join("d"));
    link(&project, "links/other", "nowhere");
    let change = "rm -f links/to-d; ln -sfn /etc links/to-d; mv links links2; mv -fT links/other links/to-d; rm -rf links";
    for deny in ["links/to-d", "links/to-d/f", "links/*d"] {
        let denies = json!({ "denyRead": [deny] });
        attempt(&project, denies.clone(), change);
        let leads_to = std::fs::read_link(project.root().join("links/to-d")).ok();
        assert_eq!(leads_to, Some(project.home().join("d")), "{deny}");
        refused(&project, &denies, "cat ../home/d/f", "Permission denied");
    }
}

/// So it is with a directory that the way of a link steps out of: by a link in its place the deny would lead elsewhere.
#[test]
fn what_a_link_of_a_deny_steps_out_of_stays_for_the_next_command() {
    for (made, swap) in [
        (&[("b/../c", "a"), ("../home/f", "c")][..], "mv b b2; ln -s e/f b; echo x > e/c"),
        (&[("way/../c", "a"), ("b", "way"), ("../home/f", "c")], "mv b b2; ln -s e/f b; echo x > e/c"),
        (&[("../home/later", "a")], "rm a; echo x > a"),
    ] {
        let Some(project) = project() else { return };
        std::fs::create_dir(project.root().join("b")).expect("own directory");
        made.iter().for_each(|(target, name)| link(&project, name, target));
        let denies = json!({ "denyRead": ["a"], "denyWrite": ["a"], "allowWrite": [project.home()] });
        let run = attempt(&project, denies.clone(), &format!("echo started; mkdir -p e/f; {swap}"));
        assert!(run.stdout.starts_with("started\n"), "{made:?}: {run:#?}");
        std::fs::write(project.home().join("later"), SECRET).expect("own directory");
        let kept = std::fs::canonicalize(project.root().join("a")).expect("it leads there");
        refused(&project, &denies, &format!("cat {}", kept.display()), "Permission denied");
        refused(&project, &denies, &format!("echo x > {}", kept.display()), "Read-only");
        assert!(kept.starts_with(project.home()), "{made:?}: {run:#?}");
    }
}

/// By letter it names one file; the kernel, which follows the link first, reaches another.
#[test]
fn a_deny_that_steps_out_of_a_link_is_refused() {
    let Some(project) = project() else { return };
    link(&project, "to-d", project.home().join("d"));
    project.write("plain/f", "");
    for key in ["denyRead", "denyWrite"] {
        for text in ["to-d/../f", "plain/../to-d/../f", "to-d/x/../../f"] {
            let run = refused(&project, &json!({ key: [text] }), "cat to-d/../f", "cannot be enforced");
            assert!(run.stderr.contains(text) && run.stderr.contains("to-d, which"), "{run:?}");
        }
    }
    let denies = json!({ "denyRead": ["plain/../plain/f", "none/../plain/f"] });
    refused(&project, &denies, "cat plain/f", "Permission denied");
}

#[test]
fn a_write_deny_holds_where_its_link_leads() {
    let Some(project) = project() else { return };
    project.write("real/f", "orig\n");
    link(&project, "to-real", "real");
    link(&project, "to-f", "real/f");
    for (deny, lines) in [
        ("to-real/f", ["echo evil > real/f", "echo evil > to-real/f"]),
        ("to-real", ["echo evil > real/new", "rm -rf real/f"]),
        ("to-f", ["echo evil > to-f", "echo evil > real/f"]),
    ] {
        for line in lines {
            refused(&project, &json!({ "denyWrite": [deny] }), line, "Read-only file system");
        }
    }
    // The link leads to nothing yet: what would come to be there is what the rule is about.
    link(&project, "to-missing", "real/missing");
    refused(&project, &json!({ "denyWrite": ["to-missing"] }), "echo evil > to-missing", "Permission denied");
    assert_eq!(project.read("real/f"), "orig\n");
    assert_eq!(project.tree(), ["real", "real/f", "to-f", "to-missing", "to-real"]);
}

/// Only the project's own author, or an earlier command, can have made the link.
#[test]
fn an_allow_that_gets_into_a_hidden_directory_through_a_link_is_left_out_with_a_warning() {
    let Some(project) = project() else { return };
    link(&project, "to-home", project.home());
    link(&project, "to-d", project.home().join("d"));
    for (key, allowed, lines) in [
        ("allowRead", "to-home", ["cat to-home/f", "cat ~/f"]),
        ("allowRead", "to-d", ["cat to-d/f", "ls ~/d"]),
        ("allowRead", "to-home/d", ["cat to-home/d/f", "cat ~/d/f"]),
        ("allowWrite", "to-d", ["cat to-d/f", "cat ~/d/f"]),
    ] {
        let rules = json!({ "denyRead": ["~/"], key: [allowed] });
        for line in lines {
            let run = refused(&project, &rules, line, "Permission denied");
            let warning = run.stderr.lines().find(|line| line.contains("warning")).unwrap_or_default();
            for word in [key, allowed, "left out"] {
                assert!(warning.contains(word), "{word} is missing in {warning:?}");
            }
        }
    }
    let open = json!({ "denyRead": ["~/"], "allowRead": ["~/d"] });
    assert_eq!(attempt(&project, open, "cat ~/d/f").ok().stdout, SECRET, "named inside, it is readable");
}

/// What a command may write it may also replace by a link, before the next command's rules are resolved.
#[test]
fn a_writable_path_that_a_command_has_replaced_by_a_link_does_not_lead_out() {
    let Some(project) = project() else { return };
    let rules = json!({ "allowWrite": ["build", "nested/build", "~/f"] });
    let before = (Tree::of(project.outside()), Tree::of(project.home().join("d")));
    attempt(&project, rules.clone(), "ln -s $OUT build; mkdir nested; ln -s ~/d nested/build").ok();
    for line in ["echo evil > $OUT/new", "echo evil > build/f", "echo evil > nested/build/new"] {
        let run = refused(&project, &rules, line, "Read-only file system");
        assert!(run.stderr.contains("left out"), "{run:#?}");
    }
    assert_eq!((Tree::of(project.outside()), Tree::of(project.home().join("d"))), before);
    attempt(&project, rules.clone(), "rm build; mkdir -p build/real; ln -s build/real inside").ok();
    let inside = json!({ "allowWrite": ["inside"] });
    attempt(&project, inside, "echo fine > inside/f").ok();
    assert_eq!(project.read("build/real/f"), "fine\n", "a link that stays inside is no matter");
}

/// A link that no command can have made is the user's own way to name a place.
#[test]
fn a_writable_path_may_be_named_through_a_link_outside_the_root() {
    let Some(project) = project() else { return };
    symlink(project.outside().join("d"), project.home().join("to-d")).expect("own directory");
    attempt(&project, json!({ "allowWrite": ["~/to-d"] }), "echo new > ~/to-d/new; echo more >> $OUT/d/f")
        .ok();
    assert_eq!(std::fs::read_to_string(project.outside().join("d/new")).expect("written"), "new\n");
}

#[test]
fn the_root_may_be_named_through_a_link() {
    let Some(project) = project() else { return };
    symlink(project.root(), project.home().join("to-root")).expect("own directory");
    let named = project.home().join("to-root");
    let run = project
        .run()
        .directory(&named)
        .options(["--root".as_ref(), named.as_os_str()])
        .line("pwd; echo in > in");
    assert_eq!(run.ok().stdout.trim_end(), project.root().display().to_string());
    assert_eq!(project.read("in"), "in\n");
}
