//! BiDAF: where in a context the answer to a question starts and ends (Seo et al. 2017).
//!
//! Its five layers, as table 3 of the DeepCPU paper counts them, are five steps of [`BidafInstance`]: embedding and
//! highway, phrase embedding, attention, modelling, output.

use std::sync::Arc;

use proctor_rnn_engine::Team;
use proctor_rnn_layer::Cell;
use proctor_vocabulary::TensorSpec;

use crate::batch::check_batch;
use crate::model::{Batch, Instance, Model, RunError};
use crate::nets::inputs::{WordInput, embed, write_row};
use crate::nets::known::{Known, check_memory, f32_spec, i32_spec, zeros};
use crate::nets::layers::activation::Activation;
use crate::nets::layers::attention::two_way::{TwoWay, TwoWayScratch};
use crate::nets::layers::embedding::Embedding;
use crate::nets::layers::highway::Highway;
use crate::nets::layers::softmax::softmax;
use crate::nets::layers::{dot, weighted_sum};
use crate::nets::recurrent::{CallSizes, Expected, LayerSource, Pass, Recurrent, Runner};
use crate::request::LoadError;
use crate::safetensors::error::WeightsError;

/// Sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    vocabulary: usize,
    width: usize,
    hidden: usize,
    question: usize,
    context: usize,
}

pub(super) const FULL: Sizes =
    Sizes { vocabulary: 50_000, width: 50, hidden: 100, question: 15, context: 100 };

pub(super) const TINY: Sizes = Sizes { vocabulary: 40, width: 6, hidden: 5, question: 4, context: 9 };

impl Sizes {
    fn question(&self) -> WordInput {
        let Self { vocabulary, question: steps, .. } = *self;
        WordInput { name: "the question", words: 0, lengths: 1, sequences: 1, steps, vocabulary }
    }

    fn context(&self) -> WordInput {
        let Self { vocabulary, context: steps, .. } = *self;
        WordInput { name: "the context", words: 2, lengths: 3, sequences: 1, steps, vocabulary }
    }
}

/// The parameters.
#[derive(Debug)]
struct Bidaf {
    sizes: Sizes,
    batch_size_max: usize,
    embedding: Embedding,
    highway: [Highway; 2],
    phrase: Recurrent,
    attention: TwoWay,
    modeling: [Recurrent; 2],
    output: Recurrent,
    start: Vec<f32>,
    end: Vec<f32>,
}

impl Known for Sizes {
    fn inputs(&self) -> Vec<TensorSpec> {
        vec![
            i32_spec("question", &[self.question]),
            i32_spec("question_length", &[1]),
            i32_spec("context", &[self.context]),
            i32_spec("context_length", &[1]),
        ]
    }

    fn outputs(&self) -> Vec<TensorSpec> {
        vec![f32_spec("start", &[self.context]), f32_spec("end", &[self.context])]
    }

    fn load(&self, layer_source: &mut LayerSource<'_, '_>) -> Result<Arc<dyn Model>, LoadError> {
        let batch_size_max = layer_source.batch_size_max;
        let Sizes { vocabulary, width, hidden, context: time, .. } = *self;
        let embedding = layer_source.embedding("embedding", vocabulary, width)?;
        let mut highway = |layer: usize| -> Result<Highway, WeightsError> {
            let transform = layer_source.linear(&format!("highway.{layer}.transform"), width, width)?;
            let gate = layer_source.linear(&format!("highway.{layer}.gate"), width, width)?;
            Ok(Highway::new(transform, gate, Activation::Relu))
        };
        let highway = [highway(0)?, highway(1)?];
        let mut layer = |prefix, index, input| {
            let expected = Expected { prefix, index, cell: Cell::Lstm, input, hidden, bidirectional: true };
            layer_source.recurrent(expected, CallSizes { time, batches: [1, batch_size_max] })
        };
        let phrase = layer("phrase", 0, width)?;
        let modeling = [layer("modeling", 0, 8 * hidden)?, layer("modeling", 1, 2 * hidden)?];
        let output = layer("output", 0, 14 * hidden)?;
        let attention = TwoWay::new(&layer_source.weights.take("attention.weight", &[6 * hidden])?);
        let start = layer_source.weights.take("start.weight", &[10 * hidden])?;
        let end = layer_source.weights.take("end.weight", &[10 * hidden])?;
        let model = Bidaf {
            sizes: *self,
            batch_size_max,
            embedding,
            highway,
            phrase,
            attention,
            modeling,
            output,
            start,
            end,
        };
        layer_source.plan(model.layers());
        Ok(Arc::new(model))
    }
}

