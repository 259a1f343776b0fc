//! `oracle`: measures a whole grid and takes the best of it, to judge the others by.

use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Move, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

/// Exhaustive search over a grid: for each number of instances the batch sizes in ascending order, until one is above
/// the target. A larger batch never takes less time, so nothing behind it can be within.
///
/// It knows no change: it stays at its end point, unless the target or the bounds change, which restarts the grid.
#[derive(Debug)]
pub struct Oracle {
    sizes: Vec<usize>,
    /// Position in `sizes`, and number of instances.
    at: (usize, usize),
    best: Option<Seen>,
}

/// Batch sizes of the grid: all up to 4, and then four to each doubling.
const SIZES: &[usize] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224,
    256,
];

impl Default for Oracle {
    fn default() -> Self {
        Self { sizes: Vec::new(), at: (0, 1), best: None }
    }
}

impl Oracle {
    fn restart(&mut self, goal: &Goal, reason: Reason) -> Move {
        let (least, most) = (goal.least(), goal.greatest());
        self.sizes = SIZES
            .iter()
            .copied()
            .filter(|size| (least.batch_size..=most.batch_size).contains(size))
            .collect();
        if self.sizes.last() != Some(&most.batch_size) {
            self.sizes.push(most.batch_size);
        }
        (self.at, self.best) = ((0, least.instances), None);
        Move::to(self.knobs(), reason)
    }

    fn knobs(&self) -> Knobs {
        Knobs { batch_size: self.sizes[self.at.0], instances: self.at.1 }
    }

    fn end(&self, goal: &Goal) -> Move {
        match self.best {
            Some(best) => Move::settled(best.knobs, Reason::BestOfGrid),
            None => Move::settled(goal.least(), Reason::Infeasible),
        }
    }
}

impl ScalingPolicy for Oracle {
    fn begin(&mut self, goal: &Goal) -> Move {
        self.restart(goal, Reason::Start)
    }

    fn decide(&mut self, goal: &Goal, seen: &Seen) -> Move {
        let misses = seen.misses(goal.target_ns);
        if !misses && self.best.is_none_or(|best| seen.throughput_qps > best.throughput_qps) {
            self.best = Some(*seen);
        }
        let (size, instances) = self.at;
        self.at =
            if misses || size + 1 == self.sizes.len() { (0, instances + 1) } else { (size + 1, instances) };
        // If not even the smallest batch is within the target, it is not with more instances either.
        if misses && size == 0 || self.at.1 > goal.greatest().instances {
            return self.end(goal);
        }
        Move::to(self.knobs(), Reason::NextOfGrid)
    }

    fn is_content(&mut self, _: &Goal, _: &Seen) -> bool {
        true
    }

    fn goal_changed(&mut self, goal: &Goal, _: Option<&Seen>) -> Move {
        self.restart(goal, Reason::Start)
    }
}
