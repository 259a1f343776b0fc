//! The weights, the input and the states of a layer: the same numbers each time, on each system.

use std::{fs, path::Path};

use proctor_onnx_file::Dim;
use proctor_recurrent_layers::LayerDirection;
use proctor_rnn_engine::{DirectionWeights, LayerSpec};
use proctor_rnn_layer::Precision;

use super::{cases::LayerCase, numbers::Numbers, onnx};
use crate::answers::bytes;
use proctor_words::{HostError, output};

/// Names of the files of a case, in the folder that is handed to workers. All numbers are little-endian f32.
pub(super) const SAFETENSORS: &str = "layer.safetensors";
/// File with a fixed batch, for peers.
pub(super) const ONNX: &str = "layer.onnx";
/// File with a free batch, for a plugin, which receives samples of one sequence each.
pub(super) const ONNX_FREE_BATCH: &str = "layer-free-batch.onnx";
/// `[time, batch, input]`.
pub(super) const INPUT: &str = "input.f32";
/// `[direction, batch, hidden]`; only of a case with an initial state. The second one of an LSTM only.
pub(super) const INITIAL_HIDDEN: &str = "initial_hidden.f32";
pub(super) const INITIAL_CELL: &str = "initial_cell.f32";
/// `[time, batch, direction * hidden]`: the output of a worker.
pub(super) const OUTPUT: &str = "output.f32";

/// A layer with all inputs of a call.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) layer: LayerCase,
    /// Directions, forward first.
    pub(super) directions: Vec<LayerDirection>,
    /// `[time, batch, input]`, normally distributed.
    pub(super) input: Vec<f32>,
    /// `[direction, batch, hidden]`; empty for zeros.
    pub(super) initial_hidden: Vec<f32>,
    /// Initial states of an LSTM's cells, likewise.
    pub(super) initial_cell: Vec<f32>,
}

impl Problem {
    /// Draws the numbers: weights uniform in `±1/sqrt(hidden)`, as trained layers are initialised.
    pub(super) fn new(layer: LayerCase) -> Self {
        let LayerCase { kind, input, hidden, batch, time, .. } = layer;
        let (gates, bound) = (kind.gate_count() * hidden, 1.0 / (hidden as f32).sqrt());
        let direction = |number: usize| {
            let suffix = if number == 0 { "" } else { "_reverse" };
            let uniform = |name: &str, count: usize| {
                let mut numbers = Numbers::of(&format!("{}.{name}_l0{suffix}", kind.prefix()));
                (0..count).map(|_| numbers.uniform() * bound).collect()
            };
            LayerDirection {
                input: uniform("weight_ih", gates * input),
                hidden: uniform("weight_hh", gates * hidden),
                input_bias: uniform("bias_ih", gates),
                hidden_bias: uniform("bias_hh", gates),
            }
        };
        let normal = |name: &str, count: usize| -> Vec<f32> {
            let mut numbers = Numbers::of(name);
            (0..count).map(|_| numbers.normal()).collect()
        };
        let states = if layer.has_initial_state() { layer.direction_count() * batch * hidden } else { 0 };
        // Hidden states are within ±1.
        let initial_hidden = normal("h0", states).into_iter().map(f32::tanh).collect();
        let initial_cell = normal("c0", if kind.gate_count() == 4 { states } else { 0 });
        Self {
            layer,
            directions: (0..layer.direction_count()).map(direction).collect(),
            input: normal("x", time * batch * input),
            initial_hidden,
            initial_cell,
        }
    }

    /// Returns the layer in f32, for the engine itself.
    pub(super) fn spec(&self) -> LayerSpec {
        LayerSpec::of(&self.layer.shape(Precision::F32))
    }