impl Bidaf {
    fn layers(&self) -> [&Recurrent; 4] {
        [&self.phrase, &self.modeling[0], &self.modeling[1], &self.output]
    }
}

impl Model for Bidaf {
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError> {
        let Sizes { width, hidden, question, context, .. } = self.sizes;
        let (samples, units) = (self.batch_size_max, 2 * hidden);
        check_memory(self.batch_size_max, context, (context + question) * (3 * width + 17 * units))?;
        let steps = samples * context;
        Ok(Box::new(BidafInstance {
            runner: Runner::new(team, self.layers()),
            lengths: [Vec::with_capacity(samples), Vec::with_capacity(samples)],
            words: [zeros(samples * question * width), zeros(steps * width)],
            room: zeros(2 * steps.max(samples * question) * width),
            question: zeros(samples * question * units),
            context: zeros(steps * units),
            flow: zeros(steps * 4 * units),
            modeled: [zeros(steps * units), zeros(steps * units)],
            joined: zeros(steps * 7 * units),
            ends: zeros(steps * units),
            two_way: TwoWayScratch::default(),
            starts: zeros(context),
            mean: zeros(units),
            model: self,
        }))
    }

    fn summary(&self) -> String {
        self.layers().map(Recurrent::summary).concat()
    }
}

/// One of a sample's two sequences.
#[derive(Debug, Clone, Copy)]
enum Which {
    Question,
    Context,
}

#[derive(Debug)]
struct BidafInstance {
    model: Arc<Bidaf>,
    runner: Runner,
    /// Lengths of the questions and of the contexts.
    lengths: [Vec<usize>; 2],
    /// Words of the questions and of the contexts, `[sample, time, width]`.
    words: [Vec<f32>; 2],
    /// Two such, for the highway.
    room: Vec<f32>,
    /// U, `[sample, question, 2 * hidden]`.
    question: Vec<f32>,
    /// H, `[sample, time, 2 * hidden]`.
    context: Vec<f32>,
    /// P, `[sample, time, 8 * hidden]`.
    flow: Vec<f32>,
    /// After the first and the second modelling layer, M, `[sample, time, 2 * hidden]`.
    modeled: [Vec<f32>; 2],
    /// `[P, M, m, M * m]`, `[sample, time, 14 * hidden]`.
    joined: Vec<f32>,
    /// E, `[sample, time, 2 * hidden]`.
    ends: Vec<f32>,
    two_way: TwoWayScratch,
    /// Scores, then probabilities, of one sample.
    starts: Vec<f32>,
    /// m of one sample.
    mean: Vec<f32>,
}

impl Instance for BidafInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        let samples = check_batch(batch, model.batch_size_max)?;
        if samples == 0 {
            return Ok(());
        }
        batch.begin_stage("embedding_highway");
        let question_time = self.embed(&model, batch, Which::Question)?;
        let time = self.embed(&model, batch, Which::Context)?;
        batch.begin_stage("phrase");
        self.phrase(&model, question_time, Which::Question)?;
        self.phrase(&model, time, Which::Context)?;
        batch.begin_stage("attention");
        self.attend(&model, question_time, time);
        batch.begin_stage("modeling");
        self.model_context(&model, time)?;
        batch.begin_stage("output");
        self.find_start(&model, batch, time)?;
        self.find_end(&model, batch, time)
    }
}

impl BidafInstance {
    /// Runs layer 1: embedding and highway, to `words`. Returns the steps of the tensor.
    fn embed(&mut self, model: &Bidaf, batch: &dyn Batch, which: Which) -> Result<usize, RunError> {
        let input = match which {
            Which::Question => model.sizes.question(),
            Which::Context => model.sizes.context(),
        };
        let (lengths, words) = (&mut self.lengths[which as usize], &mut self.words[which as usize]);
        let time = embed(&[input], &model.embedding, batch, lengths, words)?;
        let words = &mut words[..lengths.len() * time * model.sizes.width];
        for layer in &model.highway {
            layer.run(&mut self.runner.team, &mut self.room, words);
        }
        Ok(time)
    }

