//! Counts since a policy has settled.

use serde::{Deserialize, Serialize};

use crate::{
    goal::Goal,
    policy::Look,
    window::{Done, WindowRule},
};

/// Batches and samples that were completed since a policy has settled.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
pub struct Settled {
    /// Instant from which batches count, in ns.
    pub since_ns: u64,
    /// Completion of the last batch, in ns.
    pub until_ns: u64,
    /// Number of batches.
    pub batches: u64,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples above the target.
    pub violations: u64,
}

impl Settled {
    /// Begins without a batch, at `since_ns`.
    #[must_use]
    pub fn begin(since_ns: u64) -> Self {
        Self { since_ns, until_ns: since_ns, ..Self::default() }
    }

    /// Returns whether the batches are enough for figures: as many as a window has at least.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.batches >= WindowRule::BATCHES_MIN
    }

    /// Returns the number of batches that show whether the tail is within the target: as many as a window takes that
    /// observes the tail. A few often have none above the target even if far too many would be.
    #[must_use]
    pub fn batches_to_tell(goal: &Goal) -> u64 {
        WindowRule::default().batches(goal, Look::Tail, 1)
    }

    /// Returns whether the batches are enough to decide whether the tail is within the target.
    #[must_use]
    pub fn tells(&self, goal: &Goal) -> bool {
        self.batches >= Self::batches_to_tell(goal)
    }

    /// Adds a batch with `violations` samples above the target.
    pub fn push(&mut self, done: &Done, violations: u64) {
        self.until_ns = self.until_ns.max(done.completed_ns);
        self.batches += 1;
        self.samples += done.samples;
        self.violations += violations;
    }

    /// Returns the samples completed in a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    pub fn throughput_qps(&self) -> f64 {
        self.samples as f64 * 1e9 / (self.until_ns - self.since_ns).max(1) as f64
    }

    /// Returns the share of the samples that were above the target.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    pub fn violation_share(&self) -> f64 {
        self.violations as f64 / self.samples.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::Knobs;

    #[test]
    fn a_tail_is_told_by_four_batches_beyond_it_on_average() {
        for (tail, batches) in [(0.5, 8), (0.9, 40), (0.95, 80), (0.99, 400), (0.999, 4000)] {
            let goal = Goal::new(1, tail, Knobs::LEAST);
            let tells = |batches| Settled { batches, ..Settled::default() }.tells(&goal);
            assert_eq!((tells(batches - 1), tells(batches)), (false, true), "{tail}");
        }
    }
}
