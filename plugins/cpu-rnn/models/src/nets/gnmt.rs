//! GNMT: translation with attention and beam search (MLPerf v0.5, after `tensorflow/nmt`'s `gnmt_v2`; Wu et al. 2016).
//!
//! The encoder runs over all samples of a batch at once ([`encoder`]). The [`decoder`] is a
//! [`Scorer`](super::layers::beam::Scorer): one step computes the next words of all live hypotheses of all samples, and
//! the beams choose among them.

mod decoder;
mod encoder;

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_text::{BpeVocabulary, UNKNOWN};
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::batch::check_batch;
use crate::model::{Batch, Instance, Model, RunError};
use crate::nets::inputs::{WordInput, embed, write_text, write_words};
use crate::nets::known::{Known, check_memory, i32_spec, is_length, is_row};
use crate::nets::layers::beam::hypotheses::Beam;
use crate::nets::layers::beam::options::BeamOptions;
use crate::nets::layers::beam::search::{Row, search};
use crate::nets::recurrent::{LayerSource, Recurrent, Runner};
use crate::request::LoadError;
use decoder::{Decoder, Decoding, Steps};
use encoder::{Encoder, Encoding};

/// Sizes of a model, and how it searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sizes {
    vocabulary: usize,
    hidden: usize,
    /// Maximum number of words of a source.
    source: usize,
    beam: BeamOptions,
    answer: Answer,
}

/// The form of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Numbers of words.
    Words,
    /// UTF-8: the tokens of these numbers, parts of words joined.
    Text,
}

/// Longest source that layers are planned for: of newstest2014 few are longer.
const PLANNED_SOURCE_MAX: usize = 50;

/// Number of layers of the encoder, the bidirectional one counted, and of the decoder.
const LAYERS: usize = 4;

/// First layer with a residual connection: from it on, the input of a layer is added to its output.
const RESIDUAL_FROM: usize = 2;

/// The word before the first, and the one after the last.
const START: i32 = 1;
const END: i32 = 2;

pub(super) const FULL: Sizes = Sizes {
    vocabulary: 32_317,
    hidden: 1024,
    source: 50,
    beam: BeamOptions { width: 10, start: START, end: END, length_weight: 1.0, coverage_weight: 0.0 },
    answer: Answer::Words,
};

pub(super) const TINY: Sizes = Sizes {
    vocabulary: 40,
    hidden: 16,
    source: 8,
    beam: BeamOptions { width: 4, start: START, end: END, length_weight: 0.6, coverage_weight: 0.1 },
    answer: Answer::Words,
};

impl Sizes {
    /// Returns the maximum number of words of a translation: the reference's decoding length factor is 2.
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
    /// Vocabulary of answers in text.
    vocabulary: Option<BpeVocabulary>,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![i32_spec("source", &[self.source]), i32_spec("source_length", &[1])]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![i32_spec("tokens", &[self.steps_max(self.source)])]
    }

    fn formats(&self) -> &'static [&'static str] {
        &["safetensors", "vocabulary"]
    }

    fn for_tensors(&self, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> Option<Box<dyn Known>> {
        match (inputs, outputs) {
            ([words, length], [text])
                if is_row(words, ElementType::I32) && is_length(length) && is_row(text, ElementType::U8) =>
            {
                Some(Box::new(Self { source: words.shape[0], answer: Answer::Text, ..*self }))
            }
            _ => None,
        }
    }

    fn other_tensors(&self) -> Option<&'static str> {
        Some("a text u8[m] of words i32[n] and their number i32[1]")
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError> {
        let mut sizes = *self;
        let vocabulary = match self.answer {
            Answer::Words => None,
            Answer::Text => {
                // Weights that were trained on other data have words of their own.
                let words = layer_source.weights.shape("encoder.embedding.weight")?.first().copied();
                // Fewer than the special ones are refused with the shape of the network.
                sizes.vocabulary = words.unwrap_or(0).max(END as usize + 1);
                Some(layer_source.vocabulary()?)
            }
        };
        let encoder = Encoder::load(sizes, layer_source)?;
        let decoder = Decoder::load(sizes, layer_source)?;
        layer_source.plan(encoder.layers().chain(decoder.layers()));
        let batch_size_max = layer_source.batch_size_max;
        Ok(Arc::new(Gnmt { sizes, batch_size_max, encoder, decoder, vocabulary }))
    }
}

impl Gnmt {
    fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.encoder.layers().chain(self.decoder.layers())
    }
}

impl Model for Gnmt {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { vocabulary, hidden, source, beam, .. } = self.sizes;
        let per_row = vocabulary + hidden * (4 * LAYERS + 6) + 4 * source;
        check_memory(self.batch_size_max, source, source * hidden * 8 + beam.width * per_row)?;
        let samples = self.batch_size_max;
        let beams = (0..samples).map(|_| Beam::new(beam, self.sizes.steps_max(source), source));
        Ok(Box::new(GnmtInstance {
            runner: Runner::new(team, self.layers()),
            lengths: Vec::with_capacity(samples),
            encoding: Encoding::new(self.sizes, samples),
            decoding: Decoding::new(&self.decoder, samples)?,
            beams: beams.collect(),
            rows: Vec::with_capacity(samples * beam.width),
            text: String::new(),
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
    /// The translation that is written, of answers in text.
    text: String,
}

impl Instance for GnmtInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        let (words, rows) = (model.sizes.words(), &mut self.encoding.rows);
        batch.begin_stage("encoder");
        let time = embed(&[words], &model.encoder.embedding, batch, &mut self.lengths, rows)?;
        if self.lengths.iter().any(|length| *length > 0) {
            model.encoder.run(&mut self.runner, &mut self.encoding, &self.lengths, time)?;
            model.decoder.prepare(&mut self.runner, &mut self.decoding, &self.encoding, samples, time);
        }
        batch.begin_stage("decoder");
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
        search(&mut steps, beams, &mut self.rows, |sample| batch.first_token(sample))?;
        for (sample, beam) in beams.iter_mut().enumerate() {
            let words = beam.text();
            match &model.vocabulary {
                None => write_words::<i32>(batch, sample, 0, words)?,
                Some(vocabulary) => {
                    join(vocabulary, words, &mut self.text);
                    write_text(batch, sample, 0, (&self.text, words.len()))?;
                }
            }
        }
        Ok(())
    }
}

/// Joins the tokens of these numbers. One that the vocabulary does not have is an unknown word, as in the reference.
fn join(vocabulary: &BpeVocabulary, words: &[i32], text: &mut String) {
    let known = |word: &i32| {
        let id = u32::try_from(*word).ok().filter(|id| vocabulary.vocabulary().token(*id).is_some());
        id.unwrap_or(UNKNOWN)
    };
    vocabulary.write_sentence(words.iter().map(known), text).expect("unknown words have a number, too");
}
