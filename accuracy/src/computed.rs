//! Reference outputs of a single recurrent layer of any size, computed from its weights after the run.
//!
//! The plainest program that follows the equations, in f64: one sample, one direction, one step, one unit after the other.
//! It shares no code with any plugin, and its answers are checked against another implementation's.

use std::{fs, path::Path};

use proctor_datasets::recipes::{InputRecipe, RnnCell, RnnName, input_recipe};
use safetensors::{Dtype, SafeTensors};

use crate::AccuracyError;

/// So many multiplications are made, which takes some seconds; but at least one sample is computed.
const MULTIPLICATIONS_MAX: f64 = 2e9;
/// So many samples are enough.
const SAMPLES_MAX: usize = 8;

/// What a name says.
///
/// # Errors
/// [`AccuracyError::NoReference`] if it is not that of a layer.
pub(crate) fn layer(model: &str) -> Result<(RnnName, InputRecipe), AccuracyError> {
    let found = model.parse().ok().zip(input_recipe(model));
    found.ok_or_else(|| AccuracyError::NoReference {
        model: model.to_owned(),
        hint: String::new(),
        known: "single layers, rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]".to_owned(),
    })
}

/// The outputs of the first samples, at most `sample_count`: `[seq, directions * hidden]` of each.
pub(crate) fn compute(
    model: &str,
    weights: &Path,
    sample_count: usize,
) -> Result<Vec<Vec<f64>>, AccuracyError> {
    let (name, inputs) = layer(model)?;
    let wrong = |reason: String| AccuracyError::Weights { path: weights.to_owned(), reason };
    let bytes = fs::read(weights).map_err(|error| wrong(error.to_string()))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
    let suffixes = ["", "_reverse"];
    let directions = suffixes[..name.directions()].iter().map(|suffix| Direction::read(&file, &name, suffix));
    let directions = directions.collect::<Result<Vec<_>, _>>().map_err(wrong)?;

    let sample = |index: usize| {
        let bytes = inputs.sample(index as u64).swap_remove(0);
        let x: Vec<f64> =
            bytes.as_chunks().0.iter().map(|value| f64::from(f32::from_ne_bytes(*value))).collect();
        run(&name, &directions, &x)
    };
    Ok((0..judged_count(&name).min(sample_count)).map(sample).collect())
}

/// Number of samples that are computed.
fn judged_count(name: &RnnName) -> usize {
    let per_step = name.cell.gate_count() * name.hidden * (name.input + name.hidden) * name.directions();
    let affordable = MULTIPLICATIONS_MAX / (per_step as f64 * name.seq as f64);
    // The cast saturates, and the number is clamped anyway.
    (affordable as usize).clamp(1, SAMPLES_MAX)
}

/// The parameters of one direction, with PyTorch's meaning.
struct Direction {
    /// `[gates * hidden, input]`.
    input_weights: Vec<f32>,
    /// `[gates * hidden, hidden]`.
    hidden_weights: Vec<f32>,
    /// `[gates * hidden]` each.
    input_bias: Vec<f32>,
    hidden_bias: Vec<f32>,
}

impl Direction {
    fn read(file: &SafeTensors<'_>, name: &RnnName, suffix: &str) -> Result<Self, String> {
        let rows = name.cell.gate_count() * name.hidden;
        let tensor = |kind: &str, shape: &[usize]| {
            let tensor_name = format!("{}.{kind}_l0{suffix}", name.cell.prefix());
            let tensor = file.tensor(&tensor_name).map_err(|error| format!("{tensor_name}: {error}"))?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
                let (dtype, got) = (tensor.dtype(), tensor.shape());
                return Err(format!("{tensor_name} is {dtype:?}{got:?} instead of F32{shape:?}"));
            }
            Ok(tensor.data().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
        };
        Ok(Self {
            input_weights: tensor("weight_ih", &[rows, name.input])?,
            hidden_weights: tensor("weight_hh", &[rows, name.hidden])?,
            input_bias: tensor("bias_ih", &[rows])?,
            hidden_bias: tensor("bias_hh", &[rows])?,
        })
    }

    /// What the input adds to each gate: `W x + b`, `[gates * hidden]`.
    fn of_input(&self, x: &[f64]) -> Vec<f64> {
        product(&self.input_weights, x, &self.input_bias)
    }

