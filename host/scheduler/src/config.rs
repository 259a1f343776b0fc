//! Settings of a scheduler, and the errors of making one.

use proctor_vocabulary::registry::UnknownName;

/// Settings of the queue, the batcher and the instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Name of the policy that forms batches, one of [`policies`](crate::policies).
    pub policy: String,
    /// Maximum number of samples in one batch, in `1..=BATCH_SIZE_MAX`.
    pub batch_size: usize,
    /// Number of instances of the model that run at the same time, in `1..=INSTANCES_MAX`.
    pub instances: usize,
    /// Bounds within which a [`KnobHandle`](crate::KnobHandle) may turn these two while the scheduler runs;
    /// `None` if nothing turns them.
    pub scaling: Option<ScalingBounds>,
    /// Time that the oldest sample may wait for its batch to fill, in microseconds, in
    /// `0..=BATCH_TIMEOUT_US_MAX`. 0 means not at all. Only policies with a timeout read it.
    pub batch_timeout_us: u64,
    /// Maximum number of samples that wait at once, from the largest batch to `QUEUE_CAPACITY_MAX`. For
    /// Offline at least the samples of the query. 24 bytes of memory each.
    pub queue_capacity: usize,
}

/// Bounds of the knobs while a scheduler runs. Memory for them is allocated at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScalingBounds {
    /// Maximum batch size, in `batch_size..=BATCH_SIZE_MAX`.
    pub batch_size_max: usize,
    /// Maximum number of instances, in `instances..=INSTANCES_MAX`. A retired one counts until it is dropped.
    pub instances_max: usize,
}

impl SchedulerConfig {
    /// Maximum `batch_size`: far above what any device takes, and its histogram is still only 8 MiB.
    pub const BATCH_SIZE_MAX: usize = 1 << 20;
    /// Maximum number of instances: each one is a thread.
    pub const INSTANCES_MAX: usize = 1024;
    /// Maximum batch timeout: one minute, longer than any scenario's latency bound.
    pub const BATCH_TIMEOUT_US_MAX: u64 = 60_000_000;
    /// Maximum queue: 6 GiB.
    pub const QUEUE_CAPACITY_MAX: usize = 1 << 28;

    /// Returns the largest batch that there may ever be.
    #[must_use]
    pub fn batch_size_max(&self) -> usize {
        self.scaling.map_or(self.batch_size, |bounds| bounds.batch_size_max)
    }

    /// Returns the largest number of instances that there may ever be at the same time.
    #[must_use]
    pub fn instances_max(&self) -> usize {
        self.scaling.map_or(self.instances, |bounds| bounds.instances_max)
    }

    /// Returns the batch timeout in nanoseconds.
    #[must_use]
    pub fn batch_timeout_ns(&self) -> u64 {
        self.batch_timeout_us.saturating_mul(1000)
    }
}

impl Default for SchedulerConfig {
    /// Returns one instance, batches of one, and a queue of a million samples: longer than any Server queue that could
    /// still meet a latency bound.
    fn default() -> Self {
        Self {
            policy: "fixed".to_owned(),
            batch_size: 1,
            instances: 1,
            scaling: None,
            batch_timeout_us: 1000,
            queue_capacity: 1 << 20,
        }
    }
}

/// Reason why a scheduler cannot be made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum SchedulerError {
    /// No policy has this name.
    #[error(transparent)]
    UnknownPolicy(#[from] UnknownName),
    #[error("scheduler setting {key} = {got} is out of range; use {min} to {max}")]
    OutOfRange { key: &'static str, got: u64, min: u64, max: u64 },
    #[error("scheduler setting instances = {expected}, but {got} instances were created")]
    InstanceCount { expected: usize, got: usize },
    #[error("cannot start the thread of instance {instance}; lower the scheduler setting instances")]
    Spawn {
        /// Number of the instance, from 0.
        instance: usize,
        #[source]
        source: std::io::Error,
    },
}
