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
use proctor_timed_steps::mel::{Dither, Mel};
use proctor_vocabulary::{ElementType, TensorSpec};

use super::{
    inputs::{checked_length, write_words},
    known::{Known, check_memory, f32_spec, i32_spec, is_length, is_row},
    recurrent::{CallSizes, Expected, LayerSource, Recurrent, Runner},
};
use crate::batch::{check_batch, check_size};
use crate::model::{Batch, Instance, Model, RunError};
use crate::request::LoadError;
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
    /// Number of labels without the blank, which is also the label of the blank.
    labels: usize,
    /// Feature rows of a sample at most.
    rows: usize,
    /// Maximum number of symbols for one frame.
    symbols_max: usize,
    /// Maximum number of symbols of a sample.
    room: usize,
    form: Form,
}

/// The form of a sample and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Rows of features, and symbols as i32.
    Features,
    /// A recording whose features are computed here, of this many samples at most, and symbols as i64.
    Waveform { samples: usize },
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
    form: Form::Features,
};

/// Sizes for tests. They change the computation, not the inputs and outputs, so that it takes recordings, too.
pub(super) const TINY: Sizes = Sizes { hidden: 10, prediction: 7, joint: 9, symbols_max: 3, ..FULL };

/// Number of rows that become one frame between the encoder's two stacks.
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

    fn for_tensors(&self, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> Option<Box<dyn Known>> {
        match (inputs, outputs) {
            ([waveform, length], [labels])
                if is_row(waveform, ElementType::F32)
                    && is_length(length)
                    && is_row(labels, ElementType::I64)
                    && self.width == Mel::FEATURE_COUNT =>
            {
                let samples = waveform.shape[0];
                let (rows, form) = (Mel::row_count(samples), Form::Waveform { samples });
                Some(Box::new(Self { rows, room: labels.shape[0], form, ..*self }))
            }
            _ => None,
        }
    }

    fn other_tensors(&self) -> Option<&'static str> {
        let is_fed = self.width == Mel::FEATURE_COUNT;
        is_fed.then_some("labels i64[m] of a waveform f32[n] and its length i32[1]")
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError> {
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
        let mel = match self.sizes.form {
            Form::Features => None,
            Form::Waveform { samples } => {
                let mut mel = Mel::new(Dither::On);
                mel.reserve(samples);
                Some(mel)
            }
        };
        Ok(Box::new(RnntInstance {
            mel,
            lengths_given: Vec::with_capacity(samples),
            runner: Runner::new(team, self.encoder.layers().chain(self.decoder.layers())),
            lengths: Vec::with_capacity(samples),
            encoding: Encoding::new(self.sizes, samples),
            decoding: Decoding::new(&self.decoder, samples)?,
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
    /// The features of waveforms.
    mel: Option<Mel>,
    /// Feature rows of each sample, or samples of its waveform.
    lengths_given: Vec<usize>,
    /// Feature rows of each sample, then its frames.
    lengths: Vec<usize>,
    encoding: Encoding,
    decoding: Decoding,
}

impl Instance for RnntInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        self.read_lengths(batch)?;
        if samples == 0 {
            return Ok(());
        }
        batch.begin_stage("features");
        let (mel, lengths_given) = (&mut self.mel, &self.lengths_given);
        let features = |sample: usize, rows: &mut [f32]| match mel {
            None => copy_features(batch, sample, &model.sizes, rows),
            Some(mel) => compute_features(batch, sample, lengths_given[sample], mel, rows),
        };
        let time = model.encoder.gather(&mut self.encoding, &self.lengths, features)?;
        batch.begin_stage("encoder");
        let frames = model.encoder.run(&mut self.runner, &mut self.encoding, &mut self.lengths, time)?;
        batch.begin_stage("decoder");
        let first_symbol = |sample| batch.first_token(sample);
        model.decoder.run(&mut self.runner, &mut self.decoding, frames, &self.lengths, first_symbol)?;
        for sample in 0..samples {
            let symbols = self.decoding.text(sample);
            match model.sizes.form {
                Form::Features => write_words::<i32>(batch, sample, 0, symbols)?,
                Form::Waveform { .. } => write_words::<i64>(batch, sample, 0, symbols)?,
            }
        }
        Ok(())
    }
}

impl RnntInstance {
    fn read_lengths(&mut self, batch: &dyn Batch) -> Result<(), RunError> {
        let Sizes { rows, form, .. } = self.model.sizes;
        self.lengths_given.clear();
        self.lengths.clear();
        for sample in 0..batch.sample_count() {
            let length = batch.input_values(sample, 1)?.first().copied().unwrap_or(-1);
            let (given, of_rows) = match form {
                Form::Features => {
                    let length = checked_length(sample, "the feature length", length, rows)?;
                    (length, length)
                }
                Form::Waveform { samples } => {
                    let length = checked_length(sample, "the length of the waveform", length, samples)?;
                    (length, Mel::row_count(length))
                }
            };
            self.lengths_given.push(given);
            self.lengths.push(of_rows);
        }
        Ok(())
    }
}

/// Copies the rows of a sample that count.
fn copy_features(batch: &dyn Batch, sample: usize, sizes: &Sizes, rows: &mut [f32]) -> Result<(), RunError> {
    let features = batch.input_values(sample, 0)?;
    check_size(sample, "the features", features.len(), sizes.rows * sizes.width)?;
    rows.copy_from_slice(&features[..rows.len()]);
    Ok(())
}

/// Computes the rows of a sample from the part of its waveform that counts. Silence of no length has none.
fn compute_features(
    batch: &dyn Batch,
    sample: usize,
    length: usize,
    mel: &mut Mel,
    rows: &mut [f32],
) -> Result<(), RunError> {
    let waveform = batch.input_values(sample, 0)?;
    let (got, tensor) = (waveform.len(), "the waveform");
    let used =
        waveform.get(..length).ok_or(RunError::SampleSize { sample, tensor, got, expected: length })?;
    if used.is_empty() {
        return Ok(());
    }
    mel.compute(used, rows).map_err(|error| RunError::Features(sample, error))
}
