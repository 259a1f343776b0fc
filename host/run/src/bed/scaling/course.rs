//! The result of one policy.

use proctor_scaling::{Decision, Goal, Knobs, Reason};
use serde::Serialize;

use crate::bed::scaling::{
    event::ScalingEvent,
    trace::{Settled, Span, Trace},
};

/// Course of one policy on one load.
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
    /// Samples that were completed since the policy has settled.
    pub(crate) settled: Option<Settled>,
    /// Samples completed in a second since then.
    pub(crate) throughput_qps: Option<f64>,
    /// Share of the samples above the target since then.
    pub(crate) violation_share: Option<f64>,
    /// The same of the whole run.
    pub(crate) violation_share_of_all: f64,
    pub(crate) decisions: Vec<Decision>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) spans: Vec<Span>,
    pub(crate) events: Vec<ScalingEvent>,
}

/// Instant from which the latency counts that is held against the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LatencyFrom {
    /// The start of the batch: it is service time.
    BatchStart,
    /// The arrival of the sample. Decisions are about service time, with half of the target.
    Arrival,
}

impl LatencyFrom {
    /// Targets of the latency in one of the service time. Where samples arrive by themselves one of them may find all
    /// instances at work, and waits for a batch before its own: its latency is that of two.
    pub(super) fn targets(self) -> u64 {
        match self {
            Self::BatchStart => 1,
            Self::Arrival => 2,
        }
    }
}

impl Course {
    pub(super) fn new(
        policy: &str,
        goal: Goal,
        latency_from: LatencyFrom,
        (begun_ns, lasted_ns): (u64, u64),
        decisions: Vec<Decision>,
        trace: &Trace,
        events: Vec<ScalingEvent>,
    ) -> Self {
        let settled = trace.settled().copied();
        let last = decisions.last();
        let setting = last.filter(|last| last.is_settled && last.reason != Reason::Infeasible);
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
            violation_share_of_all: trace.violations as f64 / trace.samples.max(1) as f64,
            decisions,
            spans: trace.spans().to_vec(),
            events,
        }
    }

    /// Decisions until it had settled for the first time.
    pub(crate) fn decisions_to_settle(&self) -> Option<usize> {
        self.decisions.iter().position(|decision| decision.is_settled).map(|index| index + 1)
    }
}
