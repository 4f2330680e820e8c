//! Removes a directory with everything in it, whatever a command has made of it.
//!
//! The tree is taken apart by flattening: a directory that is not empty has its subdirectories moved up to
//! the top, one after the other, so that depth costs time but no descriptors and no stack. Every step names
//! an entry of an open directory, so no path is ever too long and no link is ever followed; nothing but a
//! directory is opened, so no pipe blocks and no device is touched. A directory without the owner's
//! permissions gets them first. A host whose descriptors a command has used up still has those that this takes.
//!
//! Not for trees that somebody alive is working on: such a one cannot lead the removal out of the tree, but
//! can keep it busy until its limit is reached.

use super::{DIRECTORY, set_mode};
use palisade_bwrap::linux::with_own_descriptors;
use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, fchmod, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How deep to go where a directory cannot be moved (on an overlay file system, one from a lower layer): each
/// level costs descriptors.
const MOST_DEPTH: usize = 50;

/// How much of a tree was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    /// All of it.
    Whole,
    /// As many steps' worth as were allowed.
    Part,
}

/// Removes the directory `name` of `parent` in at most `most_steps` steps; the removal of one entry takes one
/// step, of a nested directory two. One that is not there is removed already.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: impl Arg, most_steps: u64) -> Result<Removed, Errno> {
    name.into_with_c_str(|name| match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(Removed::Whole),
        Err(Errno::NOTEMPTY | Errno::EXIST) => even_without_descriptors(parent, || {
            let top = open_directory(parent, name)?;
            remove_opened(parent, name, top.as_fd(), most_steps)
        }),
        Err(error) => Err(error),
    })
}

/// Removes the directory `name` of `parent` as [`remove_tree`] does where it is the one that is meant, also
/// while others may put something else in its place; anything else stays, and there is nothing to remove.
pub(super) fn remove_tree_if(
    parent: BorrowedFd<'_>,
    name: impl Arg,
    is_meant: impl Fn(&Stat) -> bool + Sync,
    most_steps: u64,
) -> Result<Removed, Errno> {
    let remove = |name: &CStr| {
        // Before it is opened, since that may change its mode.
        match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_meant(&stat) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(Removed::Whole),
            Err(error) => return Err(error),
        }
        let top = open_directory(parent, name)?;
        if !is_meant(&fstat(&top)?) {
            return Ok(Removed::Whole);
        }
        remove_opened(parent, name, top.as_fd(), most_steps)
    };
    name.into_with_c_str(|name| even_without_descriptors(parent, || remove(name)))
}

/// Does `remove`, which uses `parent`; once more where this process has used up its descriptors, with those of a thread.
fn even_without_descriptors(
    parent: BorrowedFd<'_>,
    remove: impl Fn() -> Result<Removed, Errno> + Sync,
) -> Result<Removed, Errno> {
    match remove() {
        Err(Errno::MFILE) => with_own_descriptors(&[parent], remove),
        removed => removed,
    }
}

/// Empties `top`, and removes what has its name when it is empty too.
fn remove_opened(
    parent: BorrowedFd<'_>,
    name: &CStr,
    top: BorrowedFd<'_>,
    most_steps: u64,
) -> Result<Removed, Errno> {
    let removed = Removal { top, moved: 0, steps_left: most_steps, failure: None }.empty_top()?;
    if removed == Removed::Whole {
        unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    }
    Ok(removed)
}

struct Removal<'a> {
    top: BorrowedFd<'a>,
    /// How many directories were moved up: the next one's name.
    moved: u64,
    steps_left: u64,
    /// What went wrong last.
    failure: Option<Errno>,
}

