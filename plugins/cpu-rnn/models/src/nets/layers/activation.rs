//! Functions of each value of a slice, vectorised.

use proctor_rnn_kernels::{Isa, activation};

/// Function that a dense layer applies to its sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
}

impl Activation {
    /// Replaces each value.
    pub fn apply(self, values: &mut [f32]) {
        match self {
            Self::Identity => {}
            Self::Relu => values.iter_mut().for_each(|value| *value = value.max(0.0)),
            Self::Tanh => tanh(values),
            Self::Sigmoid => sigmoid(values),
        }
    }
}

/// Replaces each value by its hyperbolic tangent, within 3e-7.
pub(super) fn tanh(values: &mut [f32]) {
    activation::tanh(Isa::best(), values);
}

/// Replaces each value by `1 / (1 + e^-x)`, within 2e-7.
pub(super) fn sigmoid(values: &mut [f32]) {
    activation::sigmoid(Isa::best(), values);
}

/// Replaces each value by its exponential, within 1.8e-7 of it.
pub(super) fn exp(values: &mut [f32]) {
    activation::exp(Isa::best(), values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_known_values() {
        let apply = |activation: Activation| {
            let mut values = [-1.0, 0.0, 2.0];
            activation.apply(&mut values);
            values
        };
        assert_eq!(apply(Activation::Identity), [-1.0, 0.0, 2.0]);
        assert_eq!(apply(Activation::Relu), [0.0, 0.0, 2.0]);
        let close = |got: [f32; 3], expected: [f32; 3]| {
            got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 5e-7)
        };
        assert!(close(apply(Activation::Tanh), [-0.761_594_2, 0.0, 0.964_027_6]));
        assert!(close(apply(Activation::Sigmoid), [0.268_941_4, 0.5, 0.880_797_1]));
    }
}
