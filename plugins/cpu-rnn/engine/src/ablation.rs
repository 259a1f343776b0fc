//! The gain of each technique of the paper: the same LSTM run in four ways (section 5.3 and figure 4 of the paper).
//!
//! All of them use the kernels of this workspace, so that a difference between two of them is the technique's and not
//! the kernel's.

mod gemm;
mod partitioned;

use proctor_rnn_kernels::{DirectionWeights, Isa, PackedLinear};
use proctor_rnn_layer::{Cell, Directions, Precision, Schedule};

use crate::{
    call::LayerCall,
    execution::workspace::Workspace,
    layer::{Layer, LayerError},
    sequences::{Sequences, SequencesMut},
    spec::LayerSpec,
    team::Team,
};
use gemm::GemmState;
use partitioned::Partitioned;

/// One of the four ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Each step is eight products in sequence, each of them a parallel region; then the element-wise part.
    ParallelGemm,
    /// The eight products of a step are one, of `[x, h]` with all weights: still one parallel region for each.
    Fusion,
    /// Fused phases, time-independent and time-dependent, each partitioned by columns, without streamlining: a parallel
    /// region for each phase, in which a partition goes to another core than in the phase before.
    Partitioning,
    /// Weight-centric streamlining on top: [`Layer::run`] by a schedule.
    Everything,
}

impl Stage {
    /// All ways, plainest first.
    pub const ALL: [Self; 4] = [Self::ParallelGemm, Self::Fusion, Self::Partitioning, Self::Everything];

    /// Returns the name as in the paper.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ParallelGemm => "parallel GEMM",
            Self::Fusion => "fusion",
            Self::Partitioning => "MM-DAG + fusion + PCP",
            Self::Everything => "everything",
        }
    }
}

/// An LSTM, ready to be run in each of the ways. f32, forward, no initial state, no peepholes.
#[derive(Debug)]
pub struct Ablation {
    sizes: Sizes,
    /// Input weights of the gates i, f, g, o, with the sum of both biases.
    input_gates: Vec<PackedLinear>,
    hidden_gates: Vec<PackedLinear>,
    /// `[4 * hidden, input + hidden]`.
    fused: PackedLinear,
    partitioned: Partitioned,
    layer: Layer,
    state: GemmState,
    workspace: Workspace,
}

/// Sizes of the layer and of its calls.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    input: usize,
    hidden: usize,
    batch: usize,
    time: usize,
}

impl Ablation {
    /// Packs the weights of an LSTM of `hidden` units in all four ways, for calls of `batch` sequences of `time` steps.
    ///
    /// # Errors
    /// [`LayerError`] if a weight has the wrong size.
    pub fn new(
        [input, hidden]: [usize; 2],
        weights: &DirectionWeights<'_>,
        [batch, time]: [usize; 2],
    ) -> Result<Self, LayerError> {
        let spec = LayerSpec {
            cell: Cell::Lstm,
            directions: Directions::Forward,
            input,
            hidden,
            clip: None,
            precision: Precision::F32,
        };
        let weights = DirectionWeights { peepholes: &[], ..*weights };
        let layer = Layer::new(spec, &[weights])?;
        let sizes = Sizes { input, hidden, batch, time };
        let bias = |row: usize| {
            let value = |bias: &[f32]| bias.get(row).copied().unwrap_or(0.0);
            value(weights.input_bias) + value(weights.hidden_bias)
        };
        let biases: Vec<f32> = (0..4 * hidden).map(bias).collect();
        let linear = |weights: &[f32], bias: &[f32], inputs| {
            PackedLinear::new(Isa::best(), Precision::F32, weights, bias, inputs)
        };
        let gate = |gate: usize, width: usize| gate * hidden * width..(gate + 1) * hidden * width;
        let fused: Vec<f32> = (0..4 * hidden)
            .flat_map(|row| {
                let row_of = |matrix: &'_ [f32], width: usize| matrix[row * width..][..width].to_vec();
                [row_of(weights.input, input), row_of(weights.hidden, hidden)].concat()
            })
            .collect();
        Ok(Self {
            sizes,
            input_gates: (0..4)
                .map(|at| linear(&weights.input[gate(at, input)], &biases[gate(at, 1)], input))
                .collect(),
            hidden_gates: (0..4).map(|at| linear(&weights.hidden[gate(at, hidden)], &[], hidden)).collect(),
            fused: linear(&fused, &biases, input + hidden),
            partitioned: Partitioned::new(&spec, &weights, sizes),
            layer,
            state: GemmState::new(sizes),
            workspace: Workspace::default(),
        })
    }

