//! The course of a policy that scales, in a result and in `scale.json`. What each key means is in docs/run-folder.md.

use serde::Deserialize;

/// A course.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScalingPart {
    /// Name of the policy.
    pub policy: String,
    /// Its goal.
    pub goal: ScalingGoal,
    /// Its begin, on the clock of its instants, in ns.
    pub begun_ns: u64,
    /// Its length in ns.
    pub lasted_ns: u64,
    /// Where it came to rest.
    pub setting: Option<KnobsPart>,
    /// Where the knobs stood at the end.
    pub last: Option<KnobsPart>,
    /// Its decisions, in the order of time.
    pub decisions: Vec<Decision>,
    /// Other events.
    #[serde(default)]
    pub events: Vec<ScalingEvent>,
    /// Spans of time with the samples served in them; in `scale.json` alone.
    #[serde(default)]
    pub spans: Vec<Span>,
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScalingGoal {
    /// Latency target in ns.
    pub target_ns: u64,
    /// Quantile of the latency that is held against it.
    pub tail: f64,
}

/// Batch size and instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct KnobsPart {
    pub batch_size: u64,
    pub instances: u64,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// Its instant in ns.
    pub at_ns: u64,
    /// Target that held then, in ns.
    pub target_ns: u64,
    /// The window that it was made of.
    pub seen: Option<Window>,
    /// The knobs from then on.
    pub knobs: KnobsPart,
    /// Why.
    pub reason: DecisionReason,
}

/// Why a decision was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DecisionReason {
    /// Its kind, such as `explores`.
    pub kind: String,
}

/// The time since the last decision, as the policy has seen it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Window {
    /// Tail latency in ns.
    pub tail_ns: u64,
    /// Samples per second.
    pub throughput_qps: f64,
}

/// Something that happened besides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScalingEvent {
    /// Its instant in ns.
    pub at_ns: u64,
    /// It in words.
    pub what: String,
}

/// A span of time with what was served in it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Span {
    /// Its begin in ns.
    pub from_ns: u64,
    /// Target that held, in ns.
    pub target_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// Tail latency in ns.
    pub tail_ns: u64,
    /// Samples per second.
    pub throughput_qps: f64,
}
