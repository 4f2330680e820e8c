//! The thread that starts every sandbox.
//!
//! The kernel kills a bubblewrap when the thread that started it ends, not when its process does. A thread of a
//! runtime's pool may end at any time, so there is one thread for this alone, which ends with its [`Launcher`].

use crate::error::{Error, system};
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce() + Send>;

/// Runs launches, one after another, on a thread that lives as long as it does.
#[derive(Debug)]
pub(crate) struct Launcher {
    jobs: Sender<Job>,
}

impl Launcher {
    pub(crate) fn start() -> Result<Self, Error> {
        let (jobs, queue) = channel::<Job>();
        std::thread::Builder::new()
            .name("palisade-launch".into())
            .spawn(move || queue.into_iter().for_each(|job| job()))
            .map_err(system("starting the launching thread"))?;
        Ok(Launcher { jobs })
    }

    /// Runs `job` on the thread. When the caller stops waiting, what the job made is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let ended = || system("launching")(std::io::Error::other("the launching thread has ended"));
        self.jobs.send(Box::new(move || drop(answer.send(job())))).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())
    }
}
