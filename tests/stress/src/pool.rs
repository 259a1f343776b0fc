//! Threads that take queued samples, from either end in turn, and complete them in pieces of a few samples.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use proctor_loadgen::SystemUnderTest;
use proctor_vocabulary::{CompletionSink, QuerySample};

use crate::scheduled::complete;

/// A system that takes whole queries.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    samples: Vec<QuerySample>,
    is_closed: bool,
}

impl Pool {
    /// Starts its threads.
    pub(crate) fn start(sink: &Arc<dyn CompletionSink>) -> Self {
        let shared = Arc::<Shared>::default();
        let threads = (1..=3).map(|piece_length| {
            let (shared, sink) = (Arc::clone(&shared), Arc::clone(sink));
            thread::spawn(move || shared.work(&*sink, piece_length))
        });
        Self { threads: threads.collect(), shared }
    }
}

impl Shared {
    fn with_queue(&self, change: impl FnOnce(&mut Queue)) {
        change(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.filled.notify_all();
    }

    fn work(&self, sink: &dyn CompletionSink, piece_length: usize) {
        let mut from_front = false;
        while let Some(piece) = self.take(piece_length, from_front) {
            from_front = !from_front;
            complete(&piece, sink);
        }
    }

    /// Returns a few queued samples, or `None` once the pool closes.
    fn take(&self, count: usize, from_front: bool) -> Option<Vec<QuerySample>> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |queue: &mut Queue| queue.samples.is_empty() && !queue.is_closed;
        let mut queue = self.filled.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner);
        let length = queue.samples.len();
        let count = count.min(length);
        let range = if from_front { 0..count } else { length - count..length };
        (length > 0).then(|| queue.samples.drain(range).collect())
    }
}

impl SystemUnderTest for Pool {
    fn name(&self) -> &str {
        "pool"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.shared.with_queue(|queue| queue.samples.extend_from_slice(samples));
    }

    fn flush(&self) {}
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.with_queue(|queue| queue.is_closed = true);
        for thread in self.threads.drain(..) {
            thread.join().expect("no thread of the pool panics");
        }
    }
}
