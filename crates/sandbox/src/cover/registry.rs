//! The registry's directory, and the entries that this process holds.

use super::CoverError;
use super::entry::{Entry, Line, failed, is_cover, on_the_way, system};
use crate::scratch::open_to_owner;
use palisade_policy::AbsPath;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, Stat, StatxFlags, flock, fstat, lstat, mkdir, open,
    openat, rmdir, statx, unlink,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often to try again where another process is just removing what we want to use, which is a matter of
/// microseconds: two seconds in all.
const MOST_ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(1);

/// How often to look at what is another thing each time.
const MOST_LOOKS: u32 = 100;

/// A registry, and what this value holds of it.
#[derive(Debug)]
pub(super) struct Registry {
    path: AbsPath,
    held: Mutex<BTreeMap<String, Share>>,
}

/// One lock on an entry, however many commands of this process stand behind it.
#[derive(Debug)]
struct Share {
    users: usize,
    entry: Arc<Entry>,
}

impl Registry {
    /// The registry of this user below `base`. Nothing is made before it is needed.
    pub(super) fn new(base: &AbsPath) -> Self {
        let name = format!("palisade-covers-{}", geteuid().as_raw());
        Registry { path: base.join(name).unwrap_or_else(|_| base.clone()), held: Mutex::default() }
    }

    pub(super) fn path(&self) -> &AbsPath {
        &self.path
    }

    /// One more command uses the covers in `directory`.
    pub(super) fn enter(&self, directory: &AbsPath) -> Result<Arc<Entry>, CoverError> {
        let mut held = self.held();
        let known = entry_name(directory).ok().and_then(|name| held.get_mut(&name));
        if let Some(share) = known {
            share.users += 1;
            return Ok(Arc::clone(&share.entry));
        }
        // Where it fails halfway, what was made for it goes as what a killed process leaves does.
        let entry = Arc::new(self.lock_entry(directory).inspect_err(|_| self.sweep())?);
        held.insert(entry.name().to_owned(), Share { users: 1, entry: Arc::clone(&entry) });
        Ok(entry)
    }

    /// A command does not use the covers of an entry any more. The last one of all processes removes them.
    pub(super) fn leave(&self, entry: &Entry) {
        let mut held = self.held();
        let Some(share) = held.get_mut(entry.name()) else { return };
        share.users -= 1;
        if share.users > 0 {
            return;
        }
        let Some(Share { entry, .. }) = held.remove(entry.name()) else { return };
        if let Err(error) = self.remove_if_unused(&entry, true) {
            tracing::warn!("covers could not be removed: {error}");
        }
    }

    /// Whether something stands at `path` that is no cover.
    pub(super) fn is_uncovered(&self, path: &AbsPath) -> bool {
        self.is_unlisted(path, &Line::Cover(path.clone()), is_cover)
    }

    /// Whether something stands at `path` that stays when the commands that run are over.
    pub(super) fn is_wanted(&self, path: &AbsPath) -> bool {
        self.is_unlisted(path, &Line::Unwanted(path.clone()), |_| true)
    }

    /// Whether something stands at `path` that `may_be` what a `line` speaks of, and is not, or that cannot be.
    ///
    /// One look at the list does not tell: what was seen may have been removed since, and its entry right after, and
    /// another command's may stand there now. So the same has to be there twice, each time without a line.
    fn is_unlisted(&self, path: &AbsPath, line: &Line, may_be: fn(&Stat) -> bool) -> bool {
        let mut last = None;
        for _ in 0..MOST_LOOKS {
            let Ok(stat) = lstat(path.as_bytes()) else { return false };
            // Nearly every file is told from a cover by a glance.
            if !may_be(&stat) {
                return true;
            }
            if self.lists(path, line) {
                return false;
            }
            let now = (stat.st_dev, stat.st_ino, stat.st_nlink, stat.st_ctime, stat.st_ctime_nsec);
            if last.replace(now) == Some(now) {
                return true;
            }
        }
        // Whoever wants a cover here finds what it is once he has the lock.
        false
    }

