//! The prediction network, the joint network, and greedy decoding.
//!
//! The joint network's first layer reads a frame and a prediction side by side. Its product is split: the frames' part
//! is one product over all frames, the predictions' part is computed when a prediction changes, so a look at a frame is
//! one addition for each unit and the small last layer.

use proctor_rnn_engine::Stream;

use super::{Sizes, encoder::Frames, stack};
use crate::dense::Dense;
use crate::model::RunError;
use crate::nets::known::zeros;
use crate::nets::layers::activation::Activation;
use crate::nets::layers::embedding::Embedding;
use crate::nets::recurrent::{CallSizes, LayerSource, Recurrent, Runner};
use crate::safetensors::error::WeightsError;

#[derive(Debug)]
pub(super) struct Decoder {
    sizes: Sizes,
    embedding: Embedding,
    layers: [Recurrent; 2],
    /// The columns of `joint.net.0` that meet the frame, with its bias.
    of_frame: Dense,
    /// The columns of `joint.net.0` that meet the prediction.
    of_prediction: Dense,
    last: Dense,
}

/// Memory of one caller: one row for each sample, unless said.
#[derive(Debug)]
pub(super) struct Decoding {
    samples: Vec<Sample>,
    /// `[sample, time, joint]`.
    of_frames: Vec<f32>,
    /// `[sample, joint]`.
    of_predictions: Vec<f32>,
    /// The layers of the prediction network, with a row for each sample.
    layers: [Stream; 2],
    /// The samples that step, in ascending order, and the rows that the first layer reads.
    stepping: Vec<usize>,
    input: Vec<f32>,
    /// `[sample, joint]` and `[sample, labels + blank]`.
    hidden: Vec<f32>,
    logits: Vec<f32>,
}

/// Progress of decoding a sample.
#[derive(Debug)]
struct Sample {
    frame: usize,
    /// Number of symbols found at this frame.
    symbols: usize,
    text: Vec<i32>,
}

impl Decoding {
    /// Allocates memory for this many samples.
    ///
    /// # Errors
    /// Returns the error of a layer.
    pub(super) fn new(decoder: &Decoder, samples: usize) -> Result<Self, RunError> {
        let Sizes { prediction, joint, labels, rows, room, .. } = decoder.sizes;
        let rows_of = |width: usize| zeros(samples * width);
        let sample = || Sample { frame: 0, symbols: 0, text: Vec::with_capacity(room) };
        let [first, second] = &decoder.layers;
        Ok(Self {
            samples: (0..samples).map(|_| sample()).collect(),
            of_frames: zeros(samples * rows * joint),
            of_predictions: rows_of(joint),
            layers: [first.stream(samples)?, second.stream(samples)?],
            stepping: Vec::with_capacity(samples),
            input: rows_of(prediction),
            hidden: rows_of(joint),
            logits: rows_of(labels + 1),
        })
    }

    /// Returns the symbols of a sample.
    pub(super) fn text(&self, sample: usize) -> &[i32] {
        &self.samples[sample].text
    }
}

impl Decoder {
    pub(super) fn load(sizes: Sizes, layer_source: &mut LayerSource<'_, '_>) -> Result<Self, WeightsError> {
        let Sizes { hidden, prediction, joint, labels, .. } = sizes;
        let embedding = layer_source.embedding("prediction.embed", labels, prediction)?;
        let calls = CallSizes { time: 1, batches: [1, layer_source.batch_size_max] };
        let layers = stack(layer_source, "prediction.dec_rnn.lstm", [prediction; 2], prediction, calls)?;
        let width = hidden + prediction;
        let weight = layer_source.weights.take("joint.net.0.weight", &[joint, width])?;
        let bias = layer_source.weights.take("joint.net.0.bias", &[joint])?;
        let columns = |start: usize, count: usize| -> Vec<f32> {
            weight.chunks_exact(width).flat_map(|row| &row[start..start + count]).copied().collect()
        };
        Ok(Self {
            sizes,
            embedding,
            layers,
            of_frame: Dense::new(&columns(0, hidden), &bias, hidden),
            of_prediction: Dense::new(&columns(hidden, prediction), &[], prediction),
            last: layer_source.linear("joint.net.3", joint, labels + 1)?,
        })
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.layers.iter()
    }

