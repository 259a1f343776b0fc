//! The thread that completes issued samples, on the other side of a bounded queue without locks.
//!
//! The thread takes samples as long as there are any, then looks for a while, then parks. Before it parks it says so in
//! `is_parked` and looks once more; the issuing thread pushes and then looks at `is_parked`. Between the two steps of
//! each side stands a fence, so one of them sees the other, and no sample is left behind with the thread asleep.

use std::{
    hint,
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            fence,
        },
    },
    thread::{self, JoinHandle},
};

use crossbeam_queue::ArrayQueue;
use parking_lot::Mutex;
use proctor_plugin_api::{PluginError, vocabulary::QuerySample};

use crate::answers::Answers;

/// Maximum number of samples that wait. It fits into the nearest caches, and is far more than the thread is ever
/// behind.
const QUEUE_CAPACITY: usize = 1024;
/// Number of looks at an empty queue before the thread parks: some ten microseconds.
const LOOKS: u32 = 1000;
/// Number of looks at a full queue before the issuing thread yields its processor.
const LOOKS_AT_FULL: u32 = 100;

/// The thread, if it runs, and the queue that feeds it. The thread is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    answers: Arc<Answers>,
    queue: ArrayQueue<QuerySample>,
    is_parked: AtomicBool,
    is_stopping: AtomicBool,
}

impl Worker {
    pub(crate) fn new(answers: Arc<Answers>) -> Self {
        let shared = Shared {
            answers,
            queue: ArrayQueue::new(QUEUE_CAPACITY),
            is_parked: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// Starts the thread.
    pub(crate) fn start(&self) -> Result<(), PluginError> {
        self.stop()?;
        self.shared.is_stopping.store(false, Relaxed);
        let shared = Arc::clone(&self.shared);
        let spawned = thread::Builder::new().name("null".to_owned()).spawn(move || shared.serve());
        let thread =
            spawned.map_err(|error| PluginError::failed(format!("cannot start a thread: {error}")))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Hands the samples over. Waits while the queue is full.
    pub(crate) fn push(&self, samples: impl Iterator<Item = QuerySample>) -> Result<(), PluginError> {
        for sample in samples {
            if self.shared.queue.push(sample).is_err() {
                self.push_when_there_is_room(sample)?;
            }
        }
        self.wake();
        Ok(())
    }

    fn push_when_there_is_room(&self, sample: QuerySample) -> Result<(), PluginError> {
        let mut look_count = 0;
        while self.shared.queue.push(sample).is_err() {
            self.wake();
            look_count += 1;
            if look_count % LOOKS_AT_FULL == 0 {
                if self.thread.lock().is_none() {
                    return Err(PluginError::wrong_state("a query was issued before start or after stop"));
                }
                thread::yield_now();
            }
            hint::spin_loop();
        }
        Ok(())
    }

    /// Wakes the thread if it is parked.
    fn wake(&self) {
        fence(SeqCst);
        if self.shared.is_parked.load(Relaxed)
            && let Some(thread) = &*self.thread.lock()
        {
            thread.thread().unpark();
        }
    }

    /// Lets the thread complete the waiting samples, and waits for it to end.
    pub(crate) fn stop(&self) -> Result<(), PluginError> {
        let Some(thread) = self.thread.lock().take() else { return Ok(()) };
        self.shared.is_stopping.store(true, Release);
        thread.thread().unpark();
        thread.join().map_err(|_| PluginError::failed("the thread that completes samples has panicked"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A panic was reported when it happened.
        let _ = self.stop();
    }
}

impl Shared {
    /// Completes samples until it is asked to stop and there are none left.
    fn serve(&self) {
        let mut look_count = 0;
        loop {
            if self.complete_waiting() {
                look_count = 0;
                continue;
            }
            // Looked at before the queue is looked at for the last time, so nothing that came before the stop is lost.
            if self.is_stopping.load(Acquire) {
                self.complete_waiting();
                return;
            }
            look_count += 1;
            if look_count < LOOKS {
                hint::spin_loop();
            } else {
                self.park();
                look_count = 0;
            }
        }
    }

    /// Completes the waiting samples, and returns whether there were any.
    fn complete_waiting(&self) -> bool {
        let Some(first) = self.queue.pop() else { return false };
        let others = std::iter::from_fn(|| self.queue.pop());
        self.answers.complete(std::iter::once(first).chain(others).map(|sample| sample.id));
        true
    }

    fn park(&self) {
        self.is_parked.store(true, Relaxed);
        fence(SeqCst);
        if self.queue.is_empty() && !self.is_stopping.load(Acquire) {
            thread::park();
        }
        self.is_parked.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::{
        Host,
        vocabulary::{ResponseId, SampleIndex},
    };

    use super::*;

    fn worker() -> Worker {
        Worker::new(Arc::new(Answers::new(Host::detached(), 4)))
    }

    fn samples(count: usize) -> Vec<QuerySample> {
        vec![QuerySample { id: ResponseId(1), index: SampleIndex(0) }; count]
    }

    #[test]
    fn a_query_larger_than_the_queue_passes_through_and_nothing_is_left_at_the_stop() {
        let worker = worker();
        for _ in 0..2 {
            worker.start().unwrap();
            worker.push(samples(10 * QUEUE_CAPACITY).into_iter()).unwrap();
            worker.stop().unwrap();
            assert!(worker.shared.queue.is_empty());
        }
    }

    #[test]
    fn a_parked_thread_is_woken_by_one_sample() {
        let worker = worker();
        worker.start().unwrap();
        for _ in 0..3 {
            while !worker.shared.is_parked.load(Relaxed) {
                thread::yield_now();
            }
            worker.push(samples(1).into_iter()).unwrap();
            while !worker.shared.queue.is_empty() {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn without_the_thread_a_full_queue_is_an_error_instead_of_a_wait() {
        let error = worker().push(samples(QUEUE_CAPACITY + 1).into_iter()).unwrap_err();
        assert_eq!(error.status, proctor_plugin_api::abi::PROCTOR_STATUS_WRONG_STATE);
    }
}