    fn lists(&self, path: &AbsPath, line: &Line) -> bool {
        let Some(Ok(name)) = path.parent().map(|directory| entry_name(&directory)) else { return false };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(Some(registry)) = self.open() else { return false };
        let Ok(file) = openat(&registry, &name, flags, Mode::empty()) else { return false };
        Entry::new(file, name).lines().is_ok_and(|lines| lines.contains(line))
    }

    /// Removes the covers of every entry that nobody holds.
    pub(super) fn sweep(&self) {
        if let Err(error) = self.sweep_entries() {
            tracing::warn!("covers that earlier runs left could not be looked for in {}: {error}", self.path);
        }
    }

    fn sweep_entries(&self) -> Result<(), CoverError> {
        let Some(registry) = self.open()? else { return Ok(()) };
        let fault = system("reading", &self.path);
        for entry in Dir::read_from(&registry).map_err(&fault)? {
            let entry = entry.map_err(&fault)?;
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let name = entry.file_name();
            if !is_entry_name(name.to_bytes()) {
                continue;
            }
            // One that cannot be opened was removed by its last user just now.
            if let Ok(file) = openat(&registry, name, flags, Mode::empty()) {
                self.remove_if_unused(&Entry::new(file, name.to_string_lossy().into_owned()), false)?;
            }
        }
        self.remove_if_empty();
        Ok(())
    }

    /// Removes an entry and its covers, unless somebody else holds it. It stays for a later start where one of them
    /// could not be removed, or is in use. The lock on it is gone afterwards. `is_own` where it was this process's until
    /// now, all of whose commands have ended. Whether it is gone.
    fn remove_if_unused(&self, entry: &Entry, is_own: bool) -> Result<bool, CoverError> {
        match flock(entry, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(false),
            other => other.map_err(system("locking an entry of", &self.path))?,
        }
        // Only the holder of this lock unlinks an entry: one without a name was removed before we had the
        // lock.
        let is_removed = fstat(entry).is_ok_and(|stat| stat.st_nlink == 0);
        let is_cleared = !is_removed && entry.remove_covers(is_own);
        if is_cleared {
            // By its path, which takes no descriptor. The registry was ours when the entry was opened, and it cannot
            // have been replaced since: it is not empty, and `/tmp` is sticky.
            unlink(self.path.as_path().join(entry.name()))
                .map_err(system("removing an entry of", &self.path))?;
            self.remove_if_empty();
        }
        Ok(is_removed || is_cleared)
    }

    fn remove_if_empty(&self) {
        // Fails, as it should, where entries are left.
        let _ = rmdir(self.path.as_bytes());
    }