    /// Decodes all samples of a batch; `lengths` are their numbers of frames. Leaves the texts in `room`, and calls
    /// `first_symbol` for each sample that has a symbol as soon as it is found.
    pub(super) fn run(
        &self,
        runner: &mut Runner,
        room: &mut Decoding,
        frames: Frames<'_>,
        lengths: &[usize],
        mut first_symbol: impl FnMut(usize),
    ) -> Result<(), RunError> {
        let rows = lengths.len() * frames.time;
        self.of_frame.run_on(&mut runner.team, frames.values, &mut room.of_frames[..rows * self.sizes.joint]);
        self.start(room, lengths.len())?;
        loop {
            self.predict(runner, room)?;
            room.stepping.clear();
            // A sample that finds a blank goes on to its next frame at once, until it finds a symbol or is done.
            let mut looking = false;
            for (sample, length) in lengths.iter().enumerate() {
                if self.look(runner, room, sample, *length, frames.time) {
                    looking = true;
                    if room.text(sample).len() == 1 {
                        first_symbol(sample);
                    }
                }
            }
            if !looking {
                return Ok(());
            }
        }
    }

    /// Starts before the first symbol: all states are zero, and all samples step with a zero input.
    fn start(&self, room: &mut Decoding, samples: usize) -> Result<(), RunError> {
        for sample in &mut room.samples[..samples] {
            (sample.frame, sample.symbols) = (0, 0);
            sample.text.clear();
        }
        room.stepping.clear();
        room.stepping.extend(0..samples);
        Ok(room.layers.iter_mut().try_for_each(|layer| layer.restart(samples))?)
    }

    /// Reads frames from the current one of a sample, until one has a symbol. Returns whether there was one; the sample
    /// steps then.
    fn look(
        &self,
        runner: &mut Runner,
        room: &mut Decoding,
        index: usize,
        length: usize,
        time: usize,
    ) -> bool {
        let Sizes { joint, labels: blank, symbols_max, room: text_max, .. } = self.sizes;
        let of_prediction = &room.of_predictions[index * joint..][..joint];
        let sample = &mut room.samples[index];
        while sample.frame < length && sample.text.len() < text_max {
            let of_frame = &room.of_frames[(index * time + sample.frame) * joint..][..joint];
            let hidden = &mut room.hidden[..joint];
            for ((hidden, frame), prediction) in hidden.iter_mut().zip(of_frame).zip(of_prediction) {
                *hidden = frame + prediction;
            }
            Activation::Relu.apply(hidden);
            let logits = &mut room.logits[..=blank];
            self.last.run_on(&mut runner.team, hidden, logits);
            let symbol = first_of_largest(logits);
            if symbol == blank || sample.symbols == symbols_max {
                sample.frame += 1;
                sample.symbols = 0;
                continue;
            }
            sample.symbols += 1;
            sample.text.push(i32::try_from(symbol).expect("labels are few"));
            room.stepping.push(index);
            return true;
        }
        false
    }

    /// Runs one step of the prediction network for the samples that step, by their last symbols.
    fn predict(&self, runner: &mut Runner, room: &mut Decoding) -> Result<(), RunError> {
        let Sizes { prediction: width, joint, .. } = self.sizes;
        let Decoding { stepping, samples, layers: [first, second], input, hidden, of_predictions, .. } = room;
        let input = &mut input[..stepping.len() * width];
        for (sample, row) in stepping.iter().zip(input.chunks_exact_mut(width)) {
            match samples[*sample].text.last() {
                None => row.fill(0.0),
                Some(symbol) => self.embedding.lookup(&[*symbol], row),
            }
        }
        let team = &mut runner.team;
        let between = self.layers[0].step_rows(team, first, stepping, input)?;
        let predictions = self.layers[1].step_rows(team, second, stepping, between)?;
        let hidden = &mut hidden[..stepping.len() * joint];
        self.of_prediction.run_on(team, predictions, hidden);
        for (sample, row) in stepping.iter().zip(hidden.chunks_exact(joint)) {
            of_predictions[sample * joint..][..joint].copy_from_slice(row);
        }
        Ok(())
    }
}

/// Returns the position of the largest value, the first of equals; NaN is never larger.
fn first_of_largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_the_largest() {
        assert_eq!(first_of_largest(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(first_of_largest(&[5.0]), 0);
        assert_eq!(first_of_largest(&[0.0, f32::NAN, 1.0]), 2);
    }
}
