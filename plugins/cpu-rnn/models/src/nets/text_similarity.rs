//! Text similarity: a bidirectional GRU, the maximum over time, a dense layer, cosine (DeepCPU, section 6.2, table 4).

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_rnn_layer::{Cell, GruReset};
use proctor_vocabulary::TensorSpec;

use crate::batch::check_batch;
use crate::model::{Batch, Instance, Model, RunError};
use crate::nets::inputs::{WordInput, embed, write_row};
use crate::nets::known::{Known, are_alike, check_memory, f32_spec, i32_spec, zeros};
use crate::nets::layers::activation::Activation;
use crate::nets::layers::cosine::cosine;
use crate::nets::layers::embedding::Embedding;
use crate::nets::layers::perceptron::{Perceptron, PerceptronScratch};
use crate::nets::layers::pooling::max_over_time;
use crate::nets::recurrent::{CallSizes, Expected, LayerSource, Pass, Recurrent, Runner};
use crate::request::LoadError;

/// Sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    vocabulary: usize,
    width: usize,
    hidden: usize,
    dense: usize,
    steps: usize,
    documents: usize,
}

pub(super) const FULL: Sizes =
    Sizes { vocabulary: 50_000, width: 200, hidden: 512, dense: 128, steps: 20, documents: 10 };

/// The documents that the paper's service ranks for a query.
pub(super) const FULL_33: Sizes = Sizes { documents: 33, ..FULL };

pub(super) const TINY: Sizes =
    Sizes { vocabulary: 50, width: 12, hidden: 16, dense: 8, steps: 6, documents: 3 };

impl Sizes {
    /// Returns the query and the documents of a sample.
    fn texts(&self) -> usize {
        1 + self.documents
    }

    /// Returns the inputs that hold the texts.
    fn words(&self) -> [WordInput; 2] {
        let Self { vocabulary, steps, documents, .. } = *self;
        [
            WordInput { name: "the query", words: 0, lengths: 1, sequences: 1, steps, vocabulary },
            WordInput {
                name: "the documents",
                words: 2,
                lengths: 3,
                sequences: documents,
                steps,
                vocabulary,
            },
        ]
    }
}

/// The parameters.
#[derive(Debug)]
struct TextSimilarity {
    sizes: Sizes,
    batch_size_max: usize,
    embedding: Embedding,
    encoder: Recurrent,
    dense: Perceptron,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![
            i32_spec("query", &[self.steps]),
            i32_spec("query_length", &[1]),
            i32_spec("documents", &[self.documents, self.steps]),
            i32_spec("document_lengths", &[self.documents]),
        ]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![f32_spec("scores", &[self.documents])]
    }

    fn for_tensors(&self, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> Option<Box<dyn Known>> {
        let documents = *inputs.get(2)?.shape.first()?;
        let sizes = Self { documents, ..*self };
        let fit = are_alike(&sizes.inputs(), inputs) && are_alike(&sizes.outputs(), outputs);
        if fit && documents > 0 { Some(Box::new(sizes)) } else { None }
    }

    fn other_tensors(&self) -> Option<&'static str> {
        Some("scores f32[k] of any number k of documents")
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError> {
        let batch_size_max = layer_source.batch_size_max;
        let Sizes { vocabulary, width, hidden, dense, steps, .. } = *self;
        let embedding = layer_source.embedding("embedding", vocabulary, width)?;
        let cell = Cell::Gru(GruReset::AfterProduct);
        let expected = Expected { prefix: "gru", index: 0, cell, input: width, hidden, bidirectional: true };
        let batches = [self.texts(), batch_size_max * self.texts()];
        let encoder = layer_source.recurrent(expected, CallSizes { time: steps, batches })?;
        let dense =
            Perceptron::new(vec![(layer_source.linear("dense", 2 * hidden, dense)?, Activation::Tanh)]);
        layer_source.plan([&encoder]);
        Ok(Arc::new(TextSimilarity { sizes: *self, batch_size_max, embedding, encoder, dense }))
    }
}

