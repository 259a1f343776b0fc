//! The Profiler: batching or multi-tenancy.
//!
//! The paper takes "only a few batches". If the throughputs of both are too close for so few to distinguish,
//! the noisier one is measured once more, ten times as long.

use super::DnnScalerSettings;
use crate::{
    goal::{Approach, Goal},
    knobs::Knobs,
    policy::{Look, Move},
    reason::Reason,
    seen::Seen,
};

/// Windows that were profiled so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Profiler {
    /// One sample on one instance.
    pub(super) base: Option<Seen>,
    /// A large batch on one instance.
    batch: Option<Seen>,
    /// One sample on each of several instances.
    pub(super) instances: Option<Seen>,
    /// The noisier one of the two was examined again, more closely, because they were too close to choose.
    is_closer: bool,
}

/// Next step of a profile.
pub(super) enum Step {
    /// Observe one window there.
    Look(Move),
    /// The Scaler for batches.
    Batching(Reason),
    /// The Scaler for instances.
    MultiTenancy(Reason),
}

impl Profiler {
    /// Takes a window at requested knobs.
    pub(super) fn take(&mut self, seen: &Seen) {
        let is_more =
            |part: fn(&Knobs) -> usize| self.base.is_some_and(|base| part(&seen.knobs) > part(&base.knobs));
        let place = if is_more(|knobs| knobs.batch_size) {
            &mut self.batch
        } else if is_more(|knobs| knobs.instances) {
            &mut self.instances
        } else {
            &mut self.base
        };
        self.is_closer |= place.is_some();
        *place = Some(*seen);
    }

    /// Returns the knobs that are still to be profiled, or the choice.
    pub(super) fn next(&self, goal: &Goal, settings: &DnnScalerSettings) -> Step {
        let look = |knobs, reason| {
            let at = Move::to(knobs, reason);
            Step::Look(Move { look: Look::Throughput, ..at })
        };
        let least = goal.least();
        let large = Knobs { batch_size: settings.profiled_batch_size, ..least }.within(goal.most);
        let several = Knobs { instances: settings.profiled_instances, ..least }.within(goal.most);
        let is_auto = goal.approach == Approach::Auto;
        // If a knob cannot be turned, there is no choice.
        if is_auto && several == least {
            return Step::Batching(Reason::Given);
        }
        let Some(base) = self.base else { return look(least, Reason::Start) };
        let needs_batch = is_auto && large != least;
        if needs_batch && self.batch.is_none() {
            return look(large, Reason::Profile);
        }
        if several != least && self.instances.is_none() {
            return look(several, Reason::Profile);
        }
        match (self.batch.filter(|_| needs_batch), self.instances) {
            (Some(batch), Some(instances)) if !self.is_closer && is_close(&batch, &instances, goal) => {
                let noisier = if error(&batch, goal) > error(&instances, goal) { large } else { several };
                let at = Move::to(noisier, Reason::Profile);
                Step::Look(Move { look: Look::Closer, ..at })
            }
            (Some(batch), Some(instances)) => choose(&base, &batch, &instances),
            _ => Step::MultiTenancy(Reason::Given),
        }
    }
}

/// Standard deviations within which two throughputs are close.
const CLOSE: f64 = 3.0;

/// Returns whether chance may have made the greater of two throughputs the greater one.
fn is_close(batch: &Seen, instances: &Seen, goal: &Goal) -> bool {
    let gap = (batch.throughput_qps / instances.throughput_qps.max(f64::MIN_POSITIVE)).ln();
    gap.abs() < CLOSE * error(batch, goal).hypot(error(instances, goal))
}

/// Returns the standard error of the logarithm of the throughput.
#[expect(clippy::cast_precision_loss, reason = "below 2^52")]
fn error(seen: &Seen, goal: &Goal) -> f64 {
    seen.spread(goal.tail) / (seen.batches.max(1) as f64).sqrt()
}

/// Applies equations 3 to 5: selects the greater improvement of throughput over one sample on one instance; of two that
/// are equal, the one with the lower latency.
fn choose(base: &Seen, batch: &Seen, instances: &Seen) -> Step {
    let improvement_percent = |seen: &Seen| {
        (seen.throughput_qps - base.throughput_qps) / base.throughput_qps.max(f64::MIN_POSITIVE) * 100.0
    };
    let (batching_percent, multi_tenancy_percent) =
        (improvement_percent(batch), improvement_percent(instances));
    let batching_wins = if batching_percent == multi_tenancy_percent {
        batch.tail_ns <= instances.tail_ns
    } else {
        batching_percent > multi_tenancy_percent
    };
    if batching_wins {
        Step::Batching(Reason::BatchingWins { batching_percent, multi_tenancy_percent })
    } else {
        Step::MultiTenancy(Reason::MultiTenancyWins { batching_percent, multi_tenancy_percent })
    }
}
