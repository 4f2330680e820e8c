//! Sees to it that a running command's walls are where they were, whatever happens to the files outside.
//!
//! What can happen, and what the attacker makes of it, stands in [`Guard`]. Here is decided what is done: where a file was
//! replaced the new one is shut as the old one was; where nothing stands any more a [cover](crate::cover) does, as if the
//! file had been missing at the start. What cannot be shut again ends the command, and so does what the command would
//! not let go of. Either is a warning, since for a moment the command could read or write what was to be kept from it.
//!
//! Nobody outside is to be kept from his work. Who has removed a file may be about to make it anew, as git does: a cover
//! would be in his way, and comes only when he had time for that. And others than the command may use what is shut.
//!
//! What this does not do: it follows no rule anew. What a wildcard would match by now counts from the next command on.

use crate::cover::{Covers, StandIn, Wanted};
use crate::task::Task;
use palisade_bwrap::linux::Guard;
use palisade_policy::AbsPath;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

/// How often to look without being told: nobody tells of what was only moved.
const EACH: Duration = Duration::from_secs(1);

/// How long to wait before another look where something was not as it should be.
const PAUSE: Duration = Duration::from_millis(5);

/// How long what is missing is waited for.
const UNTIL_IT_IS_MADE: Duration = Duration::from_millis(100);

/// How long to try to mount something again, with files that may be changing meanwhile.
const WHILE_IT_FAILS: Duration = Duration::from_millis(50);

/// How long the command may have hold of what was mounted again, as it may by chance.
const WHILE_IT_IS_HELD: Duration = Duration::from_millis(500);

/// How many times in a row nothing of the kind must be found: the processes are looked at one after the other.
const LOOKS: usize = 3;

/// A watch over a command's mounts. Dropped, it ends, and nothing of it goes on.
pub(crate) struct MountWatch {
    post: Arc<Post>,
    task: JoinHandle<()>,
}

struct Post {
    guard: Guard,
    /// `None` once the watch has ended.
    state: Mutex<Option<State>>,
    warnings: Warnings,
}

/// What is known from earlier looks.
#[derive(Default)]
struct State {
    /// What stands in for what was there at the start.
    covers: Vec<Covers>,
    /// Since when something is missing.
    missing: Option<Instant>,
    /// Since when something could not be mounted.
    failing: Option<Instant>,
    /// What is shut again, and perhaps still in the command's hands.
    shut: BTreeSet<AbsPath>,
    /// Since when.
    shut_since: Option<Instant>,
    /// How many looks in a row have found nothing of it in the command's hands.
    free: usize,
    /// What was told of.
    told: BTreeSet<AbsPath>,
}

/// When to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Later,
    Soon,
    Never,
}

/// Something that cannot be shut, and why.
struct Open(String, String);

/// What is to be said of one command. More may come while it runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(crate) fn add(&self, warning: String) {
        tracing::warn!("{warning}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// All so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl MountWatch {
    /// Begins to watch. Must be called in a tokio runtime.
    pub(crate) fn begin(guard: Guard, warnings: Warnings) -> io::Result<Self> {
        let table = guard.changed().try_clone_to_owned()?;
        let post = Arc::new(Post { guard, state: Mutex::new(Some(State::default())), warnings });
        let task = tokio::spawn(watch(Arc::clone(&post), watched(table)?));
        Ok(MountWatch { post, task })
    }
}

impl Drop for MountWatch {
    fn drop(&mut self) {
        self.task.abort();
        // Waits for a look that is being taken.
        let state = self.post.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut state) = state {
            self.post.tell_of_shut(&mut state);
            self.post.take_last_look();
        }
    }
}

fn watched(table: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for the sake of types that give away others' descriptors"
    )]
    AsyncFd::with_interest(table, Interest::PRIORITY)
}

async fn watch(post: Arc<Post>, table: AsyncFd<OwnedFd>) {
    let mut pause = EACH;
    loop {
        tokio::select! {
            changed = table.ready(Interest::PRIORITY) => match changed {
                Ok(mut changed) => changed.clear_ready(),
                Err(_) => tokio::time::sleep(EACH).await,
            },
            () = tokio::time::sleep(pause) => {}
        }
        let again = Arc::clone(&post);
        let next = match Task::start(move || again.look()) {
            // Nobody would look any more.
            Ok(look) => look.await.unwrap_or_else(|_| {
                post.guard.end();
                Next::Never
            }),
            // Without a thread for it, it is done here.
            Err(_) => post.look(),
        };
        pause = match next {
            Next::Later => EACH,
            Next::Soon => PAUSE,
            Next::Never => return,
        };
    }
}

impl Post {
    /// Sees whether everything is in its place, puts back what is not, and ends the command where that fails.
    fn look(&self) -> Next {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_mut() else { return Next::Never };
        match self.put_back(state) {
            Ok(next) => next,
            // The last look tells.
            Err(_) if self.guard.has_ended() => Next::Later,
            Err(Open(path, reason)) => {
                self.guard.end();
                state.shut.clear();
                self.warnings.add(format!(
                    "{path} was replaced or moved outside while the command ran, and could not be shut to it again \
                     ({reason}): the command was ended; look whether it has changed that"
                ));
                Next::Never
            }
        }
    }

