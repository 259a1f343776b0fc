//! Forms batches: the trait, and the registry of the policies in the files of this folder.

mod fixed;
mod size_or_timeout;

use proctor_vocabulary::registry::{self, Named, UnknownName};

use crate::config::SchedulerConfig;

/// Decides when samples leave the queue, and how many.
///
/// A policy is given the time and never reads a clock, so it acts the same in virtual time.
pub trait Policy: Send {
    /// Returns the next action. Called only while at least one sample waits and at least one instance is idle.
    ///
    /// [under the scheduler's lock] Short, without allocation. The answer may depend only on the argument,
    /// because the number of calls is arbitrary.
    fn decide(&self, queue: &QueueState) -> Decision;

    /// Returns whether it starts a batch as soon as a sample waits and an instance is idle, if a batch is one sample.
    /// Such samples bypass the batcher, on a shorter way.
    fn starts_singles_at_once(&self) -> bool {
        false
    }
}

/// State of the queue and the instances, on which a policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// The present, in ns of the scheduler's clock.
    pub now_ns: u64,
    /// Current maximum number of samples in one batch:
    /// [`KnobHandle::set_batch_size`](crate::KnobHandle::set_batch_size) may change it.
    pub batch_size: usize,
    /// Number of samples that wait, at least 1.
    pub waiting: usize,
    /// Arrival of the oldest of them, in ns of the same clock.
    pub oldest_arrived_ns: u64,
    /// Number of instances without a batch, at least 1.
    pub idle_instances: usize,
    /// Number of instances that run a batch.
    pub busy_instances: usize,
    /// The load generator has flushed and nothing has arrived since: nothing else will come to fill a batch.
    pub flushing: bool,
    /// The rest of a query is being taken into the queue at this very moment.
    pub more_coming: bool,
}

/// Decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Start a batch of this many samples now. The batcher limits it to the waiting samples and to the batch size.
    Take(usize),
    /// Wait until this instant, in ns, unless something happens. An instant that has passed means now.
    WaitUntil(u64),
    /// Wait until something happens: an arrival, a flush, an instance that becomes free.
    Wait,
}

/// A policy by name. A file registers its own with `inventory::submit!`.
#[derive(Debug)]
pub struct PolicyEntry {
    /// The name in settings, in kebab case.
    pub name: &'static str,
    /// One sentence for lists.
    pub help: &'static str,
    /// Creates the policy from checked settings.
    pub make: fn(&SchedulerConfig) -> Box<dyn Policy>,
}

inventory::collect!(PolicyEntry);

impl Named for PolicyEntry {
    const KIND: &'static str = "scheduler policy";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Returns all policies, sorted by name.
#[must_use]
pub fn policies() -> Vec<&'static PolicyEntry> {
    registry::sorted(inventory::iter::<PolicyEntry>())
}

/// Returns the policy of this name.
pub(crate) fn find(name: &str) -> Result<&'static PolicyEntry, UnknownName> {
    registry::find(inventory::iter::<PolicyEntry>(), name)
}