impl Removal<'_> {
    /// Goes through the top until nothing changes any more: what was moved up, or what the file system did
    /// not show because entries went while it was listing them, comes with the next pass.
    fn empty_top(&mut self) -> Result<Removed, Errno> {
        loop {
            let before = self.steps_left;
            self.failure = None;
            self.empty(self.top, 0)?;
            if self.steps_left == 0 {
                return Ok(Removed::Part);
            }
            if self.steps_left == before {
                return self.failure.map_or(Ok(Removed::Whole), Err);
            }
        }
    }

    /// Removes or moves up what `directory` holds. What fails is noted, and the rest goes on.
    fn empty(&mut self, directory: BorrowedFd<'_>, depth: usize) -> Result<(), Errno> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if self.steps_left == 0 {
                break;
            }
            match self.remove(directory, name, entry.file_type(), depth) {
                Ok(()) | Err(Errno::NOENT) => self.steps_left = self.steps_left.saturating_sub(1),
                Err(error) => self.failure = Some(error),
            }
        }
        Ok(())
    }

    fn remove(&mut self, at: BorrowedFd<'_>, name: &CStr, kind: FileType, depth: usize) -> Result<(), Errno> {
        if kind != FileType::Directory {
            match unlinkat(at, name, AtFlags::empty()) {
                // The file system did not say that it is a directory.
                Err(Errno::ISDIR | Errno::PERM) => {}
                done => return done,
            }
        }
        match unlinkat(at, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            done => return done,
        }
        let directory = open_directory(at, name)?;
        if depth > 0 && self.move_up(at, name).is_ok() {
            return Ok(());
        }
        if depth >= MOST_DEPTH {
            return Err(Errno::LOOP);
        }
        self.empty(directory.as_fd(), depth + 1)?;
        unlinkat(at, name, AtFlags::REMOVEDIR)
    }

    /// Moves a directory to the top, under the first number that no entry there has for a name.
    fn move_up(&mut self, at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        loop {
            self.moved += 1;
            match renameat(at, name, self.top, self.moved.to_string()) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                done => return done,
            }
        }
    }
}