    /// Says what was lost right before the command's end.
    #[expect(clippy::disallowed_methods, reason = "nobody tells when a name is gone")]
    fn take_last_look(&self) {
        let look = || self.guard.lost().unwrap_or_default();
        // Of what was moved nobody has told.
        let first = look();
        if first.is_empty() {
            return;
        }
        // What is being removed loses its mount a moment before its name.
        std::thread::sleep(PAUSE);
        let second = look();
        // What the command could not make has only gone.
        for path in first.iter().filter(|path| second.contains(path) && stands(path)) {
            self.warnings.add(format!(
                "{path} was replaced outside right before the command ended, which could get at it for a moment"
            ));
        }
    }

    /// Mounts again what was lost, and tells of it once the command has no hold of it.
    fn put_back(&self, state: &mut State) -> Result<Next, Open> {
        let lost = self.guard.lost().map_err(|error| Open("something".to_owned(), error.to_string()))?;
        match self.shut(&lost, state) {
            Ok(shut) => {
                state.failing = None;
                if !shut.is_empty() {
                    state.shut.extend(shut);
                    (state.shut_since, state.free) = (None, 0);
                }
            }
            // Where somebody makes files at that very moment, the next time finds them.
            Err(_) if is_recent(&mut state.failing, WHILE_IT_FAILS) => {}
            Err(reason) => {
                return Err(Open(lost.first().map(AbsPath::to_string).unwrap_or_default(), reason));
            }
        }
        self.look_whether_it_is_free(state)?;
        Ok(if lost.is_empty() && state.shut.is_empty() { Next::Later } else { Next::Soon })
    }

    /// The command does not go on if it does not let go of what is shut.
    fn look_whether_it_is_free(&self, state: &mut State) -> Result<(), Open> {
        if state.shut.is_empty() {
            return Ok(());
        }
        match self.find_open(&state.shut) {
            None => state.free += 1,
            Some(_) if self.guard.has_ended() => state.free = LOOKS,
            Some(_) if is_recent(&mut state.shut_since, WHILE_IT_IS_HELD) => state.free = 0,
            Some(open) => return Err(open),
        }
        if state.free >= LOOKS {
            self.tell_of_shut(state);
        }
        Ok(())
    }

    fn tell_of_shut(&self, state: &mut State) {
        for path in std::mem::take(&mut state.shut) {
            if !state.told.contains(&path) {
                self.warnings.add(format!(
                    "{path} was replaced or moved outside while the command ran; it is shut to the command again, \
                     which could get at it for a moment"
                ));
                state.told.insert(path);
            }
        }
    }

    /// Shuts what can be shut of what was lost, and says what that is.
    fn shut(&self, lost: &[AbsPath], state: &mut State) -> Result<BTreeSet<AbsPath>, String> {
        let (standing, missing): (Vec<_>, Vec<_>) = lost.iter().cloned().partition(stands);
        let mut shut: BTreeSet<AbsPath> = standing.into_iter().collect();
        if missing.is_empty() {
            state.missing = None;
        } else if !is_recent(&mut state.missing, UNTIL_IT_IS_MADE) {
            // What is below a missing one cannot be made once something stands in for that.
            let tops = missing.into_iter().filter(|path| path.parent().is_some_and(|above| stands(&above)));
            let covers = tops.map(|path| (path, StandIn::Socket)).collect();
            let wanted = Wanted { covers, ..Wanted::default() };
            state.covers.push(Covers::hold(&wanted, false).map_err(|error| error.to_string())?);
            shut.extend(wanted.covers.into_keys());
        }
        if !shut.is_empty() {
            self.guard.restore(&shut).map_err(|error| error.to_string())?;
        }
        Ok(shut)
    }

    fn find_open(&self, shut: &BTreeSet<AbsPath>) -> Option<Open> {
        if let Some(path) = shut.iter().find(|path| has_other_name(path)) {
            return Some(Open(path.to_string(), "it has another name".to_owned()));
        }
        match self.guard.find_held(shut) {
            Ok(None) => None,
            Ok(Some(path)) => Some(Open(path.to_string(), "the command had got hold of it".to_owned())),
            Err(error) => {
                let path = shut.first().map_or_else(|| "something".to_owned(), AbsPath::to_string);
                Some(Open(path, format!("not every process of the command's can be looked at: {error}")))
            }
        }
    }
}

/// Whether `since` is no longer ago than `most`; it begins now, if it has not.
fn is_recent(since: &mut Option<Instant>, most: Duration) -> bool {
    since.get_or_insert_with(Instant::now).elapsed() < most
}

/// Whether the file is to be had by another name as well, which the command may have given it. Covers have many.
fn has_other_name(path: &AbsPath) -> bool {
    let has_more = |metadata: Metadata| metadata.is_file() && metadata.nlink() > 1;
    path.as_path().symlink_metadata().is_ok_and(has_more) && Covers::is_uncovered(path)
}

fn stands(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok()
}
