//! The Scaler for instances: an estimate of all latencies first, and then one instance more or less at a time.
//!
//! By the text of section 3.3.2 instances are added as long as the tail is within the target, and the one that was too
//! many goes. Algorithm 1 (lines 36 to 41) adds one only where the tail is below `alpha * target`: what it finds may be
//! one or several fewer. Both variants are here. The second one may go to and fro between two numbers, of which one is
//! below the band and the other above the target; the first remembers which one was too many.

use super::{
    DnnScalerSettings, Variant,
    profiler::Profiler,
    rest::{Rest, share_of},
};
use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Move, Predicted},
    reason::Reason,
    seen::Seen,
};

/// State of the scaler, with the name of the algorithm.
#[derive(Debug)]
pub(super) struct MultiTenancy {
    alpha: f64,
    variant: Variant,
    mtl: usize,
    batch_size: usize,
    /// Estimated tails of 1, 2, ... instances, in ns.
    estimates_ns: Vec<f64>,
    /// Smallest number that was above the target.
    bad: Option<usize>,
    /// Tail at the settled number.
    rest: Option<Rest>,
}

impl MultiTenancy {
    /// Applies lines 31 and 32: selects the largest number whose estimated latency is within the target.
    pub(super) fn begin(
        goal: &Goal,
        settings: &DnnScalerSettings,
        profiler: &Profiler,
        reason: Reason,
    ) -> (Self, Move) {
        let profiled = [profiler.base, profiler.instances].into_iter().flatten();
        let known: Vec<_> = profiled.map(|seen| (seen.knobs.instances, seen.mean_ns)).collect();
        let mut scaler = Self {
            alpha: settings.alpha,
            variant: settings.variant,
            mtl: 1,
            batch_size: goal.least().batch_size,
            estimates_ns: settings.curves.complete(&known, goal.most.instances),
            bad: None,
            rest: None,
        };
        #[expect(clippy::cast_precision_loss, reason = "below 2^52")]
        let target_ns = goal.target_ns as f64;
        scaler.mtl =
            scaler.estimates_ns.iter().take_while(|latency_ns| **latency_ns <= target_ns).count().max(1);
        let first = scaler.go(reason);
        (scaler, first)
    }

    pub(super) fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        if self.rest.take().is_some_and(|rest| rest.has_fallen(seen, self.alpha)) {
            // A size too large for the old system may fit now.
            self.bad = None;
        }
        if seen.misses(goal.target_ns) {
            if self.mtl == 1 {
                return Move::settled(self.knobs(), Reason::Infeasible);
            }
            self.bad = Some(self.mtl);
            self.mtl -= 1;
            return self.go(Reason::Above);
        }
        let adds = match self.variant {
            Variant::Text => self.bad.is_none_or(|bad| bad > self.mtl + 1),
            Variant::Algorithm | Variant::AlgorithmSinceStart => {
                seen.tail_ns < share_of(goal.target_ns, self.alpha)
            }
        };
        if self.mtl >= goal.most.instances {
            return self.settle(seen, Reason::AtBound);
        }
        if adds {
            self.mtl += 1;
            return self.go(Reason::Room);
        }
        let reason = if self.variant == Variant::Text { Reason::LargestGood } else { Reason::InBand };
        self.settle(seen, reason)
    }

    fn settle(&mut self, seen: &Seen, reason: Reason) -> Move {
        self.rest = Some(Rest::at(seen));
        Move::settled(self.knobs(), reason)
    }

    pub(super) fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool {
        let is_within = !seen.misses(goal.target_ns);
        let Some(rest) = &mut self.rest else { return self.mtl == 1 && !is_within };
        let is_as_before = rest.is_as_before(seen, self.alpha);
        is_within && (is_as_before || self.mtl >= goal.most.instances)
    }

    pub(super) fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move {
        self.mtl = self.mtl.min(goal.most.instances);
        self.bad = None;
        match seen.filter(|seen| seen.knobs.instances == self.mtl) {
            Some(seen) => self.decide(goal, seen),
            None => self.go(Reason::Start),
        }
    }

    /// Moves on to `mtl` instances.
    fn go(&self, reason: Reason) -> Move {
        let predicted = self.estimates_ns.get(self.mtl - 1);
        let predicted = predicted.map(|tail_ns| Predicted { tail_ns: *tail_ns, throughput_qps: None });
        Move::to(self.knobs(), reason).predicting(predicted)
    }

    fn knobs(&self) -> Knobs {
        Knobs { instances: self.mtl, batch_size: self.batch_size }
    }
}
