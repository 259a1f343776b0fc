//! The course of a policy that scales, in a result and in `scale.json`. What each key means is in docs/run-folder.md.

use std::fmt;

use proctor_scaling::{Decision, Goal, Knobs, Settled};
use serde::{Deserialize, Serialize};

/// Outcome of one policy on one load: its decisions, its observations, and its final setting.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ScalingPart {
    /// Name of the policy.
    pub policy: String,
    /// The latency target, and the bounds of the knobs.
    pub goal: Goal,
    /// Instant from which the latency counts.
    pub latency_from: LatencyFrom,
    /// Start of the load, in ns of the run's clock.
    pub begun_ns: u64,
    /// Length of the load, in ns.
    pub lasted_ns: u64,
    /// The setting to use; null if the policy has not settled, or nothing meets the target.
    pub setting: Option<Knobs>,
    /// Knobs at the end.
    pub last: Knobs,
    /// Samples completed since the policy settled; null if it has not settled, or settled too late to judge.
    pub settled: Option<Settled>,
    /// Samples completed in a second since then.
    pub throughput_qps: Option<f64>,
    /// Share of the samples since then that were above the target, including those that never had an answer.
    pub violation_share: Option<f64>,
    /// True if that is no more than the tail leaves out; null if the policy has not settled, or too few batches came
    /// since to tell.
    pub within_target: Option<bool>,
    /// The share of the whole run.
    pub violation_share_of_all: f64,
    /// Each decision with its inputs.
    pub decisions: Vec<Decision>,
    /// The timeline in spans, if it was to have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// Events such as an instance that failed.
    #[serde(default)]
    pub events: Vec<ScalingEvent>,
}

impl ScalingPart {
    /// Returns the decisions until it had settled for the first time.
    #[must_use]
    pub fn decisions_to_settle(&self) -> Option<usize> {
        self.decisions.iter().position(|decision| decision.is_settled).map(|index| index + 1)
    }

    /// Returns how many instances there could be at the end, if that is less than was to be looked at.
    #[must_use]
    pub fn instances_left(&self) -> Option<usize> {
        let least = self.events.iter().filter_map(ScalingEvent::instances_most).min()?;
        (least < self.goal.most.instances).then_some(least)
    }
}

/// Instant from which the latency counts that is compared with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyFrom {
    /// The start of the batch: it is service time.
    BatchStart,
    /// The arrival of the sample. Decisions are about service time, with half of the target.
    Arrival,
}

impl LatencyFrom {
    /// Returns the number of service times in a latency: one from the start of the batch; two from the arrival, since a
    /// sample may find all instances at work.
    #[must_use]
    pub fn service_times(self) -> u64 {
        match self {
            Self::BatchStart => 1,
            Self::Arrival => 2,
        }
    }
}

/// A span of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Span {
    /// Begin of the window, in ns of the run's clock.
    pub from_ns: u64,
    /// Knobs that were to be in force at its end.
    pub knobs: Knobs,
    /// The latency target at its end, in ns.
    pub target_ns: u64,
    /// Samples that were completed.
    pub samples: u64,
    /// Mean latency, in ns; 0 without samples.
    pub mean_ns: f64,
    /// Latency of the tail, in ns; 0 without samples.
    pub tail_ns: u64,
    /// Samples completed in a second.
    pub throughput_qps: f64,
}

/// An event of a scaled system.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ScalingEvent {
    /// When, in ns of the run's clock.
    pub at_ns: u64,
    /// Kind of the event.
    #[serde(flatten)]
    pub kind: ScalingEventKind,
    /// The same in words.
    pub what: String,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScalingEventKind {
    /// An instance failed a batch, and was retired for it.
    InstanceFailed {
        /// Number in the scheduler, from 0.
        instance: usize,
        /// Number of instances left in service.
        left: usize,
        /// Maximum number of instances from now on.
        most: usize,
    },
    /// The only instance failed a batch, and continues.
    LastInstanceFailed {
        /// Number in the scheduler, from 0.
        instance: usize,
    },
    /// The next instance could not be created.
    NoInstance {
        /// Number of instances that there would have been.
        count: usize,
        /// Reason of the plugin or the host.
        why: String,
    },
    /// The plugin could not destroy an instance that was retired.
    NotDestroyed {
        /// Reason of the plugin.
        why: String,
    },
    /// Batches were counted and not looked at, because an instance took long to start.
    NotSeen {
        /// Number of batches.
        batches: u64,
        /// Number of their samples.
        samples: u64,
    },
}

impl ScalingEvent {
    /// Creates an event at this instant.
    #[must_use]
    pub fn new(at_ns: u64, kind: ScalingEventKind) -> Self {
        let what = kind.to_string();
        Self { at_ns, kind, what }
    }

    /// Returns the maximum number of instances from then on, if the event lowers it.
    fn instances_most(&self) -> Option<usize> {
        match self.kind {
            ScalingEventKind::InstanceFailed { most, .. } => Some(most),
            ScalingEventKind::NoInstance { count, .. } => Some(count.saturating_sub(1)),
            _ => None,
        }
    }
}

impl fmt::Display for ScalingEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstanceFailed { instance, left, most } => {
                write!(
                    f,
                    "instance {instance} failed a batch and was retired: {left} are left in service, and there are at most \
                     {most} from now on"
                )
            }
            Self::LastInstanceFailed { instance } => {
                write!(f, "instance {instance} failed a batch and goes on, as it is the only one")
            }
            Self::NoInstance { count, why } => write!(f, "no instance {count}: {why}"),
            Self::NotDestroyed { why } => write!(f, "an instance could not be destroyed: {why}"),
            Self::NotSeen { batches, samples } => {
                write!(
                    f,
                    "{batches} batches with {samples} samples in all were only counted while an instance started"
                )
            }
        }
    }
}
