//! The encoder: two LSTM layers on the rows, two rows joined to a frame, three more layers.

use super::{STACKED, Sizes, stack};
use crate::model::RunError;
use crate::nets::known::zeros;
use crate::nets::recurrent::{CallSizes, LayerSource, Pass, Recurrent, Runner};
use crate::safetensors::error::WeightsError;

#[derive(Debug)]
pub(super) struct Encoder {
    sizes: Sizes,
    pre: [Recurrent; 2],
    post: [Recurrent; 3],
}

/// Memory of one caller.
#[derive(Debug)]
pub(super) struct Encoding {
    /// `[sample, time, width]`.
    features: Vec<f32>,
    /// Outputs of the layers, which take turns: `[sample, time, hidden]`.
    states: [Vec<f32>; 2],
}

/// The frames of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames<'a> {
    /// `[sample, time, hidden]`.
    pub(super) values: &'a [f32],
    /// Number of frames of the tensor for each sample.
    pub(super) time: usize,
}

impl Encoding {
    pub(super) fn new(sizes: Sizes, samples: usize) -> Self {
        // An odd number of rows gets one more.
        let rows = sizes.rows.next_multiple_of(STACKED);
        let states = || zeros(samples * rows * sizes.hidden);
        Self { features: zeros(samples * rows * sizes.width), states: [states(), states()] }
    }
}

impl Encoder {
    pub(super) fn load(sizes: Sizes, layer_source: &mut LayerSource<'_, '_>) -> Result<Self, WeightsError> {
        let Sizes { width, hidden, rows, .. } = sizes;
        let batches = [1, layer_source.batch_size_max];
        let calls = |time| CallSizes { time, batches };
        let pre = stack(layer_source, "encoder.pre_rnn.lstm", [width, hidden], hidden, calls(rows))?;
        let inputs = [STACKED * hidden, hidden, hidden];
        let post =
            stack(layer_source, "encoder.post_rnn.lstm", inputs, hidden, calls(rows.div_ceil(STACKED)))?;
        Ok(Self { sizes, pre, post })
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &Recurrent> {
        self.pre.iter().chain(&self.post)
    }

    /// Encodes the features of a batch, gathered in `time` rows for each sample. `lengths` are rows before and frames
    /// after.
    pub(super) fn run<'a>(
        &self,
        runner: &mut Runner,
        room: &'a mut Encoding,
        lengths: &mut [usize],
        mut time: usize,
    ) -> Result<Frames<'a>, RunError> {
        let samples = lengths.len();
        let Encoding { features, states: [even, odd] } = room;
        let (mut from, mut to): (&mut Vec<f32>, &mut Vec<f32>) = (odd, even);
        for (index, layer) in self.layers().enumerate() {
            if index == self.pre.len() {
                // Beyond a length the layer wrote zeros, so an odd last row is joined to zeros; the values stay in
                // place.
                time /= STACKED;
                lengths.iter_mut().for_each(|length| *length = length.div_ceil(STACKED));
            }
            let input = if index == 0 { &*features } else { &*from };
            let width = match index {
                0 => self.sizes.width,
                _ if index == self.pre.len() => STACKED * self.sizes.hidden,
                _ => self.sizes.hidden,
            };
            let input = &input[..samples * time * width];
            let output = &mut to[..samples * time * layer.width()];
            layer.run(runner, Pass::new(input, lengths, time, output))?;
            std::mem::swap(&mut from, &mut to);
        }
        Ok(Frames { values: &from[..samples * time * self.sizes.hidden], time })
    }

    /// Collects the rows of each sample from `write`, spaced by the longest sample. Returns the number of rows of each.
    pub(super) fn gather(
        &self,
        room: &mut Encoding,
        lengths: &[usize],
        mut write: impl FnMut(usize, &mut [f32]) -> Result<(), RunError>,
    ) -> Result<usize, RunError> {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let time = longest.max(1).next_multiple_of(STACKED);
        let width = self.sizes.width;
        for (sample, (length, to)) in
            lengths.iter().zip(room.features.chunks_exact_mut(time * width)).enumerate()
        {
            let (rows, rest) = to.split_at_mut(length * width);
            write(sample, rows)?;
            rest.fill(0.0);
        }
        Ok(time)
    }
}