    /// What the state adds to each gate.
    fn of_state(&self, h: &[f64]) -> Vec<f64> {
        product(&self.hidden_weights, h, &self.hidden_bias)
    }

    /// One step: the next state and cell from the input and the last ones.
    fn step(&self, cell: RnnCell, x: &[f64], h: &mut Vec<f64>, c: &mut [f64]) {
        let hidden = h.len();
        let (a, b) = (self.of_input(x), self.of_state(h));
        // Gate `gate` of unit `unit` without its non-linearity.
        let sum = |gate: usize, unit: usize| a[gate * hidden + unit] + b[gate * hidden + unit];
        let next: Vec<f64> = match cell {
            RnnCell::Lstm => {
                let mut next = Vec::with_capacity(hidden);
                for (unit, c) in c.iter_mut().enumerate() {
                    let [i, f, g, o] = [0, 1, 2, 3].map(|gate| sum(gate, unit));
                    *c = sigmoid(f) * *c + sigmoid(i) * g.tanh();
                    next.push(sigmoid(o) * c.tanh());
                }
                next
            }
            RnnCell::Gru | RnnCell::Gru0 => {
                let r: Vec<f64> = (0..hidden).map(|unit| sigmoid(sum(0, unit))).collect();
                // The third product is of the state, or of the part of it that the reset gate lets through.
                let reset_state: Vec<f64> = r.iter().zip(&*h).map(|(r, h)| r * h).collect();
                let of_reset = (cell == RnnCell::Gru0).then(|| self.of_state(&reset_state));
                let candidate = |unit: usize| {
                    let third = 2 * hidden + unit;
                    let of_state = of_reset.as_ref().map_or(r[unit] * b[third], |product| product[third]);
                    (a[third] + of_state).tanh()
                };
                let blend = |unit: usize| {
                    let z = sigmoid(sum(1, unit));
                    (1.0 - z) * candidate(unit) + z * h[unit]
                };
                (0..hidden).map(blend).collect()
            }
            RnnCell::Rnn => (0..hidden).map(|unit| sum(0, unit).tanh()).collect(),
        };
        *h = next;
    }
}

/// All steps of one sample in all directions: `[seq, directions * hidden]`.
fn run(name: &RnnName, directions: &[Direction], x: &[f64]) -> Vec<f64> {
    let width = directions.len() * name.hidden;
    let mut y = vec![0.0; name.seq * width];
    for (number, direction) in directions.iter().enumerate() {
        let (mut h, mut c) = (vec![0.0; name.hidden], vec![0.0; name.hidden]);
        for step in 0..name.seq {
            let step = if number == 0 { step } else { name.seq - 1 - step };
            direction.step(name.cell, &x[step * name.input..][..name.input], &mut h, &mut c);
            y[step * width + number * name.hidden..][..name.hidden].copy_from_slice(&h);
        }
    }
    y
}

/// `weights vector + bias`; the rows of the weights are as long as the vector.
fn product(weights: &[f32], vector: &[f64], bias: &[f32]) -> Vec<f64> {
    let rows = weights.chunks_exact(vector.len());
    rows.zip(bias).map(|(row, bias)| dot(row, vector) + f64::from(*bias)).collect()
}

