//! RNN-T: from speech features to characters (MLPerf v0.7; Graves 2012, He et al. 2019).
//!
//! The encoder runs over all samples of a batch at once ([`encoder`]); then all samples decode together ([`decoder`]):
//! in each round every sample looks at one frame with its last symbol, and those that found a symbol share a step of
//! the prediction network.

mod decoder;
mod encoder;

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_rnn_layer::Cell;
use proctor_vocabulary::TensorSpec;

use super::{
    inputs::{checked_length, write_words},
    known::{Known, check_memory, f32_spec, i32_spec},
    recurrent::{CallSizes, Expected, LayerSource, Recurrent, Runner},
};
use crate::batch::check_batch;
use crate::model::{Batch, Instance, Model, RunError};
use crate::safetensors::error::WeightsError;
use decoder::{Decoder, Decoding};
use encoder::{Encoder, Encoding};

/// Sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    width: usize,
    hidden: usize,
    prediction: usize,
    joint: usize,
    /// Labels without the blank, whose number is this.
    labels: usize,
    /// Feature rows of a sample at most.
    rows: usize,
    /// Symbols for one frame at most.
    symbols_max: usize,
    /// Symbols of a sample at most.
    room: usize,
}

pub(super) const FULL: Sizes = Sizes {
    width: 240,
    hidden: 1024,
    prediction: 320,
    joint: 512,
    labels: 28,
    rows: 500,
    symbols_max: 30,
    room: 500,
};

pub(super) const TINY: Sizes =
    Sizes { width: 6, hidden: 10, prediction: 7, joint: 9, labels: 4, rows: 12, symbols_max: 3, room: 24 };

/// Rows that become one frame between the encoder's two stacks.
const STACKED: usize = 2;

/// The parameters.
#[derive(Debug)]
struct Rnnt {
    sizes: Sizes,
    batch_size_max: usize,
    encoder: Encoder,
    decoder: Decoder,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![f32_spec("features", &[self.rows, self.width]), i32_spec("feature_length", &[1])]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![i32_spec("tokens", &[self.room])]
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, WeightsError> {
        let encoder = Encoder::load(*self, layer_source)?;
        let decoder = Decoder::load(*self, layer_source)?;
        layer_source.plan(encoder.layers().chain(decoder.layers()));
        Ok(Arc::new(Rnnt { sizes: *self, batch_size_max: layer_source.batch_size_max, encoder, decoder }))
    }
}

/// Takes the layers of a stack, each from its own input width.
fn stack<const N: usize>(
    layer_source: &mut LayerSource<'_, '_>,
    prefix: &str,
    inputs: [usize; N],
    hidden: usize,
    calls: CallSizes<2>,
) -> Result<[Recurrent; N], WeightsError> {
    let mut layers = Vec::with_capacity(N);
    for (index, input) in inputs.into_iter().enumerate() {
        let expected = Expected { prefix, index, cell: Cell::Lstm, input, hidden, bidirectional: false };
        layers.push(layer_source.recurrent(expected, calls)?);
    }
    Ok(layers.try_into().expect("one layer for each input"))
}

impl Model for Rnnt {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { width, hidden, joint, rows, room, .. } = self.sizes;
        let per_sample = rows * (width + 2 * hidden + joint) + room + 4 * hidden;
        check_memory(self.batch_size_max, rows, per_sample)?;
        let samples = self.batch_size_max;
        Ok(Box::new(RnntInstance {
            runner: Runner::new(team, self.encoder.layers().chain(self.decoder.layers())),
            lengths: Vec::with_capacity(samples),
            encoding: Encoding::new(self.sizes, samples),
            decoding: Decoding::new(self.sizes, samples),
            model: self,
        }))
    }

    fn summary(&self) -> String {
        self.encoder.layers().chain(self.decoder.layers()).map(Recurrent::summary).collect()
    }
}

#[derive(Debug)]
struct RnntInstance {
    model: Arc<Rnnt>,
    runner: Runner,
    /// Feature rows of each sample, then its frames.
    lengths: Vec<usize>,
    encoding: Encoding,
    decoding: Decoding,
}

impl Instance for RnntInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        self.lengths.clear();
        for sample in 0..samples {
            let length = batch.input_values(sample, 1)?.first().copied().unwrap_or(-1);
            self.lengths.push(checked_length(sample, "the feature length", length, model.sizes.rows)?);
        }
        if samples == 0 {
            return Ok(());
        }
        let frames = model.encoder.run(&mut self.runner, &mut self.encoding, batch, &mut self.lengths)?;
        model.decoder.run(&mut self.runner, &mut self.decoding, frames, &self.lengths)?;
        for sample in 0..samples {
            write_words(batch, sample, 0, self.decoding.text(sample))?;
        }
        Ok(())
    }
}
