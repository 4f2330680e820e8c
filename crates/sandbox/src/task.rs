//! A job that blocks, on a thread of its own.
//!
//! A runtime's pool would do, but where no thread can be had it panics, and that is a limit like any other: of this
//! user's processes, or of memory.
//!
//! What this does not do: it keeps no threads for later. There is one such job for a command, or two.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The job's answer to come. Dropped before, it waits for the job.
pub(crate) struct Task<T> {
    answered: oneshot::Receiver<T>,
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Task<T> {
    /// Begins `job`. When there is no thread for it, what it holds is dropped here.
    pub(crate) fn start(job: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (answer, answered) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("palisade-task".into())
            .spawn(move || drop(answer.send(job())))?;
        Ok(Task { answered, thread: Some(thread) })
    }
}

impl<T> Future for Task<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answered).poll(context).map_err(|_| io::Error::other("its thread has panicked"))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[tokio::test]
    async fn a_task_answers_and_its_panic_is_an_error() {
        assert_eq!(Task::start(|| 7).expect("a thread").await.expect("an answer"), 7);
        let panics = Task::start(|| panic!("as it is meant to")).expect("a thread");
        let error: io::Result<()> = panics.await;
        assert!(error.is_err());
    }

    #[test]
    fn nothing_goes_on_after_a_task_is_dropped() {
        let is_done = Arc::new(AtomicBool::new(false));
        let (go, wait) = std::sync::mpsc::channel();
        let done = Arc::clone(&is_done);
        let task = Task::start(move || {
            let _ = wait.recv();
            done.store(true, Ordering::Relaxed);
        });
        go.send(()).expect("it waits");
        drop(task.expect("a thread"));
        assert!(is_done.load(Ordering::Relaxed));
    }
}
