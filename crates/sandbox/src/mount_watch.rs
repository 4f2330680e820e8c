//! Sees to it that a running command's walls are where they were, whatever happens to the files outside.
//!
//! What can happen, and what the attacker makes of it, stands in [`Guard`]. Here is decided what is done: where a file was
//! replaced the new one is shut as the old one was; where nothing stands any more a [cover](crate::cover) does, as if the
//! file had been missing at the start. What cannot be shut again ends the command. Either is a warning, since for a
//! moment the command could read or write what was to be kept from it.
//!
//! What this does not do: it follows no rule anew. What a wildcard would match by now counts from the next command on.

use crate::cover::{Covers, StandIn, Wanted};
use crate::task::Task;
use palisade_bwrap::linux::Guard;
use palisade_policy::AbsPath;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

/// How often to look without being told: nobody tells of what was only moved.
const EACH: Duration = Duration::from_secs(1);

/// How often to mount again what is lost again at once.
const MOST_REPAIRS: usize = 8;

/// How long another process may have a file open for writing that was just put there.
const WHILE_IT_IS_WRITTEN: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

/// A watch over a command's mounts. Dropped, it ends, and nothing of it goes on.
pub(crate) struct MountWatch {
    post: Arc<Post>,
    task: JoinHandle<()>,
}

struct Post {
    guard: Guard,
    /// What stands in for what was there at the start; `None` once the watch has ended.
    covers: Mutex<Option<Vec<Covers>>>,
    warnings: Warnings,
}

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
        let post = Arc::new(Post { guard, covers: Mutex::new(Some(Vec::new())), warnings });
        let task = tokio::spawn(watch(Arc::clone(&post), watched(table)?));
        Ok(MountWatch { post, task })
    }
}

impl Drop for MountWatch {
    fn drop(&mut self) {
        self.task.abort();
        // Waits for a look that is being taken.
        let covers = self.post.covers.lock().unwrap_or_else(PoisonError::into_inner).take();
        if covers.is_some() {
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
    loop {
        tokio::select! {
            changed = table.ready(Interest::PRIORITY) => match changed {
                Ok(mut changed) => changed.clear_ready(),
                Err(_) => tokio::time::sleep(EACH).await,
            },
            () = tokio::time::sleep(EACH) => {}
        }
        let again = Arc::clone(&post);
        let is_over = match Task::start(move || again.look()) {
            // Nobody would look any more.
            Ok(look) => look.await.unwrap_or_else(|_| {
                post.guard.end();
                true
            }),
            // Without a thread for it, it is done here.
            Err(_) => post.look(),
        };
        if is_over {
            return;
        }
    }
}

impl Post {
    /// Sees whether everything is in its place, puts back what is not, and ends the command where that fails. Whether the
    /// watch is over.
    fn look(&self) -> bool {
        let mut covers = self.covers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(covers) = covers.as_mut() else { return true };
        match self.put_back(covers) {
            Ok(restored) => {
                for path in restored {
                    self.warnings.add(format!(
                        "{path} was replaced or moved outside while the command ran; it is shut to the command again, \
                         which could get at it for a moment"
                    ));
                }
                false
            }
            // The last look tells.
            Err(_) if self.guard.has_ended() => false,
            Err((path, reason)) => {
                self.guard.end();
                self.warnings.add(format!(
                    "{path} was replaced or moved outside while the command ran, and could not be shut to it again \
                     ({reason}): the command was ended; look whether it has changed that"
                ));
                true
            }
        }
    }

    /// Says what was lost right before the command's end.
    #[expect(clippy::disallowed_methods, reason = "nobody tells when a name is gone")]
    fn take_last_look(&self) {
        let look = || self.guard.lost().unwrap_or_default();
        let first = if self.guard.has_changed() { look() } else { return };
        if first.is_empty() {
            return;
        }
        // What is being removed loses its mount a moment before its name.
        std::thread::sleep(PAUSE);
        let second = look();
        for path in first.iter().filter(|path| second.contains(path)) {
            self.warnings.add(format!(
                "{path} was replaced outside right before the command ended, which could get at it for a moment"
            ));
        }
    }

    /// Mounts again what was lost, and says where. An error is what could not be, and why.
    fn put_back(&self, covers: &mut Vec<Covers>) -> Result<BTreeSet<AbsPath>, (String, String)> {
        let mut restored = BTreeSet::new();
        let mut failure = ("something".to_owned(), "it is replaced again and again".to_owned());
        // Where the command makes files at that very moment, the next time finds them.
        for _ in 0..MOST_REPAIRS {
            let lost = self.guard.lost().map_err(|error| ("something".to_owned(), error.to_string()))?;
            let Some(first) = lost.first() else { return Ok(restored) };
            match self.shut(&lost, covers) {
                Ok(shut) => {
                    if let Some(path) = shut.iter().find(|path| !is_settled(path)) {
                        return Err((path.to_string(), "some process has it open for writing".to_owned()));
                    }
                    restored.extend(shut);
                }
                Err(reason) => failure = (first.to_string(), reason),
            }
        }
        Err(failure)
    }

    /// Shuts what can be shut of what was lost, and says what that is.
    fn shut(&self, lost: &[AbsPath], covers: &mut Vec<Covers>) -> Result<BTreeSet<AbsPath>, String> {
        let (standing, missing): (Vec<_>, Vec<_>) = lost.iter().cloned().partition(stands);
        // What is below a missing one cannot be made once something stands in for that.
        let tops = missing.into_iter().filter(|path| path.parent().is_some_and(|above| stands(&above)));
        let wanted = tops.map(|path| (path, StandIn::Socket)).collect();
        let wanted = Wanted { covers: wanted, ..Wanted::default() };
        covers.push(Covers::hold(&wanted, false).map_err(|error| error.to_string())?);
        let shut: BTreeSet<AbsPath> = standing.into_iter().chain(wanted.covers.into_keys()).collect();
        self.guard.restore(&shut).map_err(|error| error.to_string())?;
        Ok(shut)
    }
}

fn stands(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok()
}

/// Whether nobody has the file open for writing any more.
#[expect(clippy::disallowed_methods, reason = "nobody tells when a file is closed")]
fn is_settled(path: &AbsPath) -> bool {
    let deadline = Instant::now() + WHILE_IT_IS_WRITTEN;
    while Guard::is_open_for_writing(path) {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}
