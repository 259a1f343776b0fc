//! GNMT: translation with attention and beam search (MLPerf v0.5, after `tensorflow/nmt`'s `gnmt_v2`; Wu et al. 2016).
//!
//! The encoder runs over all samples of a batch at once ([`encoder`]). The [`decoder`] is a
//! [`Scorer`](super::layers::beam::Scorer): one step computes the next words of all live hypotheses of all samples, and
//! the beams choose among them.

mod decoder;
mod encoder;

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_vocabulary::TensorSpec;

use crate::batch::check_batch;
use crate::model::{Batch, Instance, Model, RunError};
use crate::nets::inputs::{WordInput, embed, write_words};
use crate::nets::known::{Known, check_memory, i32_spec};
use crate::nets::layers::beam::hypotheses::Beam;
use crate::nets::layers::beam::options::BeamOptions;
use crate::nets::layers::beam::search::{Row, search};
use crate::nets::recurrent::{LayerSource, Recurrent, Runner};
use crate::safetensors::error::WeightsError;
use decoder::{Decoder, Decoding, Steps};
use encoder::{Encoder, Encoding};

/// Sizes of a model, and how it searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sizes {
    vocabulary: usize,
    hidden: usize,
    /// Words of a source at most.
    source: usize,
    beam: BeamOptions,
}

/// Layers of the encoder, the bidirectional one counted, and of the decoder.
const LAYERS: usize = 4;

/// From this layer on, what goes in is added to what comes out.
const RESIDUAL_FROM: usize = 2;

/// The word before the first, and the one after the last.
const START: i32 = 1;
const END: i32 = 2;

pub(super) const FULL: Sizes = Sizes {
    vocabulary: 32_317,
    hidden: 1024,
    source: 50,
    beam: BeamOptions { width: 10, start: START, end: END, length_weight: 1.0, coverage_weight: 0.0 },
};

pub(super) const TINY: Sizes = Sizes {
    vocabulary: 40,
    hidden: 16,
    source: 8,
    beam: BeamOptions { width: 4, start: START, end: END, length_weight: 0.6, coverage_weight: 0.1 },
};

impl Sizes {
    /// Words of a translation at most: the reference's decoding length factor is 2.
    fn steps_max(&self, source_length: usize) -> usize {
        2 * source_length
    }

    fn words(&self) -> WordInput {
        let Self { vocabulary, source: steps, .. } = *self;
        WordInput { name: "the source", words: 0, lengths: 1, sequences: 1, steps, vocabulary }
    }
}

/// The parameters.
#[derive(Debug)]
struct Gnmt {
    sizes: Sizes,
    batch_size_max: usize,
    encoder: Encoder,
    decoder: Decoder,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![i32_spec("source", &[self.source]), i32_spec("source_length", &[1])]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![i32_spec("tokens", &[self.steps_max(self.source)])]
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, WeightsError> {
        let encoder = Encoder::load(*self, layer_source)?;
        let decoder = Decoder::load(*self, layer_source)?;
        layer_source.plan(encoder.layers().chain(decoder.layers()));
        Ok(Arc::new(Gnmt { sizes: *self, batch_size_max: layer_source.batch_size_max, encoder, decoder }))
    }
}

impl Gnmt {
    fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.encoder.layers().chain(self.decoder.layers())
    }
}

impl Model for Gnmt {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { vocabulary, hidden, source, beam } = self.sizes;
        let per_row = vocabulary + hidden * (4 * LAYERS + 6) + 4 * source;
        check_memory(self.batch_size_max, source, source * hidden * 8 + beam.width * per_row)?;
        let samples = self.batch_size_max;
        let beams = (0..samples).map(|_| Beam::new(beam, self.sizes.steps_max(source), source));
        Ok(Box::new(GnmtInstance {
            runner: Runner::new(team, self.layers()),
            lengths: Vec::with_capacity(samples),
            encoding: Encoding::new(self.sizes, samples),
            decoding: Decoding::new(self.sizes, samples),
            beams: beams.collect(),
            rows: Vec::with_capacity(samples * beam.width),
            model: self,
        }))
    }

    fn summary(&self) -> String {
        self.layers().map(Recurrent::summary).collect()
    }
}

#[derive(Debug)]
struct GnmtInstance {
    model: Arc<Gnmt>,
    runner: Runner,
    /// Words of each source.
    lengths: Vec<usize>,
    encoding: Encoding,
    decoding: Decoding,
    beams: Vec<Beam>,
    rows: Vec<Row>,
}

impl Instance for GnmtInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        let (words, rows) = (model.sizes.words(), &mut self.encoding.rows);
        let time = embed(&[words], &model.encoder.embedding, batch, &mut self.lengths, rows)?;
        if self.lengths.iter().any(|length| *length > 0) {
            model.encoder.run(&mut self.runner, &mut self.encoding, &self.lengths, time)?;
            model.decoder.prepare(&mut self.runner, &mut self.decoding, &self.encoding, samples, time);
        }
        let beams = &mut self.beams[..samples];
        for (beam, length) in beams.iter_mut().zip(&self.lengths) {
            beam.restart(model.sizes.steps_max(*length), *length);
        }
        let mut steps = Steps {
            decoder: &model.decoder,
            runner: &mut self.runner,
            room: &mut self.decoding,
            encoding: &self.encoding,
            lengths: &self.lengths,
            time,
        };
        search(&mut steps, beams, &mut self.rows)?;
        for (sample, beam) in beams.iter_mut().enumerate() {
            write_words(batch, sample, 0, beam.text())?;
        }
        Ok(())
    }
}
