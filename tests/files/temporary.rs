//! `TMPDIR`: a directory for one command alone, short, private, and gone when the command is.

use super::attempt;
use palisade_tests::{Palisade, Project, Run};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The directory that a run said was its `TMPDIR`, on the first line of its output.
fn said(run: &Run) -> PathBuf {
    PathBuf::from(run.stdout.lines().next().unwrap_or_default())
}

fn with_sockets(project: &Project) -> Palisade {
    project.run().sandbox(json!({ "network": { "allowAllUnixSockets": true } }))
}

#[test]
fn it_is_private_writable_and_gone_afterwards() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "echo $TMPDIR; stat -c '%a %u %F' $TMPDIR; ls -A $TMPDIR; echo x > $TMPDIR/f; mktemp -d >&2; cat $TMPDIR/f; \
                python3 -c 'import tempfile; print(tempfile.mkstemp()[1])'";
    let run = project.line(line).ok();
    let directory = said(&run);
    let lines: Vec<&str> = run.stdout.lines().skip(1).collect();
    let user = nix::unistd::geteuid();
    assert_eq!(lines[..2], [format!("700 {user} directory").as_str(), "x"], "{run:#?}");
    for made in [run.stderr.trim_end(), lines[2]] {
        assert!(Path::new(made).starts_with(&directory), "{run:#?}");
    }
    assert!(directory.is_absolute() && !directory.exists(), "{run:#?}");
    assert!(!directory.parent().expect("below a directory of Palisade's").exists(), "{run:#?}");
}

#[test]
fn each_command_has_its_own() {
    let Some(project) = Project::where_it_works() else { return };
    let first = said(&project.line("echo $TMPDIR").ok());
    let other = project.run().start("echo mine > $TMPDIR/f; echo $TMPDIR", "cat $TMPDIR/f");
    let theirs = PathBuf::from(other.first());
    assert_ne!(first, theirs);
    let run =
        project.run().env("THEIRS", &theirs).line("echo $TMPDIR; echo evil > $THEIRS/f; rm -rf $THEIRS");
    assert_ne!(said(&run), theirs);
    assert!(run.stderr.contains("Read-only file system"), "{run:#?}");
    assert_eq!(other.end(), (Some(0), "mine\n".to_owned()));
    assert!(!theirs.exists());
}