    /// Runs layer 2: phrase LSTM, from `words` to `question` or `context`.
    fn phrase(&mut self, model: &Bidaf, time: usize, which: Which) -> Result<(), RunError> {
        let output = match which {
            Which::Question => &mut self.question,
            Which::Context => &mut self.context,
        };
        let (lengths, words) = (&self.lengths[which as usize], &self.words[which as usize]);
        let steps = lengths.len() * time;
        let output = &mut output[..steps * model.phrase.width()];
        let words = &words[..steps * model.sizes.width];
        model.phrase.run(&mut self.runner, Pass::new(words, lengths, time, output))
    }

    /// Runs layer 3: two-way attention, to `flow`.
    fn attend(&mut self, model: &Bidaf, question_time: usize, time: usize) {
        let units = model.phrase.width();
        for (sample, length) in self.lengths[Which::Context as usize].iter().enumerate() {
            let words = self.lengths[Which::Question as usize][sample];
            let context = &self.context[sample * time * units..][..length * units];
            let question = &self.question[sample * question_time * units..][..words * units];
            let flow = &mut self.flow[sample * time * 4 * units..][..length * 4 * units];
            model.attention.run(&mut self.two_way, context, question, flow);
        }
    }

    /// Runs layer 4: two LSTM layers, from `flow` to `modeled`.
    fn model_context(&mut self, model: &Bidaf, time: usize) -> Result<(), RunError> {
        let lengths = &self.lengths[Which::Context as usize];
        let (steps, units) = (lengths.len() * time, model.phrase.width());
        let [first, second] = &mut self.modeled;
        let flow = &self.flow[..steps * 4 * units];
        let (first, second) = (&mut first[..steps * units], &mut second[..steps * units]);
        model.modeling[0].run(&mut self.runner, Pass::new(flow, lengths, time, first))?;
        model.modeling[1].run(&mut self.runner, Pass::new(first, lengths, time, second))
    }

    /// Runs the first half of layer 5: where the answer starts, and the input of the output LSTM, `joined`.
    fn find_start(&mut self, model: &Bidaf, batch: &mut dyn Batch, time: usize) -> Result<(), RunError> {
        let units = model.phrase.width();
        for (sample, length) in self.lengths[Which::Context as usize].iter().enumerate() {
            let flow = &self.flow[sample * time * 4 * units..][..length * 4 * units];
            let modeled = &self.modeled[1][sample * time * units..][..length * units];
            let starts = &mut self.starts[..*length];
            pointer(&model.start, modeled, flow, units, starts);
            write_row(batch, sample, 0, starts)?;
            weighted_sum(starts, modeled, &mut self.mean);
            let joined = self.joined[sample * time * 7 * units..].chunks_exact_mut(7 * units);
            for ((joined, flow), modeled) in
                joined.zip(flow.chunks_exact(4 * units)).zip(modeled.chunks_exact(units))
            {
                joined[..4 * units].copy_from_slice(flow);
                joined[4 * units..5 * units].copy_from_slice(modeled);
                joined[5 * units..6 * units].copy_from_slice(&self.mean);
                for ((product, modeled), mean) in joined[6 * units..].iter_mut().zip(modeled).zip(&self.mean)
                {
                    *product = modeled * mean;
                }
            }
        }
        Ok(())
    }

    /// Runs the second half of layer 5: the output LSTM, and where the answer ends.
    fn find_end(&mut self, model: &Bidaf, batch: &mut dyn Batch, time: usize) -> Result<(), RunError> {
        let lengths = &self.lengths[Which::Context as usize];
        let (steps, units) = (lengths.len() * time, model.phrase.width());
        let (joined, ends) = (&self.joined[..steps * 7 * units], &mut self.ends[..steps * units]);
        model.output.run(&mut self.runner, Pass::new(joined, lengths, time, ends))?;
        for (sample, length) in lengths.iter().enumerate() {
            let flow = &self.flow[sample * time * 4 * units..][..length * 4 * units];
            let ends = &self.ends[sample * time * units..][..length * units];
            let scores = &mut self.starts[..*length];
            pointer(&model.end, ends, flow, units, scores);
            write_row(batch, sample, 1, scores)?;
        }
        Ok(())
    }
}

/// Computes the probabilities of the steps: softmax of `w . [a_t, P_t]`.
fn pointer(w: &[f32], a: &[f32], flow: &[f32], units: usize, to: &mut [f32]) {
    let (of_a, of_flow) = w.split_at(units);
    for ((score, a), flow) in to.iter_mut().zip(a.chunks_exact(units)).zip(flow.chunks_exact(4 * units)) {
        *score = dot(of_a, a) + dot(of_flow, flow);
    }
    softmax(to);
}
