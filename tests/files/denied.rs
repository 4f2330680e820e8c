//! `denyWrite` wins over every allow: what it names stays what it is, in the place where it is, or stays missing.

use super::attempt;
use palisade_tests::{Project, Tree};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const READ_ONLY: &str = "Read-only file system";
const DENIED: &str = "Permission denied";
const BUSY: &str = "Device or resource busy";
const OTHER_DEVICE: &str = "Invalid cross-device link";

/// A project with a protected file, one two directories down, and a protected directory.
fn project() -> Option<Project> {
    let project = Project::where_it_works()?;
    for name in ["keep", "a/b/keep", "kept/f", "kept/d/g", "ordinary", "a/b/ordinary"] {
        let file = project.write(name, "orig\n");
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o666)).expect("own file");
    }
    Some(project)
}

fn rules() -> Value {
    json!({ "denyWrite": ["keep", "a/b/keep", "kept"], "allowWrite": [".", "keep", "a/b", "kept", "kept/d"] })
}

/// Each line must fail in the given words, and leave the protected ones exactly as they were.
fn refuse(attempts: &[(&str, &str)]) {
    for (line, said) in attempts {
        let Some(project) = project() else { return };
        let protected = ["keep", "a/b/keep", "kept"].map(|name| project.root().join(name));
        let before = protected.each_ref().map(Tree::of);
        let run = attempt(&project, rules(), line);
        assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
        assert_eq!(protected.each_ref().map(Tree::of), before, "{line}");
    }
}

#[test]
fn a_protected_file_is_neither_written_nor_replaced() {
    refuse(&[
        ("echo evil > keep", READ_ONLY),
        ("echo evil >> keep", READ_ONLY),
        (": > keep", READ_ONLY),
        ("truncate -s 0 keep", READ_ONLY),
        ("exec 3<> keep", READ_ONLY),
        ("exec 3< keep; echo evil > /proc/self/fd/3", READ_ONLY),
        ("chmod 777 keep", READ_ONLY),
        ("touch -d 2001-01-01 keep", READ_ONLY),
        ("rm -f keep", BUSY),
        ("mv keep away", BUSY),
        ("echo evil > evil; mv -f evil keep", BUSY),
        ("echo evil > evil; ln -f evil keep", BUSY),
        ("ln -sf /etc/passwd keep", BUSY),
        ("ln keep hard && echo evil > hard", OTHER_DEVICE),
        ("ln -s keep soft && echo evil > soft", READ_ONLY),
        ("echo evil > evil; cp --remove-destination evil keep", BUSY),
        ("sed -i s/orig/evil/ keep", BUSY),
        ("echo evil > \"/proc/self/root$PWD/keep\"", READ_ONLY),
        ("echo evil > \"/proc/$$/root$PWD/keep\"", READ_ONLY),
        ("echo evil > ../root/keep", READ_ONLY),
        ("echo evil > /proc/self/cwd/keep", READ_ONLY),
        ("python3 -c \"import os; os.truncate('keep', 0)\"", READ_ONLY),
        ("python3 -c \"import os; open('e', 'w'); os.replace('e', 'keep')\"", BUSY),
        ("python3 -c \"import os; os.unlink('keep')\"", BUSY),
        ("echo evil > a/b/keep", READ_ONLY),
        ("rm a/b/keep", BUSY),
        ("cd a/b && mv keep ../keep2", BUSY),
    ]);
}

#[test]
fn no_directory_above_a_protected_file_is_moved_away_or_replaced() {
    refuse(&[
        ("mv a other", BUSY),
        ("mv a/b a/other", BUSY),
        ("mv a/b b", BUSY),
        ("rm -rf a", BUSY),
        ("mkdir evil; python3 -c \"import os; os.rename('evil', 'a')\"", BUSY),
        ("mv ../root ../other", READ_ONLY),
    ]);
}

#[test]
fn nothing_changes_in_a_protected_directory() {
    refuse(&[
        ("echo evil > kept/f", READ_ONLY),
        ("echo evil > kept/new", READ_ONLY),
        ("echo evil > kept/d/new", READ_ONLY),
        ("mkdir kept/new", READ_ONLY),
        ("ln -s f kept/new", READ_ONLY),
        ("mkfifo kept/new", READ_ONLY),
        ("rm kept/f", READ_ONLY),
        ("rmdir kept", BUSY),
        ("mv kept/f f", READ_ONLY),
        ("mv kept other", BUSY),
        ("mv ordinary kept/", READ_ONLY),
        ("ln ordinary kept/new", READ_ONLY),
        ("chmod 777 kept", READ_ONLY),
        ("chmod 777 kept/d/g", READ_ONLY),
        ("exec 3< kept; echo evil > /proc/self/fd/3/new", READ_ONLY),
        ("git init -q kept/d", READ_ONLY),
    ]);
}

