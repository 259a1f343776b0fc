//! One step of the decoder: attention after the first layer, its context into all others.

use std::sync::Mutex;

use proctor_rnn_engine::{RowState, Stream, Team};
use proctor_rnn_layer::Cell;

use super::{LAYERS, RESIDUAL_FROM, Sizes, encoder::Encoding};
use crate::dense::Dense;
use crate::model::RunError;
use crate::nets::known::zeros;
use crate::nets::layers::attention::additive::Additive;
use crate::nets::layers::beam::search::{Row, Scorer};
use crate::nets::layers::embedding::Embedding;
use crate::nets::layers::softmax::softmax;
use crate::nets::layers::weighted_sum;
use crate::nets::recurrent::{CallSizes, Expected, LayerSource, Recurrent, Runner};
use crate::safetensors::error::WeightsError;

#[derive(Debug)]
pub(super) struct Decoder {
    sizes: Sizes,
    embedding: Embedding,
    memory: Dense,
    query: Dense,
    energy: Additive,
    layers: [Recurrent; LAYERS],
    output: Dense,
}

/// Memory of one caller: one row for each live hypothesis, unless said.
#[derive(Debug)]
pub(super) struct Decoding {
    /// The memory through its map, `[sample, time, hidden]`.
    keys: Vec<f32>,
    /// Each layer with the states of the rows.
    layers: [Stream; LAYERS],
    /// The context of the last step and of this one, `[row, hidden]`.
    contexts: [Vec<f32>; 2],
    /// Input of a layer: the rows from below concatenated with the context, `[row, 2 * hidden]`.
    input: Vec<f32>,
    /// Input of the layer above, `[row, hidden]`.
    up: Vec<f32>,
    /// `[row, hidden]`.
    queries: Vec<f32>,
    /// `[row, source]`.
    attention: Vec<f32>,
    /// `[row, vocabulary]`.
    logits: Vec<f32>,
    /// Places of the source of each row.
    places: Vec<usize>,
    /// Work space of the attention, for each thread.
    threads: Vec<Mutex<Vec<f32>>>,
}

impl Decoding {
    /// Returns the memory for the hypotheses of this many samples.
    ///
    /// # Errors
    /// Returns a layer's error.
    pub(super) fn new(decoder: &Decoder, samples: usize) -> Result<Self, RunError> {
        let Sizes { vocabulary, hidden, source, beam, .. } = decoder.sizes;
        let rows = samples * beam.width;
        let [first, second, third, fourth] = &decoder.layers;
        let layers = [first.stream(rows)?, second.stream(rows)?, third.stream(rows)?, fourth.stream(rows)?];
        Ok(Self {
            keys: zeros(samples * source * hidden),
            layers,
            contexts: [zeros(rows * hidden), zeros(rows * hidden)],
            input: zeros(rows * 2 * hidden),
            up: zeros(rows * hidden),
            queries: zeros(rows * hidden),
            attention: zeros(rows * source),
            logits: zeros(rows * vocabulary),
            places: Vec::with_capacity(rows),
            threads: Vec::new(),
        })
    }
}

impl Decoder {
    pub(super) fn load(sizes: Sizes, layer_source: &mut LayerSource<'_, '_>) -> Result<Self, WeightsError> {
        let Sizes { vocabulary, hidden, beam, .. } = sizes;
        let embedding = layer_source.embedding("decoder.embedding", vocabulary, hidden)?;
        let memory = layer_source.matrix("attention.memory", hidden, hidden)?;
        let query = layer_source.matrix("attention.query", hidden, hidden)?;
        let v = layer_source.weights.take("attention.v", &[hidden])?;
        let g = layer_source.weights.take("attention.g", &[1])?[0];
        let energy = Additive::normed(v, g, layer_source.weights.take("attention.bias", &[hidden])?);
        // The first step of a sample has one row, the others a row for each hypothesis.
        let calls = CallSizes { time: 1, batches: [1, beam.width, layer_source.batch_size_max * beam.width] };
        let mut layer = |index: usize| {
            let prefix = &format!("decoder.lstm{index}");
            let expected = Expected {
                prefix,
                index: 0,
                cell: Cell::Lstm,
                input: 2 * hidden,
                hidden,
                bidirectional: false,
            };
            layer_source.recurrent(expected, calls)
        };
        let layers = [layer(0)?, layer(1)?, layer(2)?, layer(3)?];
        let output = layer_source.matrix("decoder.output", hidden, vocabulary)?;
        Ok(Self { sizes, embedding, memory, query, energy, layers, output })
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.layers.iter()
    }

    /// Makes the keys of the memory of a batch.
    pub(super) fn prepare(
        &self,
        runner: &mut Runner,
        room: &mut Decoding,
        encoding: &Encoding,
        samples: usize,
        time: usize,
    ) {
        let used = samples * time * self.sizes.hidden;
        self.memory.run_on(&mut runner.team, &encoding.rows[..used], &mut room.keys[..used]);
        let width = 2 * self.sizes.hidden;
        room.threads.resize_with(runner.team.threads(), || Mutex::new(zeros(width)));
    }
}

/// The decoder on the sources of one batch.
pub(super) struct Steps<'a> {
    pub(super) decoder: &'a Decoder,
    pub(super) runner: &'a mut Runner,
    pub(super) room: &'a mut Decoding,
    pub(super) encoding: &'a Encoding,
    /// Words of each source.
    pub(super) lengths: &'a [usize],
    /// Number of steps of the memory for each sample.
    pub(super) time: usize,
}