    #[expect(clippy::disallowed_methods, reason = "a lock cannot be waited for with a limit")]
    fn lock_entry(&self, directory: &AbsPath) -> Result<Entry, CoverError> {
        for attempt in 0..MOST_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let Some((entry, is_new)) = self.open_entry(directory)? else { continue };
            if !is_new && attempt == 0 && self.remove_if_unused(&entry, false)? {
                // It was a dead one's.
                continue;
            }
            if self.lock_shared(&entry)? {
                if !is_new {
                    entry.share().map_err(|error| failed("writing to an entry of", &self.path, error))?;
                }
                return Ok(entry);
            }
        }
        Err(CoverError::Busy(self.path.clone()))
    }

    /// Opens the entry of `directory`, or makes it, and says which; `None` when the registry or the entry has just
    /// gone.
    fn open_entry(&self, directory: &AbsPath) -> Result<Option<(Entry, bool)>, CoverError> {
        let Some(registry) = self.make()? else { return Ok(None) };
        let name = entry_name(directory).map_err(on_the_way("looking at", directory))?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |more| openat(&registry, &name, flags | more, Mode::RUSR | Mode::WUSR);
        let opened = match open(OFlags::CREATE | OFlags::EXCL) {
            Err(Errno::EXIST) => open(OFlags::empty()).map(|file| (file, false)),
            made => made.map(|file| (file, true)),
        };
        match opened {
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(system("making an entry in", &self.path)(error)),
            Ok((file, is_new)) => Ok(Some((Entry::new(file, name), is_new))),
        }
    }

    /// Locks an entry; `false` when somebody is removing it, or has removed it since it was opened.
    fn lock_shared(&self, entry: &Entry) -> Result<bool, CoverError> {
        let fault = system("locking an entry of", &self.path);
        match flock(entry, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => return Ok(false),
            other => other.map_err(&fault)?,
        }
        Ok(fstat(entry).map_err(&fault)?.st_nlink > 0)
    }

    /// Opens the registry, which may have to be made first.
    fn make(&self) -> Result<Option<OwnedFd>, CoverError> {
        match mkdir(self.path.as_bytes(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(system("making", &self.path)(error)),
        }
        open_to_owner(&self.path).map_err(system("opening to its owner", &self.path))?;
        self.open()
    }

    /// Opens the registry, if there is one.
    fn open(&self) -> Result<Option<OwnedFd>, CoverError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let refused = || CoverError::Registry(self.path.clone());
        let registry = match open(self.path.as_bytes(), flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Err(refused()),
            other => other.map_err(system("opening", &self.path))?,
        };
        let stat = fstat(&registry).map_err(system("looking at", &self.path))?;
        let is_open_to_others = Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO);
        if stat.st_uid != geteuid().as_raw() || is_open_to_others {
            return Err(refused());
        }
        Ok(Some(registry))
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Share>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the entry of what stands at `directory` now, not behind a link.
fn entry_name(directory: &AbsPath) -> Result<String, Errno> {
    name_of(CWD, directory.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
}

/// The name of an open directory's entry: its device, its number there, and when it was made, which tells it from one that
/// has got its number since. A command cannot make another one of the same name, as it could of a hash of the path.
pub(super) fn entry_name_of(directory: &OwnedFd) -> Result<String, Errno> {
    name_of(directory, b"", AtFlags::EMPTY_PATH)
}

fn name_of(at: impl AsFd, path: &[u8], flags: AtFlags) -> Result<String, Errno> {
    let found = statx(at, path, flags, StatxFlags::INO | StatxFlags::BTIME)?;
    let made = if found.stx_mask & StatxFlags::BTIME.bits() == 0 {
        (0, 0)
    } else {
        (found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
    };
    let (device, number) = ((found.stx_dev_major, found.stx_dev_minor), found.stx_ino);
    Ok(format!("{:x}.{:x}-{number:x}-{:x}.{:x}", device.0, device.1, made.0, made.1))
}

fn is_entry_name(name: &[u8]) -> bool {
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(|b| b.is_ascii_hexdigit() || *b == b'.');
    name.split(|b| *b == b'-').count() == 3 && name.split(|b| *b == b'-').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::super::{StandIn, Wanted};
    use super::*;

    struct Scene {
        directory: tempfile::TempDir,
        project: AbsPath,
    }

    impl Scene {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let real = std::fs::canonicalize(directory.path()).expect("exists").join("project");
            std::fs::create_dir(&real).expect("writable");
            Scene { directory, project: AbsPath::try_from(real.as_path()).expect("absolute") }
        }

        fn process(&self) -> Registry {
            Registry::new(&AbsPath::try_from(self.directory.path()).expect("absolute"))
        }

        fn wanted(&self) -> Wanted {
            Wanted { covers: [(self.cover(), StandIn::Socket)].into(), ..Wanted::default() }
        }

        fn cover(&self) -> AbsPath {
            self.project.join(".bashrc").expect("no NUL")
        }

        /// A process that holds the one cover, and its entry.
        fn holder(&self) -> (Registry, Arc<Entry>) {
            let process = self.process();
            let entry = process.enter(&self.project).expect("can be entered");
            entry.stand(&self.project, &self.wanted()).expect("can be covered");
            (process, entry)
        }

        fn name(&self) -> String {
            entry_name(&self.project).expect("exists")
        }
    }

    fn stands(scene: &Scene) -> bool {
        scene.cover().as_path().symlink_metadata().is_ok()
    }

    #[test]
    fn an_entry_that_was_removed_before_it_was_locked_is_no_use() {
        let scene = Scene::new();
        let ((one, held), other) = (scene.holder(), scene.process());
        let opened = other.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        one.leave(&held);
        assert!(!other.lock_shared(&opened).expect("can be locked"));
    }

    #[test]
    fn an_entry_that_was_removed_takes_no_covers_of_its_successor_away() {
        let scene = Scene::new();
        let ((one, held), sweeper) = (scene.holder(), scene.process());
        let opened = sweeper.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        one.leave(&held);
        let (successor, held) = scene.holder();
        // The old entry lists the same cover and is locked by nobody.
        sweeper.remove_if_unused(&opened, false).expect("nothing to do");
        assert!(stands(&scene));
        successor.leave(&held);
        assert!(!stands(&scene));
    }

    #[test]
    fn nobody_enters_while_covers_are_being_removed() {
        let scene = Scene::new();
        let process = scene.process();
        let remover = process.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        flock(&remover, FlockOperation::NonBlockingLockExclusive).expect("nobody else has it");
        let opened = process.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        assert!(!process.lock_shared(&opened).expect("no failure"));
    }

    /// Such a one is left by a start that was killed right after, where the umask takes the owner's permissions too.
    #[test]
    fn a_registry_that_its_owner_cannot_enter_is_opened_to_him() {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        let scene = Scene::new();
        let process = scene.process();
        std::fs::DirBuilder::new().mode(0o600).create(process.path().as_path()).expect("writable");
        let entry = process.enter(&scene.project).expect("can be entered");
        let mode = std::fs::metadata(process.path().as_path()).expect("is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        process.leave(&entry);
        assert!(process.path().as_path().symlink_metadata().is_err());
    }

    /// A name of 300 bytes is one that no system call takes.
    #[test]
    fn what_could_not_be_removed_stays_on_the_list_for_a_later_start() {
        use std::io::Write;
        let scene = Scene::new();
        let (process, held) = scene.holder();
        let entry = process.path().as_path().join(scene.name());
        let mut list = std::fs::OpenOptions::new().append(true).open(&entry).expect("is there");
        let never = format!("\0{}/{}\0", scene.project, "n".repeat(300));
        list.write_all(never.as_bytes()).expect("writable");
        process.leave(&held);
        drop(held);
        assert!(!stands(&scene), "the others go");
        assert!(entry.symlink_metadata().is_ok());
        std::fs::write(&entry, "").expect("writable");
        scene.process().sweep();
        assert!(process.path().as_path().symlink_metadata().is_err());
    }

    /// The user may have moved it meanwhile, or a command whose root lies above.
    #[test]
    fn covers_go_with_their_directory_wherever_that_has_gone() {
        let scene = Scene::new();
        let (process, held) = scene.holder();
        let moved = scene.directory.path().join("moved");
        std::fs::rename(scene.project.as_path(), &moved).expect("writable");
        std::fs::create_dir(scene.project.as_path()).expect("writable");
        std::fs::write(scene.cover().as_path(), "").expect("writable");
        process.leave(&held);
        assert_eq!(std::fs::read_dir(&moved).expect("is there").count(), 0);
        assert!(scene.cover().as_path().symlink_metadata().is_ok(), "it is another directory's");
    }

    /// The name is a matter between processes of different builds: it may not change.
    #[test]
    fn a_directory_that_is_made_anew_has_another_entry() {
        let scene = Scene::new();
        let first = scene.name();
        assert_eq!(scene.name(), first);
        assert!(is_entry_name(first.as_bytes()), "{first}");
        let has_time = !first.ends_with("-0.0");
        // The clock of a file system moves on every few milliseconds.
        let moves_on = (0..100_000).any(|_| {
            std::fs::remove_dir(scene.project.as_path()).expect("empty");
            std::fs::create_dir(scene.project.as_path()).expect("writable");
            scene.name() != first
        });
        assert!(!has_time || moves_on, "{first}");
        for other in [&b"lost+found"[..], b"", b"--", b"0123456789abcdef", b"1-2-3-4", b"../1-2-3"] {
            assert!(!is_entry_name(other));
        }
    }
}
