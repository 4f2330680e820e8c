//! Tests of scratch directories: what is in one, whom it belongs to, and that nothing of it is left.

use super::*;
use std::collections::HashSet;
use std::fs;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};

/// A base like `/tmp`, for one test.
fn base() -> tempfile::TempDir {
    let base = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    base
}

fn create(base: &tempfile::TempDir) -> Scratch {
    create_in(base.path()).expect("a scratch directory")
}

fn create_in(base: &Path) -> Result<Scratch, ScratchError> {
    let private = AbsPath::try_from(base).expect("absolute").join("private").expect("no NUL");
    Scratch::create_in(base, &private)
}

fn sweep(base: &tempfile::TempDir) {
    let private = AbsPath::try_from(base.path()).expect("absolute").join("private").expect("no NUL");
    Scratch::sweep_in(base.path(), &private);
}

fn names_in(base: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(base.path()).expect("readable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A directory of the user's own, with something in it.
fn make_with_file(base: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = base.path().join(name);
    fs::DirBuilder::new().mode(0o700).create(&path).expect("writable");
    fs::write(path.join("file"), "left").expect("writable");
    path
}

/// What a killed process leaves: its directories, with something in them, and nobody to hold the lock.
struct Dead {
    commands: PathBuf,
    held: PathBuf,
}

fn leave_behind(base: &tempfile::TempDir) -> Dead {
    let scratch = create(base);
    let command = scratch.command_directory().expect("a directory");
    fs::write(command.path().as_path().join("file"), "left").expect("writable");
    scratch.hidden_directory().expect("a mask");
    let places = &scratch.places;
    let dead = Dead {
        commands: places.commands.path.as_path().to_owned(),
        held: places.masks.path.as_path().to_owned(),
    };
    flock(&places.masks.directory, FlockOperation::Unlock).expect("held");
    let _never_dropped = ManuallyDrop::new((scratch, command));
    dead
}

#[test]
fn goes_with_its_last_user() {
    let base = base();
    let scratch = create(&base);
    let command = scratch.command_directory().expect("a directory");
    let path = scratch.places.commands.path.clone();
    fs::write(command.path().as_path().join("file"), "x").expect("writable");
    drop(scratch);
    assert!(command.path().as_path().join("file").symlink_metadata().is_ok(), "its command may still run");
    drop(command);
    assert!(path.as_path().symlink_metadata().is_err());
    assert_eq!(names_in(&base), [""; 0]);
}

#[test]
fn nobody_else_can_enter() {
    let base = base();
    let scratch = create(&base);
    let command = scratch.command_directory().expect("a directory");
    for path in [&scratch.places.commands.path, &scratch.places.masks.path, command.path()] {
        assert_eq!(fs::metadata(path.as_path()).expect("exists").mode() & 0o7777, 0o700, "{path}");
    }
}

#[test]
fn masks_are_made_once_and_open_to_nobody() {
    let base = base();
    let scratch = create(&base);
    for _ in 0..2 {
        let file = fs::metadata(scratch.hidden_file().expect("a mask").as_path()).expect("exists");
        assert_eq!((file.is_file(), file.len(), file.mode() & 0o7777), (true, 0, 0));
        let directory = fs::metadata(scratch.hidden_directory().expect("a mask").as_path()).expect("exists");
        assert_eq!((directory.is_dir(), directory.mode() & 0o7777), (true, 0));
    }
    drop(scratch);
    assert_eq!(names_in(&base), [""; 0]);
}

#[test]
fn a_substitute_has_either_a_name_or_a_reader() {
    let base = base();
    let scratch = create(&base);
    let [shown, dropped] = ["[core]\n", ""].map(|text| scratch.substitute(text.as_bytes()).expect("made"));
    let path = shown.path().clone();
    assert!(path != *dropped.path());
    // As a mount holds it.
    let held = open(path.as_path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("there");
    let mode = |stat: Stat| stat.st_mode & 0o7777;
    assert_eq!(mode(fstat(&held).expect("open")), 0);
    shown.reveal().expect("ours");
    assert_eq!(mode(fstat(&held).expect("open")), 0o400);
    assert_eq!(fs::read_to_string(format!("/proc/self/fd/{}", held.as_raw_fd())).expect("ours"), "[core]\n");
    assert!(path.as_path().symlink_metadata().is_err());
    let path = dropped.path().clone();
    drop(dropped);
    assert!(path.as_path().symlink_metadata().is_err());
}

#[test]
fn command_directories_are_apart_and_short() {
    let scratch = Scratch::create().expect("a scratch directory");
    let directories: Vec<CommandDirectory> =
        (0..50).map(|_| scratch.command_directory().expect("a directory")).collect();
    let paths: HashSet<&[u8]> = directories.iter().map(|directory| directory.path().as_bytes()).collect();
    assert_eq!(paths.len(), 50);
    let longest = Scratch { next_command: AtomicU64::new(u64::MAX), ..scratch };
    let directory = longest.command_directory().expect("a directory");
    let socket = directory.path().as_path().join("s".repeat(45));
    std::os::unix::net::UnixListener::bind(&socket).expect("the path fits into a socket's address");
}

#[test]
fn the_dead_are_swept_and_the_living_are_not() {
    let base = base();
    let living = create(&base);
    let dead = leave_behind(&base);
    sweep(&base);
    assert!(dead.commands.symlink_metadata().is_err());
    assert!(dead.held.symlink_metadata().is_err());
    assert!(living.places.commands.path.as_path().symlink_metadata().is_ok());
    assert!(living.places.masks.path.as_path().symlink_metadata().is_ok());
    drop(living);
    assert_eq!(names_in(&base), [""; 0]);
}

/// Each has a name that a directory of ours could have.
#[test]
fn the_users_own_directories_survive_a_sweep() {
    let base = base();
    let own =
        ["palisade-aB3xyz", "palisade-backup", "palisade-issue2"].map(|name| make_with_file(&base, name));
    leave_behind(&base);
    sweep(&base);
    assert_eq!(names_in(&base), ["palisade-aB3xyz", "palisade-backup", "palisade-issue2"]);
    assert!(own.iter().all(|path| path.join("file").symlink_metadata().is_ok()));
}

#[test]
fn what_took_the_place_of_a_recorded_directory_survives() {
    let base = base();
    let replaced = leave_behind(&base);
    fs::rename(&replaced.commands, base.path().join("moved")).expect("ours");
    make_with_file(&base, replaced.commands.file_name().and_then(|name| name.to_str()).expect("ours"));
    let linked = leave_behind(&base);
    fs::rename(&linked.commands, base.path().join("target")).expect("ours");
    symlink("target", &linked.commands).expect("writable");
    let before = names_in(&base);
    sweep(&base);
    let left: Vec<String> = before.into_iter().filter(|name| name != "private").collect();
    assert_eq!(names_in(&base), left);
    for directory in [replaced.commands, base.path().join("moved"), base.path().join("target")] {
        assert!(fs::read_dir(&directory).expect("still there").count() > 0, "{directory:?}");
    }
}

#[test]
fn what_is_no_record_removes_nothing() {
    let record = |dead: &Dead| fs::read_to_string(dead.held.join("commands")).expect("recorded");
    let changes: [fn(String) -> Vec<u8>; 7] = [
        |_| Vec::new(),
        |line| line.trim_end().into(),
        |line| format!("{line}{line}").into(),
        |line| format!("./{line}").into(),
        |line| format!("{line}{}", " ".repeat(500)).into(),
        |line| [line.as_bytes(), b"\xff"].concat(),
        |_| b"../.. 1 1\n".to_vec(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let base = base();
        let dead = leave_behind(&base);
        let changed = change(record(&dead));
        fs::write(dead.held.join("commands"), changed).expect("ours");
        sweep(&base);
        assert!(dead.commands.join("0/file").symlink_metadata().is_ok(), "change {number}");
        assert!(dead.held.symlink_metadata().is_err(), "change {number}");
    }
}

#[test]
fn the_directory_of_a_process_that_was_killed_before_it_recorded_it_is_removed() {
    for record in [None, Some(""), Some("palisade-")] {
        let base = base();
        let dead = leave_behind(&base);
        fs::remove_dir_all(dead.commands.join("0")).expect("ours");
        match record {
            None => fs::remove_file(dead.held.join("commands")).expect("ours"),
            Some(part) => fs::write(dead.held.join("commands"), part).expect("ours"),
        }
        sweep(&base);
        assert_eq!(names_in(&base), [""; 0], "{record:?}");
    }
}

/// A user's own directory took the path while the sandbox was alive.
#[test]
fn what_took_the_place_of_a_living_directory_survives() {
    let base = base();
    let scratch = create(&base);
    let path = scratch.places.commands.path.as_path().to_owned();
    fs::rename(&path, base.path().join("moved")).expect("ours");
    let own = make_with_file(&base, path.file_name().and_then(|name| name.to_str()).expect("ours"));
    drop(scratch);
    assert!(own.join("file").symlink_metadata().is_ok());
}

/// Root may remove anything, so that this says something only as another user; see the test below.
#[test]
fn what_could_not_be_removed_stays_on_record() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let base = base();
    let scratch = create(&base);
    let held = scratch.places.masks.path.as_path().to_owned();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o500)).expect("ours");
    drop(scratch);
    sweep(&base);
    assert!(held.join("commands").symlink_metadata().is_ok());
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    sweep(&base);
    assert_eq!(names_in(&base), [""; 0]);
}

/// Under a umask that takes the owner's permissions too. The umask is the process's, so in one of its own.
#[test]
fn the_same_with_any_umask() {
    use std::os::unix::process::CommandExt;
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let program = place.path().join("tests");
    fs::copy(std::env::current_exe().expect("known"), &program).expect("readable");
    let names = [
        "nobody_else_can_enter",
        "masks_are_made_once",
        "the_dead_are_swept",
        "goes_with_its_last",
        "what_could_not_be_removed",
    ];
    for umask in ["777", "277", "0"] {
        let mut tests = std::process::Command::new("/bin/sh");
        tests.args(["-c", "umask \"$0\" && exec \"$@\"", umask]).arg(&program);
        tests.args(names.map(|name| format!("scratch::tests::{name}")));
        tests.env_clear().env("TMPDIR", "/tmp").current_dir("/");
        // Root may do what modes forbid.
        if rustix::process::geteuid().is_root() {
            tests.uid(65534).gid(65534);
        }
        let tests = tests.stdout(std::process::Stdio::piped()).spawn().expect("can be run");
        let output = tests.wait_with_output().expect("ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("test result: ok. 5 passed"), "{umask}: {text}");
    }
}

#[test]
fn a_private_directory_that_lost_its_mode_is_entered_again() {
    let base = base();
    let private = base.path().join("private");
    fs::create_dir(&private).expect("writable");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o0)).expect("ours");
    let scratch = create(&base);
    assert_eq!(fs::metadata(&private).expect("exists").mode() & 0o7777, 0o700);
    drop(scratch);
    assert_eq!(names_in(&base), [""; 0]);
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let base = base();
    let outside = base.path().join("outside");
    fs::create_dir(&outside).expect("writable");
    fs::write(outside.join("file"), "x").expect("writable");
    symlink(&outside, base.path().join("palisade-link00")).expect("writable");
    fs::write(base.path().join("palisade-file00"), "x").expect("writable");
    for name in
        ["palisade-short", "palisade-toolong", "palisade-covers-0", "palisade-a.b.c_", "xpalisade-abcdef"]
    {
        make_with_file(&base, name);
    }
    let before = names_in(&base);
    drop(create(&base));
    sweep(&base);
    assert_eq!(names_in(&base), before);
    assert!(outside.join("file").symlink_metadata().is_ok());
}

