//! `clipper`: batch sizes by additive increase and a small multiplicative back-off.

use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Move, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

/// The rival of the DNNScaler paper (section 4.1): batches grow by 4 samples until the tail is above the target, and
/// then shrink by a tenth until it is not. The number of instances stays as it is.
///
/// Clipper continues to increase after a back-off forever. Here it rests at the backed-off size, as in the paper's Fig.
/// 7, until the tail is above the target again, or so far below its old value that a larger size may fit.
///
/// It knows no rate: if samples arrive more slowly than they are served, batches hold what has arrived, the
/// tail does not rise with their bound, and the bound grows to the allowed maximum.
#[derive(Debug, Default)]
pub struct Clipper {
    size: usize,
    instances: usize,
    rest: Rest,
}

/// Relation of a size to a back-off.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Rest {
    /// Sizes grow, without a back-off.
    #[default]
    None,
    /// The last move was a back-off.
    BackedOff,
    /// A back-off has led below the target, to this tail in ns.
    At(u64),
}

/// Number of samples by which a batch grows: four in the DNNScaler paper (section 4.1).
const STEP: usize = 4;

/// Share of its old value below which a tail means another system, on which an increase is tried again.
const SAME_TAIL: f64 = 0.85;

impl Clipper {
    fn increase(&mut self, goal: &Goal) -> Move {
        self.rest = Rest::None;
        let most = goal.most.batch_size;
        if self.size >= most {
            self.size = most;
            return Move::settled(self.knobs(), Reason::AtBound);
        }
        self.size = (self.size + STEP).min(most);
        Move::to(self.knobs(), Reason::Room)
    }

    /// Moves to ten percent less, and to at least one sample.
    fn back_off(&mut self) -> Move {
        if self.size == 1 {
            self.rest = Rest::None;
            return Move::settled(self.knobs(), Reason::Infeasible);
        }
        self.size = (self.size * 9 / 10).clamp(1, self.size - 1);
        self.rest = Rest::BackedOff;
        Move::to(self.knobs(), Reason::Above)
    }

    fn knobs(&self) -> Knobs {
        Knobs { batch_size: self.size, instances: self.instances }
    }
}

impl ScalingPolicy for Clipper {
    fn begin(&mut self, goal: &Goal) -> Move {
        *self = Self { size: 1, instances: goal.least().instances, rest: Rest::None };
        Move::to(self.knobs(), Reason::Start)
    }

    fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        if seen.misses(goal.target_ns) {
            return self.back_off();
        }
        if self.rest == Rest::BackedOff {
            self.rest = Rest::At(seen.tail_ns);
            return Move::settled(self.knobs(), Reason::LargestGood);
        }
        self.increase(goal)
    }

    fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool {
        let is_within = !seen.misses(goal.target_ns);
        match self.rest {
            Rest::At(tail_ns) => is_within && is_same(seen.tail_ns, tail_ns),
            _ if is_within => self.size >= goal.most.batch_size,
            _ => self.size == 1,
        }
    }

    fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move {
        self.size = self.size.min(goal.most.batch_size);
        match seen {
            Some(seen) if seen.misses(goal.target_ns) => self.back_off(),
            Some(_) => self.increase(goal),
            None => Move::to(self.knobs(), Reason::Start),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn is_same(tail_ns: u64, before_ns: u64) -> bool {
    tail_ns as f64 >= SAME_TAIL * before_ns as f64
}
