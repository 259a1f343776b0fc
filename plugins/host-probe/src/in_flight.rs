//! The thread of an instance that does batches which were submitted, the latest first.

use std::{collections::BTreeMap, sync::mpsc, thread, time::Duration};

use parking_lot::Mutex;
use proctor_plugin_api::abi::ProctorSubmitHost;

use crate::{
    batch::Batch,
    objects::{Backend, Instance},
    visit::live,
};

/// The way to the thread of each instance, by the instance's address.
static QUEUES: Mutex<BTreeMap<usize, Worker>> = Mutex::new(BTreeMap::new());

struct Worker {
    queue: mpsc::Sender<Batch>,
    thread: thread::JoinHandle<()>,
}

fn address(instance: &'static Instance) -> usize {
    std::ptr::from_ref(instance).addr()
}

/// Starts the thread of an instance.
pub(crate) fn start(instance: &'static Instance, host: ProctorSubmitHost) {
    let (queue, batches) = mpsc::channel();
    let thread = thread::spawn(move || serve(instance, &host, &batches));
    QUEUES.lock().insert(address(instance), Worker { queue, thread });
}

/// Queues a batch for the thread of an instance.
pub(crate) fn push(instance: &'static Instance, batch: Batch) {
    if let Some(worker) = QUEUES.lock().get(&address(instance)) {
        // The thread takes batches until this end of the queue is dropped.
        let _ = worker.queue.send(batch);
    }
}

/// Ends the thread of an instance, if it has one. Batches that it still has are done before.
pub(crate) fn end(instance: &'static Instance) {
    let worker = QUEUES.lock().remove(&address(instance));
    if let Some(Worker { queue, thread }) = worker {
        drop(queue);
        // It does not panic.
        let _ = thread.join();
    }
}

fn serve(instance: &'static Instance, host: &ProctorSubmitHost, batches: &mpsc::Receiver<Batch>) {
    let backend: &'static Backend = instance.model.backend;
    while let Ok(first) = batches.recv() {
        thread::sleep(Duration::from_micros(backend.options.service_us));
        let mut waiting = vec![first];
        waiting.extend(batches.try_iter());
        // Not in the order in which they came: a host has to know them by their ids.
        for batch in waiting.into_iter().rev() {
            // SAFETY: the host vouches for the batch until it is done, and it has kept its promises.
            unsafe { batch.answer() };
            {
                let mut state = backend.state.lock();
                let model = state.model.as_mut().filter(|loaded| loaded.number == instance.model.number);
                if let Some(loaded) = model {
                    batch.give_back(loaded);
                    if let Some(live) = live(loaded, instance) {
                        live.in_flight -= 1;
                    }
                }
            }
            // The next batch may come before this returns.
            backend.services.done(host, batch.id);
        }
    }
}
