//! A rule that hides `/` leaves what is named, and what the sandbox has of its own. What every command needs to start is
//! never hidden silently: such a rule is refused, and the message says what to open.

use super::attempt;
use palisade_tests::Project;
use serde_json::json;
use std::os::unix::fs::symlink;

/// What must never be seen.
const SECRET: &str = "s3cret-content";

/// Where programs are, on one machine or another. What does not exist counts for nothing.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix", "/gnu"];

fn project() -> Option<Project> {
    let project = Project::where_it_works()?;
    project.write("here", "here\n");
    project.write("keys/id", SECRET);
    for path in [project.home().join("secret"), project.outside().join("secret")] {
        std::fs::write(path, SECRET).expect("own directory");
    }
    Some(project)
}

fn hidden_but(named: &[&str]) -> serde_json::Value {
    let named: Vec<&str> = PROGRAMS.iter().chain(named).copied().collect();
    json!({ "denyRead": ["/"], "allowRead": named })
}

#[test]
fn only_what_is_named_is_there() {
    let Some(project) = project() else { return };
    let rules = hidden_but(&["~/projects"]);
    std::fs::create_dir(project.home().join("projects")).expect("own directory");
    std::fs::write(project.home().join("projects/readme"), "readme\n").expect("own directory");
    for (line, printed) in [
        ("cat here; echo new > new; cat new; rm new", "here\nnew\n"),
        ("cat ~/projects/readme", "readme\n"),
        ("mktemp > /dev/null; echo $?; echo kept > /dev/shm/f; cat /dev/shm/f", "0\nkept\n"),
        ("/bin/sh -c 'echo by its link'; test -r /proc/self/status; echo $?", "by its link\n0\n"),
        ("python3 -c 'print(6 * 7)'; git init -q below && git -C below status --short", "42\n"),
        ("cd /; pwd; cd \"$OLDPWD\"; cat here", "/\nhere\n"),
    ] {
        let run = attempt(&project, rules.clone(), line);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, printed, ""), "{line}");
    }
    for (line, said) in [
        ("ls /", "Permission denied"),
        ("ls ~", "Permission denied"),
        ("ls -d /sys", "No such file"),
        ("cat ~/secret", "No such file"),
        ("cat $OUT/secret", "No such file"),
        ("cat /proc/$$/root$OUT/secret", "No such file"),
        ("mkdir /new", "Read-only file system"),
        ("mkdir ~/new", "Read-only file system"),
        ("chmod 755 / && ls /", "Read-only file system"),
        ("echo evil > ~/projects/readme", "Read-only file system"),
        ("touch /usr/new", "Read-only file system"),
        ("umount /; umount -l /usr; mount -t tmpfs none /", "must be superuser"),
    ] {
        let run = attempt(&project, rules.clone(), line);
        assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
        assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{line}: {run:#?}");
    }
}

/// Further rules hold inside what is opened, and what the sandbox has of its own can be hidden too.
#[test]
fn narrower_rules_hold_as_ever() {
    let Some(project) = project() else { return };
    let mut rules = hidden_but(&[]);
    rules["denyRead"] = json!(["/", "keys", "/usr/share", "/dev"]);
    rules["denyWrite"] = json!(["here"]);
    for (line, said) in [
        ("cat keys/id", "Permission denied"),
        ("ls /usr/share", "Permission denied"),
        ("ls /dev", "Permission denied"),
        ("echo evil > here", "Read-only file system"),
        ("mv here there", "busy"),
        ("echo evil > .bashrc", ".bashrc"),
    ] {
        let run = attempt(&project, rules.clone(), line);
        assert!(run.status != 0 && run.stderr.contains(said), "{line}: {run:#?}");
    }
    assert_eq!((project.read("here"), project.read("keys/id")), ("here\n".into(), SECRET.into()));
    assert_eq!(project.tree(), ["here", "keys", "keys/id"]);
}

/// It is mounted over itself by another way than the rest, which must not need what is hidden by then.
#[test]
fn a_protected_link_stays_in_place_whatever_is_hidden_around_it() {
    let Some(project) = project() else { return };
    project.write("startup", "orig\n");
    symlink("startup", project.root().join(".bashrc")).expect("own directory");
    for line in ["rm .bashrc", "echo evil > evil; mv evil .bashrc", "echo evil > startup"] {
        let run = attempt(&project, hidden_but(&[]), &format!("cat here; {line}"));
        assert!(run.status != 0 && run.stdout == "here\n", "{line}: {run:#?}");
    }
    assert_eq!(project.read(".bashrc"), "orig\n");
}

/// A link in a hidden directory opens nothing, only those directly in `/` are taken for what they lead to.
#[test]
fn a_link_opens_nothing_of_it() {
    let Some(project) = project() else { return };
    symlink(project.outside(), project.root().join("way")).expect("own directory");
    let run = attempt(&project, hidden_but(&["way"]), "cat way/secret");
    assert!(run.status != 0 && run.stdout.is_empty(), "{run:#?}");
    assert!(run.stderr.contains("only a symbolic link leads from"), "{run:#?}");
}

#[test]
fn what_every_command_needs_is_not_hidden_but_by_an_error_that_says_what_to_open() {
    let Some(project) = Project::where_it_works() else { return };
    let shell = std::fs::canonicalize("/bin/bash").expect("bash");
    for (denied, opened) in [("/", "\"allowRead\": [\"/"), ("/usr", "\"allowRead\": [\"/usr/")] {
        let run = project.run().options(["--deny-read", denied]).line("touch ran");
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{denied}: {run:#?}");
        for said in [&format!("--deny-read \"{denied}\""), "without which no command starts", opened] {
            assert!(run.stderr.contains(said), "{denied}: {said:?} is missing: {run:#?}");
        }
    }
    let run = project.run().options(["--deny-read".as_ref(), shell.as_os_str()]).line("touch ran");
    assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{run:#?}");
    assert_eq!(project.tree(), [""; 0]);
}

/// The sandbox has a `/proc` and a `/dev` of its own. What of them can be hidden is; what belongs to a process cannot be.
#[test]
fn what_the_sandbox_has_of_its_own_is_hidden_or_refused_by_name() {
    let Some(project) = Project::where_it_works() else { return };
    for denied in
        ["/proc", "/proc/self", "/proc/self/environ", "/proc/1/environ", "/dev/fd", "/proc/*/environ"]
    {
        let run = project.run().options(["--deny-read", denied]).line("touch ran");
        assert_eq!(run.json["error"]["code"], "SANDBOX_UNENFORCEABLE", "{denied}: {run:#?}");
        assert!(
            run.stderr.contains(&format!("--deny-read {denied:?} cannot be enforced")),
            "{denied}: {run:#?}"
        );
    }
    assert_eq!(project.tree(), [""; 0]);
    for (denied, line) in [
        ("/proc/version", "cat /proc/version"),
        ("/proc/sys/kernel", "cat /proc/sys/kernel/ostype"),
        ("/dev/null", "cat /dev/null"),
        ("/dev/shm", "echo evil > /dev/shm/f"),
        ("/dev/pts", "ls /dev/pts"),
        ("/dev", "ls /dev"),
        ("/sys", "ls /sys/kernel"),
        ("/run", "ls /run/lock"),
        ("/etc", "cat /etc/passwd"),
        ("/var", "ls /var/run"),
    ] {
        let run = project.run().options(["--deny-read", denied]).line(format!("echo ran; {line}"));
        assert!(run.status != 0 && run.stdout == "ran\n", "{denied}: {run:#?}");
        assert!(run.stderr.contains("Permission denied"), "{denied}: {run:#?}");
    }
}
