//! Counts that a scheduler keeps.

use crate::batcher::Batcher;

/// Counts of one scheduler since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// Number of batches started.
    pub batches: u64,
    /// Number of batches of each size: element `n` counts the batches of `n` samples. Element 0 is always 0.
    pub batch_size_histogram: Vec<u64>,
    /// Number of issued samples, including ones that did not fit.
    pub samples_issued: u64,
    /// Number of samples that did not fit into the queue and were failed.
    pub samples_rejected: u64,
    /// Maximum number of samples that waited at once.
    pub queue_depth_max: usize,
    /// Room in the queue, in samples.
    pub queue_capacity: usize,
    /// Time that each instance has spent on batches, completion included, in ns. A batch counts when it is over.
    pub busy_ns: Vec<u64>,
    /// Batches that failed.
    pub failures: FailureLog,
}

impl Statistics {
    pub(crate) fn new(batcher: &Batcher, busy_ns: Vec<u64>, failures: FailureLog) -> Self {
        Self {
            batches: batcher.batches(),
            batch_size_histogram: batcher.batch_size_histogram().to_vec(),
            samples_issued: batcher.samples_issued(),
            samples_rejected: batcher.samples_rejected(),
            queue_depth_max: batcher.queue_depth_max(),
            queue_capacity: batcher.queue_capacity(),
            busy_ns,
            failures,
        }
    }

    /// Returns the mean number of samples of a batch, 0 if there was no batch.
    #[must_use]
    pub fn batch_size_mean(&self) -> f64 {
        let samples: u64 =
            (0..).zip(&self.batch_size_histogram).map(|(size, count): (u64, _)| size * count).sum();
        if self.batches == 0 { 0.0 } else { samples as f64 / self.batches as f64 }
    }

    /// Returns each reason why these counts make a run INVALID; empty if there are no reasons.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let queue_full = (self.samples_rejected > 0).then_some(Problem::QueueFull {
            rejected: self.samples_rejected,
            issued: self.samples_issued,
            capacity: self.queue_capacity,
        });
        let FailureLog { batches, samples, first } = &self.failures;
        let failed = first.first().map(|first| Problem::BatchesFailed {
            batches: *batches,
            samples: *samples,
            first: first.clone(),
        });
        queue_full.into_iter().chain(failed).collect()
    }
}

/// Formats `1 batch`, `2 batches`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A count of a scheduler that makes a run INVALID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum Problem {
    #[error(
        "queue full: {rejected} of {issued} samples did not fit into queue_capacity = {capacity} and were failed; \
         raise queue_capacity (Offline needs room for the whole query) or, in Server, lower the rate"
    )]
    QueueFull { rejected: u64, issued: u64, capacity: usize },
    #[error(
        "{} of {} failed; the first on instance {}: {}",
        counted(*samples, "sample", "samples"), counted(*batches, "batch", "batches"), first.instance, first.message
    )]
    BatchesFailed { batches: u64, samples: u64, first: Failure },
}

/// The batches that failed: all counted, the first ones kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailureLog {
    /// Number of failed batches.
    pub batches: u64,
    /// Number of samples in them.
    pub samples: u64,
    /// The first ones, at most [`FailureLog::KEPT`].
    pub first: Vec<Failure>,
}

impl FailureLog {
    /// Maximum number of failures that are kept with their message. The first ones show the cause; the rest
    /// are mostly the same.
    pub const KEPT: usize = 8;

    pub(crate) fn record(&mut self, instance: usize, samples: usize, message: String) {
        self.batches += 1;
        self.samples += samples as u64;
        if self.first.len() < Self::KEPT {
            self.first.push(Failure { instance, samples, message });
        }
    }
}

/// One batch that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Number of the instance, from 0.
    pub instance: usize,
    /// Number of samples of the batch.
    pub samples: usize,
    /// The reason that the instance gave.
    pub message: String,
}