/// Opens a directory for us to list and change, whatever its mode was.
pub(super) fn open_directory(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let directory = match openat(at, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            set_mode(at, name.to_bytes(), Mode::RWXU)?;
            openat(at, name, DIRECTORY, Mode::empty())?
        }
        other => other?,
    };
    if !Mode::from_raw_mode(fstat(&directory)?.st_mode).contains(Mode::RWXU) {
        fchmod(&directory, Mode::RWXU)?;
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, mkdirat, open};
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::{Command, Stdio};

    fn change_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }

    /// Has `fill` make a tree and removes it.
    fn check(fill: impl FnOnce(&Path)) {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let tree = parent.path().join("tree");
        fs::create_dir(&tree).expect("writable");
        fill(&tree);
        let directory = open(parent.path(), DIRECTORY, Mode::empty()).expect("exists");
        let removed = remove_tree(directory.as_fd(), c"tree", u64::MAX);
        assert_eq!(removed, Ok(Removed::Whole));
        assert_eq!(fs::read_dir(parent.path()).expect("readable").count(), 0);
    }

    #[test]
    fn what_is_not_there_is_removed() {
        check(|tree| fs::remove_dir(tree).expect("empty"));
        check(|_| {});
    }

    #[test]
    fn directories_without_permissions() {
        check(|tree| {
            for (name, mode) in
                [("none", 0), ("read-only", 0o500), ("write-only", 0o200), ("search-only", 0o100)]
            {
                let directory = tree.join(name);
                fs::create_dir_all(directory.join("below/deeper")).expect("writable");
                fs::write(directory.join("below/deeper/file"), "x").expect("writable");
                change_mode(&directory.join("below/deeper/file"), 0);
                for path in [directory.join("below/deeper"), directory.join("below"), directory] {
                    change_mode(&path, mode);
                }
            }
            change_mode(tree, 0);
        });
    }

    #[test]
    fn links_and_pipes_are_removed_and_not_followed() {
        let outside = tempfile::tempdir().expect("a temporary directory");
        fs::write(outside.path().join("file"), "x").expect("writable");
        change_mode(outside.path(), 0o750);
        check(|tree| {
            fs::create_dir(tree.join("d")).expect("writable");
            symlink(outside.path(), tree.join("link")).expect("writable");
            symlink(outside.path(), tree.join("d/link")).expect("writable");
            symlink("..", tree.join("d/up")).expect("writable");
            symlink("loop", tree.join("loop")).expect("writable");
            nix::unistd::mkfifo(&tree.join("d/pipe"), nix::sys::stat::Mode::S_IRWXU).expect("writable");
            std::os::unix::net::UnixListener::bind(tree.join("d/socket")).expect("writable");
            fs::hard_link(outside.path().join("file"), tree.join("d/hard")).expect("writable");
        });
        let mode = fs::metadata(outside.path()).expect("exists").permissions().mode();
        assert_eq!(mode & 0o7777, 0o750);
        assert_eq!(fs::read_to_string(outside.path().join("file")).expect("still there"), "x");
    }

    #[test]
    fn names_of_any_bytes() {
        check(|tree| {
            for name in [&b"\xff\xfe"[..], b"new\nline", b"-rf", b" ", b"...", &[b'x'; 255]] {
                let directory = tree.join(std::ffi::OsStr::from_bytes(name));
                fs::create_dir_all(directory.join("below")).expect("writable");
                fs::write(directory.join("below").join(std::ffi::OsStr::from_bytes(name)), "")
                    .expect("writable");
            }
        });
    }

    /// The removal gives directories that it moves up names of its own.
    #[test]
    fn names_that_the_removal_would_use_itself() {
        check(|tree| {
            for n in 1..20 {
                fs::create_dir_all(tree.join(format!("{n}/{}/{n}", n + 1))).expect("writable");
                fs::write(tree.join(format!("{n}/{}/file", n + 1)), "").expect("writable");
                fs::write(tree.join(format!("{}", n + 20)), "").expect("writable");
            }
        });
    }

    #[test]
    fn a_tree_deeper_than_any_path_or_descriptor_table() {
        check(|tree| {
            let mut at = open(tree, DIRECTORY, Mode::empty()).expect("exists");
            for level in 0..2000 {
                mkdirat(&at, "name", Mode::RWXU).expect("writable");
                at = openat(&at, "name", DIRECTORY, Mode::empty()).expect("exists");
                if level % 100 == 0 {
                    openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("writable");
                }
            }
        });
    }

    #[test]
    fn a_wide_tree() {
        check(|tree| {
            for n in 0..300 {
                fs::create_dir_all(tree.join(format!("d/{n}/e"))).expect("writable");
                fs::write(tree.join(format!("d/{n}/f")), "").expect("writable");
            }
        });
    }

    #[test]
    fn a_removal_that_reaches_its_limit_goes_on_next_time() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        for n in 0..10 {
            fs::create_dir_all(parent.path().join(format!("tree/{n}/d"))).expect("writable");
            fs::write(parent.path().join(format!("tree/{n}/d/f")), "").expect("writable");
        }
        let directory = open(parent.path(), DIRECTORY, Mode::empty()).expect("exists");
        let remove = || remove_tree(directory.as_fd(), c"tree", 7).expect("can be removed");
        assert_eq!(remove(), Removed::Part);
        assert!((0..10).any(|_| remove() == Removed::Whole));
        assert!(parent.path().join("tree").symlink_metadata().is_err());
    }

    /// Root may do what modes forbid, so the tests above prove little when root runs them.
    #[test]
    fn the_same_as_an_ordinary_user() {
        use std::os::unix::process::CommandExt;
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir();
        let place = place.expect("a temporary directory");
        let program = place.path().join("tests");
        fs::copy(std::env::current_exe().expect("known"), &program).expect("readable");
        let mut tests = Command::new(&program);
        tests
            .args(["scratch::remove::", "--test-threads=2"])
            .env_clear()
            .env("TMPDIR", "/tmp")
            .current_dir("/");
        let tests = tests.uid(65534).gid(65534).stdout(Stdio::piped()).spawn().expect("can be run");
        let output = tests.wait_with_output().expect("ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("test result: ok. 9 passed"), "{text}");
    }
}
