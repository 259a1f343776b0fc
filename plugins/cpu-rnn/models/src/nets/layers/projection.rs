//! The dense product, `y = W x + b`, split over a team.

use proctor_rnn_engine::Team;

use crate::Dense;

/// A linear map, its weights packed.
#[derive(Debug)]
pub struct Projection {
    dense: Dense,
}

impl Projection {
    /// Takes a weight `[output, input]`, row-major, and a bias `[output]`, empty for none.
    ///
    /// # Panics
    /// If a slice has another size, or there are no inputs or outputs.
    #[must_use]
    pub fn new(weight: &[f32], bias: &[f32], input: usize) -> Self {
        assert!(input > 0, "a product of no inputs");
        Self { dense: Dense::new(weight, bias, input, weight.len() / input) }
    }

    /// Number of inputs.
    #[must_use]
    pub fn input(&self) -> usize {
        self.dense.input()
    }

    /// Number of outputs.
    #[must_use]
    pub fn output(&self) -> usize {
        self.dense.output()
    }

    /// Maps each row of `x` `[row, input]` to a row of `y` `[row, output]`.
    ///
    /// # Panics
    /// If they are not the same number of whole rows.
    pub fn run(&self, _team: &mut Team, x: &[f32], y: &mut [f32]) {
        self.dense.run(x, y);
    }
}
