//! Figures of a window.

use serde::Serialize;

use crate::{goal::Goal, knobs::Knobs, normal::normal_quantile};

/// Figures of the batches of one window, all of which began with the same knobs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// Where the knobs stood.
    pub knobs: Knobs,
    /// Number of batches.
    pub batches: u64,
    /// Number of samples that were completed.
    pub samples: u64,
    /// Samples whose batch took longer than the target.
    pub violations: u64,
    /// From the start of the window to its last completion, in ns.
    pub duration_ns: u64,
    /// Mean service time, by sample, in ns.
    pub mean_ns: f64,
    /// Service time of the tail, in ns: no more than the allowed fraction of the samples took longer.
    pub tail_ns: u64,
    /// Samples completed in a second; where input is not saturated, samples that would be if it were.
    pub throughput_qps: f64,
    /// Samples that were completed in a second where input is not saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_qps: Option<f64>,
}

impl Seen {
    /// Whether the knobs serve all that arrives: instances have time left, or batches have room, so that what waits is
    /// taken with the next batch, and waiting takes no longer than the target allows a batch.
    #[must_use]
    pub fn serves_all(&self, goal: &Goal) -> bool {
        self.serves_at(goal, 0.75, 1.0)
    }

    /// Whether the knobs still serve all, by a wider limit than [`serves_all`](Self::serves_all): a rate at the edge
    /// turns them once and not in each window.
    #[must_use]
    pub fn still_serves_all(&self, goal: &Goal) -> bool {
        self.serves_at(goal, 0.9, 1.5)
    }

    /// Whether they serve all with this load at most, or this share of full batches, and waits of at most this many
    /// targets.
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    fn serves_at(&self, goal: &Goal, load_max: f64, targets: f64) -> bool {
        let Some(served_qps) = self.served_qps.filter(|_| !self.misses(goal.target_ns)) else { return false };
        let busy = served_qps / self.throughput_qps.max(f64::MIN_POSITIVE);
        let full = self.samples as f64 / (self.batches.max(1) as f64 * self.knobs.batch_size as f64);
        let load = busy * full;
        // Poisson arrivals and equal service times, in heavy traffic: the wait is exponential from a mean of
        // load / (2 (1 - load)) services.
        let services = (load / (1.0 - goal.tail)).ln().max(0.0) * load / (2.0 * (1.0 - load).max(0.01));
        let wait_ns = self.mean_ns * services / self.knobs.instances as f64;
        load <= load_max && (full < load_max || wait_ns <= goal.target_ns as f64 * targets)
    }

    /// Standard deviation of the logarithm of the service time, by tail over mean.
    #[expect(clippy::cast_precision_loss, reason = "below 2^52")]
    pub(crate) fn spread(&self, tail: f64) -> f64 {
        let ln_ratio = (self.tail_ns as f64 / self.mean_ns.max(1.0)).ln().max(0.0);
        ln_ratio / normal_quantile(tail).max(1.0)
    }

    /// Whether more samples were above the target than the tail leaves out.
    #[must_use]
    pub fn misses(&self, target_ns: u64) -> bool {
        self.tail_ns > target_ns
    }
}
