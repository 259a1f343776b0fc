//! Outcome of one policy on one load.

use proctor_scaling::{Decision, Goal, Knobs, Reason, Settled};
use serde::Serialize;

use crate::{
    bed::scaling::{
        event::ScalingEvent,
        latency_from::LatencyFrom,
        timeline::{Span, Timeline},
    },
    text::duration,
};

/// Outcome of one policy on one load: what it decided, what was seen, and where it came to rest.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Course {
    pub(crate) policy: String,
    pub(crate) goal: Goal,
    pub(crate) latency_from: LatencyFrom,
    pub(crate) begun_ns: u64,
    pub(crate) lasted_ns: u64,
    /// The setting to use; null if the policy has not settled, or nothing meets the target.
    pub(crate) setting: Option<Knobs>,
    /// Where the knobs stood at the end.
    pub(crate) last: Knobs,
    /// Samples that were completed since the policy has settled; null if it has not, or too late to judge.
    pub(crate) settled: Option<Settled>,
    /// Samples completed in a second since then.
    pub(crate) throughput_qps: Option<f64>,
    /// Share of the samples above the target since then.
    pub(crate) violation_share: Option<f64>,
    /// Whether that is no more than the tail leaves out, and what chance adds; null if the policy has not settled.
    pub(crate) within_target: Option<bool>,
    /// The share of the whole run.
    pub(crate) violation_share_of_all: f64,
    pub(crate) decisions: Vec<Decision>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) spans: Vec<Span>,
    pub(crate) events: Vec<ScalingEvent>,
}

impl Course {
    pub(super) fn new(
        policy: &str,
        goal: Goal,
        latency_from: LatencyFrom,
        (begun_ns, lasted_ns): (u64, u64),
        decisions: Vec<Decision>,
        timeline: &Timeline,
        events: Vec<ScalingEvent>,
    ) -> Self {
        let settled = timeline.settled().copied().filter(Settled::is_enough);
        let last = decisions.last();
        let setting = last.filter(|last| last.is_settled && !is_infeasible(last));
        Self {
            policy: policy.to_owned(),
            goal,
            latency_from,
            begun_ns,
            lasted_ns,
            setting: setting.map(|last| last.knobs),
            last: last.map_or(Knobs::LEAST, |last| last.knobs),
            settled,
            throughput_qps: settled.map(|settled| settled.throughput_qps()),
            violation_share: settled.map(|settled| settled.violation_share()),
            within_target: settled
                .map(|settled| !goal.is_exceeded(settled.batches, settled.violation_share())),
            violation_share_of_all: timeline.violations as f64 / timeline.samples.max(1) as f64,
            decisions,
            spans: timeline.spans().to_vec(),
            events,
        }
    }

    /// Decisions until it had settled for the first time.
    pub(crate) fn decisions_to_settle(&self) -> Option<usize> {
        self.decisions.iter().position(|decision| decision.is_settled).map(|index| index + 1)
    }

    /// The sentence where nothing meets the target; `None` where something may.
    pub(crate) fn infeasible(&self) -> Option<String> {
        let Decision { target_ns, .. } = self.decisions.last().filter(|last| is_infeasible(last))?;
        // The window before the decision may be one of other knobs.
        let mut windows = self.decisions.iter().rev().filter_map(|decision| decision.seen);
        let seen = windows.find(|seen| seen.knobs == self.last);
        let of_target = match self.latency_from {
            LatencyFrom::BatchStart => "",
            LatencyFrom::Arrival => ", half of the target",
        };
        let why = seen.map_or(String::new(), |seen| {
            let (tail, above) = (duration(seen.tail_ns), duration(*target_ns));
            format!(": the tail of its service time is {tail}, above {above}{of_target}")
        });
        Some(format!("{}: not even {} meets the target{why}", self.policy, self.last))
    }
}

fn is_infeasible(decision: &Decision) -> bool {
    decision.reason == Reason::Infeasible
}
