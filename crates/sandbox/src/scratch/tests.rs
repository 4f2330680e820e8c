//! Tests of scratch directories: what is in one, whom it belongs to, and that nothing of it is left.

use super::*;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};

/// A base like `/tmp`, for one test.
fn base() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
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

/// A directory as a killed process leaves it: with nobody to hold its lock.
fn leave_behind(base: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = base.path().join(name);
    fs::DirBuilder::new().mode(0o700).create(&path).expect("writable");
    fs::write(path.join("file"), "left").expect("writable");
    path
}

#[test]
fn goes_with_its_last_user() {
    let base = base();
    let scratch = create(&base);
    let command = scratch.command_directory().expect("a directory");
    let path = scratch.commands.path.clone();
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
    for path in [&scratch.commands.path, &scratch.masks.path, command.path()] {
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
    let dead = leave_behind(&base, "palisade-aB3xyz");
    sweep(&base);
    assert!(dead.symlink_metadata().is_err());
    assert!(living.commands.path.as_path().symlink_metadata().is_ok());
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
        leave_behind(&base, name);
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
    let other = leave_behind(&base, "palisade-other1");
    std::os::unix::fs::chown(&other, Some(65534), None).expect("root may");
    sweep(&base);
    assert!(other.join("file").symlink_metadata().is_ok());
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
    let made = AbsPath::try_from(leave_behind(&scene, "palisade-aB3xyz").as_path()).expect("absolute");
    let sweeper = fs::File::open(made.as_path()).expect("exists");
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
