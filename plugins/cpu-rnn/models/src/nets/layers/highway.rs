//! A highway network: layers that pass part of their input through (Srivastava et al. 2015).

use proctor_rnn_engine::Team;

use crate::dense::Dense;
use crate::nets::layers::activation::Activation;

/// One highway layer: `g * f(transform x) + (1 - g) * x` with `g = sigmoid(gate x)`.
#[derive(Debug)]
pub struct Highway {
    transform: Dense,
    gate: Dense,
    activation: Activation,
}

impl Highway {
    /// Joins the two maps, both from a width to the same.
    ///
    /// # Panics
    /// If a width differs.
    #[must_use]
    pub fn new(transform: Dense, gate: Dense, activation: Activation) -> Self {
        let width = transform.input();
        let widths = [transform.output(), gate.input(), gate.output()];
        assert_eq!(widths, [width; 3], "a highway layer keeps its width");
        Self { transform, gate, activation }
    }

    /// Replaces each row of `x` `[row, width]`. `room` has two rows for each row of `x`.
    ///
    /// # Panics
    /// If `x` is not whole rows, or `room` too small.
    pub fn run(&self, team: &mut Team, room: &mut [f32], x: &mut [f32]) {
        let (transformed, gates) = room[..2 * x.len()].split_at_mut(x.len());
        self.transform.run_on(team, x, transformed);
        self.activation.apply(transformed);
        self.gate.run_on(team, x, gates);
        Activation::Sigmoid.apply(gates);
        for ((x, transformed), gate) in x.iter_mut().zip(transformed).zip(gates) {
            *x = *gate * *transformed + (1.0 - *gate) * *x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(gate_bias: f32) -> [f32; 4] {
        let transform = Dense::new(&[2.0, 0.0, 0.0, -2.0], &[], 2);
        let gate = Dense::new(&[0.0; 4], &[gate_bias; 2], 2);
        let mut x = [1.0, 1.0, 3.0, -1.0];
        Highway::new(transform, gate, Activation::Relu).run(&mut Team::new(1), &mut [0.0; 8], &mut x);
        x
    }

    #[test]
    fn a_closed_gate_passes_the_input_and_an_open_one_the_transform() {
        assert_eq!(run(-100.0), [1.0, 1.0, 3.0, -1.0]);
        assert_eq!(run(100.0), [2.0, 0.0, 6.0, 2.0]);
        assert_eq!(run(0.0), [1.5, 0.5, 4.5, 0.5]);
    }
}
