//! The GRU cell, in both conventions of where the reset gate acts.

use super::{Cell, State, sigmoid};
use crate::{
    Threads,
    matmul::{Weight, multiply_add},
};

/// Where the reset gate acts. Weights trained in one convention give wrong answers in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GruReset {
    /// On the product: `n = tanh(x_n + r ∘ (W_hn h + b_hn))`. PyTorch, cuDNN, Keras with `reset_after=True`, ONNX
    /// with `linear_before_reset=1`.
    #[default]
    AfterProduct,
    /// On the state: `n = tanh(x_n + W_hn (r ∘ h) + b_hn)`. Cho et al. 2014, ONNX with `linear_before_reset=0`.
    BeforeProduct,
}

/// A gated recurrent unit. Gates in the order r, z, n.
///
/// `r = σ(x_r + W_hr h)`, `z = σ(x_z + W_hz h)`, n as [`GruReset`] says, `h' = (1 - z) ∘ n + z ∘ h`, where x is the
/// input part. The hidden biases of r and z are in the input part; that of n is not, because r may scale it.
///
/// Gate order and names as `torch.nn.GRU`.
#[derive(Debug)]
pub struct Gru {
    /// W_hr over W_hz.
    gate_weight: Weight,
    candidate_weight: Weight,
    /// b_hn.
    candidate_bias: Vec<f32>,
    reset: GruReset,
}

impl Gru {
    /// Number of gates.
    pub const GATE_COUNT: usize = 3;

    /// Takes `weight_hh`, `[gate * unit, unit]`, row-major, as PyTorch stores it, and the part of `bias_hh` that
    /// belongs to n.
    ///
    /// # Panics
    /// If a slice has another size.
    #[must_use]
    pub fn new(hidden_weight: &[f32], candidate_bias: Vec<f32>, reset: GruReset) -> Self {
        let units = candidate_bias.len();
        assert_eq!(hidden_weight.len(), Self::GATE_COUNT * units * units, "size of weight_hh");
        let (gates, candidate) = hidden_weight.split_at(2 * units * units);
        Self {
            gate_weight: Weight::from_pytorch(gates, 2 * units, units),
            candidate_weight: Weight::from_pytorch(candidate, units, units),
            candidate_bias,
            reset,
        }
    }

    /// Leaves the hidden part of n in `state.candidate`. The reset gates are the first units of each row of `gates`.
    fn hidden_part_of_candidate(
        &self,
        gates: &[f32],
        state: &mut State,
        batch_size: usize,
        threads: Threads,
    ) {
        let units = self.hidden_count();
        let width = Self::GATE_COUNT * units;
        let size = batch_size * units;
        let resets = || gates.chunks_exact(width).map(|row| &row[..units]);
        let candidate = &mut state.candidate[..size];
        for row in candidate.chunks_exact_mut(units) {
            row.copy_from_slice(&self.candidate_bias);
        }
        match self.reset {
            GruReset::AfterProduct => {
                multiply_add(&state.hidden, &self.candidate_weight, candidate, units, batch_size, threads);
                for (row, reset) in candidate.chunks_exact_mut(units).zip(resets()) {
                    row.iter_mut().zip(reset).for_each(|(value, reset)| *value *= reset);
                }
            }
            GruReset::BeforeProduct => {
                let scaled = &mut state.reset_hidden[..size];
                scaled.copy_from_slice(&state.hidden[..size]);
                for (row, reset) in scaled.chunks_exact_mut(units).zip(resets()) {
                    row.iter_mut().zip(reset).for_each(|(value, reset)| *value *= reset);
                }
                multiply_add(scaled, &self.candidate_weight, candidate, units, batch_size, threads);
            }
        }
    }
}

impl Cell for Gru {
    fn hidden_count(&self) -> usize {
        self.candidate_bias.len()
    }

    fn step(&self, gates: &mut [f32], state: &mut State, batch_size: usize, threads: Threads) {
        let units = self.hidden_count();
        let width = Self::GATE_COUNT * units;
        let gates = &mut gates[..batch_size * width];
        multiply_add(&state.hidden, &self.gate_weight, gates, width, batch_size, threads);
        for row in gates.chunks_exact_mut(width) {
            row[..2 * units].iter_mut().for_each(|gate| *gate = sigmoid(*gate));
        }
        self.hidden_part_of_candidate(gates, state, batch_size, threads);

        let hidden_rows = state.hidden.chunks_exact_mut(units);
        let candidates = state.candidate.chunks_exact(units);
        for ((row, hidden), candidate) in gates.chunks_exact(width).zip(hidden_rows).zip(candidates) {
            let update = &row[units..2 * units];
            let input = &row[2 * units..];
            for unit in 0..units {
                let new = (input[unit] + candidate[unit]).tanh();
                hidden[unit] = (1.0 - update[unit]) * new + update[unit] * hidden[unit];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_unit(reset: GruReset) -> f64 {
        let gru = Gru::new(&[0.1, 0.2, 0.3], vec![0.7], reset);
        let mut state = State::new(1);
        state.hidden[0] = 0.5;
        gru.step(&mut [-1.0, 0.4, 0.6], &mut state, 1, Threads::SINGLE);
        f64::from(state.hidden[0])
    }

    #[test]
    fn one_unit_by_hand_in_both_conventions() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let (r, z) = (sigmoid(-1.0 + 0.05), sigmoid(0.4 + 0.1));
        let after = (0.6 + r * (0.3 * 0.5 + 0.7)).tanh();
        let before = (0.6 + 0.3 * (r * 0.5) + 0.7).tanh();
        let hidden = |n: f64| (1.0 - z) * n + z * 0.5;
        assert!((one_unit(GruReset::AfterProduct) - hidden(after)).abs() < 1e-6);
        assert!((one_unit(GruReset::BeforeProduct) - hidden(before)).abs() < 1e-6);
        assert!((hidden(after) - hidden(before)).abs() > 1e-2, "the conventions must differ here");
    }
}
