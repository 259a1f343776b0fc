//! The LSTM cell.

use super::{Cell, State, sigmoid};
use crate::{
    Threads,
    matmul::{Weight, multiply_add},
};

/// A long short-term memory cell without peepholes or projection. Gates in the order i, f, g, o.
///
/// With a = (input part) + W_h h:
/// `c' = σ(a_f) ∘ c + σ(a_i) ∘ tanh(a_g)`, `h' = σ(a_o) ∘ tanh(c')`.
///
/// Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; gate order and names as
/// `torch.nn.LSTM`.
#[derive(Debug)]
pub struct Lstm {
    hidden_weight: Weight,
}

impl Lstm {
    /// Number of gates.
    pub const GATE_COUNT: usize = 4;

    /// Takes `weight_hh`, `[gate * unit, unit]`, row-major, as PyTorch stores it. Both biases belong to the input part.
    ///
    /// # Panics
    /// If the slice has another size.
    #[must_use]
    pub fn new(hidden_weight: &[f32], hidden_count: usize) -> Self {
        let gates = Self::GATE_COUNT * hidden_count;
        Self { hidden_weight: Weight::from_pytorch(hidden_weight, gates, hidden_count) }
    }
}

impl Cell for Lstm {
    fn hidden_count(&self) -> usize {
        self.hidden_weight.input_count()
    }

    fn step(&self, gates: &mut [f32], state: &mut State, batch_size: usize, threads: Threads) {
        let units = self.hidden_count();
        let width = Self::GATE_COUNT * units;
        multiply_add(&state.hidden, &self.hidden_weight, gates, width, batch_size, threads);

        let rows = gates[..batch_size * width].chunks_exact(width);
        let hidden_rows = state.hidden.chunks_exact_mut(units);
        let cell_rows = state.cell.chunks_exact_mut(units);
        for ((row, hidden), cell) in rows.zip(hidden_rows).zip(cell_rows) {
            let (input, row) = row.split_at(units);
            let (forget, row) = row.split_at(units);
            let (candidate, output) = row.split_at(units);
            for unit in 0..units {
                let kept = sigmoid(forget[unit]) * cell[unit];
                cell[unit] = kept + sigmoid(input[unit]) * candidate[unit].tanh();
                hidden[unit] = sigmoid(output[unit]) * cell[unit].tanh();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_by_hand() {
        let lstm = Lstm::new(&[0.1, 0.2, 0.3, 0.4], 1);
        let mut state = State::new(1);
        state.hidden[0] = 0.5;
        state.cell[0] = -1.0;
        lstm.step(&mut [1.0, 2.0, 3.0, 4.0], &mut state, 1, Threads::SINGLE);

        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let cell = -sigmoid(2.1) + sigmoid(1.05) * 3.15_f64.tanh();
        let hidden = sigmoid(4.2) * cell.tanh();
        assert!((f64::from(state.cell[0]) - cell).abs() < 1e-6);
        assert!((f64::from(state.hidden[0]) - hidden).abs() < 1e-6);
    }
}