impl Model for TextSimilarity {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { width, hidden, dense, steps, .. } = self.sizes;
        let texts = self.batch_size_max * self.sizes.texts();
        check_memory(self.batch_size_max, steps, self.sizes.texts() * steps * (width + 2 * hidden))?;
        Ok(Box::new(TextSimilarityInstance {
            runner: Runner::new(team, [&self.encoder]),
            lengths: Vec::with_capacity(texts),
            words: zeros(texts * steps * width),
            states: zeros(texts * steps * 2 * hidden),
            pooled: zeros(texts * 2 * hidden),
            vectors: zeros(texts * dense),
            scores: zeros(self.sizes.documents),
            scratch: PerceptronScratch::default(),
            model: self,
        }))
    }

    fn summary(&self) -> String {
        self.encoder.summary()
    }
}

#[derive(Debug)]
struct TextSimilarityInstance {
    model: Arc<TextSimilarity>,
    runner: Runner,
    /// Length of each text; a sample's query comes before its documents.
    lengths: Vec<usize>,
    /// `[text, time, width]`.
    words: Vec<f32>,
    /// `[text, time, 2 * hidden]`.
    states: Vec<f32>,
    /// `[text, 2 * hidden]`.
    pooled: Vec<f32>,
    /// `[text, dense]`.
    vectors: Vec<f32>,
    scores: Vec<f32>,
    scratch: PerceptronScratch,
}

impl Instance for TextSimilarityInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        check_batch(batch, model.batch_size_max)?;
        let inputs = model.sizes.words();
        batch.begin_stage("embedding");
        let time = embed(&inputs, &model.embedding, batch, &mut self.lengths, &mut self.words)?;
        batch.begin_stage("rnn");
        self.encode(&model, time)?;
        batch.begin_stage("dense");
        self.condense(&model, time);
        batch.begin_stage("cosine");
        self.compare(&model, batch)
    }
}

impl TextSimilarityInstance {
    /// Runs the recurrent layer: from `words` to `states`.
    fn encode(&mut self, model: &TextSimilarity, time: usize) -> Result<(), RunError> {
        let steps = self.lengths.len() * time;
        let states = &mut self.states[..steps * model.encoder.width()];
        let words = &self.words[..steps * model.sizes.width];
        model.encoder.run(&mut self.runner, Pass::new(words, &self.lengths, time, states))
    }

    /// Runs pooling and the dense layer: from `states` to `vectors`.
    fn condense(&mut self, model: &TextSimilarity, time: usize) {
        let Sizes { hidden, dense, .. } = model.sizes;
        let (texts, units) = (self.lengths.len(), 2 * hidden);
        let states = &self.states[..texts * time * units];
        let pooled = &mut self.pooled[..texts * units];
        let of_text = states.chunks_exact(time * units).zip(pooled.chunks_exact_mut(units));
        for ((states, pooled), length) in of_text.zip(&self.lengths) {
            max_over_time(&states[..length * units], pooled);
        }
        model.dense.run(&mut self.runner.team, &mut self.scratch, pooled, &mut self.vectors[..texts * dense]);
    }

    /// Computes the cosines: from `vectors` to the batch.
    fn compare(&mut self, model: &TextSimilarity, batch: &mut dyn Batch) -> Result<(), RunError> {
        let dense = model.sizes.dense;
        let of_sample = self.vectors.chunks_exact(model.sizes.texts() * dense);
        for (sample, vectors) in of_sample.take(batch.sample_count()).enumerate() {
            let (query, documents) = vectors.split_at(dense);
            for (score, document) in self.scores.iter_mut().zip(documents.chunks_exact(dense)) {
                *score = cosine(query, document);
            }
            write_row(batch, sample, 0, &self.scores)?;
        }
        Ok(())
    }
}
