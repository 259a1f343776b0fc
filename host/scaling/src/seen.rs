//! Figures of a window.

use serde::{Deserialize, Serialize};

use crate::{goal::Goal, knobs::Knobs, normal::normal_quantile};

/// Figures of the batches of one window, all of which began with the same knobs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Seen {
    /// Knobs of the window.
    pub knobs: Knobs,
    /// Number of batches.
    pub batches: u64,
    /// Number of samples that were completed.
    pub samples: u64,
    /// Number of samples whose batch took longer than the target.
    pub violations: u64,
    /// Time from the start of the window to its last completion, in ns.
    pub duration_ns: u64,
    /// Mean service time, by sample, in ns.
    pub mean_ns: f64,
    /// Service time of the tail, in ns: no more than the allowed fraction of the samples took longer.
    pub tail_ns: u64,
    /// Number of samples completed per second; extrapolated to saturation if input is not saturated.
    pub throughput_qps: f64,
    /// Number of samples completed per second if input is not saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_qps: Option<f64>,
}

impl Seen {
    /// Returns whether the knobs serve all arrivals within half of the latency target, with a quarter of
    /// their capacity to spare.
    #[must_use]
    pub fn serves_all(&self, goal: &Goal) -> bool {
        self.serves_at(goal, 0.75, 0.8)
    }

    /// Returns whether the knobs still serve all, by a wider limit than [`serves_all`](Self::serves_all): a
    /// rate at the edge turns them once and not in each window.
    #[must_use]
    pub fn still_serves_all(&self, goal: &Goal) -> bool {
        self.serves_at(goal, 0.9, 1.0)
    }

    /// Returns whether they serve all at this load at most, and within this share of the target of the latency.
    #[expect(clippy::cast_precision_loss, reason = "counts and times below 2^52")]
    fn serves_at(&self, goal: &Goal, load_max: f64, share: f64) -> bool {
        let Some(served_qps) = self.served_qps.filter(|_| !self.misses(goal.target_ns)) else { return false };
        let busy = served_qps / self.throughput_qps.max(f64::MIN_POSITIVE);
        let in_batch = self.samples as f64 / self.batches.max(1) as f64;
        let batch_size = self.knobs.batch_size as f64;
        let load = busy * in_batch / batch_size;
        // With this much room a batch takes everything that came while the one before it was served, even if chance
        // brings more; then nothing waits for longer than a batch takes, and half of the target is for that.
        let takes_all = in_batch + 3.0 * in_batch.sqrt() <= batch_size;
        let wait_ns = self.mean_ns * waiting_services(load, self.knobs.instances, goal.tail);
        let latency_ns = wait_ns + self.tail_ns as f64;
        load <= load_max && (takes_all || latency_ns <= 2.0 * goal.target_ns as f64 * share)
    }

    /// Returns the standard deviation of the logarithm of the service time, by tail over mean.
    #[expect(clippy::cast_precision_loss, reason = "below 2^52")]
    pub(crate) fn spread(&self, tail: f64) -> f64 {
        let ln_ratio = (self.tail_ns as f64 / self.mean_ns.max(1.0)).ln().max(0.0);
        ln_ratio / normal_quantile(tail).max(1.0)
    }

    /// Returns whether more samples were above the target than the tail leaves out.
    #[must_use]
    pub fn misses(&self, target_ns: u64) -> bool {
        self.tail_ns > target_ns
    }
}

/// Returns the services that a sample waits for, at the tail, at a load in (0, 1) of instances with equal service times
/// and Poisson arrivals.
///
/// In heavy traffic the wait of waiting samples is exponential, with a mean of `1 / (2 (1 - load))` services
/// of all instances (Kingman), and a share of about the load waits. That is somewhat long if the load is low
/// or instances are several.
#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn waiting_services(load: f64, instances: usize, tail: f64) -> f64 {
    let mean = 1.0 / (2.0 * (1.0 - load).max(0.01) * instances as f64);
    (load / (1.0 - tail)).ln().max(0.0) * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wait at the tail in services, of a queue of Poisson arrivals before instances that take 1 each.
    fn simulated_wait(load: f64, instances: usize, tail: f64) -> f64 {
        let (mut state, mut now) = (7_u64, 0.0);
        let mut free_at = vec![0.0_f64; instances];
        let mut waits: Vec<f64> = (0..400_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                now -= uniform.ln() / (load * instances as f64);
                let first = free_at.iter_mut().min_by(|one, other| one.total_cmp(other)).unwrap();
                let start = now.max(*first);
                *first = start + 1.0;
                start - now
            })
            .collect();
        waits.sort_unstable_by(f64::total_cmp);
        waits[(waits.len() as f64 * tail) as usize]
    }

    #[test]
    fn the_wait_is_that_of_a_queue_or_somewhat_longer() {
        for tail in [0.95, 0.99] {
            for (instances, loads) in
                [(1, &[0.3, 0.5, 0.6, 0.75, 0.9][..]), (2, &[0.5, 0.75, 0.9]), (4, &[0.75, 0.9])]
            {
                for load in loads {
                    let ratio =
                        waiting_services(*load, instances, tail) / simulated_wait(*load, instances, tail);
                    assert!((0.97..1.7).contains(&ratio), "{load} of {instances} at {tail}: {ratio}");
                }
            }
        }
    }
}
