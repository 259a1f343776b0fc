//! Attention sum reader: which candidate word answers a question about some contexts (Kadlec et al. 2016).

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_rnn_layer::{Cell, GruReset};
use proctor_vocabulary::TensorSpec;

use crate::batch::{check_batch, check_size};
use crate::model::{Batch, Instance, Model, RunError};
use crate::nets::inputs::{WordInput, embed, write_row};
use crate::nets::known::{Known, check_memory, f32_spec, i32_spec, zeros};
use crate::nets::layers::attention::dot::dot_scores;
use crate::nets::layers::attention::sum::attention_sum;
use crate::nets::layers::embedding::Embedding;
use crate::nets::layers::softmax::softmax;
use crate::nets::recurrent::{CallSizes, Expected, LayerSource, Pass, Recurrent, Runner};
use crate::request::LoadError;

/// Sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    vocabulary: usize,
    width: usize,
    hidden: usize,
    question: usize,
    contexts: usize,
    steps: usize,
    candidates: usize,
}

pub(super) const FULL: Sizes = Sizes {
    vocabulary: 20_000,
    width: 200,
    hidden: 256,
    question: 20,
    contexts: 10,
    steps: 100,
    candidates: 10,
};

pub(super) const TINY: Sizes =
    Sizes { vocabulary: 30, width: 12, hidden: 16, question: 5, contexts: 3, steps: 9, candidates: 4 };

/// Position of the candidates among the inputs.
const CANDIDATES: usize = 4;

impl Sizes {
    fn question(&self) -> WordInput {
        let Self { vocabulary, question: steps, .. } = *self;
        WordInput { name: "the question", words: 0, lengths: 1, sequences: 1, steps, vocabulary }
    }

    fn contexts(&self) -> WordInput {
        let Self { vocabulary, contexts: sequences, steps, .. } = *self;
        WordInput { name: "the contexts", words: 2, lengths: 3, sequences, steps, vocabulary }
    }
}

/// The parameters.
#[derive(Debug)]
struct Reader {
    sizes: Sizes,
    batch_size_max: usize,
    embedding: Embedding,
    question: Recurrent,
    context: Recurrent,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![
            i32_spec("question", &[self.question]),
            i32_spec("question_length", &[1]),
            i32_spec("contexts", &[self.contexts, self.steps]),
            i32_spec("context_lengths", &[self.contexts]),
            i32_spec("candidates", &[self.candidates]),
        ]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![f32_spec("scores", &[self.candidates])]
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError> {
        let batch_size_max = layer_source.batch_size_max;
        let Sizes { vocabulary, width, hidden, .. } = *self;
        let embedding = layer_source.embedding("embedding", vocabulary, width)?;
        let cell = Cell::Gru(GruReset::AfterProduct);
        let mut layer = |prefix, sequences, time| {
            let expected = Expected { prefix, index: 0, cell, input: width, hidden, bidirectional: true };
            let batches = [sequences, batch_size_max * sequences];
            layer_source.recurrent(expected, CallSizes { time, batches })
        };
        let question = layer("question", 1, self.question)?;
        let context = layer("context", self.contexts, self.steps)?;
        layer_source.plan([&question, &context]);
        Ok(Arc::new(Reader { sizes: *self, batch_size_max, embedding, question, context }))
    }
}

impl Model for Reader {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { width, hidden, question, contexts, steps, candidates, .. } = self.sizes;
        let (samples, units) = (self.batch_size_max, 2 * hidden);
        let step_count = question.max(contexts * steps);
        check_memory(self.batch_size_max, steps, step_count * (width + units))?;
        Ok(Box::new(ReaderInstance {
            runner: Runner::new(team, [&self.question, &self.context]),
            lengths: Vec::with_capacity(samples * contexts),
            words: zeros(samples * step_count * width),
            states: zeros(samples * step_count * units),
            last: zeros(samples * units),
            queries: zeros(samples * units),
            attention: zeros(contexts * steps),
            read: Vec::with_capacity(contexts * steps),
            scores: zeros(candidates),
            model: self,
        }))
    }

    fn summary(&self) -> String {
        self.question.summary() + &self.context.summary()
    }
}