#[test]
fn another_users_directory_is_left_alone() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let base = base();
    let dead = leave_behind(&base);
    std::os::unix::fs::chown(&dead.commands, Some(65534), None).expect("root may");
    sweep(&base);
    assert!(dead.commands.join("0/file").symlink_metadata().is_ok());
}

#[test]
fn a_place_for_masks_that_others_made_or_can_enter_is_refused() {
    let base = base();
    let private = base.path().join("private");
    symlink(base.path(), &private).expect("writable");
    assert!(matches!(create_in(base.path()), Err(ScratchError::NotPrivate(_))));
    fs::remove_file(&private).expect("ours");
    fs::create_dir(&private).expect("writable");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o755)).expect("ours");
    assert!(matches!(create_in(base.path()), Err(ScratchError::NotPrivate(_))));
}

#[test]
fn a_base_that_anybody_may_rearrange_is_refused() {
    let base = base();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    assert!(matches!(create_in(base.path()), Err(ScratchError::Unsafe(_))));
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o1777)).expect("ours");
    create(&base);
    let missing = create_in(&base.path().join("missing")).expect_err("there is no base");
    assert!(missing.to_string().contains("/missing: No such file"), "{missing}");
}

#[test]
fn a_directory_that_a_sweep_was_quicker_to_lock_is_not_used() {
    let scene = base();
    let base = Base::open(scene.path()).expect("a base");
    let made = AbsPath::try_from(make_with_file(&scene, "palisade-aB3xyz").as_path()).expect("absolute");
    let sweeper = File::open(made.as_path()).expect("exists");
    sweeper.lock().expect("nobody else has it");
    assert!(Held::lock(&base, made.clone()).expect("no failure").is_none());
    fs::remove_dir_all(made.as_path()).expect("ours");
    assert!(Held::lock(&base, made).expect("no failure").is_none());
}

/// Each start sweeps, so that directories are locked and looked at by others in the middle of being made.
#[test]
fn many_starts_at_once_do_not_take_each_others_directories() {
    let base = base();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let scratch = create(&base);
                    sweep(&base);
                    let command = scratch.command_directory().expect("the directory is still there");
                    fs::write(command.path().as_path().join("file"), "x").expect("writable");
                }
            });
        }
    });
    assert_eq!(names_in(&base), [""; 0]);
}
