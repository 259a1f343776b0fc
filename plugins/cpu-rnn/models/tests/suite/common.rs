//! Models made of random weights, as safetensors bytes, and a plain reference to compare with.
pub mod owned_batch;

use std::{collections::BTreeMap, path::Path};

use proctor_rnn_engine::Team;
use proctor_rnn_layer::{GruReset, Mapping, Precision, Schedule};
use proctor_rnn_models::{
    Instance, LayerCalls, RunError, Scheduler,
    safetensors::{Stack, StackOutput, StackSettings},
};
use safetensors::{Dtype, serialize, tensor::TensorView};

use owned_batch::OwnedBatch;

/// Shape and values of each tensor of a file.
pub type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Description of a random model.
#[derive(Debug, Clone, Copy)]
pub struct Architecture {
    pub prefix: &'static str,
    pub layer_count: usize,
    pub bidirectional: bool,
    pub input_count: usize,
    pub hidden_count: usize,
    /// Outputs of the final linear layer; 0 for none.
    pub output_count: usize,
}

impl Architecture {
    pub fn gate_count(&self) -> usize {
        match self.prefix {
            "lstm" => 4,
            "gru" => 3,
            _ => 1,
        }
    }

    pub fn suffixes(&self) -> &'static [&'static str] {
        if self.bidirectional { &["", "_reverse"] } else { &[""] }
    }

    /// Returns the number of values of the output of a sample: of the linear layer, or of the last state.
    pub fn output_len(&self) -> usize {
        if self.output_count > 0 { self.output_count } else { self.suffixes().len() * self.hidden_count }
    }

    /// Weights within ±1 / sqrt(hidden), as PyTorch initialises them, from a seed.
    pub fn weights(&self, seed: u64) -> Tensors {
        let mut random = Random(seed);
        let scale = 1.0 / (self.hidden_count as f32).sqrt();
        let mut tensors = Tensors::new();
        let mut add = |name: String, shape: &[usize]| {
            let values = (0..shape.iter().product()).map(|_| random.next() * scale).collect();
            tensors.insert(name, (shape.to_vec(), values));
        };
        let directions = self.suffixes().len();
        let rows = self.gate_count() * self.hidden_count;
        for layer in 0..self.layer_count {
            let inputs = if layer == 0 { self.input_count } else { directions * self.hidden_count };
            for suffix in self.suffixes() {
                let name = |part| format!("{}.{part}_l{layer}{suffix}", self.prefix);
                add(name("weight_ih"), &[rows, inputs]);
                add(name("weight_hh"), &[rows, self.hidden_count]);
                add(name("bias_ih"), &[rows]);
                add(name("bias_hh"), &[rows]);
            }
        }
        if self.output_count > 0 {
            add("fc.weight".into(), &[self.output_count, directions * self.hidden_count]);
            add("fc.bias".into(), &[self.output_count]);
        }
        tensors
    }
}

/// SplitMix64, mapped to [-1, 1).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    pub fn samples(&mut self, count: usize, len: usize) -> Vec<Vec<f32>> {
        (0..count).map(|_| (0..len).map(|_| self.next()).collect()).collect()
    }
}