    /// Runs the layer in one way. `input` is `[time, batch, input]`, `output` `[time, batch, hidden]`; the schedule is
    /// for [`Stage::Everything`] alone, the other ways use all threads of the team.
    ///
    /// # Panics
    /// If a tensor has another size than this was made for.
    pub fn run(
        &mut self,
        stage: Stage,
        schedule: &Schedule,
        team: &mut Team,
        input: &[f32],
        output: &mut [f32],
    ) {
        let Sizes { input: width, hidden, batch, time } = self.sizes;
        assert_eq!(input.len(), time * batch * width, "size of the input");
        assert_eq!(output.len(), time * batch * hidden, "size of the output");
        match stage {
            Stage::ParallelGemm => {
                self.state.run_gates(&self.input_gates, &self.hidden_gates, team, input, output);
            }
            Stage::Fusion => self.state.run_fused(&self.fused, team, input, output),
            Stage::Partitioning => self.partitioned.run(team, input, output),
            Stage::Everything => {
                let mut call = LayerCall {
                    input: Sequences::time_major(input, time, batch, width),
                    lengths: None,
                    initial_hidden: None,
                    initial_cell: None,
                    output: SequencesMut::time_major(output, time, batch, hidden),
                    last_hidden: None,
                    last_cell: None,
                };
                let done = self.layer.run(schedule, team, &mut self.workspace, &mut call);
                done.expect("the tensors have the layer's sizes");
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proctor_rnn_layer::Mapping;

    #[test]
    fn all_ways_compute_the_same() {
        for [input, hidden, batch, time] in
            [[5, 17, 1, 4], [40, 33, 3, 5], [16, 160, 2, 3], [3, 1, 2, 2], [5, 17, 0, 4]]
        {
            let mut seed = 1_u32;
            let mut values = |count: usize| -> Vec<f32> {
                let next = |_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 8) as f32 / (1 << 24) as f32 - 0.5
                };
                (0..count).map(next).collect()
            };
            let [w, u, b, c] =
                [4 * hidden * input, 4 * hidden * hidden, 4 * hidden, 4 * hidden].map(&mut values);
            let weights =
                DirectionWeights { input: &w, hidden: &u, input_bias: &b, hidden_bias: &c, peepholes: &[] };
            let mut ablation = Ablation::new([input, hidden], &weights, [batch, time]).unwrap();
            let tensor = values(time * batch * input);
            let outputs = [1, 2, 3].map(|threads| {
                let schedule = Schedule { threads, mapping: Mapping::Columns, ..Schedule::SINGLE };
                let mut team = Team::new(threads);
                Stage::ALL.map(|stage| {
                    let mut output = vec![0.0; time * batch * hidden];
                    // Twice: the second run must not see the states of the first.
                    for _ in 0..2 {
                        ablation.run(stage, &schedule, &mut team, &tensor, &mut output);
                    }
                    output
                })
            });
            for (index, output) in outputs.iter().flatten().enumerate() {
                for (a, b) in output.iter().zip(&outputs[0][3]) {
                    assert!((a - b).abs() < 2e-6, "{:?}: {a} and {b}", Stage::ALL[index % 4]);
                }
            }
        }
    }
}