impl Scorer for Steps<'_> {
    type Error = RunError;

    fn step(&mut self, rows: &[Row]) -> Result<(), RunError> {
        self.room.places.clear();
        self.room.places.extend(rows.iter().map(|row| self.lengths[row.sequence]));
        self.embed(rows);
        self.layer(0, rows)?;
        self.attend(rows);
        for index in 1..LAYERS {
            self.join(rows.len());
            self.layer(index, rows)?;
        }
        let (hidden, vocabulary) = (self.decoder.sizes.hidden, self.decoder.sizes.vocabulary);
        let up = &self.room.up[..rows.len() * hidden];
        let logits = &mut self.room.logits[..rows.len() * vocabulary];
        self.decoder.output.run_on(&mut self.runner.team, up, logits);
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        let vocabulary = self.decoder.sizes.vocabulary;
        &self.room.logits[row * vocabulary..][..vocabulary]
    }

    fn attention(&self, row: usize) -> &[f32] {
        &self.room.attention[row * self.decoder.sizes.source..][..self.room.places[row]]
    }
}

impl Steps<'_> {
    /// Writes the input of the first layer: the last word's vector and the context that it was chosen by.
    fn embed(&mut self, rows: &[Row]) {
        let hidden = self.decoder.sizes.hidden;
        let [context, _] = &self.room.contexts;
        for (row, input) in rows.iter().zip(self.room.input.chunks_exact_mut(2 * hidden)) {
            let (word, from) = input.split_at_mut(hidden);
            self.decoder.embedding.lookup(&[row.word], word);
            match row.parent {
                Some(parent) => from.copy_from_slice(&context[parent * hidden..][..hidden]),
                None => from.fill(0.0),
            }
        }
    }

    /// Concatenates the rows from below with the new context: the input of the layers above the first.
    fn join(&mut self, rows: usize) {
        let hidden = self.decoder.sizes.hidden;
        let [context, _] = &self.room.contexts;
        let parts = self.room.up.chunks_exact(hidden).zip(context.chunks_exact(hidden));
        for ((up, context), input) in parts.zip(self.room.input.chunks_exact_mut(2 * hidden)).take(rows) {
            input[..hidden].copy_from_slice(up);
            input[hidden..].copy_from_slice(context);
        }
    }

    /// Runs layer `index` on `input`, each row from the states of its parent; `up` is the output.
    fn layer(&mut self, index: usize, rows: &[Row]) -> Result<(), RunError> {
        let (hidden, samples) = (self.decoder.sizes.hidden, self.lengths.len());
        let room = &mut *self.room;
        let stream = &mut room.layers[index];
        // Nobody has a parent in the first step; later all have one.
        if rows.iter().all(|row| row.parent.is_none()) {
            let [first_hidden, first_cell] = self.encoding.states(index, samples, hidden);
            stream.restart_from(rows.iter().map(|row| {
                let place = row.sequence * hidden..(row.sequence + 1) * hidden;
                RowState { hidden: &first_hidden[place.clone()], cell: &first_cell[place] }
            }))?;
        } else {
            stream.select(rows.iter().filter_map(|row| row.parent))?;
        }
        let used = rows.len() * hidden;
        let layer = &self.decoder.layers[index];
        let output = layer.step(&mut self.runner.team, stream, &room.input[..2 * used])?;
        let up = &mut room.up[..used];
        if index < RESIDUAL_FROM {
            up.copy_from_slice(output);
        } else {
            up.iter_mut().zip(output).for_each(|(up, output)| *up += output);
        }
        Ok(())
    }

    /// Computes the attention of each row on its source, and its context. Rows are shared out over the team.
    fn attend(&mut self, rows: &[Row]) {
        let Sizes { hidden, source, .. } = self.decoder.sizes;
        let room = &mut *self.room;
        let used = rows.len() * hidden;
        let team = &mut self.runner.team;
        self.decoder.query.run_on(team, &room.up[..used], &mut room.queries[..used]);
        room.contexts.swap(0, 1);
        let (energy, keys, memory, time) = (&self.decoder.energy, &room.keys, &self.encoding.rows, self.time);
        let places = room.places.iter().zip(rows);
        let outputs = room.attention.chunks_exact_mut(source).zip(room.contexts[0].chunks_exact_mut(hidden));
        let work = places.zip(room.queries.chunks_exact(hidden)).zip(outputs);
        share_out(team, &room.threads, work, |scratch, (((places, row), query), (attention, context))| {
            let of_source = row.sequence * time * hidden..(row.sequence * time + places) * hidden;
            let attention = &mut attention[..*places];
            energy.scores(scratch, &keys[of_source.clone()], query, attention);
            softmax(attention);
            weighted_sum(attention, &memory[of_source], context);
        });
    }
}

/// Does each piece of work on some thread of the team, with that thread's work space.
fn share_out<T: Send>(
    team: &mut Team,
    scratch: &[Mutex<Vec<f32>>],
    work: impl ExactSizeIterator<Item = T> + Send,
    each: impl Fn(&mut [f32], T) + Sync,
) {
    if team.threads() == 1 || work.len() == 1 {
        let mut scratch = scratch[0].lock().expect("no thread panics while it holds work space");
        work.for_each(|item| each(&mut scratch, item));
        return;
    }
    let work = Mutex::new(work);
    team.run(|member| {
        let mut scratch = scratch[member.index()].lock().expect("no thread panics while it holds work space");
        loop {
            let item = work.lock().expect("taking an item does not panic").next();
            let Some(item) = item else { break };
            each(&mut scratch, item);
        }
    });
}
