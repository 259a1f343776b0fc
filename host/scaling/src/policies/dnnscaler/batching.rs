//! The Scaler for batches: a pseudo-binary search for the largest size whose tail is within the target.
//!
//! Algorithm 1 (lines 10 to 29) is kept to the letter where it leads somewhere, with four additions, all left out in
//! the variants that follow the algorithm:
//!
//! - Where no size lies within `[alpha * target, target]`, lines 16 to 18 and 26 to 28 go to and fro between two
//!   neighbours for ever. Here the search rests on the smaller one, the largest size known to be good.
//! - When the target is relaxed, or tail and mean fall below `alpha` times their old values, the upper end of
//!   the bracket opens to the bound again (text, Fig. 9b). The algorithm never raises `maxBS`.
//! - A size in the band is remembered as good (`minBS`), so that a system that becomes slower leads to line 22 at once.
//!   The algorithm remembers only sizes below the band, and walks down to the last of them first.
//! - The tail is that of a window that restarts at each change. Line 13 takes it over all latencies since the start, so
//!   one size that was too large makes every later one look so ([`Variant::AlgorithmSinceStart`]).

use super::{
    DnnScalerSettings, Variant,
    rest::{Rest, share_of},
};
use crate::{goal::Goal, knobs::Knobs, policy::Move, reason::Reason, seen::Seen};

/// State of the search, with the names of the algorithm.
#[derive(Debug)]
pub(super) struct Batching {
    alpha: f64,
    variant: Variant,
    instances: usize,
    min_bs: usize,
    max_bs: usize,
    current_bs: usize,
    /// True if `max_bs` was above the target, and is not merely the bound.
    max_is_bad: bool,
    /// Tail at the settled size.
    rest: Option<Rest>,
}

impl Batching {
    pub(super) fn new(goal: &Goal, settings: &DnnScalerSettings) -> Self {
        Self {
            alpha: settings.alpha,
            variant: settings.variant,
            instances: goal.least().instances,
            min_bs: 1,
            max_bs: goal.most.batch_size,
            current_bs: 1,
            max_is_bad: false,
            rest: None,
        }
    }

    pub(super) fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        let had_settled = self.rest.take().is_some();
        if seen.misses(goal.target_ns) {
            return self.reduce();
        }
        if !self.is_below_band(goal, seen.tail_ns) {
            if self.variant == Variant::Text {
                self.min_bs = self.current_bs;
            }
            return self.settle(seen, Reason::InBand);
        }
        if had_settled && self.variant == Variant::Text {
            // The tail is lower than it was here: the system is another one.
            self.reopen(goal);
        }
        self.increase(goal, seen)
    }

    fn settle(&mut self, seen: &Seen, reason: Reason) -> Move {
        self.rest = Some(Rest::at(seen));
        Move::settled(self.knobs(), reason)
    }

    /// Applies lines 19 to 28.
    fn reduce(&mut self) -> Move {
        if self.current_bs == 1 {
            return Move::settled(self.knobs(), Reason::Infeasible);
        }
        if self.current_bs == self.min_bs {
            self.min_bs = 1;
        }
        (self.max_bs, self.max_is_bad) = (self.current_bs, true);
        self.current_bs = usize::midpoint(self.min_bs, self.max_bs);
        Move::to(self.knobs(), Reason::Above)
    }

    /// Applies lines 15 to 18.
    fn increase(&mut self, goal: &Goal, seen: &Seen) -> Move {
        self.min_bs = self.current_bs;
        if self.current_bs >= goal.most.batch_size {
            return self.settle(seen, Reason::AtBound);
        }
        let is_next_bad = self.max_is_bad && self.max_bs - self.min_bs <= 1;
        if is_next_bad && self.variant == Variant::Text {
            return self.settle(seen, Reason::LargestGood);
        }
        self.current_bs = (self.min_bs + self.max_bs).div_ceil(2);
        Move::to(self.knobs(), Reason::Room)
    }

    pub(super) fn is_content(&mut self, goal: &Goal, seen: &Seen) -> bool {
        let is_within = !seen.misses(goal.target_ns);
        let is_below_band = self.is_below_band(goal, seen.tail_ns);
        // If not even one sample is within the target, it waits for that.
        let Some(rest) = &mut self.rest else { return !is_within };
        let cannot_grow = self.current_bs >= goal.most.batch_size;
        let is_as_before = match self.variant {
            Variant::Text => rest.is_as_before(seen, self.alpha),
            Variant::Algorithm | Variant::AlgorithmSinceStart => !is_below_band,
        };
        is_within && (cannot_grow || is_as_before)
    }

    pub(super) fn goal_changed(&mut self, goal: &Goal, seen: Option<&Seen>) -> Move {
        self.current_bs = self.current_bs.min(goal.most.batch_size);
        self.min_bs = self.min_bs.min(self.current_bs);
        if self.variant == Variant::Text || self.max_bs > goal.most.batch_size {
            self.reopen(goal);
        }
        match seen.filter(|seen| seen.knobs.batch_size == self.current_bs) {
            Some(seen) => self.decide(goal, seen),
            None => Move::to(self.knobs(), Reason::Start),
        }
    }

    fn reopen(&mut self, goal: &Goal) {
        (self.max_bs, self.max_is_bad) = (goal.most.batch_size, false);
    }

    fn is_below_band(&self, goal: &Goal, tail_ns: u64) -> bool {
        tail_ns < share_of(goal.target_ns, self.alpha)
    }

    fn knobs(&self) -> Knobs {
        Knobs { batch_size: self.current_bs, instances: self.instances }
    }
}
