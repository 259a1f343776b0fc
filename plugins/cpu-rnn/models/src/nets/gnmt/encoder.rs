//! The encoder: a bidirectional layer, three forward ones, the last two residual.

use proctor_rnn_layer::Cell;

use super::{LAYERS, PLANNED_SOURCE_MAX, RESIDUAL_FROM, Sizes};
use crate::model::RunError;
use crate::nets::known::zeros;
use crate::nets::layers::embedding::Embedding;
use crate::nets::recurrent::{CallSizes, Expected, LayerSource, Pass, Recurrent, Runner};
use crate::safetensors::error::WeightsError;

#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) embedding: Embedding,
    layers: [Recurrent; LAYERS],
}

/// Memory of one caller, and the decoder's inputs.
#[derive(Debug)]
pub(super) struct Encoding {
    /// Input of a layer, `[sample, time, width]`; at last the memory for the attention.
    pub(super) rows: Vec<f32>,
    next: Vec<f32>,
    /// Last hidden and cell states of each layer, `[direction, sample, hidden]`.
    pub(super) last: [[Vec<f32>; 2]; LAYERS],
}

impl Encoding {
    pub(super) fn new(sizes: Sizes, samples: usize) -> Self {
        let rows = || zeros(samples * sizes.source * 2 * sizes.hidden);
        let states = || zeros(2 * samples * sizes.hidden);
        let last = [(); LAYERS].map(|()| [states(), states()]);
        Self { rows: rows(), next: rows(), last }
    }

    /// Returns the states of layer `index` that the decoder starts from, `[sample, hidden]`: hidden and cell. For the
    /// bidirectional layer, the states of the reverse direction.
    pub(super) fn states(&self, index: usize, samples: usize, hidden: usize) -> [&[f32]; 2] {
        let start = if index == 0 { samples * hidden } else { 0 };
        let [hidden_states, cell_states] = &self.last[index];
        [&hidden_states[start..][..samples * hidden], &cell_states[start..][..samples * hidden]]
    }
}

impl Encoder {
    pub(super) fn load(sizes: Sizes, layer_source: &mut LayerSource<'_, '_>) -> Result<Self, WeightsError> {
        let Sizes { vocabulary, hidden, source, .. } = sizes;
        let embedding = layer_source.embedding("encoder.embedding", vocabulary, hidden)?;
        let calls =
            CallSizes { time: source.min(PLANNED_SOURCE_MAX), batches: [1, layer_source.batch_size_max] };
        let mut layer = |index: usize| {
            let prefix = &format!("encoder.lstm{index}");
            let input = if index == 1 { 2 * hidden } else { hidden };
            let bidirectional = index == 0;
            let expected = Expected { prefix, index: 0, cell: Cell::Lstm, input, hidden, bidirectional };
            layer_source.recurrent(expected, calls)
        };
        let layers = [layer(0)?, layer(1)?, layer(2)?, layer(3)?];
        Ok(Self { embedding, layers })
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.layers.iter()
    }

    /// Encodes the sources of a batch, whose words' vectors are the rows of `room`; `time` is the longest of `lengths`.
    pub(super) fn run(
        &self,
        runner: &mut Runner,
        room: &mut Encoding,
        lengths: &[usize],
        time: usize,
    ) -> Result<(), RunError> {
        let mut width = self.embedding.width();
        for (index, layer) in self.layers.iter().enumerate() {
            let steps = lengths.len() * time;
            let [last_hidden, last_cell] = &mut room.last[index];
            let states = lengths.len() * layer.width();
            let next = &mut room.next[..steps * layer.width()];
            let pass = Pass {
                input: &room.rows[..steps * width],
                lengths,
                time,
                output: &mut *next,
                last_hidden: Some(&mut last_hidden[..states]),
                last_cell: Some(&mut last_cell[..states]),
            };
            layer.run(runner, pass)?;
            if index >= RESIDUAL_FROM {
                next.iter_mut().zip(&room.rows).for_each(|(next, row)| *next += row);
            }
            std::mem::swap(&mut room.rows, &mut room.next);
            width = layer.width();
        }
        Ok(())
    }
}
