//! A linear map with a bias: the final layer of a model, and the input part of every recurrent layer.

use crate::{
    Threads,
    matmul::{Weight, multiply_add},
};

/// `y = W x + b`.
#[derive(Debug, Clone)]
pub struct Linear {
    weight: Weight,
    bias: Vec<f32>,
}

impl Linear {
    /// Joins a weight and its bias.
    ///
    /// # Panics
    /// If there is not one bias for each output.
    #[must_use]
    pub fn new(weight: Weight, bias: Vec<f32>) -> Self {
        assert_eq!(bias.len(), weight.output_count(), "one bias for each output");
        Self { weight, bias }
    }

    /// Number of inputs.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.weight.input_count()
    }

    /// Number of outputs.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.weight.output_count()
    }

    /// Maps each row of `input`, `[row, input]`, to a row of `output`, `[row, output]`, both contiguous.
    ///
    /// # Panics
    /// If `output` does not consist of whole rows, or `input` holds fewer rows.
    pub fn forward(&self, input: &[f32], output: &mut [f32], threads: Threads) {
        let width = self.output_count();
        assert_eq!(output.len() % width, 0, "whole rows of output");
        let row_count = output.len() / width;
        for row in output.chunks_exact_mut(width) {
            row.copy_from_slice(&self.bias);
        }
        multiply_add(input, &self.weight, output, width, row_count, threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_each_row_and_overwrites_what_was_there() {
        let linear = Linear::new(Weight::from_pytorch(&[1.0, 2.0, 3.0, 4.0], 2, 2), vec![0.5, -0.5]);
        let mut output = [f32::NAN; 4];
        linear.forward(&[1.0, 1.0, 0.0, 2.0], &mut output, Threads::SINGLE);
        assert_eq!(output, [3.5, 6.5, 4.5, 7.5]);
    }
}
