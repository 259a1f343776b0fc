//! Figures of a window.

use serde::{Deserialize, Serialize};

use crate::knobs::Knobs;

/// Figures of the batches of one window, all of which began with the same knobs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
}

impl Seen {
    /// Whether more samples were above the target than the tail leaves out.
    #[must_use]
    pub fn misses(&self, target_ns: u64) -> bool {
        self.tail_ns > target_ns
    }
}
