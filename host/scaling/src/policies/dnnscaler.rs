//! `dnnscaler`: the Profiler and the Scaler of the paper, with their names.
//!
//! Source: Nabavinejad, Ebrahimi, Reda, "Throughput Maximization of DNN Inference: Batching or Multi-Tenancy?",
//! sections 3.2 and 3.3 and Algorithm 1. Where the text and the algorithm part, or the algorithm would cycle, the
//! modules say so:
//!
//! - [`profiler`] chooses batching or multi-tenancy (equations 3 to 5).
//! - [`batching`] is the Scaler's pseudo-binary search over batch sizes.
//! - [`multi_tenancy`] is the Scaler for instances: an estimate of all latencies by matrix completion, then one by one.

mod batching;
mod multi_tenancy;
mod profiler;
mod rest;

use crate::{
    curves::CurveLibrary,
    goal::{Approach, Goal},
    policy::{Move, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

use batching::Batching;
use multi_tenancy::MultiTenancy;
use profiler::{Profiler, Step};

/// Settings of the policy. The defaults are the paper's.
#[derive(Debug, Clone)]
pub struct DnnScalerSettings {
    /// alpha: a tail between `alpha * target` and the target is left alone, in (0, 1).
    pub alpha: f64,
    /// m: the batch size that is profiled in addition to 1.
    pub profiled_batch_size: usize,
    /// n: the number of instances that is profiled in addition to 1.
    pub profiled_instances: usize,
    /// Variant of the rules.
    pub variant: Variant,
    /// Measured curves of other networks.
    pub curves: CurveLibrary,
}

impl Default for DnnScalerSettings {
    fn default() -> Self {
        Self {
            alpha: 0.85,
            profiled_batch_size: 32,
            profiled_instances: 8,
            variant: Variant::Text,
            curves: CurveLibrary::of_the_paper(),
        }
    }
}

/// The variants in which the paper gives its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The text of section 3.3, with a rest where the search would continue forever.
    Text,
    /// Algorithm 1 to the letter, except for line 13: the tail is the last window's.
    Algorithm,
    /// Algorithm 1 to the letter, with the largest tail since the start in line 13.
    AlgorithmSinceStart,
}

/// The policy of the paper.
pub struct DnnScaler {
    settings: DnnScalerSettings,
    stage: Stage,
    /// The largest tail since the start, in ns.
    largest_tail_ns: u64,
}

enum Stage {
    Profiler(Profiler),
    Batching(Batching),
    MultiTenancy(MultiTenancy),
}

impl DnnScaler {
    /// Returns the policy with these settings.
    #[must_use]
    pub fn new(settings: DnnScalerSettings) -> Self {
        Self { settings, stage: Stage::Profiler(Profiler::default()), largest_tail_ns: 0 }
    }

    /// Returns the window with the tail that the rules of this variant use.
    fn read(&mut self, seen: &Seen) -> Seen {
        self.largest_tail_ns = self.largest_tail_ns.max(seen.tail_ns);
        match self.settings.variant {
            Variant::AlgorithmSinceStart => Seen { tail_ns: self.largest_tail_ns, ..*seen },
            Variant::Text | Variant::Algorithm => *seen,
        }
    }

    fn batching(&mut self, goal: &Goal, reason: Reason) -> Move {
        self.stage = Stage::Batching(Batching::new(goal, &self.settings));
        Move::to(goal.least(), reason)
    }

    fn profile(&mut self, goal: &Goal, profiler: Profiler) -> Move {
        let step = profiler.next(goal, &self.settings);
        match step {
            Step::Look(at) => {
                self.stage = Stage::Profiler(profiler);
                at
            }
            Step::Batching(reason) => self.batching(goal, reason),
            Step::MultiTenancy(reason) => {
                let (scaler, first) = MultiTenancy::begin(goal, &self.settings, &profiler, reason);
                self.stage = Stage::MultiTenancy(scaler);
                first
            }
        }
    }
}

impl ScalingPolicy for DnnScaler {
    fn begin(&mut self, goal: &Goal) -> Move {
        match goal.approach {
            Approach::Batching => self.batching(goal, Reason::Given),
            Approach::Auto | Approach::MultiTenancy => self.profile(goal, Profiler::default()),
        }
    }

    fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        let seen = match self.stage {
            Stage::Profiler(_) => *seen,
            _ => self.read(seen),
        };
        match &mut self.stage {
            Stage::Profiler(profiler) => {
                let mut profiler = *profiler;
                profiler.take(&seen);
                self.profile(goal, profiler)
            }
            Stage::Batching(scaler) => scaler.decide(goal, &seen),
            Stage::MultiTenancy(scaler) => scaler.decide(goal, &seen),
        }
    }

    fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool {
        match &mut self.stage {
            Stage::Profiler(_) => false,
            Stage::Batching(scaler) => scaler.is_content(goal, seen),
            Stage::MultiTenancy(scaler) => scaler.is_content(goal, seen),
        }
    }

    fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move {
        match &mut self.stage {
            Stage::Profiler(profiler) => {
                let profiler = *profiler;
                self.profile(goal, profiler)
            }
            Stage::Batching(scaler) => scaler.goal_changed(goal, seen),
            Stage::MultiTenancy(scaler) => scaler.goal_changed(goal, seen),
        }
    }
}
