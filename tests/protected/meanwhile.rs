//! What is replaced, removed or moved outside while a command runs stays shut to it, though the kernel takes away what
//! was mounted there; and what is mounted outside does not come to be inside.

use palisade_tests::{Project, Tools};
use std::os::unix::fs::symlink;
use std::process::Command;

/// A line that does as `attempt` says for as long as that succeeds, once the test has done its part. Whether it was
/// quicker than the sandbox the first time does not matter.
fn until_it_fails(attempt: &str) -> String {
    format!("while {attempt}; do sleep 0.01; done; echo shut")
}

/// Runs `attempt` under `options` while `outside` does something to the root. It has to fail in the end.
fn shut(options: &[&str], attempt: &str, outside: impl FnOnce(&Project)) {
    let Some(project) = Project::where_it_works() else { return };
    for name in ["conf", "secret", "a/b/conf", ".git/config", ".mcp.json", "new"] {
        project.write(name, "outside\n");
    }
    symlink("a", project.root().join("link")).expect("own directory");
    let running = project.run().options(options).start("echo started", &until_it_fails(attempt));
    outside(&project);
    let (status, printed, said) = running.end_saying();
    assert_eq!((status, printed.lines().last()), (Some(0), Some("shut")), "{attempt}: {said}");
    let is_told = ["it is shut to the command again", "right before the command ended"];
    assert!(is_told.iter().any(|text| said.contains(text)), "{attempt}: {said}");
}

fn assert_ended(status: Option<i32>, said: &str) {
    assert_eq!(status, Some(137), "{said}");
    assert!(said.contains("the command was ended"), "{said}");
}

fn rename(project: &Project, from: &str, to: &str) {
    std::fs::rename(project.root().join(from), project.root().join(to)).expect("own directory");
}

#[test]
fn what_is_replaced_is_shut_again() {
    let write = |path: &str| format!("echo evil 2> /dev/null >> {path}");
    let denied: &[&str] = &["--deny-write", "conf"];
    shut(denied, &write("conf"), |project| rename(project, "new", "conf"));
    shut(&[], &write(".git/config"), |project| rename(project, "new", ".git/config"));
    shut(&[], &write(".mcp.json"), |project| rename(project, "new", ".mcp.json"));
    // As git does when it changes to a branch that has one.
    shut(&[], &write(".bashrc"), |project| rename(project, "new", ".bashrc"));
    let hidden: &[&str] = &["--deny-read", "secret"];
    shut(hidden, "cat secret > /dev/null 2>&1", |project| rename(project, "new", "secret"));
}

/// What is opened in a tree that else is hidden is the host's.
#[test]
fn what_is_replaced_where_nearly_all_is_hidden_is_shut_again() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root().display().to_string();
    let opened = ["/usr", "/bin", "/lib", "/lib64", &root];
    let opened = opened.into_iter().flat_map(|path| ["--allow-read", path]);
    let options: Vec<&str> = ["--deny-read", "/", "--deny-write", "conf", "--deny-read", "secret"]
        .into_iter()
        .chain(opened)
        .collect();
    shut(&options, "echo evil 2> /dev/null >> conf", |project| rename(project, "new", "conf"));
    shut(&options, "cat secret > /dev/null 2>&1", |project| rename(project, "new", "secret"));
}

/// As when a branch is left that has them.
#[test]
fn what_is_removed_is_not_made() {
    let remove = |name: &'static str| {
        move |project: &Project| std::fs::remove_file(project.root().join(name)).expect("own file")
    };
    shut(&[], "echo evil 2> /dev/null > .mcp.json", remove(".mcp.json"));
    shut(&[], "echo evil 2> /dev/null > .bashrc", remove(".bashrc"));
    let denied: &[&str] = &["--deny-write", "a/b/conf"];
    let make = "mkdir -p a/b 2> /dev/null && echo evil 2> /dev/null > a/b/conf";
    shut(denied, make, remove("a/b/conf"));
    // What stands in for the file may have come before the directory was removed.
    shut(denied, make, |project| drop(std::fs::remove_dir_all(project.root().join("a"))));
}

/// Whoever makes it knows what is in it.
#[test]
fn nothing_stands_in_for_what_is_hidden_and_removed() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("a/b/secret", "");
    let running = project.run().options(["--deny-read", "a/b/secret"]).start("echo started", "true");
    std::fs::remove_dir_all(project.root().join("a")).expect("own directory");
    assert_eq!(running.end_saying(), (Some(0), String::new(), String::new()));
    assert_eq!(project.tree(), [""; 0]);
}

/// Its mount goes along, so that nobody tells of it.
#[test]
fn what_is_moved_is_shut_again_in_its_old_place() {
    let denied: &[&str] = &["--deny-write", "a/b/conf"];
    let make = "mkdir -p a/b 2> /dev/null && echo evil 2> /dev/null > a/b/conf";
    shut(denied, make, |project| rename(project, "a/b/conf", "a/b/conf~"));
    shut(denied, make, |project| rename(project, "a", "a.old"));
    // As some editors save. A command that ends before anybody looks could write it all the same.
    for attempt in ["echo evil 2> /dev/null >> conf", "false"] {
        shut(&["--deny-write", "conf"], attempt, |project| {
            rename(project, "conf", "conf~");
            rename(project, "new", "conf");
        });
    }
}

