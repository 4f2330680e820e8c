//! The thread that starts every sandbox.
//!
//! The kernel kills a bubblewrap when the thread that started it ends, not when its process does. A thread of a
//! runtime's pool may end at any time, so there is one thread for this alone, which ends with its [`Launcher`].

use crate::error::{Error, system};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// Runs launches, one after another, on a thread that lives as long as it does. Dropped, it waits for what is still
/// to be done.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// `None` only while it is dropped.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Launcher {
    pub(crate) fn start() -> Result<Self, Error> {
        let (jobs, queue) = channel::<Job>();
        let thread = std::thread::Builder::new()
            .name("palisade-launch".into())
            .spawn(move || queue.into_iter().for_each(|job| job()))
            .map_err(system("starting the launching thread"))?;
        Ok(Launcher { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Begins `job`; its answer can be taken later. What is asked of a thread that has ended has no answer.
    pub(crate) fn begin<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (answer, answered) = channel();
        self.later(move || drop(answer.send(job())));
        answered
    }

    /// Has `job` done when nothing else is to be done before it.
    pub(crate) fn later(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(job));
        }
    }

    /// Waits until everything that was asked for so far is done.
    pub(crate) fn catch_up(&self) {
        let _ = self.begin(|| ()).recv();
    }

    /// The error for a job that was never done.
    pub(crate) fn has_ended() -> Error {
        system("launching")(std::io::Error::other("the launching thread has ended"))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.jobs = None;
        // The last user may be a job on the thread itself, which then ends by itself.
        let thread = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id());
        let _ = thread.map(JoinHandle::join);
    }
}