/// A socket's path has 107 bytes at most. Where `TMPDIR` of the caller is long, the command's is not.
#[test]
fn a_socket_with_a_name_of_45_bytes_fits() {
    let Some(project) = Project::where_it_works() else { return };
    let long = project.outside().join("x".repeat(120));
    std::fs::create_dir(&long).expect("own directory");
    let line = "python3 -c '
import os, socket
name = os.path.join(os.environ[\"TMPDIR\"], \"s\" * 45)
server = socket.socket(socket.AF_UNIX)
server.bind(name)
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect(name)
server.accept()[0].send(b\"fits\")
print(client.recv(4).decode())'";
    let run = with_sockets(&project).env("TMPDIR", &long).line(line).ok();
    assert_eq!(run.stdout, "fits\n");
    assert_eq!(std::fs::read_dir(&long).expect("own directory").count(), 0);
}

#[test]
fn a_temporary_directory_of_the_callers_counts_for_nothing() {
    let Some(project) = Project::where_it_works() else { return };
    for theirs in ["/none/such", "relative", "", "/", "/etc", "$HOME"] {
        let run = project.run().env("TMPDIR", theirs).line("echo $TMPDIR; mktemp -d > /dev/null").ok();
        assert!(said(&run).starts_with("/tmp/"), "{theirs}: {run:#?}");
        assert!(!said(&run).exists(), "{theirs}");
    }
}

/// Whatever a command leaves in it: directories that cannot be entered, deep trees, links, pipes.
#[test]
fn it_is_removed_whatever_is_in_it() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::write(project.outside().join("f"), "orig\n").expect("own directory");
    for line in [
        "mkdir -p closed/a/b; touch closed/a/b/f; chmod 000 closed/a/b closed/a closed",
        "mkdir d; touch d/f; chmod 555 d; chmod 000 d/f",
        "chmod 000 .",
        "chmod 555 .; touch f; true",
        "python3 -c 'import os\nfor _ in range(1500): os.mkdir(\"dddddddddd\"); os.chdir(\"dddddddddd\")'",
        "ln -s $OUT out; ln -s $OUT/f file; ln -s loop loop; ln -s / root",
        "mkfifo pipe; mkdir -- -rf; touch -- --; touch \"$(printf 'new\\nline')\" \"$(printf '\\377')\"",
        "seq 3000 | xargs touch",
        "rmdir $TMPDIR; rm -rf $TMPDIR; true",
    ] {
        let run = attempt(&project, json!({}), &format!("echo $TMPDIR; cd $TMPDIR\n{line}"));
        let directory = said(&run);
        assert_eq!(run.status, 0, "{line}: {run:#?}");
        assert!(
            directory.starts_with("/tmp") && std::fs::symlink_metadata(&directory).is_err(),
            "{line}: {run:#?}"
        );
        assert!(!directory.parent().expect("below a directory of Palisade's").exists(), "{line}");
        assert_eq!(
            std::fs::read_to_string(project.outside().join("f")).expect("still there"),
            "orig\n",
            "{line}"
        );
    }
}

/// Shells keep long here-documents in a file there.
#[test]
fn long_here_documents_work_in_every_shell() {
    let Some(project) = Project::where_it_works() else { return };
    for shell in ["bash", "dash", "ksh", "zsh", "busybox"] {
        let found = std::process::Command::new(shell).args(["-c", ":"]).output();
        if found.is_err() {
            continue;
        }
        let mut argv = vec![shell];
        argv.extend((shell == "busybox").then_some("sh"));
        let script = format!("cat <<EOF | wc -c\n{}\nEOF\n", "x".repeat(99_999));
        argv.extend(["-c", &script]);
        assert_eq!(project.run().argv(&argv).ok().stdout.trim(), "100000", "{shell}");
    }
}

/// Even a rule that makes all of `/tmp` writable does not open what the sandbox itself stands on.
#[test]
fn what_lies_around_it_is_palisades_own() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("secret", "s3cret");
    let rules = json!({ "allowWrite": ["/tmp"], "denyRead": ["secret"], "denyWrite": ["later"] });
    for line in [
        "rm -rf /tmp/palisade-private-$(id -u)",
        "mv /tmp/palisade-private-$(id -u) /tmp/palisade-test-moved-$$",
        "mv /tmp/palisade-private-$(id -u)/*/hidden-file $TMPDIR/x",
        "chmod 644 /tmp/palisade-private-$(id -u)/*/hidden-file",
        "ln -sf $PWD/secret /tmp/palisade-private-$(id -u)/*/hidden-file",
        "touch /tmp/palisade-private-$(id -u)/new",
        "rm -rf /tmp/palisade-covers-$(id -u)",
        "mv /tmp/palisade-covers-$(id -u) /tmp/palisade-test-moved-$$",
        "echo $PWD/ordinary > /tmp/palisade-covers-$(id -u)/new",
        "chmod 777 /tmp/palisade-covers-$(id -u)",
    ] {
        let run = attempt(&project, rules.clone(), line);
        assert_ne!(run.status, 0, "{line}: {run:#?}");
    }
    let line = "touch /tmp/palisade-test-$$ && rm /tmp/palisade-test-$$ && echo x > $TMPDIR/f && cat $TMPDIR/f; cat secret";
    let run = attempt(&project, rules, line);
    assert_eq!(run.stdout, "x\n", "the rest of it is writable: {run:#?}");
    assert!(run.stderr.contains("secret: Permission denied"), "{run:#?}");
}

/// Some programs take no notice of `TMPDIR`: whatever calls C's `tmpfile` (make that sorts the output of its jobs), and
/// Java. `/tmp` itself is no place of the command's until a rule says so.
#[test]
fn what_ignores_it_needs_a_rule_for_tmp() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "python3 -c '
import ctypes, os
calls = ctypes.CDLL(None, use_errno=True)
calls.tmpfile.restype = ctypes.c_void_p
print(\"made\" if calls.tmpfile() else os.strerror(ctypes.get_errno()))'";
    assert_eq!(project.line(line).ok().stdout, "Read-only file system\n");
    let open = json!({ "filesystem": { "allowWrite": ["/tmp"] } });
    assert_eq!(project.run().sandbox(open).line(line).ok().stdout, "made\n");
}
