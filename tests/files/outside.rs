//! Writes outside the root fail, whatever way they are tried, and nothing appears there.

use super::attempt;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use palisade_tests::{Project, Tree};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Duration;

const READ_ONLY: &str = "Read-only file system";
const OTHER_DEVICE: &str = "Invalid cross-device link";

/// A project whose directory outside holds files to go for.
fn project() -> Option<Project> {
    let project = Project::where_it_works()?;
    let outside = project.outside();
    std::fs::create_dir_all(outside.join("d/empty")).expect("own directory");
    std::fs::write(outside.join("f"), "orig\n").expect("own directory");
    std::fs::write(outside.join("d/g"), "deep\n").expect("own directory");
    symlink("f", outside.join("link")).expect("own directory");
    for name in ["f", "d/g"] {
        std::fs::set_permissions(outside.join(name), PermissionsExt::from_mode(0o666)).expect("own file");
    }
    Some(project)
}

/// Runs each line in a project of its own: it must fail in the given words, and change nothing outside.
fn refuse(attempts: &[(&str, &str)]) {
    for (line, said) in attempts {
        let Some(project) = project() else { return };
        let before = (Tree::of(project.outside()), Tree::of(project.home()));
        let run = attempt(&project, json!({}), line);
        assert_ne!(run.status, 0, "{line}: {run:#?}");
        assert!(run.stderr.contains(said), "{line}: {run:#?}");
        assert_eq!((Tree::of(project.outside()), Tree::of(project.home())), before, "{line}");
    }
}

