//! Treats a fixed setting as a policy: a user's choice, to compare with the other policies' results.

use crate::{
    goal::Goal,
    knobs::Knobs,
    policy::{Move, ScalingPolicy},
    reason::Reason,
    seen::Seen,
};

/// Stays at one setting regardless of its observations.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Knobs);

impl ScalingPolicy for Fixed {
    fn begin(&mut self, _: &Goal) -> Move {
        Move::settled(self.0, Reason::Fixed)
    }

    fn decide(&mut self, goal: &Goal, _: &Seen) -> Move {
        self.begin(goal)
    }

    fn is_content(&mut self, _: &Goal, _: &Seen) -> bool {
        true
    }

    fn goal_changed(&mut self, goal: &Goal, _: Option<&Seen>) -> Move {
        self.begin(goal)
    }
}
