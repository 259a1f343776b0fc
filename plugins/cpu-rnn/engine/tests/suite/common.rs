//! Layers with random weights, and calls of them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use proctor_rnn_engine::{
    DirectionWeights, Layer, LayerCall, LayerSpec, Sequences, SequencesMut, Team, Workspace, reference,
};
use proctor_rnn_kernels::Buffer;
use proctor_rnn_layer::{Cell, Schedule};

/// Random numbers that are the same every time (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// Uniform in `[-scale, scale)`.
    pub fn values(&mut self, count: usize, scale: f32) -> Vec<f32> {
        (0..count).map(|_| (self.next() as f32 / (1_u32 << 31) as f32 - 1.0) * scale).collect()
    }

    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }
}

/// Weights of one direction: input, hidden, both biases, peepholes.
pub struct Weights(pub [Vec<f32>; 5]);

impl Weights {
    pub fn random(spec: &LayerSpec, biases: bool, peepholes: bool, random: &mut Random) -> Self {
        let gates = spec.cell.gate_count() * spec.hidden;
        let scale = 1.0 / (spec.hidden as f32).sqrt();
        let bias = if biases { gates } else { 0 };
        let peephole = if peepholes && spec.cell == Cell::Lstm { 3 * spec.hidden } else { 0 };
        let sizes = [gates * spec.input, gates * spec.hidden, bias, bias, peephole];
        Self(sizes.map(|size| random.values(size, scale)))
    }

    pub fn view(&self) -> DirectionWeights<'_> {
        let [input, hidden, input_bias, hidden_bias, peepholes] = &self.0;
        DirectionWeights { input, hidden, input_bias, hidden_bias, peepholes }
    }
}

/// The tensors of a call.
#[derive(Clone)]
pub struct Tensors {
    pub time: usize,
    pub batch: usize,
    pub input: Vec<f32>,
    pub lengths: Option<Vec<usize>>,
    pub initial_hidden: Option<Vec<f32>>,
    pub initial_cell: Option<Vec<f32>>,
}

/// Results of a call: output, last hidden states, last cell states.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome(pub [Vec<f32>; 3]);

impl Tensors {
    pub fn random(spec: &LayerSpec, time: usize, batch: usize, initial: bool, random: &mut Random) -> Self {
        let states = spec.directions.count() * batch * spec.hidden;
        Self {
            time,
            batch,
            input: random.values(time * batch * spec.input, 1.0),
            lengths: None,
            initial_hidden: initial.then(|| random.values(states, 1.0)),
            initial_cell: (initial && spec.cell == Cell::Lstm).then(|| random.values(states, 1.0)),
        }
    }

    /// Hands a call with these tensors, the output filled with rubbish before, to `run`.
    pub fn call(&self, spec: &LayerSpec, run: impl FnOnce(&mut LayerCall<'_>)) -> Outcome {
        let width = spec.directions.count() * spec.hidden;
        let states = self.batch * width;
        // On a cache line for every other batch size: only hidden states that are not go through a stage.
        let skipped = self.batch % 2;
        let mut room = Buffer::zeroed(skipped + self.time * states);
        let output = &mut room.values_mut()[skipped..];
        output.fill(f32::NAN);
        let [mut last_hidden, mut last_cell] = [(); 2].map(|()| vec![f32::NAN; states]);
        let mut call = LayerCall {
            input: Sequences::time_major(&self.input, self.time, self.batch, spec.input),
            lengths: self.lengths.as_deref(),
            initial_hidden: self.initial_hidden.as_deref(),
            initial_cell: self.initial_cell.as_deref(),
            output: SequencesMut::time_major(output, self.time, self.batch, width),
            last_hidden: Some(&mut last_hidden),
            last_cell: (spec.cell == Cell::Lstm).then_some(&mut last_cell[..]),
        };
        run(&mut call);
        if spec.cell != Cell::Lstm {
            last_cell.clear();
        }
        Outcome([room.values()[skipped..].to_vec(), last_hidden, last_cell])
    }

    pub fn run(
        &self,
        layer: &Layer,
        schedule: &Schedule,
        team: &mut Team,
        workspace: &mut Workspace,
    ) -> Outcome {
        self.call(layer.spec(), |call| layer.run(schedule, team, workspace, call).expect("the call fits"))
    }

    pub fn reference(&self, spec: &LayerSpec, weights: &[Weights]) -> Outcome {
        let weights: Vec<_> = weights.iter().map(Weights::view).collect();
        self.call(spec, |call| reference::run(spec, &weights, call))
    }
}

impl Outcome {
    /// Largest absolute difference. Infinite where one is NaN and the other is not.
    pub fn difference(&self, other: &Self) -> f32 {
        let mut largest = 0.0_f32;
        for (ours, theirs) in self.0.iter().zip(&other.0) {
            assert_eq!(ours.len(), theirs.len());
            for (a, b) in ours.iter().zip(theirs) {
                let difference = match (a.is_nan(), b.is_nan()) {
                    (true, true) => 0.0,
                    (false, false) => (a - b).abs(),
                    _ => f32::INFINITY,
                };
                largest = largest.max(difference);
            }
        }
        largest
    }
}

pub fn layer(spec: LayerSpec, weights: &[Weights]) -> Layer {
    let views: Vec<_> = weights.iter().map(Weights::view).collect();
    Layer::new(spec, &views).expect("the weights fit")
}
