//! Counts since a policy has settled.

use serde::Serialize;

use crate::window::{Done, WindowRule};

/// Batches and samples that were completed since a policy has settled.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Settled {
    /// From when on batches count, in ns.
    pub since_ns: u64,
    /// When the last batch was completed, in ns.
    pub until_ns: u64,
    /// Number of batches.
    pub batches: u64,
    /// Number of samples.
    pub samples: u64,
    /// Samples above the target.
    pub violations: u64,
}

impl Settled {
    /// No batch yet, since `since_ns`.
    #[must_use]
    pub fn begin(since_ns: u64) -> Self {
        Self { since_ns, until_ns: since_ns, ..Self::default() }
    }

    /// Whether the batches are enough to judge by: as many as a window has at least.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.batches >= WindowRule::BATCHES_MIN
    }

    /// Takes a batch, of which `violations` samples were above the target.
    pub fn push(&mut self, done: &Done, violations: u64) {
        self.until_ns = self.until_ns.max(done.completed_ns);
        self.batches += 1;
        self.samples += done.samples;
        self.violations += violations;
    }

    /// Samples completed in a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    pub fn throughput_qps(&self) -> f64 {
        self.samples as f64 * 1e9 / (self.until_ns - self.since_ns).max(1) as f64
    }

    /// Share of the samples that were above the target.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    pub fn violation_share(&self) -> f64 {
        self.violations as f64 / self.samples.max(1) as f64
    }
}
