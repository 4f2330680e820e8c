//! The registry's directory, and the entries that this process holds.

use super::CoverError;
use super::entry::{Entry, Line, failed, looks_like_cover, system};
use crate::scratch::open_to_owner;
use palisade_policy::AbsPath;
use rustix::fs::{Dir, FlockOperation, Mode, OFlags, flock, fstat, mkdir, open, openat, rmdir, unlink};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often to try again where another process is just removing what we want to use, which is a matter of
/// microseconds: two seconds in all.
const MOST_ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(1);

/// A registry, and what this value holds of it.
#[derive(Debug)]
pub(super) struct Registry {
    path: AbsPath,
    held: Mutex<BTreeMap<AbsPath, Share>>,
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
        if let Some(share) = held.get_mut(directory) {
            share.users += 1;
            return Ok(Arc::clone(&share.entry));
        }
        // Where it fails halfway, what was made for it goes as what a killed process leaves does.
        let entry = Arc::new(self.lock_entry(directory).inspect_err(|_| self.sweep())?);
        held.insert(directory.clone(), Share { users: 1, entry: Arc::clone(&entry) });
        Ok(entry)
    }

    /// A command does not use the covers in `directory` any more. The last one of all processes removes them.
    pub(super) fn leave(&self, directory: &AbsPath) {
        let mut held = self.held();
        let Some(share) = held.get_mut(directory) else { return };
        share.users -= 1;
        if share.users > 0 {
            return;
        }
        let Some(Share { entry, .. }) = held.remove(directory) else { return };
        if let Err(error) = self.remove_if_unused(&entry, &entry_name(directory), true) {
            tracing::warn!("the covers in {directory} could not be removed: {error}");
        }
    }

    /// Removes what a command made where nothing may be left. Its directory is one of those that were entered.
    pub(super) fn remove_unwanted(&self, path: &AbsPath) {
        let entry = path.parent().and_then(|directory| Some(Arc::clone(&self.held().get(&directory)?.entry)));
        if let Some(entry) = entry {
            entry.remove_unwanted(path);
        }
    }

    /// Whether a cover stands at `path`.
    pub(super) fn is_cover(&self, path: &AbsPath) -> bool {
        // Nearly every file is told from a cover by a glance.
        looks_like_cover(path) && self.lists(path, &Line::Cover(path.clone()))
    }

    /// Whether `path` is to be removed when a command is over.
    pub(super) fn is_unwanted(&self, path: &AbsPath) -> bool {
        self.lists(path, &Line::Unwanted(path.clone()))
    }

    fn lists(&self, path: &AbsPath, line: &Line) -> bool {
        let Some(directory) = path.parent() else { return false };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(Some(registry)) = self.open() else { return false };
        let Ok(file) = openat(&registry, entry_name(&directory), flags, Mode::empty()) else { return false };
        Entry::new(file).lines().is_ok_and(|lines| lines.contains(line))
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
                self.remove_if_unused(&Entry::new(file), &name.to_string_lossy(), false)?;
            }
        }
        self.remove_if_empty();
        Ok(())
    }

    /// Removes an entry and its covers, unless somebody else holds it. It stays for a later start where one of them
    /// could not be removed, or is in use. The lock on it is gone afterwards. `is_own` where it was this process's until
    /// now, all of whose commands have ended.
    fn remove_if_unused(&self, entry: &Entry, name: &str, is_own: bool) -> Result<(), CoverError> {
        match flock(entry, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(()),
            other => other.map_err(system("locking an entry of", &self.path))?,
        }
        // Only the holder of this lock unlinks an entry: one without a name was removed before we had the
        // lock.
        let is_removed = fstat(entry).is_ok_and(|stat| stat.st_nlink == 0);
        if !is_removed && entry.remove_covers(is_own) {
            // By its path, which takes no descriptor. The registry was ours when the entry was opened, and it cannot
            // have been replaced since: it is not empty, and `/tmp` is sticky.
            unlink(self.path.as_path().join(name)).map_err(system("removing an entry of", &self.path))?;
            self.remove_if_empty();
        }
        Ok(())
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
            let Some((file, is_new)) = self.open_entry(directory)? else { continue };
            if let Some(entry) = self.lock_shared(file)? {
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
    fn open_entry(&self, directory: &AbsPath) -> Result<Option<(OwnedFd, bool)>, CoverError> {
        let Some(registry) = self.make()? else { return Ok(None) };
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |more| openat(&registry, entry_name(directory), flags | more, Mode::RUSR | Mode::WUSR);
        let opened = match open(OFlags::CREATE | OFlags::EXCL) {
            Err(Errno::EXIST) => open(OFlags::empty()).map(|file| (file, false)),
            made => made.map(|file| (file, true)),
        };
        match opened {
            Err(Errno::NOENT) => Ok(None),
            other => other.map(Some).map_err(system("making an entry in", &self.path)),
        }
    }

    /// Locks an entry; `None` when somebody is removing it, or has removed it since it was opened.
    fn lock_shared(&self, file: OwnedFd) -> Result<Option<Entry>, CoverError> {
        let fault = system("locking an entry of", &self.path);
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other.map_err(&fault)?,
        }
        let is_there = fstat(&file).map_err(&fault)?.st_nlink > 0;
        Ok(is_there.then(|| Entry::new(file)))
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

    fn held(&self) -> MutexGuard<'_, BTreeMap<AbsPath, Share>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a directory's entry: its path's FNV-1a hash. Two directories with one hash share an entry,
/// which lists full paths; their covers then go together. The standard library's hashes may differ between
/// two builds.
fn entry_name(directory: &AbsPath) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", directory.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn is_entry_name(name: &[u8]) -> bool {
    name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit)
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

        /// A process that holds the one cover.
        fn holder(&self) -> Registry {
            let process = self.process();
            let entry = process.enter(&self.project).expect("can be entered");
            entry.stand(&self.project, &self.wanted()).expect("can be covered");
            process
        }
    }

    #[test]
    fn an_entry_that_was_removed_before_it_was_locked_is_no_use() {
        let scene = Scene::new();
        let (one, other) = (scene.holder(), scene.process());
        let opened = other.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        one.leave(&scene.project);
        assert!(other.lock_shared(opened).expect("can be locked").is_none());
    }

    #[test]
    fn an_entry_that_was_removed_takes_no_covers_of_its_successor_away() {
        let scene = Scene::new();
        let (one, sweeper) = (scene.holder(), scene.process());
        let opened = sweeper.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        one.leave(&scene.project);
        let successor = scene.holder();
        // The old entry lists the same cover and is locked by nobody.
        sweeper
            .remove_if_unused(&Entry::new(opened), &entry_name(&scene.project), false)
            .expect("nothing to do");
        assert!(looks_like_cover(&scene.cover()));
        successor.leave(&scene.project);
        assert!(!looks_like_cover(&scene.cover()));
    }

    #[test]
    fn nobody_enters_while_covers_are_being_removed() {
        let scene = Scene::new();
        let process = scene.process();
        let remover = process.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        flock(&remover, FlockOperation::NonBlockingLockExclusive).expect("nobody else has it");
        let opened = process.open_entry(&scene.project).expect("can be opened").expect("is there").0;
        assert!(process.lock_shared(opened).expect("no failure").is_none());
    }

    /// Such a one is left by a start that was killed right after, where the umask takes the owner's permissions too.
    #[test]
    fn a_registry_that_its_owner_cannot_enter_is_opened_to_him() {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        let scene = Scene::new();
        let process = scene.process();
        std::fs::DirBuilder::new().mode(0o600).create(process.path().as_path()).expect("writable");
        process.enter(&scene.project).expect("can be entered");
        let mode = std::fs::metadata(process.path().as_path()).expect("is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        process.leave(&scene.project);
        assert!(process.path().as_path().symlink_metadata().is_err());
    }

    /// A name of 300 bytes is one that no system call takes.
    #[test]
    fn what_could_not_be_removed_stays_on_the_list_for_a_later_start() {
        use std::io::Write;
        let scene = Scene::new();
        let process = scene.holder();
        let entry = process.path().as_path().join(entry_name(&scene.project));
        let mut list = std::fs::OpenOptions::new().append(true).open(&entry).expect("is there");
        let never = format!("\0/{}/x\0", "n".repeat(300));
        list.write_all(never.as_bytes()).expect("writable");
        process.leave(&scene.project);
        assert!(!looks_like_cover(&scene.cover()), "the others go");
        assert!(entry.symlink_metadata().is_ok());
        std::fs::write(&entry, "").expect("writable");
        scene.process().sweep();
        assert!(process.path().as_path().symlink_metadata().is_err());
    }

    /// The name is a matter between processes of different builds: it may not change.
    #[test]
    fn entry_names() {
        let name = |path: &str| entry_name(&AbsPath::new(path).expect("absolute"));
        assert_eq!(name("/"), "af63a24c860189fe");
        assert_ne!(name("/home/u/a"), name("/home/u/b"));
        assert!(is_entry_name(name("/home/u/a").as_bytes()));
        assert!(!is_entry_name(b"lost+found") && !is_entry_name(b"0123456789abcdefg"));
    }
}
