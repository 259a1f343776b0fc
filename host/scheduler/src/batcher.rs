//! The queue and the decision: a pure state machine, without threads, clocks or input and output.
//!
//! Events go in ([`Batcher::arrive`], [`Batcher::instance_free`], [`Batcher::flush`], and the time with each), batches
//! come out ([`Batcher::take_batch`]). After each event the driver takes batches until there are no more, and then
//! calls again at [`Batcher::next_deadline_ns`] or at the next event, whichever comes first.
//!
//! Invariants: each accepted sample leaves once, in order of arrival; a batch has `1..=batch_size` samples,
//! by the batch size at the instant when it is taken; no more batches are out than there are instances.

use std::collections::VecDeque;

use proctor_vocabulary::{QuerySample, ResponseId, SampleIndex};

use crate::config::{SchedulerConfig, SchedulerError};
use crate::policy::{Decision, Policy, QueueState};

/// The queue is full: the last `rejected` samples of the slice were not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// Number of samples that did not fit, at least 1.
    pub rejected: usize,
}

/// The samples of one batch, in order of arrival, and room for them.
#[derive(Debug, Clone)]
pub struct Batch {
    samples: Vec<QuerySample>,
    /// Arrival of each sample, in ns, if requested.
    arrived_ns: Option<Vec<u64>>,
}

impl Batch {
    /// Creates an empty batch with capacity for `size_max` samples, and for their arrivals if requested.
    #[must_use]
    pub fn with_capacity(size_max: usize, with_arrivals: bool) -> Self {
        Self {
            samples: Vec::with_capacity(size_max),
            arrived_ns: with_arrivals.then(|| Vec::with_capacity(size_max)),
        }
    }

    /// Returns the samples of the batch.
    #[must_use]
    pub fn samples(&self) -> &[QuerySample] {
        &self.samples
    }

    /// Returns the arrival of each sample, in ns; empty if it was not requested.
    #[must_use]
    pub fn arrived_ns(&self) -> &[u64] {
        self.arrived_ns.as_deref().unwrap_or_default()
    }
}

/// A bounded queue of samples, and the state that a [`Policy`] decides on.
pub struct Batcher {
    queue: VecDeque<Waiting>,
    policy: Box<dyn Policy>,
    batch_size: usize,
    batch_size_max: usize,
    queue_capacity: usize,
    instances: usize,
    busy: usize,
    flushing: bool,
    more_coming: bool,
    batches: u64,
    batch_size_histogram: Vec<u64>,
    samples_issued: u64,
    samples_rejected: u64,
    queue_depth_max: usize,
}

#[derive(Clone, Copy)]
struct Waiting {
    sample: QuerySample,
    arrived_ns: u64,
}

impl Batcher {
    /// Creates an empty queue with all instances idle. Allocates everything that it will ever need.
    ///
    /// # Errors
    /// Same as [`SchedulerConfig::validate`].
    pub fn new(config: &SchedulerConfig) -> Result<Self, SchedulerError> {
        Ok(Self {
            policy: config.make_policy()?,
            queue: touched_queue(config.queue_capacity),
            batch_size: config.batch_size,
            batch_size_max: config.batch_size_max(),
            queue_capacity: config.queue_capacity,
            instances: config.instances,
            busy: 0,
            flushing: false,
            more_coming: false,
            batches: 0,
            batch_size_histogram: vec![0; config.batch_size_max() + 1],
            samples_issued: 0,
            samples_rejected: 0,
            queue_depth_max: 0,
        })
    }

    /// Adds samples that arrived now or at an earlier instant, from which they wait. `more_coming` says that
    /// the rest of their query follows at once.
    ///
    /// # Errors
    /// [`Busy`] if not all of them fit; the ones that fit are taken.
    pub fn arrive(
        &mut self,
        arrived_ns: u64,
        samples: &[QuerySample],
        more_coming: bool,
    ) -> Result<(), Busy> {
        let room = self.queue_capacity - self.queue.len();
        let taken = &samples[..samples.len().min(room)];
        self.queue.extend(taken.iter().map(|&sample| Waiting { sample, arrived_ns }));
        self.flushing = false;
        self.more_coming = more_coming;

        let rejected = samples.len() - taken.len();
        self.samples_issued += samples.len() as u64;
        self.samples_rejected += rejected as u64;
        self.queue_depth_max = self.queue_depth_max.max(self.queue.len());
        if rejected == 0 { Ok(()) } else { Err(Busy { rejected }) }
    }

    /// Notes that an instance has finished its batch and is idle again.
    ///
    /// # Panics
    /// If no batch is out.
    pub fn instance_free(&mut self) {
        assert!(self.busy > 0, "an instance became free though none was busy");
        self.busy -= 1;
    }

    /// Adds an idle instance.
    pub fn add_instance(&mut self) {
        self.instances += 1;
    }