#[derive(Debug)]
struct ReaderInstance {
    model: Arc<Reader>,
    runner: Runner,
    /// Length of each sequence of the layer that runs.
    lengths: Vec<usize>,
    /// `[sequence, time, width]`.
    words: Vec<f32>,
    /// `[sequence, time, 2 * hidden]`.
    states: Vec<f32>,
    /// Last states of the questions, `[direction, sample, hidden]`.
    last: Vec<f32>,
    /// The same as vectors, `[sample, 2 * hidden]`.
    queries: Vec<f32>,
    /// Attention over the steps of one sample's contexts, one context after the other.
    attention: Vec<f32>,
    /// The words at those steps.
    read: Vec<i32>,
    scores: Vec<f32>,
}

impl Instance for ReaderInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        if samples == 0 {
            return Ok(());
        }
        batch.begin_stage("question");
        self.encode(&model.embedding, &model.question, model.sizes.question(), batch)?;
        self.keep_queries(&model, samples);
        batch.begin_stage("contexts");
        let time = self.encode(&model.embedding, &model.context, model.sizes.contexts(), batch)?;
        batch.begin_stage("attention");
        for sample in 0..samples {
            self.attend(&model, batch, sample, time)?;
            self.write_scores(batch, sample)?;
        }
        Ok(())
    }
}

impl ReaderInstance {
    /// Embeds one input of each sample and runs a layer over it; returns the number of steps of the tensors.
    fn encode(
        &mut self,
        embedding: &Embedding,
        layer: &Recurrent,
        input: WordInput,
        batch: &dyn Batch,
    ) -> Result<usize, RunError> {
        let time = embed(&[input], embedding, batch, &mut self.lengths, &mut self.words)?;
        let steps = self.lengths.len() * time;
        let last = &mut self.last[..batch.sample_count() * layer.width()];
        let pass = Pass {
            input: &self.words[..steps * embedding.width()],
            lengths: &self.lengths,
            time,
            output: &mut self.states[..steps * layer.width()],
            last_hidden: (input.sequences == 1).then_some(last),
            last_cell: None,
        };
        layer.run(&mut self.runner, pass)?;
        Ok(time)
    }

    /// Copies the last states to the query vectors: both directions of a sample side by side.
    fn keep_queries(&mut self, model: &Reader, samples: usize) {
        let hidden = model.sizes.hidden;
        let states = self.last[..samples * 2 * hidden].chunks_exact(hidden).enumerate();
        for (place, state) in states {
            let (direction, sample) = (place / samples, place % samples);
            self.queries[sample * 2 * hidden + direction * hidden..][..hidden].copy_from_slice(state);
        }
    }

    /// Computes the attention of one sample over all steps of all its contexts, and the words there.
    fn attend(
        &mut self,
        model: &Reader,
        batch: &dyn Batch,
        sample: usize,
        time: usize,
    ) -> Result<(), RunError> {
        let Sizes { hidden, contexts, steps, .. } = model.sizes;
        let units = 2 * hidden;
        let query = &self.queries[sample * units..][..units];
        let words = model.sizes.contexts().words(batch, sample)?;
        self.read.clear();
        for (context, words) in words.chunks_exact(steps).enumerate() {
            let sequence = sample * contexts + context;
            let (length, start) = (self.lengths[sequence], self.read.len());
            let states = &self.states[sequence * time * units..][..length * units];
            dot_scores(states, query, &mut self.attention[start..start + length]);
            self.read.extend_from_slice(&words[..length]);
        }
        softmax(&mut self.attention[..self.read.len()]);
        Ok(())
    }

    /// Computes the attention sum of each candidate.
    fn write_scores(&mut self, batch: &mut dyn Batch, sample: usize) -> Result<(), RunError> {
        let candidates = batch.input_values(sample, CANDIDATES)?;
        check_size(sample, "the candidates", candidates.len(), self.scores.len())?;
        let attention = &self.attention[..self.read.len()];
        for (score, candidate) in self.scores.iter_mut().zip(candidates) {
            #[expect(clippy::cast_possible_truncation, reason = "a probability, rounded once")]
            let sum = attention_sum(&self.read, attention, *candidate) as f32;
            *score = sum;
        }
        write_row(batch, sample, 0, &self.scores)
    }
}
