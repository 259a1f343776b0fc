//! The part of a loaded model that all of its instances and threads read.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU32, Ordering},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proctor_plugin_api::{
    Batch, Host, PluginError, Stage, TokenReport,
    vocabulary::{ResponseId, SampleIndex, TensorSpec},
};

use crate::{answers::Answers, memory::MockMemory, service::Service, wait};

/// One for each model. A real plugin has its weights here, once.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) service: Service,
    pub(crate) answers: Answers,
    /// The inputs of a sample, as the host has promised them.
    pub(crate) inputs: Vec<TensorSpec>,
    /// Whether the inputs of a sample may be smaller.
    pub(crate) inputs_vary: bool,
    /// Whether it reports the stages of its work.
    pub(crate) tells_stages: bool,
    /// Number of batches that an instance takes at a time; 0 to execute one after another.
    pub(crate) in_flight: u32,
    /// Number of tokens of each answer; 0 for none.
    pub(crate) tokens: u32,
    /// Time that making an instance takes.
    pub(crate) start: Duration,
    /// Number of instances that there is memory for; 0 for any number.
    pub(crate) instances_max: u32,
    /// Number of the instance that fails batches, counted from 1; 0 for none.
    pub(crate) fail_instance: u32,
    /// Number of batches executed well before the first failure.
    pub(crate) fail_after: u64,
    /// Number of instances.
    instances: AtomicU32,
    /// Whether it counts the threads of its instances, and holds them to these.
    pub(crate) knows_threads: bool,
    /// Threads that have made instances.
    creators: Mutex<HashSet<ThreadId>>,
    /// Number of threads that have begun and not ended. Locked while a count is reported, so that the last report is
    /// the latest.
    threads_begun: Mutex<u32>,
    threads_ended: Mutex<u32>,
    /// Power that is counted as energy, in watts; 0 for none.
    pub(crate) power_w: f64,
    /// Memory for samples, unless that is left to the host.
    pub(crate) memory: Option<MockMemory>,
    /// Instances and threads that are serving right now. Only counted, so no order with other memory is needed.
    busy: AtomicU32,
}

impl Shared {
    pub(crate) fn new(host: Host, service: Service, answers: Answers) -> Self {
        Self {
            host,
            service,
            answers,
            inputs: Vec::new(),
            inputs_vary: false,
            memory: None,
            power_w: 0.0,
            tells_stages: false,
            in_flight: 0,
            tokens: 0,
            start: Duration::ZERO,
            instances_max: 0,
            fail_instance: 0,
            fail_after: 0,
            instances: AtomicU32::new(0),
            knows_threads: false,
            creators: Mutex::default(),
            threads_begun: Mutex::default(),
            threads_ended: Mutex::default(),
            busy: AtomicU32::new(0),
        }
    }

    /// Counts a new instance, and waits for the time that making it takes.
    ///
    /// # Errors
    /// If the memory of the device is used up.
    pub(crate) fn add_instance(&self) -> Result<(), PluginError> {
        let number = self.instances.fetch_add(1, Ordering::Relaxed) + 1;
        if self.instances_max > 0 && number > self.instances_max {
            self.remove_instance();
            return Err(PluginError::out_of_memory(format!(
                "there is no memory for instance {number}: instances_max is {}",
                self.instances_max
            )));
        }
        wait::until(Instant::now(), self.start, &self.host);
        Ok(())
    }

    /// Counts an instance that goes.
    pub(crate) fn remove_instance(&self) {
        self.instances.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts the threads that make instances, in a metric.
    pub(crate) fn count_creator(&self) {
        let mut creators = self.creators.lock();
        creators.insert(thread::current().id());
        self.host.metric("creating_threads", "", creators.len() as f64);
    }

    /// Counts a thread that begins, in a metric.
    pub(crate) fn begin_thread(&self) {
        self.count("threads_begun", &self.threads_begun);
    }

    /// Counts a thread that ends, in a metric.
    pub(crate) fn end_thread(&self) {
        self.count("threads_ended", &self.threads_ended);
    }

    fn count(&self, metric: &str, count: &Mutex<u32>) {
        let mut count = count.lock();
        *count += 1;
        self.host.metric(metric, "", (*count).into());
    }

    /// Counts the caller as busy until the guard is dropped.
    pub(crate) fn serve(&self) -> Busy<'_> {
        Busy { count: self.busy.fetch_add(1, Ordering::Relaxed) + 1, busy: &self.busy }
    }

    /// Returns the instant at which work begins, for reports of its stages; 0 if it reports none.
    pub(crate) fn begin_ns(&self) -> u64 {
        if self.tells_stages { self.host.now_ns() } else { 0 }
    }

    /// Returns the stages of work that began at this instant and ends now. A real plugin has one for each copy, too.
    pub(crate) fn stages_since(&self, begin_ns: u64) -> Option<Stage> {
        self.tells_stages.then(|| Stage::new(Stage::COMPUTE, begin_ns, self.host.now_ns()))
    }

    /// Returns when this time has passed since `begin`. With tokens, each of them comes in its turn, the last one at
    /// the end, and is reported for all of these samples.
    pub(crate) fn take(&self, time: Duration, begin: Instant, ids: impl Iterator<Item = ResponseId>) {
        if self.tokens == 0 {
            return wait::until(begin, time, &self.host);
        }
        let reports: Vec<_> = ids.map(|id| TokenReport::new(id, 1)).collect();
        for number in 1..=self.tokens {
            wait::until(begin, time.mul_f64(f64::from(number) / f64::from(self.tokens)), &self.host);
            self.host.tokens(&reports);
        }
    }

    /// Writes every output of every sample. A real plugin would read `sample.input_f32(0)` and compute.
    pub(crate) fn answer(&self, batch: &mut Batch<'_>) {
        for mut sample in batch.samples() {
            let index = sample.index();
            if let Err(error) = self.answers.check(index) {
                // One bad sample need not fail the batch.
                sample.fail(&error);
                continue;
            }
            for output in 0..self.answers.output_count() {
                let size = self.answers.write(index, output, sample.output_mut(output));
                // The last one may be shorter than its room.
                if size < self.answers.output_size_bytes(output) {
                    sample.set_output_size(output, size);
                }
            }
            sample.set_token_count(self.tokens);
        }
    }

    /// Writes the outputs of one sample to `room`, one after another, as [`Host::complete`] wants them, and returns
    /// their size in bytes.
    pub(crate) fn write_outputs(&self, index: SampleIndex, mut room: &mut [u8]) -> usize {
        let mut size = 0;
        for output in 0..self.answers.output_count() {
            let (bytes, rest) = room.split_at_mut(self.answers.output_size_bytes(output));
            size += self.answers.write(index, output, bytes);
            room = rest;
        }
        size
    }
}

/// An instance or a thread while it serves.
pub(crate) struct Busy<'a> {
    /// Number of those that served when this one began, itself included.
    pub(crate) count: u32,
    busy: &'a AtomicU32,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}
