//! An instance of the plugin with the thread of its batches.

use std::{
    mem,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;
use proctor_plugin_host::{Instance, Lane, PluginHostError};
use proctor_vocabulary::{CompletionSink, QuerySample, SampleIndex};
use proctor_words::{HostError, PluginError};

/// An instance in a replay. Its thread begins with its first batch, and ends when this is dropped.
pub(super) struct ReplayedInstance {
    executor: Arc<Mutex<Executor>>,
    sink: Arc<dyn CompletionSink>,
    thread: Option<(SyncSender<Job>, JoinHandle<()>)>,
}

enum Executor {
    Instance(Box<Instance>),
    /// One of its batches in flight: a replay has one at a time.
    Lane(Lane),
    /// No instance was created, for the reported reason.
    Gone,
}

/// A batch, and the channel that reports its end.
type Job = (Vec<QuerySample>, SyncSender<()>);

impl ReplayedInstance {
    pub(super) fn new(instance: Instance, sink: Arc<dyn CompletionSink>) -> Self {
        let executor = Arc::new(Mutex::new(Executor::Instance(Box::new(instance))));
        Self { executor, sink, thread: None }
    }

    /// Warms up on this thread. The recording of the replay holds failures.
    pub(super) fn warm_up(&self, samples: &[SampleIndex]) {
        if let Executor::Instance(instance) = &mut *self.executor.lock() {
            _ = instance.warm_up(samples);
        }
    }

    /// Executes a batch in virtual time, on this thread. The recording of the replay holds failures.
    pub(super) fn execute_virtual(&self, batch: &[QuerySample], busy_instances: u32) {
        if let Executor::Instance(instance) = &mut *self.executor.lock() {
            _ = instance.execute_virtual(batch, busy_instances);
            instance.complete(batch, &*self.sink);
        }
    }

    /// Executes a batch on the thread of the instance, and returns whether it came back within `limit`. The recording
    /// of the replay holds failures.
    ///
    /// # Errors
    /// If there is no thread, or no memory for a batch in flight.
    pub(super) fn execute(&mut self, batch: Vec<QuerySample>, limit: Duration) -> Result<bool, HostError> {
        self.take_lane()?;
        let thread = match &self.thread {
            Some((jobs, _)) => jobs,
            None => &self.thread.insert(self.start()?).0,
        };
        let (done, is_done) = sync_channel(1);
        // The thread ends behind this end of its queue.
        let is_taken = thread.send((batch, done)).is_ok();
        Ok(!is_taken || is_done.recv_timeout(limit) != Err(RecvTimeoutError::Timeout))
    }

    /// Switches to batches in flight, if the instance takes them.
    fn take_lane(&self) -> Result<(), PluginHostError> {
        let mut executor = self.executor.lock();
        let takes = |executor: &Executor| matches!(executor, Executor::Instance(instance) if instance.in_flight_max() > 0);
        if takes(&executor)
            && let Executor::Instance(instance) = mem::replace(&mut *executor, Executor::Gone)
            && let Some(lane) = instance.into_lanes()?.into_iter().next()
        {
            *executor = Executor::Lane(lane);
        }
        Ok(())
    }

    fn start(&self) -> Result<(SyncSender<Job>, JoinHandle<()>), HostError> {
        let (jobs, waiting) = sync_channel(1);
        let (executor, sink) = (Arc::clone(&self.executor), Arc::clone(&self.sink));
        let thread = thread::Builder::new().name("instance".to_owned());
        let spawned = thread.spawn(move || serve(&executor, &*sink, &waiting));
        let thread = spawned.map_err(PluginError::NoThread)?;
        Ok((jobs, thread))
    }
}

fn serve(executor: &Mutex<Executor>, sink: &dyn CompletionSink, jobs: &Receiver<Job>) {
    match &mut *executor.lock() {
        Executor::Instance(instance) => instance.begin_thread(),
        Executor::Lane(lane) => lane.begin_thread(),
        Executor::Gone => {}
    }
    while let Ok((batch, done)) = jobs.recv() {
        match &mut *executor.lock() {
            Executor::Instance(instance) => {
                _ = instance.execute(&batch);
                instance.complete(&batch, sink);
            }
            Executor::Lane(lane) => _ = lane.execute(&batch),
            Executor::Gone => {}
        }
        // Whoever has asked waits for it.
        _ = done.send(());
    }
    match &mut *executor.lock() {
        Executor::Instance(instance) => instance.end_thread(),
        Executor::Lane(lane) => lane.end_thread(),
        Executor::Gone => {}
    }
}

impl Drop for ReplayedInstance {
    fn drop(&mut self) {
        if let Some((jobs, thread)) = self.thread.take() {
            drop(jobs);
            // A panic of it was shown.
            _ = thread.join();
        }
    }
}