/// Only protected files are mounts: every other one can be replaced by renaming, as editors and git do.
#[test]
fn ordinary_files_next_to_protected_ones_are_replaced_as_ever() {
    let Some(project) = project() else { return };
    let line = "echo 1 > n; mv -f n ordinary; sed -i s/orig/two/ a/b/ordinary; mv a/b/ordinary a/moved; cat keep kept/d/g";
    assert_eq!(attempt(&project, rules(), line).ok().stdout, "orig\norig\n");
    assert_eq!((project.read("ordinary"), project.read("a/moved")), ("1\n".into(), "two\n".into()));
}

#[test]
fn an_option_protects_as_a_settings_file_does() {
    let Some(project) = project() else { return };
    let run =
        project.run().options(["--deny-write", "keep", "--allow-write", "keep"]).line("echo evil > keep");
    assert!(run.status != 0 && run.stderr.contains(READ_ONLY), "{run:#?}");
    assert_eq!(project.read("keep"), "orig\n");
}

/// A missing protected path cannot be made, as whatever kind of file, and nothing of that is left behind.
#[test]
fn a_missing_path_cannot_be_made_and_leaves_no_trace() {
    let missing = json!({ "denyWrite": ["later.conf", "a/b/later.conf", "a/x/y/z", "p/q/r.conf"] });
    for (line, said) in [
        ("echo evil > later.conf", DENIED),
        ("mkdir later.conf", "File exists"),
        ("ln -s keep later.conf", "File exists"),
        ("ln -sf keep later.conf", BUSY),
        ("ln keep later.conf", "File exists"),
        ("mkfifo later.conf", "File exists"),
        ("cp -f keep later.conf", BUSY),
        ("mv -f ordinary later.conf", BUSY),
        ("rm -f later.conf && echo evil > later.conf", BUSY),
        ("mv later.conf x && echo evil > later.conf", BUSY),
        ("chmod 777 later.conf && echo evil > later.conf", READ_ONLY),
        (
            "python3 -c \"import os; os.open('later.conf', os.O_CREAT | os.O_EXCL | os.O_WRONLY)\"",
            "File exists",
        ),
        ("echo evil > a/b/later.conf", DENIED),
        ("mv a/b a/c", BUSY),
        ("mkdir -p a/x/y", "Not a directory"),
        ("mkdir a/x", "File exists"),
        ("mkdir -p p/q && echo evil > p/q/r.conf", "Not a directory"),
        ("ln -s /tmp p", "File exists"),
        ("mkdir q; python3 -c \"import os; os.rename('q', 'p')\"", "Not a directory"),
    ] {
        let Some(project) = project() else { return };
        let run = attempt(&project, missing.clone(), line);
        assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
        for name in ["later.conf", "a/b/later.conf", "a/x", "p"] {
            let path = project.root().join(name);
            assert!(std::fs::symlink_metadata(path).is_err(), "{line} left {name}");
        }
        assert_eq!(
            (project.read("keep"), project.read("ordinary")),
            ("orig\n".into(), "orig\n".into()),
            "{line}"
        );
    }
}

#[test]
fn a_command_that_leaves_missing_paths_alone_leaves_the_directory_as_it_was() {
    for line in ["true", "exit 3", "kill -KILL $$", "cat later.conf; ls -la", "(sleep 600 & ) ; true"] {
        let Some(project) = project() else { return };
        let before = project.tree();
        attempt(
            &project,
            json!({ "denyWrite": ["later.conf", "x/y", "kept/later", "../outside/later"] }),
            line,
        );
        assert_eq!(project.tree(), before, "{line}");
        assert_eq!(std::fs::read_dir(project.outside()).expect("own directory").count(), 0, "{line}");
    }
}

/// Where nothing can be made anyhow there is nothing to stand in for, and no error.
#[test]
fn a_deny_outside_every_writable_directory_needs_nothing() {
    let Some(project) = project() else { return };
    let rules = json!({ "denyWrite": ["/none-such/at/all", "/etc/hosts", "~/later", "keep/below-a-file"] });
    assert_eq!(attempt(&project, rules, "cat keep").ok().stdout, "orig\n");
}

#[test]
fn what_the_user_makes_meanwhile_at_a_missing_path_stays() {
    let Some(project) = project() else { return };
    let command = project.run().options(["--deny-write", "later.conf"]).start("echo started", "");
    assert_eq!(command.first(), "started");
    // As an editor saves: a new file, renamed over whatever is there.
    let theirs = project.write("theirs", "theirs\n");
    std::fs::rename(theirs, project.root().join("later.conf")).expect("own directory");
    assert_eq!(command.end().1, "");
    assert_eq!(project.read("later.conf"), "theirs\n");
}