#[test]
fn no_file_is_written() {
    refuse(&[
        (r#"echo evil > "$OUT/new""#, READ_ONLY),
        (r#"echo evil > "$OUT/f""#, READ_ONLY),
        (r#"echo evil >> "$OUT/f""#, READ_ONLY),
        (r#": > "$OUT/f""#, READ_ONLY),
        (r#"exec 3<> "$OUT/f""#, READ_ONLY),
        (r#"echo evil > ../outside/new"#, READ_ONLY),
        (r#"cd "$OUT" && echo evil > new"#, READ_ONLY),
        (r#"echo evil > "$HOME/.bashrc""#, READ_ONLY),
        (r#"cp /etc/passwd "$OUT/new""#, READ_ONLY),
        (r#"echo evil | tee "$OUT/f""#, READ_ONLY),
        (r#"echo evil | dd status=none conv=notrunc of="$OUT/f""#, READ_ONLY),
        (r#"truncate -s 1 "$OUT/f""#, READ_ONLY),
        (r#"sed -i s/orig/evil/ "$OUT/f""#, READ_ONLY),
        (r#"touch a; tar cf a.tar a; tar xf a.tar -C "$OUT""#, READ_ONLY),
        (r#"git init -q "$OUT/new""#, READ_ONLY),
        (r#"python3 -c "import os; os.truncate('$OUT/f', 0)""#, READ_ONLY),
        (r#"python3 -c "import os; os.open('$OUT', os.O_TMPFILE | os.O_WRONLY)""#, READ_ONLY),
        (
            r#"python3 -c "import sqlite3; sqlite3.connect('$OUT/new').execute('create table t (c)')""#,
            "unable to open",
        ),
        (r#"mkdir "$OUT/new""#, READ_ONLY),
        (r#"mkfifo "$OUT/new""#, READ_ONLY),
        (r#"ln -s f "$OUT/new""#, READ_ONLY),
    ]);
}

#[test]
fn no_file_is_moved_or_removed() {
    refuse(&[
        (r#"echo evil > a; mv a "$OUT/new""#, READ_ONLY),
        (r#"echo evil > a; mv -f a "$OUT/f""#, READ_ONLY),
        (r#"mv "$OUT/f" taken"#, READ_ONLY),
        (r#"mv "$OUT/d" "$OUT/e""#, READ_ONLY),
        (r#"python3 -c "import os; open('a', 'w'); os.rename('a', '$OUT/f')""#, OTHER_DEVICE),
        (r#"python3 -c "import os; os.rename('$OUT/f', 'taken')""#, OTHER_DEVICE),
        (r#"rm -f "$OUT/f""#, READ_ONLY),
        (r#"rm -rf "$OUT/d""#, READ_ONLY),
        (r#"rmdir "$OUT/d/empty""#, READ_ONLY),
        (r#"unlink "$OUT/link""#, READ_ONLY),
    ]);
}

#[test]
fn no_attribute_is_changed() {
    refuse(&[
        (r#"chmod 777 "$OUT/f""#, READ_ONLY),
        (r#"chmod -R a+rwx "$OUT""#, READ_ONLY),
        (r#"chown "$(id -u)" "$OUT/f""#, READ_ONLY),
        (r#"touch -d 2001-01-01 "$OUT/f""#, READ_ONLY),
        (r#"python3 -c "import os; os.setxattr('$OUT/f', 'user.evil', b'x')""#, READ_ONLY),
    ]);
}

#[test]
fn no_other_name_leads_there() {
    refuse(&[
        (r#"ln "$OUT/f" hard && echo evil > hard"#, OTHER_DEVICE),
        (r#"echo evil > a; ln a "$OUT/new""#, READ_ONLY),
        (r#"ln -s "$OUT/f" soft && echo evil > soft"#, READ_ONLY),
        (r#"ln -s "$OUT/new" soft && echo evil > soft"#, READ_ONLY),
        (r#"ln -s "$OUT" soft && echo evil > soft/new"#, READ_ONLY),
        (r#"ln -s ../outside soft && mkdir soft/new"#, READ_ONLY),
        (r#"echo evil > "/proc/$$/root$OUT/new""#, READ_ONLY),
        (r#"echo evil > "/proc/self/root$OUT/f""#, READ_ONLY),
        (r#"echo evil > "/proc/$$/cwd/../outside/new""#, READ_ONLY),
        (r#"exec 3< "$OUT"; echo evil > /proc/self/fd/3/new"#, READ_ONLY),
        (r#"exec 3< "$OUT/f"; echo evil > /proc/self/fd/3"#, READ_ONLY),
        (r#"exec 3< "$OUT/f"; chmod 777 /proc/self/fd/3"#, READ_ONLY),
        (
            r#"python3 -c "import os; os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open('$OUT', os.O_PATH))""#,
            READ_ONLY,
        ),
    ]);
}

/// A link that was there before the command, made by an earlier one.
#[test]
fn a_link_in_the_root_opens_nothing() {
    let Some(project) = project() else { return };
    symlink(project.outside(), project.root().join("directory")).expect("own directory");
    symlink(project.outside().join("f"), project.root().join("file")).expect("own directory");
    symlink(project.outside().join("new"), project.root().join("dangling")).expect("own directory");
    let before = Tree::of(project.outside());
    for line in ["echo evil > directory/new", "echo evil > file", "echo evil > dangling", "rm -f directory/f"]
    {
        let run = project.line(line);
        assert!(run.status != 0 && run.stderr.contains(READ_ONLY), "{line}: {run:#?}");
        assert_eq!(Tree::of(project.outside()), before, "{line}");
    }
    project.line("rm directory file dangling").ok();
    assert_eq!(Tree::of(project.outside()), before, "the links go, what they lead to stays");
}

#[test]
fn a_file_with_a_second_name_in_the_root_can_be_written_by_that_name() {
    let Some(project) = project() else { return };
    std::fs::hard_link(project.outside().join("f"), project.root().join("hard")).expect("one file system");
    // The kernel's rules are about paths. Whoever made the second name put the file into the root.
    project.line("echo more >> hard").ok();
    assert_eq!(project.read("hard"), "orig\nmore\n");
    let run = attempt(&project, json!({}), r#"echo evil >> "$OUT/f""#);
    assert!(run.status != 0 && run.stderr.contains(READ_ONLY), "{run:#?}");
}

/// The top of the whole tree, by the kernel's own answer.
#[test]
fn nothing_on_this_machine_is_writable_but_the_root_the_temporary_directory_and_dev() {
    let Some(project) = project() else { return };
    let run = project.line(
        r"echo $TMPDIR; find / -maxdepth 3 \( -path /proc -o -path /sys -o -path /dev \) -prune -o \( -type d -o -type f \) -writable -print 2>/dev/null",
    );
    let (temporary, writable) = run.stdout.split_once('\n').expect("a first line");
    let root = project.root().display().to_string();
    let not_ours = |path: &&str| *path != temporary && !path.starts_with(&root);
    assert_eq!(writable.lines().find(not_ours), None, "{run:#?}");
    assert!(writable.contains(temporary), "the search finds what is writable: {run:#?}");
}

/// A working directory is where a command starts, and nothing that it may write for that reason.
#[test]
fn where_a_command_starts_makes_nothing_writable() {
    let Some(project) = project() else { return };
    let before = Tree::of(project.outside());
    let run =
        project.run().directory(project.outside()).options(["--root".as_ref(), project.root().as_os_str()]);
    let run = run.line("pwd; cat f; echo evil > new; echo in > ../root/in");
    assert_eq!(run.stdout, format!("{}\norig\n", project.outside().display()), "{run:#?}");
    assert!(run.stderr.contains(READ_ONLY), "{run:#?}");
    assert_eq!((project.read("in").as_str(), Tree::of(project.outside())), ("in\n", before));
}

#[test]
fn one_file_may_be_writable_alone() {
    let Some(project) = project() else { return };
    let rules = json!({ "allowWrite": ["../outside/f"] });
    attempt(&project, rules.clone(), r#"echo more >> "$OUT/f""#).ok();
    assert_eq!(std::fs::read_to_string(project.outside().join("f")).expect("still there"), "orig\nmore\n");
    let before = Tree::of(project.outside());
    for line in [
        r#"rm -f "$OUT/f""#,
        r#"mv "$OUT/f" "$OUT/e""#,
        r#"echo evil > "$OUT/new""#,
        r#"echo evil > "$OUT/d/g""#,
    ] {
        assert_ne!(attempt(&project, rules.clone(), line).status, 0, "{line}");
        assert_eq!(Tree::of(project.outside()), before, "{line}");
    }
}

/// Writable directories one inside the other, beside each other, named twice, and the root's own among them.
#[test]
fn writable_directories_may_overlap() {
    let Some(project) = project() else { return };
    project.write("a/b/f", "");
    for allowed in [
        json!(["."]),
        json!(["a", "a/b", ".", "a"]),
        json!(["..", "../outside", "../outside/d"]),
        json!(["../outside/d", ".."]),
        json!(["~", "/tmp"]),
    ] {
        let line =
            "echo in > in && echo in > a/in && echo in >> a/b/f && rm -r a/in in && mkdir a/d && rmdir a/d";
        attempt(&project, json!({ "allowWrite": allowed }), line).ok();
    }
    let run =
        project.run().env("HOME", project.root()).sandbox(json!({ "filesystem": { "allowWrite": ["~"] } }));
    run.line("echo in > ~/in").ok();
}

/// What the host's mounts forbid (set-user-id programs, devices, execution) they forbid inside.
#[test]
fn the_hosts_mounts_keep_their_flags() {
    let Some(project) = project() else { return };
    let flags = |text: &str| -> BTreeMap<String, String> {
        let fields = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        fields
            .filter_map(|fields| Some(((*fields.get(4)?).to_owned(), (*fields.get(5)?).to_owned())))
            .collect()
    };
    let inside = flags(&project.line("cat /proc/self/mountinfo").ok().stdout);
    let outside = flags(&std::fs::read_to_string("/proc/self/mountinfo").expect("there is a /proc"));
    assert!(inside["/"].contains("nosuid") && inside["/"].contains("ro"), "{inside:?}");
    for (at, has) in inside {
        let Some(had) = outside.get(&at) else { continue };
        for flag in ["nosuid", "nodev", "noexec", "nosymfollow"] {
            let is = |flags: &str| flags.split(',').any(|other| other == flag);
            assert!(is(&has) || !is(had), "{at} was {had} and is {has}");
        }
    }
}

#[test]
fn system_directories_cannot_be_written() {
    let Some(project) = project() else { return };
    let name = format!("palisade-test-{}", std::process::id());
    for directory in
        ["/", "/etc", "/usr/bin", "/var/tmp", "/tmp", "/opt", "/home", "/boot", "/run", "/sys", "/proc/sys"]
    {
        let path = format!("{directory}/{name}");
        let run = project.line(&format!("echo evil > {path}"));
        let said = ["Read-only file system", "Permission denied", "No such file", "Directory nonexistent"];
        assert!(run.status != 0 && said.iter().any(|said| run.stderr.contains(said)), "{path}: {run:#?}");
        assert!(!std::path::Path::new(&path).exists(), "{path}");
    }
}

#[test]
fn shared_memory_is_the_commands_own() {
    let Some(project) = project() else { return };
    let theirs = tempfile::Builder::new().prefix("palisade-test-").tempfile_in("/dev/shm").expect("writable");
    let name = format!("palisade-test-own-{}", std::process::id());
    let run = project.run().env("THEIRS", theirs.path()).env("OWN", format!("/dev/shm/{name}")).line(
        "stat -c %a /dev/shm; echo secret > $OWN; cat $OWN; ls /dev/shm; cat $THEIRS; echo evil > $THEIRS",
    );
    assert_eq!(run.stdout, format!("1777\nsecret\n{name}\n"), "{run:#?}");
    assert!(run.stderr.contains("No such file or directory"), "{run:#?}");
    assert!(!std::path::Path::new("/dev/shm").join(&name).exists());
    assert_eq!(theirs.as_file().metadata().expect("open").len(), 0);
    let again = project.line("ls /dev/shm").ok();
    assert_eq!(again.stdout, "", "nothing is left for the next command");
}

#[test]
fn locks_between_processes_work_in_shared_memory() {
    let Some(project) = project() else { return };
    let run = project
        .line("python3 -c 'import multiprocessing as m; m.Lock(); print(m.Value(\"i\", 7).value)'")
        .ok();
    assert_eq!(run.stdout, "7\n");
}

/// As a build does with its output. What was looked at is not what is mounted then, and the sandbox is built again.
#[test]
fn a_directory_that_is_replaced_while_a_command_starts_keeps_none_from_starting() {
    let Some(project) = Project::where_it_works() else { return };
    let [ours, other] = ["ours", "other"].map(|name| project.outside().join(name));
    for directory in [&ours, &other] {
        std::fs::create_dir(directory).expect("own");
    }
    for delay in 0..60 {
        let run = project.run().options([OsStr::new("--allow-write"), ours.as_os_str()]);
        let mut command = run.options(["-c", "true"]).into_command();
        let child = command.stderr(Stdio::piped()).spawn().expect("palisade starts");
        std::thread::park_timeout(Duration::from_micros(delay * 500));
        renameat2(AT_FDCWD, &ours, AT_FDCWD, &other, RenameFlags::RENAME_EXCHANGE).expect("own");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}