#[test]
fn what_cannot_be_shut_again_ends_the_command() {
    let ended = |options: &[&str], outside: &dyn Fn(&Project)| {
        let Some(project) = Project::where_it_works() else { return };
        project.write("conf", "");
        let running = project.run().options(options).start("echo started", "while :; do sleep 1; done");
        outside(&project);
        let (status, _, said) = running.end_saying();
        assert_ended(status, &said);
    };
    let denied: &[&str] = &["--deny-write", "conf"];
    // What that leads to is no rule's.
    ended(denied, &|project| {
        symlink("elsewhere", project.root().join("new")).expect("own directory");
        rename(project, "new", "conf");
    });
}

/// Has the command take hold of what comes to stand at a place, before that is shut, and use it when it long is. Nobody
/// tells of what was moved, so there is time.
fn let_go(names: [&str; 2], take: &str, then_write: &str, outside: impl FnOnce(&Project)) {
    let Some(project) = Project::where_it_works() else { return };
    for name in names {
        project.write(name, "outside\n");
    }
    let line = format!("until {take}; do sleep 0.01; done; sleep 3; {then_write}; echo done");
    let running = project.run().options(["--deny-write", names[0]]).start("echo started", &line);
    outside(&project);
    // What it was told of before it was ended does not matter here, nor that it may have come too late.
    let (_, _, said) = running.end_saying();
    assert_eq!(project.read(names[0]), "outside\n", "{take}: {said}");
}

/// The mount covers a name only: whoever has the file or the directory by then is beneath it.
#[test]
fn what_the_command_does_not_let_go_of_ends_it() {
    let replace = |project: &Project| {
        rename(project, "conf", "conf~");
        rename(project, "new", "conf");
    };
    let names = ["conf", "new"];
    let (once, again) = ("[ -e conf~ ] && command exec 3< conf", "echo evil >> /proc/self/fd/3");
    let directory = ["d/conf", "new/conf"];
    std::thread::scope(|all| {
        all.spawn(|| let_go(names, once, again, replace));
        all.spawn(|| let_go(names, "[ -e conf~ ] && ln conf other", "echo evil >> other", replace));
        all.spawn(|| {
            let gone_into = "[ -e d~ ] && cd d";
            let_go(directory, gone_into, "echo evil >> conf", |project| {
                rename(project, "d", "d~");
                rename(project, "new", "d");
            });
        });
    });
}

/// As a program may whose log is begun anew.
#[test]
fn others_may_have_open_what_is_shut() {
    let write = |path: &str| format!("echo evil 2> /dev/null >> {path}");
    let mut writer = None;
    shut(&["--deny-write", "conf"], &write("conf"), |project| {
        writer = Some(std::fs::File::create(project.root().join("new")).expect("own directory"));
        rename(project, "new", "conf");
    });
}

/// What stands in for a file that is missing comes late enough for those who remove one to make another.
#[test]
fn nothing_stands_in_for_what_is_made_anew_at_once() {
    let Some(project) = Project::where_it_works() else { return };
    let path = project.write(".mcp.json", "outside\n");
    let running = project.run().start("echo started", "true");
    for _ in 0..200 {
        let begun = std::time::Instant::now();
        std::fs::remove_file(&path).expect("own file");
        let made = std::fs::File::create_new(&path);
        assert!(made.is_ok() || begun.elapsed() > std::time::Duration::from_millis(80), "{made:?}");
        if made.is_err() {
            // The machine had other things to do.
            break;
        }
    }
    assert_eq!(running.end_saying().0, Some(0));
}

/// A drive that is plugged in would be writable, and what is mounted above something hidden would show it.
#[test]
fn what_is_mounted_outside_meanwhile_is_not_seen_inside() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("d/secret", "s3cret\n");
    std::fs::create_dir(project.outside().join("drive")).expect("own directory");
    let script = format!(
        "mount --make-rshared /
         {{ read -r _; mount -t tmpfs none ../outside/drive; mount -t tmpfs none d; echo shown > d/secret; echo > go; }} < ready &
         exec setpriv --inh-caps=-all --ambient-caps=-all '{}' run --deny-read d/secret -c \"$0\"",
        Tools::here().palisade.display()
    );
    let line = "echo > ready; read -r _ < go; cat d/secret; echo evil > ../outside/drive/f || echo kept";
    let fifos = ["ready", "go"].map(|name| project.root().join(name));
    for fifo in &fifos {
        nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::S_IRWXU).expect("own directory");
    }
    let output = Command::new("unshare")
        .args(["--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", &script, line])
        .current_dir(project.root())
        .env("HOME", project.home())
        .output()
        .expect("unshare starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "kept\n", "{said}");
    assert!(said.contains("d/secret: Permission denied"), "{said}");
}
