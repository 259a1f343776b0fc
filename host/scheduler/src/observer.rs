//! The observer of batches, and the facts that it receives.

use crate::instance::guard;

/// Receives each finished batch.
///
/// Such as a control loop, which learns from it how to turn the knobs by a [`KnobHandle`](crate::KnobHandle).
pub trait BatchObserver: Send + Sync {
    /// Called when the instance of this number has completed the samples of a batch.
    ///
    /// `arrived_ns` has the arrival of each of them in the queue, in the order of the batch, in ns of the scheduler's
    /// clock. The instance counts as busy until this returns, and takes no further batch.
    ///
    /// [instance thread; in virtual time the thread that waits on the clock] Called without a lock of the scheduler, so
    /// it may turn the knobs and issue samples. Short, without allocation: it is part of the time that an instance
    /// needs from batch to batch.
    fn batch_done(&self, instance: usize, done: &BatchDone, arrived_ns: &[u64]);
}

/// Report on one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchDone {
    /// Number of samples of the batch.
    pub samples: usize,
    /// Instant at which the instance got the batch, in ns.
    pub started_ns: u64,
    /// Instant at which its last sample was completed, in ns.
    pub completed_ns: u64,
    /// True if the instance failed.
    pub failed: bool,
    /// Number of its samples that failed: all if the instance did. Samples of a batch that a plugin has in
    /// flight are not counted.
    pub failed_samples: usize,
}

/// Calls the observer. Its panic ends neither the instance nor the run.
pub(crate) fn tell(observer: &dyn BatchObserver, instance: usize, done: &BatchDone, arrived_ns: &[u64]) {
    let told = guard(|| {
        observer.batch_done(instance, done, arrived_ns);
        Ok(())
    });
    if let Err(error) = told {
        tracing::warn!(instance, %error, "the observer of batches failed");
    }
}
