//! Several batches of an instance at a time, each served on a thread as `execute` would.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use parking_lot::Mutex;
use proctor_plugin_api::{PluginError, SubmittedBatch};

use crate::{service::Draw, shared::Shared};

/// Threads that serve batches. They end, and are joined, when this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Only taken by `drop`.
    queue: Option<SyncSender<(SubmittedBatch, Draw)>>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
    /// Batches that it has now.
    count: Arc<AtomicU32>,
    /// Maximum number of batches that it had at a time.
    most: AtomicU32,
}

impl InFlight {
    /// Starts a thread for each of `batch_count` batches.
    pub(crate) fn start(shared: &Arc<Shared>, batch_count: u32) -> Result<Self, PluginError> {
        let (queue, batches) = sync_channel(batch_count as usize);
        let batches = Arc::new(Mutex::new(batches));
        let count = Arc::new(AtomicU32::new(0));
        let mut started = Self {
            queue: Some(queue),
            threads: Vec::new(),
            shared: Arc::clone(shared),
            count: Arc::clone(&count),
            most: AtomicU32::new(0),
        };
        for number in 0..batch_count {
            let (shared, batches, count) = (Arc::clone(shared), Arc::clone(&batches), Arc::clone(&count));
            let thread = thread::Builder::new().name(format!("mock-batch-{number}"));
            started.threads.push(thread.spawn(move || serve(&shared, &batches, &count))?);
        }
        Ok(started)
    }

    /// Queues a batch for a thread. The host passes at most as many batches as there are threads.
    pub(crate) fn push(&self, batch: SubmittedBatch, draw: Draw) -> Result<(), PluginError> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(count, Ordering::Relaxed);
        let sent = self.queue.as_ref().and_then(|queue| queue.send((batch, draw)).ok());
        sent.ok_or_else(|| PluginError::failed("the threads that serve batches have ended"))
    }
}

fn serve(shared: &Shared, batches: &Mutex<Receiver<(SubmittedBatch, Draw)>>, count: &AtomicU32) {
    loop {
        let next = batches.lock().recv();
        let Ok((batch, draw)) = next else { return };
        let (begin_ns, begin) = (shared.begin_ns(), Instant::now());
        let busy = shared.serve();
        batch.finish(&shared.host, |batch| {
            let service_time = shared.service.time(draw, batch.sample_count(), busy.count);
            shared.answer(batch);
            shared.take(service_time, begin, batch.samples().map(|sample| sample.id()));
            batch.set_stages(shared.stages_since(begin_ns).as_slice());
            drop(busy);
            // Before the end is reported, which may bring the next batch at once.
            count.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        });
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A panic has been seen: its batch was never done.
            let _ = thread.join();
        }
        self.shared.host.metric("in_flight", "", self.most.load(Ordering::Relaxed).into());
    }
}
