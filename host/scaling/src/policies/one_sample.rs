//! One sample at a time on one instance: the latency that a target may be a multiple of.

use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Look, Move, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

/// Measures one sample at a time on one instance over a closer window, and settles there. Its second decision has the
/// window.
#[derive(Debug, Clone, Copy)]
pub struct OneSample;

impl ScalingPolicy for OneSample {
    fn begin(&mut self, _: &Goal) -> Move {
        Move { look: Look::Closer, ..Move::to(Knobs::LEAST, Reason::Profile) }
    }

    fn decide(&mut self, _: &Goal, _: &Seen) -> Move {
        Move::settled(Knobs::LEAST, Reason::Fixed)
    }

    fn is_content(&mut self, _: &Goal, _: &Seen) -> bool {
        true
    }

    fn goal_changed(&mut self, goal: &Goal, _: Option<&Seen>) -> Move {
        self.begin(goal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        control::ControlLoop,
        window::{Done, WindowRule},
    };

    #[test]
    fn the_window_leaves_out_the_first_batch_and_has_a_hundred() {
        let goal = Goal::new(1, 0.95, Knobs { batch_size: 128, instances: 10 });
        let mut control = ControlLoop::new(Box::new(OneSample), goal, WindowRule::default(), 0);
        control.in_force(0);
        let mut number = 0;
        while !control.is_settled() {
            // The first is cold, and the others take 3 and 5 ms in turns.
            let service_ns = if number == 0 { 90_000_000 } else { 3_000_000 + number % 2 * 2_000_000 };
            let started_ns = 100_000_000 * number;
            control.batch_done(&Done {
                instance: 0,
                started_ns,
                completed_ns: started_ns + service_ns,
                samples: 1,
            });
            number += 1;
        }
        let seen = control.decisions()[1].seen.unwrap();
        assert_eq!((seen.knobs, seen.batches, seen.mean_ns), (Knobs::LEAST, 100, 4e6));
    }
}