/// The dot product, in eight sums that do not wait for each other.
fn dot(row: &[f32], vector: &[f64]) -> f64 {
    let ((rows, rest), (vectors, vector_rest)) = (row.as_chunks::<8>(), vector.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (row, vector) in rows.iter().zip(vectors) {
        for ((sum, weight), value) in sums.iter_mut().zip(row).zip(vector) {
            *sum += f64::from(*weight) * value;
        }
    }
    let rest: f64 = rest.iter().zip(vector_rest).map(|(weight, value)| f64::from(*weight) * value).sum();
    sums.iter().sum::<f64>() + rest
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use proctor_datasets::recipes::{recipe, write_safetensors};

    use super::*;
    use crate::{Answers, ResponseForm, shipped};

    fn computed(model: &str, sample_count: usize) -> Vec<Vec<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join("model.safetensors");
        write_safetensors(&recipe(model).unwrap(), &weights, &mut |_| ()).unwrap();
        compute(model, &weights, sample_count).unwrap()
    }

    /// The other implementation is numpy's, in a script beside the recipes.
    #[test]
    fn layers_agree_with_another_implementation() {
        for (model, units) in [("rnn-lstm-3-5-2-4-bi", 10), ("rnn-gru-3-5-2-4", 5)] {
            let form = ResponseForm::ValuesF32 { count: 4 * units };
            let Answers::Values(expected) = shipped::read(model, &["y".into()], form).unwrap() else {
                panic!("{model}")
            };
            let got = computed(model, expected.len());
            assert!(!got.is_empty());
            for (got, expected) in got.iter().flatten().zip(expected.iter().flatten()) {
                assert!((got - expected).abs() < 1e-8, "{model}: {got} {expected}");
            }
        }
    }

    /// One unit, two steps, and the equations written out.
    #[test]
    fn the_other_cells_follow_their_equations() {
        let one = |rows: usize| Direction {
            input_weights: (0..rows).map(|row| 0.5 - 0.25 * row as f32).collect(),
            hidden_weights: (0..rows).map(|row| 0.75 - 0.5 * row as f32).collect(),
            input_bias: (0..rows).map(|row| 0.125 * row as f32).collect(),
            hidden_bias: (0..rows).map(|row| -0.25 + 0.125 * row as f32).collect(),
        };
        let x = [0.5, -1.0];
        let name: RnnName = "rnn-rnn-1-1-1-2".parse().unwrap();
        let first = (0.5 * 0.5 - 0.25_f64).tanh();
        let second = (-0.5 + 0.75 * first - 0.25).tanh();
        assert_eq!(run(&name, &[one(1)], &x), [first, second]);

        let name: RnnName = "rnn-gru0-1-1-1-2".parse().unwrap();
        let mut h = 0.0;
        let steps = x.map(|x: f64| {
            let r = sigmoid(0.5 * x + (0.75 * h - 0.25));
            let z = sigmoid(0.25 * x + 0.125 + (0.25 * h - 0.125));
            // The hidden product of what is reset: -0.25 (r h) + 0.
            let n = (0.0 * x + 0.25 + (-0.25 * (r * h))).tanh();
            h = (1.0 - z) * n + z * h;
            h
        });
        for (got, expected) in run(&name, &[one(3)], &x).iter().zip(steps) {
            assert!((got - expected).abs() < 1e-15, "{got} {expected}");
        }
    }

    #[test]
    fn the_second_direction_reads_from_the_end() {
        let name: RnnName = "rnn-rnn-1-1-1-3-bi".parse().unwrap();
        let identity = || Direction {
            input_weights: vec![1.0],
            hidden_weights: vec![1.0],
            input_bias: vec![0.0],
            hidden_bias: vec![0.0],
        };
        let y = run(&name, &[identity(), identity()], &[0.1, 0.2, 0.3]);
        let backwards = run(&name, &[identity(), identity()], &[0.3, 0.2, 0.1]);
        for step in 0..3 {
            assert_eq!(
                (y[2 * step], y[2 * step + 1]),
                (backwards[2 * (2 - step) + 1], backwards[2 * (2 - step)])
            );
        }
    }

    #[test]
    fn large_layers_have_fewer_samples() {
        let count = |name: &str| judged_count(&name.parse().unwrap());
        assert_eq!(count("rnn-lstm-64-64-1-100"), SAMPLES_MAX);
        assert_eq!(count("rnn-lstm-1024-1024-1-100"), 2);
        assert_eq!(count("rnn-lstm-16384-16384-1-100"), 1);
    }

    #[test]
    fn weights_that_are_not_those_of_the_layer_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join("model.safetensors");
        write_safetensors(&recipe("rnn-lstm-2-3-1-1").unwrap(), &weights, &mut |_| ()).unwrap();
        let error = |model: &str| compute(model, &weights, 1).unwrap_err().to_string();
        assert!(error("rnn-lstm-2-4-1-1").contains("lstm.weight_ih_l0 is F32[12, 2] instead of F32[16, 2]"));
        assert!(error("rnn-gru-2-3-1-1").contains("gru.weight_ih_l0"));
        assert!(error("digits-lstm").contains("no reference outputs for model \"digits-lstm\""));
        fs::write(&weights, b"short").unwrap();
        assert!(error("rnn-lstm-2-3-1-1").contains("cannot compute reference outputs from"));
    }
}