    /// Removes one idle instance.
    ///
    /// # Panics
    /// If none is idle.
    pub fn remove_instance(&mut self) {
        assert!(self.busy < self.instances, "an instance left that is not idle");
        self.instances -= 1;
    }

    /// Sets the size of the batches that are formed from now on, as near to `batch_size` as the bounds allow, and
    /// returns it.
    pub fn set_batch_size(&mut self, batch_size: usize) -> usize {
        self.batch_size = batch_size.clamp(1, self.batch_size_max);
        self.batch_size
    }

    /// Announces that nothing more comes for now: waiting samples may go in batches that are not full. Holds until the
    /// next arrival.
    pub fn flush(&mut self) {
        self.flushing = true;
        self.more_coming = false;
    }

    /// Replaces the contents of `batch` with the next batch, if one is due now, and counts an instance busy.
    /// Returns the number of busy instances, including this one; `None` if no batch is due.
    ///
    /// `batch` must have room for the largest batch, or it allocates.
    pub fn take_batch(&mut self, now_ns: u64, batch: &mut Batch) -> Option<u32> {
        let size = self.batch_now(now_ns)?;
        if let Some(arrived_ns) = &mut batch.arrived_ns {
            arrived_ns.clear();
            arrived_ns.extend(self.queue.range(..size).map(|waiting| waiting.arrived_ns));
        }
        batch.samples.clear();
        batch.samples.extend(self.queue.drain(..size).map(|waiting| waiting.sample));
        self.busy += 1;
        self.batches += 1;
        self.batch_size_histogram[size] += 1;
        Some(u32::try_from(self.busy).expect("busy <= instances <= INSTANCES_MAX"))
    }

    /// Returns the instant, in ns, at which a batch starts if nothing else happens before; `now_ns` if one is
    /// to start now. `None` if only an event can start a batch.
    #[must_use]
    pub fn next_deadline_ns(&self, now_ns: u64) -> Option<u64> {
        match self.decide(now_ns) {
            Decision::Take(_) => Some(now_ns),
            Decision::WaitUntil(deadline_ns) => Some(deadline_ns.max(now_ns)),
            Decision::Wait => None,
        }
    }

    /// Empties the queue, for a scheduler that ends before its queue is empty.
    pub(crate) fn abandon_queue(&mut self) -> Vec<QuerySample> {
        self.queue.drain(..).map(|waiting| waiting.sample).collect()
    }

    /// Returns the number of samples that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of batches that are out.
    #[must_use]
    pub fn busy_instances(&self) -> usize {
        self.busy
    }

    /// Returns the number of instances, busy ones included.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// Returns room in the queue, in samples.
    #[must_use]
    pub fn queue_capacity(&self) -> usize {
        self.queue_capacity
    }

    /// Returns the number of batches taken so far.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Returns the number of batches of each size, by size.
    #[must_use]
    pub fn batch_size_histogram(&self) -> &[u64] {
        &self.batch_size_histogram
    }

    /// Returns the number of samples that arrived so far, including ones that did not fit.
    #[must_use]
    pub fn samples_issued(&self) -> u64 {
        self.samples_issued
    }

    /// Returns the number of samples that did not fit so far.
    #[must_use]
    pub fn samples_rejected(&self) -> u64 {
        self.samples_rejected
    }

    /// Returns the maximum number of samples that waited at once so far.
    #[must_use]
    pub fn queue_depth_max(&self) -> usize {
        self.queue_depth_max
    }

    /// Returns the size of the batch that is due now.
    fn batch_now(&self, now_ns: u64) -> Option<usize> {
        let wanted = match self.decide(now_ns) {
            Decision::Take(wanted) => wanted,
            // Not after the deadline either, or a driver that comes back at the deadline would come back for ever.
            Decision::WaitUntil(deadline_ns) if deadline_ns <= now_ns => self.batch_size,
            Decision::WaitUntil(_) | Decision::Wait => return None,
        };
        Some(wanted.clamp(1, self.batch_size).min(self.queue.len()))
    }

    fn decide(&self, now_ns: u64) -> Decision {
        let idle_instances = self.instances - self.busy;
        match self.queue.front() {
            Some(oldest) if idle_instances > 0 => self.policy.decide(&QueueState {
                now_ns,
                batch_size: self.batch_size,
                waiting: self.queue.len(),
                oldest_arrived_ns: oldest.arrived_ns,
                idle_instances,
                busy_instances: self.busy,
                flushing: self.flushing,
                more_coming: self.more_coming,
            }),
            _ => Decision::Wait,
        }
    }
}

/// Returns an empty queue whose memory is already there, so that a page fault is not measured as latency.
fn touched_queue(capacity: usize) -> VecDeque<Waiting> {
    let nobody = QuerySample { id: ResponseId::default(), index: SampleIndex::default() };
    let mut queue = VecDeque::with_capacity(capacity);
    queue.resize(capacity, Waiting { sample: nobody, arrived_ns: 1 });
    queue.clear();
    queue
}

#[cfg(all(test, not(loom)))]
mod tests;
