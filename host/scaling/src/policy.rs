//! The trait of all policies, and their moves.

use serde::{Deserialize, Serialize};

use crate::{goal::Goal, knobs::Knobs, reason::Reason, seen::Seen};

/// Turns the knobs towards a goal.
///
/// A policy reads no clock and has no random numbers: the same windows lead to the same moves.
pub trait ScalingPolicy: Send {
    /// Returns the first move.
    fn begin(&mut self, goal: &Goal) -> Move;

    /// Returns the next move after a window at the knobs of its last move.
    ///
    /// After a settled move it is asked only when it was [not content](Self::is_content).
    fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move;

    /// Returns whether a window gives no cause to leave the knobs of its last move, which was settled.
    fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool;

    /// Returns the next move after a change of goal. `seen` is the last window since the last move, if any.
    fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move;
}

/// Decision of a policy: the intended knobs, and the reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// The knobs for the next window.
    pub knobs: Knobs,
    /// Reason for the knobs.
    pub reason: Reason,
    /// Figures that the policy expects to see, if it has an idea.
    pub predicted: Option<Predicted>,
    /// Purpose of the next window.
    pub look: Look,
    /// True if the policy intends to stay there until something changes.
    pub is_settled: bool,
}

impl Move {
    /// Creates a move after which the tail is examined.
    #[must_use]
    pub fn to(knobs: Knobs, reason: Reason) -> Self {
        Self { knobs, reason, predicted: None, look: Look::Tail, is_settled: false }
    }

    /// Creates a move that should be the last.
    #[must_use]
    pub fn settled(knobs: Knobs, reason: Reason) -> Self {
        Self { is_settled: true, ..Self::to(knobs, reason) }
    }

    /// Returns the same with a prediction.
    #[must_use]
    pub fn predicting(self, predicted: Option<Predicted>) -> Self {
        Self { predicted, ..self }
    }
}

/// Figures that a policy expects of its knobs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Predicted {
    /// Latency of the tail, in ns.
    pub tail_ns: f64,
    /// Number of samples completed per second, if the policy predicts it.
    pub throughput_qps: Option<f64>,
}

/// Purpose of a window, which determines its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Look {
    /// A profile, for which some batches suffice.
    Throughput,
    /// A profile again, ten times as long.
    Closer,
    /// An observation of the tail, which is within the target or not.
    Tail,
}