    /// Returns the weights of all directions, for the engine itself.
    pub(super) fn weights(&self) -> Vec<DirectionWeights<'_>> {
        let weights = self.directions.iter().map(|direction| DirectionWeights {
            input: &direction.input,
            hidden: &direction.hidden,
            input_bias: &direction.input_bias,
            hidden_bias: &direction.hidden_bias,
            peepholes: &[],
        });
        weights.collect()
    }

    /// Writes the model in both formats and the inputs.
    ///
    /// # Errors
    /// If there is no room.
    pub(super) fn write(&self, folder: &Path) -> Result<(), HostError> {
        let write = |name: &str, bytes: Vec<u8>| {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|source| output(&path, source))
        };
        write(SAFETENSORS, self.safetensors())?;
        write(ONNX, onnx::model(&self.layer, &self.directions, &Dim::Fixed(self.layer.batch)))?;
        write(ONNX_FREE_BATCH, onnx::model(&self.layer, &self.directions, &Dim::Free("batch".to_owned())))?;
        write(INPUT, bytes(&self.input))?;
        write(INITIAL_HIDDEN, bytes(&self.initial_hidden))?;
        write(INITIAL_CELL, bytes(&self.initial_cell))
    }

    /// Returns the bytes of a safetensors file: the length of its header, the header as JSON, and the values.
    fn safetensors(&self) -> Vec<u8> {
        let LayerCase { kind, input, hidden, .. } = self.layer;
        let gates = kind.gate_count() * hidden;
        let (mut header, mut values) = (serde_json::Map::new(), Vec::new());
        for (weights, suffix) in self.directions.iter().zip(["", "_reverse"]) {
            let tensors: [(&str, &[f32], &[usize]); 4] = [
                ("weight_ih", &weights.input, &[gates, input]),
                ("weight_hh", &weights.hidden, &[gates, hidden]),
                ("bias_ih", &weights.input_bias, &[gates]),
                ("bias_hh", &weights.hidden_bias, &[gates]),
            ];
            for (name, tensor, shape) in tensors {
                let start = values.len();
                values.extend(bytes(tensor));
                let entry = serde_json::json!(
                    { "dtype": "F32", "shape": shape, "data_offsets": [start, values.len()] }
                );
                header.insert(format!("{}.{name}_l0{suffix}", kind.prefix()), entry);
            }
        }
        let mut header = serde_json::Value::Object(header).to_string();
        // Values begin at a multiple of 8 bytes.
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header.as_bytes(), &values].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answers::floats, rnn::cases::Kind};

    fn problem(time: usize) -> Problem {
        let (kind, bidirectional) = (Kind::Lstm, true);
        Problem::new(LayerCase { kind, bidirectional, input: 3, hidden: 4, batch: 2, time })
    }

    #[test]
    fn numbers_are_bounded_and_the_same_each_time() {
        let problem = problem(5);
        assert_eq!(problem.input, super::tests::problem(5).input);
        assert_eq!(problem.directions.len(), 2);
        assert_ne!(problem.directions[0].input, problem.directions[1].input);
        assert!(problem.directions.iter().flat_map(|weights| &weights.hidden).all(|w| w.abs() <= 0.5));
        assert_eq!((problem.input.len(), problem.initial_hidden.len()), (30, 0));
    }

    #[test]
    fn one_step_goes_on_from_a_state() {
        let problem = problem(1);
        assert_eq!((problem.initial_hidden.len(), problem.initial_cell.len()), (16, 16));
        assert!(problem.initial_hidden.iter().all(|state| state.abs() <= 1.0));
    }

    #[test]
    fn the_file_has_each_tensor_at_its_place() {
        let problem = problem(5);
        let file = problem.safetensors();
        let length = usize::try_from(u64::from_le_bytes(file[..8].try_into().unwrap())).unwrap();
        let header: serde_json::Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
        let entry = &header["lstm.weight_hh_l0_reverse"];
        assert_eq!(entry["shape"], serde_json::json!([16, 4]));
        let place = |end: usize| usize::try_from(entry["data_offsets"][end].as_u64().unwrap()).unwrap();
        assert_eq!(floats(&file[8 + length..][place(0)..place(1)]), problem.directions[1].hidden);
    }
}
