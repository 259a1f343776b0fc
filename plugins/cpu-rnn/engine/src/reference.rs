//! A recurrent layer in plain f64 code, written for reading: the oracle of the kernels.
//!
//! Equations as in the ONNX operators LSTM, GRU and RNN (version 22), gates in PyTorch's order.

use proctor_rnn_kernels::DirectionWeights;
use proctor_rnn_layer::{Cell, Directions, GruReset, RnnActivation};

use crate::{call::LayerCall, spec::LayerSpec};

/// Hidden and cell state of one sequence in one direction.
struct State {
    hidden: Vec<f64>,
    cell: Vec<f64>,
}

/// Runs a layer. The call fits the spec.
pub fn run(spec: &LayerSpec, weights: &[DirectionWeights<'_>], call: &mut LayerCall<'_>) {
    let (time, batch, units) = (call.input.time(), call.input.batch(), spec.hidden);
    for (direction, weights) in weights.iter().enumerate() {
        let reversed = spec.directions == Directions::Reverse || direction == 1;
        let columns = direction * units..(direction + 1) * units;
        for sample in 0..batch {
            let place = (direction * batch + sample) * units..(direction * batch + sample + 1) * units;
            let initial = |tensor: Option<&[f32]>| -> Vec<f64> {
                tensor.map_or(vec![0.0; units], |all| {
                    all[place.clone()].iter().copied().map(f64::from).collect()
                })
            };
            let mut state = State { hidden: initial(call.initial_hidden), cell: initial(call.initial_cell) };
            let length = call.lengths.map_or(time, |lengths| lengths[sample]);
            for step in 0..length {
                let at = if reversed { length - 1 - step } else { step };
                let input: Vec<f64> = call.input.row(at, sample).iter().copied().map(f64::from).collect();
                advance(spec, weights, &input, &mut state);
                round_into(&state.hidden, &mut call.output.row(at, sample)[columns.clone()]);
            }
            for step in length..time {
                call.output.row(step, sample)[columns.clone()].fill(0.0);
            }
            if let Some(last) = &mut call.last_hidden {
                round_into(&state.hidden, &mut last[place.clone()]);
            }
            if let Some(last) = &mut call.last_cell {
                round_into(&state.cell, &mut last[place]);
            }
        }
    }
}

fn advance(spec: &LayerSpec, weights: &DirectionWeights<'_>, input: &[f64], state: &mut State) {
    let units = spec.hidden;
    let clip = |x: f64| spec.clip.map_or(x, |bound| x.clamp(-f64::from(bound), f64::from(bound)));
    let from_input = product(weights.input, input, weights.input_bias);
    let from_hidden = product(weights.hidden, &state.hidden, weights.hidden_bias);
    let sum = |gate: usize, unit: usize| from_input[gate * units + unit] + from_hidden[gate * units + unit];
    let peephole = |which: usize, unit: usize| value(weights.peepholes, which * units + unit);
    match spec.cell {
        Cell::Lstm => {
            for unit in 0..units {
                let before = state.cell[unit];
                let i = sigmoid(clip(sum(0, unit) + peephole(0, unit) * before));
                let f = sigmoid(clip(sum(1, unit) + peephole(1, unit) * before));
                let g = clip(sum(2, unit)).tanh();
                let c = f * before + i * g;
                let o = sigmoid(clip(sum(3, unit) + peephole(2, unit) * c));
                state.cell[unit] = c;
                state.hidden[unit] = o * clip(c).tanh();
            }
        }
        Cell::Gru(reset) => {
            let before = state.hidden.clone();
            let r: Vec<f64> = (0..units).map(|unit| sigmoid(clip(sum(0, unit)))).collect();
            let candidate: Vec<f64> = match reset {
                GruReset::AfterProduct => {
                    (0..units).map(|unit| r[unit] * from_hidden[2 * units + unit]).collect()
                }
                GruReset::BeforeProduct => {
                    let scaled: Vec<f64> = r.iter().zip(&before).map(|(r, h)| r * h).collect();
                    product(weights.hidden, &scaled, weights.hidden_bias)[2 * units..].to_vec()
                }
            };
            for unit in 0..units {
                let z = sigmoid(clip(sum(1, unit)));
                let n = clip(from_input[2 * units + unit] + candidate[unit]).tanh();
                state.hidden[unit] = (1.0 - z) * n + z * before[unit];
            }
        }
        Cell::Rnn(activation) => {
            for unit in 0..units {
                let x = clip(sum(0, unit));
                state.hidden[unit] = match activation {
                    RnnActivation::Tanh => x.tanh(),
                    RnnActivation::Relu => x.max(0.0),
                };
            }
        }
    }
}

/// Computes `matrix * vector + bias`, with a bias of zero if it is absent.
fn product(matrix: &[f32], vector: &[f64], bias: &[f32]) -> Vec<f64> {
    let dot = |row: &[f32]| -> f64 { row.iter().zip(vector).map(|(a, b)| f64::from(*a) * b).sum() };
    let rows = matrix.chunks_exact(vector.len()).map(dot).enumerate();
    rows.map(|(row, sum)| sum + value(bias, row)).collect()
}

/// Returns a value of a tensor that is zero where it is absent.
fn value(tensor: &[f32], at: usize) -> f64 {
    tensor.get(at).copied().map_or(0.0, f64::from)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn round_into(from: &[f64], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from as f32;
    }
}
