//! The goal of a policy, and its bounds.

use serde::{Deserialize, Serialize};

use crate::knobs::Knobs;

/// Goal of scaling: maximum throughput within the latency target.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Goal {
    /// Latency that the tail may have, in ns, above 0.
    pub target_ns: u64,
    /// The quantile that is called the tail, in (0, 1): 0.95 in the DNNScaler paper.
    pub tail: f64,
    /// Maximum values of the knobs. Running out of memory lowers them during the run.
    pub most: Knobs,
    /// The knobs that a policy may turn.
    pub approach: Approach,
    /// Fixed knobs, for a knob that is not turned.
    pub base: Knobs,
    /// Start time of an instance, in ns; 0 until one was started.
    pub instance_start_ns: u64,
}

impl Goal {
    /// Creates a goal with both knobs free, from one sample on one instance.
    #[must_use]
    pub fn new(target_ns: u64, tail: f64, most: Knobs) -> Self {
        Self { target_ns, tail, most, approach: Approach::Auto, base: Knobs::LEAST, instance_start_ns: 0 }
    }

    /// Returns whether this share of violations, of `batches`, exceeds the tail's allowance by more than
    /// chance: two standard deviations.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    pub fn is_exceeded(&self, batches: u64, violation_share: f64) -> bool {
        let allowed = 1.0 - self.tail;
        violation_share > allowed + 2.0 * (allowed * self.tail / batches.max(1) as f64).sqrt()
    }

    /// Returns whether this share of violations is no more than the tail leaves out.
    #[must_use]
    pub fn allows(&self, violation_share: f64) -> bool {
        // In binary 1 - 0.9 is less than a tenth.
        violation_share <= 1.0 - self.tail + 1e-9
    }

    /// Returns the minimum that may be set: a knob that is not turned stays where it is.
    #[must_use]
    pub fn least(&self) -> Knobs {
        let base = self.base.within(self.most);
        match self.approach {
            Approach::Auto => Knobs::LEAST,
            Approach::Batching => Knobs { batch_size: 1, ..base },
            Approach::MultiTenancy => Knobs { instances: 1, ..base },
        }
    }

    /// Returns the maximum that may be set.
    #[must_use]
    pub fn greatest(&self) -> Knobs {
        let least = self.least();
        match self.approach {
            Approach::Auto => self.most,
            Approach::Batching => Knobs { instances: least.instances, ..self.most },
            Approach::MultiTenancy => Knobs { batch_size: least.batch_size, ..self.most },
        }
    }
}

/// Knobs that are turned. The other one stays where it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approach {
    /// Both, or the one that the policy finds the better.
    #[default]
    Auto,
    /// The batch size alone.
    Batching,
    /// The number of instances alone.
    MultiTenancy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_the_tail_leaves_out_is_allowed_and_no_more() {
        for tail in [0.9, 0.95, 0.99, 0.999] {
            let goal = Goal::new(1, tail, Knobs::LEAST);
            assert!(goal.allows(0.0) && goal.allows((1e4 * (1.0 - tail)).round() / 1e4), "{tail}");
            assert!(!goal.allows(1.0 - tail + 1e-4), "{tail}");
        }
    }
}
