//! The loop around a policy: windows in, knobs out, and the log of every decision.

use serde::{Deserialize, Serialize};

use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Move, Predicted, ScalingPolicy},
    reason::Reason,
    seen::Seen,
    window::{Done, Window, WindowRule},
};

/// Consults a policy after each window, and keeps its answers.
///
/// A pure state machine: the caller says which batches are done and turns the knobs. It says when they are turned
/// ([`in_force`](Self::in_force)), since an instance takes a while to start.
///
/// A short spike is ignored: if the policy has settled, a window that gives cause to move is followed by
/// another, and the policy is asked only if that one gives cause too.
pub struct ControlLoop {
    policy: Box<dyn ScalingPolicy>,
    goal: Goal,
    now: Move,
    window: Window,
    /// Instant at which knobs were last requested, in ns, and number of additional instances.
    asked: (u64, u64),
    /// The last window at the present knobs.
    last: Option<Seen>,
    /// The last window of a settled policy gave cause to move.
    is_doubtful: bool,
    decisions: Vec<Decision>,
}

/// One decision, with its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Decision {
    /// Instant of the decision, in ns of the caller's clock.
    pub at_ns: u64,
    /// Latency target at that time, in ns.
    pub target_ns: u64,
    /// Cause of the decision.
    pub cause: Cause,
    /// The last window at the knobs before it, if there was one.
    pub seen: Option<Seen>,
    /// Intended knobs.
    pub knobs: Knobs,
    /// Reason of the policy.
    pub reason: Reason,
    /// Figures that the policy expects there.
    pub predicted: Option<Predicted>,
    /// True if the policy means to stay there.
    pub is_settled: bool,
}

/// Cause of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The policy begins.
    Start,
    /// A window was over.
    Window,
    /// The target became another.
    Target,
    /// The bounds were lowered: memory ran out, or an instance died.
    Bound,
}

impl ControlLoop {
    /// Begins with the policy's first knobs, which are still to be turned.
    #[must_use]
    pub fn new(mut policy: Box<dyn ScalingPolicy>, goal: Goal, rule: WindowRule, now_ns: u64) -> Self {
        let now = policy.begin(&goal);
        let mut control = Self {
            policy,
            goal,
            now,
            window: Window::new(rule),
            asked: (now_ns, 0),
            last: None,
            is_doubtful: false,
            decisions: Vec::new(),
        };
        control.go_to(now_ns, now, Cause::Start, None);
        control
    }

    /// Returns the intended knobs.
    #[must_use]
    pub fn knobs(&self) -> Knobs {
        self.now.knobs
    }

    /// Returns the goal at present.
    #[must_use]
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// Returns whether the policy intends to stay.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.now.is_settled
    }

    /// Returns all decisions so far.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Records that the knobs are in force from this instant on: batches that begin from now on count.
    pub fn in_force(&mut self, now_ns: u64) {
        let (asked_ns, more) = self.asked;
        if let Some(each_ns) = now_ns.saturating_sub(asked_ns).checked_div(more) {
            self.goal.instance_start_ns = each_ns;
        }
        self.window.in_force(now_ns);
    }

    /// Takes a batch, and returns new knobs if they have to change now.
    pub fn batch_done(&mut self, done: &Done) -> Option<Knobs> {
        if !self.window.push(&self.goal, done) {
            return None;
        }
        let seen = self.window.seen(&self.goal);
        self.last = Some(seen);
        let is_settled = self.now.is_settled;
        let is_content = is_settled && self.policy.is_content(&self.goal, &seen);
        let is_first_doubt = is_settled && !is_content && !self.is_doubtful;
        self.is_doubtful = is_settled && !is_content;
        if is_content || is_first_doubt {
            self.window.go_on(self.now.look);
            return None;
        }
        let to = self.policy.decide(&self.goal, &seen);
        self.go_to(done.completed_ns, to, Cause::Window, Some(seen))
    }

    /// Sets another target from now on. Returns new knobs if they have to change.
    pub fn set_target(&mut self, now_ns: u64, target_ns: u64) -> Option<Knobs> {
        self.goal.target_ns = target_ns;
        self.goal_changed(now_ns, Cause::Target)
    }

    /// Lowers the bounds: nothing above these knobs is possible. Returns new knobs if they have to change.
    pub fn limit(&mut self, now_ns: u64, most: Knobs) -> Option<Knobs> {
        self.goal.most = most.within(self.goal.most);
        self.goal_changed(now_ns, Cause::Bound)
    }

    fn goal_changed(&mut self, now_ns: u64, cause: Cause) -> Option<Knobs> {
        let last = self.last;
        let to = self.policy.goal_changed(&self.goal, last.as_ref());
        self.go_to(now_ns, to, cause, last)
    }

    fn go_to(&mut self, now_ns: u64, to: Move, cause: Cause, seen: Option<Seen>) -> Option<Knobs> {
        let to = Move { knobs: to.knobs.within(self.goal.most), ..to };
        let more = to.knobs.instances.saturating_sub(self.now.knobs.instances) as u64;
        let turns = cause == Cause::Start || to.knobs != self.now.knobs;
        self.decisions.push(Decision {
            at_ns: now_ns,
            target_ns: self.goal.target_ns,
            cause,
            seen,
            knobs: to.knobs,
            reason: to.reason,
            predicted: to.predicted,
            is_settled: to.is_settled,
        });
        self.now = to;
        self.is_doubtful = false;
        if turns {
            self.last = None;
            self.asked = (now_ns, more);
            self.window.wait_for(to.knobs, to.look);
            Some(to.knobs)
        } else {
            self.window.go_on(to.look);
            None
        }
    }
}