pub fn to_safetensors(tensors: &Tensors) -> Vec<u8> {
    let bytes: Vec<(&str, &[usize], Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| {
            (name.as_str(), shape.as_slice(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    let views = bytes.iter().map(|(name, shape, data)| {
        (*name, TensorView::new(Dtype::F32, shape.to_vec(), data).expect("shape and data agree"))
    });
    serialize(views, None).expect("tensors serialise")
}

pub fn load(tensors: &Tensors, reset: GruReset) -> Stack {
    let stack =
        Stack::from_bytes(Path::new("test.safetensors"), &to_safetensors(tensors), reset, Precision::F32);
    stack.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs every layer on this many threads.
struct Threads(usize);

impl Scheduler for Threads {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        let mapping = if self.0 > 1 { Mapping::Columns } else { Mapping::Single };
        vec![Schedule { threads: self.0, mapping, ..Schedule::SINGLE }; calls.len()]
    }
}

pub fn try_instance(
    stack: Stack,
    settings: StackSettings,
    threads: usize,
) -> Result<Box<dyn Instance>, RunError> {
    stack.prepare(settings, &Threads(threads)).instance(Team::new(threads))
}

pub fn instance(stack: Stack, time: usize, batch_size_max: usize, threads: usize) -> Box<dyn Instance> {
    let settings = StackSettings { time, batch_size_max, output: StackOutput::Last };
    try_instance(stack, settings, threads).expect("settings make sense")
}

pub fn batch_of(samples: &[Vec<f32>], output_len: usize) -> OwnedBatch {
    let mut batch = OwnedBatch::default();
    samples.iter().for_each(|sample| batch.push_f32(&[sample], &[output_len]));
    batch
}

pub fn run(instance: &mut dyn Instance, samples: &[Vec<f32>], output_len: usize) -> Vec<Vec<f32>> {
    let mut batch = batch_of(samples, output_len);
    instance.execute(&mut batch).expect("the batch fits");
    (0..samples.len()).map(|sample| batch.output(sample, 0)).collect()
}

/// The answer for one sample in f64, one gate after the other, straight from the definition.
pub fn reference(
    tensors: &Tensors,
    architecture: &Architecture,
    reset: GruReset,
    sample: &[f32],
) -> Vec<f64> {
    let mut sequence: Vec<Vec<f64>> = sample
        .chunks(architecture.input_count)
        .map(|step| step.iter().copied().map(f64::from).collect())
        .collect();
    let mut last = Vec::new();
    for layer in 0..architecture.layer_count {
        let mut next = vec![Vec::new(); sequence.len()];
        last.clear();
        for suffix in architecture.suffixes() {
            let mut order: Vec<usize> = (0..sequence.len()).collect();
            if *suffix == "_reverse" {
                order.reverse();
            }
            let tensor = |part| &tensors[&format!("{}.{part}_l{layer}{suffix}", architecture.prefix)].1;
            let parts = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map(tensor);
            let mut hidden = vec![0.0; architecture.hidden_count];
            let mut cell = hidden.clone();
            for time in order {
                hidden = match architecture.prefix {
                    "lstm" => lstm_step(parts, &sequence[time], &hidden, &mut cell),
                    "rnn" => rnn_step(parts, &sequence[time], &hidden),
                    _ => gru_step(parts, &sequence[time], &hidden, reset),
                };
                next[time].extend(&hidden);
            }
            last.extend(hidden);
        }
        sequence = next;
    }
    match tensors.get("fc.weight") {
        None => last,
        Some((shape, weight)) => {
            (0..shape[0]).map(|row| dot(weight, row, &last) + f64::from(tensors["fc.bias"].1[row])).collect()
        }
    }
}

fn lstm_step(parts: [&Vec<f32>; 4], x: &[f64], hidden: &[f64], cell: &mut [f64]) -> Vec<f64> {
    let units = hidden.len();
    let gate = |gate: usize, unit: usize| {
        let row = gate * units + unit;
        let bias = f64::from(parts[2][row]) + f64::from(parts[3][row]);
        dot(parts[0], row, x) + dot(parts[1], row, hidden) + bias
    };
    let mut unit_step = |unit: usize| {
        let [i, f, g, o] = [0, 1, 2, 3].map(|index| gate(index, unit));
        cell[unit] = sigmoid(f) * cell[unit] + sigmoid(i) * g.tanh();
        sigmoid(o) * cell[unit].tanh()
    };
    (0..units).map(&mut unit_step).collect()
}

fn gru_step(parts: [&Vec<f32>; 4], x: &[f64], hidden: &[f64], reset: GruReset) -> Vec<f64> {
    let units = hidden.len();
    let input = |row: usize| dot(parts[0], row, x) + f64::from(parts[2][row]);
    let product = |row: usize, state: &[f64]| dot(parts[1], row, state);
    let bias = |row: usize| f64::from(parts[3][row]);
    let gate = |row: usize| sigmoid(input(row) + product(row, hidden) + bias(row));
    let scaled: Vec<f64> = (0..units).map(|unit| gate(unit) * hidden[unit]).collect();
    let unit_step = |unit: usize| {
        let (r, z, row) = (gate(unit), gate(units + unit), 2 * units + unit);
        let n = match reset {
            GruReset::AfterProduct => (input(row) + r * (product(row, hidden) + bias(row))).tanh(),
            GruReset::BeforeProduct => (input(row) + product(row, &scaled) + bias(row)).tanh(),
        };
        (1.0 - z) * n + z * hidden[unit]
    };
    (0..units).map(unit_step).collect()
}

fn rnn_step(parts: [&Vec<f32>; 4], x: &[f64], hidden: &[f64]) -> Vec<f64> {
    let sum = |unit: usize| {
        let bias = f64::from(parts[2][unit]) + f64::from(parts[3][unit]);
        dot(parts[0], unit, x) + dot(parts[1], unit, hidden) + bias
    };
    (0..hidden.len()).map(|unit| sum(unit).tanh()).collect()
}

fn dot(matrix: &[f32], row: usize, vector: &[f64]) -> f64 {
    let row = &matrix[row * vector.len()..][..vector.len()];
    row.iter().zip(vector).map(|(a, b)| f64::from(*a) * b).sum()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
