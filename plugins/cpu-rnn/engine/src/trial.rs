//! Calls of a layer to be timed, for calibration.

use std::time::{Duration, Instant};

use proctor_rnn_kernels::Buffer;
use proctor_rnn_layer::{Cell, LayerShape, Schedule};

use crate::{
    call::LayerCall,
    execution::workspace::Workspace,
    layer::Layer,
    sequences::{Sequences, SequencesMut},
    team::Team,
};

/// A layer with inputs of a shape, made up: how long a call takes does not depend on the values, as long as they are
/// neither tiny nor huge.
///
/// A single step starts from given states, as in a decoder; sequences start from zeros.
#[derive(Debug)]
pub struct Trial<'a> {
    layer: &'a Layer,
    shape: LayerShape,
    /// Aligned to cache lines, as the buffers of the host are.
    input: Buffer,
    initial: Option<Vec<f32>>,
    output: Buffer,
    workspace: Workspace,
    is_primed: bool,
}

impl<'a> Trial<'a> {
    /// Makes inputs of `shape.time` steps and `shape.batch` sequences; the rest of the shape is the layer's own.
    #[must_use]
    pub fn new(layer: &'a Layer, shape: &LayerShape) -> Self {
        let spec = layer.spec();
        let rows = shape.time * shape.batch;
        let states = spec.directions.count() * shape.batch * spec.hidden;
        let mut input = Buffer::zeroed(rows * spec.input);
        input.values_mut()[..rows * spec.input].copy_from_slice(&values(rows * spec.input));
        Self {
            layer,
            shape: *shape,
            input,
            initial: (shape.time == 1).then(|| values(states)),
            output: Buffer::zeroed(rows * layer.output_width()),
            workspace: Workspace::default(),
            is_primed: false,
        }
    }

    /// Runs one call and returns how long it took. Before the first primed schedule the weights are primed, which does
    /// not count.
    pub fn time(&mut self, schedule: &Schedule, team: &mut Team) -> Duration {
        if schedule.primed && !self.is_primed {
            self.layer.prime(team);
            self.is_primed = true;
        }
        let Self { layer, shape, input, initial, output, workspace, .. } = self;
        let spec = layer.spec();
        let LayerShape { time, batch, .. } = *shape;
        let (rows, width) = (time * batch, layer.output_width());
        let mut call = LayerCall {
            input: Sequences::time_major(&input.values()[..rows * spec.input], time, batch, spec.input),
            lengths: None,
            initial_hidden: initial.as_deref(),
            initial_cell: initial.as_deref().filter(|_| spec.cell == Cell::Lstm),
            output: SequencesMut::time_major(&mut output.values_mut()[..rows * width], time, batch, width),
            last_hidden: None,
            last_cell: None,
        };
        let start = Instant::now();
        layer.run(schedule, team, workspace, &mut call).expect("the call was made for the layer");
        start.elapsed()
    }
}

/// Returns the values between -1 and 1 that do not repeat soon.
fn values(count: usize) -> Vec<f32> {
    let mut state = 0x2018_0711_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // The upper bits are the good ones; 24 of them fit an f32.
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proctor_rnn_layer::{Chunk, Directions, GruReset, Mapping, Precision};

    use super::*;
    use crate::spec::LayerSpec;
    use proctor_rnn_kernels::DirectionWeights;

    #[test]
    fn every_kind_of_call_can_be_timed() {
        for (cell, directions, time) in [
            (Cell::Lstm, Directions::Bidirectional, 1),
            (Cell::Gru(GruReset::BeforeProduct), Directions::Reverse, 3),
        ] {
            let (input, hidden) = (5, 18);
            let spec = LayerSpec { cell, directions, input, hidden, clip: None, precision: Precision::F32 };
            let gates = cell.gate_count() * hidden;
            let (w, u) = (values(gates * input), values(gates * hidden));
            let weights =
                DirectionWeights { input: &w, hidden: &u, input_bias: &[], hidden_bias: &[], peepholes: &[] };
            let layer = Layer::new(spec, &vec![weights; directions.count()]).unwrap();
            let shape =
                LayerShape { cell, directions, input, hidden, batch: 2, time, precision: Precision::F32 };
            let mut trial = Trial::new(&layer, &shape);
            let mut team = Team::new(2);
            for mapping in Mapping::ALL {
                let schedule = Schedule {
                    threads: 2,
                    mapping,
                    chunk: Chunk::Steps(2),
                    primed: true,
                    ..Schedule::SINGLE
                };
                assert!(trial.time(&schedule, &mut team) > Duration::ZERO);
                assert!(trial.output.values().iter().all(|value| value.is_finite()));
                assert!(trial.output.values().iter().any(|value| *value != 0.0));
            }
            assert!(trial.is_primed);
        }
    }

    #[test]
    fn made_up_values_are_all_over_the_range() {
        let all = values(1000);
        assert!(all.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(all.iter().any(|value| *value > 0.9) && all.iter().any(|value| *value < -0.9));
    }
}
