//! A model, its parameters shared, and an instance of it, its memory its own.

use std::{slice::ChunksExact, sync::Arc};

use crate::{
    Threads,
    cell::State,
    layer::{Extent, Layer, Scratch},
    linear::Linear,
};

/// A stack of recurrent layers, and a linear layer on the last hidden state. Parameters only; shared by instances.
#[derive(Debug)]
pub struct Model {
    layers: Vec<Layer>,
    head: Option<Linear>,
}

impl Model {
    /// Joins the layers, the first one first.
    ///
    /// # Panics
    /// If there is no layer, or a layer does not take what the one before puts out.
    #[must_use]
    pub fn new(layers: Vec<Layer>, head: Option<Linear>) -> Self {
        for pair in layers.windows(2) {
            assert_eq!(pair[0].output_count(), pair[1].input_count(), "width between two layers");
        }
        let last = layers.last().expect("a model has a layer");
        if let Some(head) = &head {
            assert_eq!(last.output_count(), head.input_count(), "width before the final layer");
        }
        Self { layers, head }
    }

    /// Width of the input of one time step.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.layers[0].input_count()
    }

    /// Number of outputs of one sample: those of the final linear layer, or of the last hidden state if there is none.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.head.as_ref().map_or(self.last_hidden_count(), Linear::output_count)
    }

    /// Number of recurrent layers.
    #[must_use]
    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    fn last_layer(&self) -> &Layer {
        &self.layers[self.layers.len() - 1]
    }

    fn last_hidden_count(&self) -> usize {
        self.last_layer().output_count()
    }

    fn widest(&self, width: impl Fn(&Layer) -> usize) -> usize {
        self.layers.iter().map(width).max().expect("a model has a layer")
    }
}

/// How large the batches of an instance are, and how they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceSettings {
    /// Number of time steps of every sample; at least 1.
    pub time: usize,
    /// Largest batch; at least 1.
    pub batch_size_max: usize,
    /// Threads of one matrix product.
    pub threads: Threads,
}

/// Why an instance cannot be made or cannot run a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstanceError {
    /// The settings have a zero.
    #[error(
        "an instance needs at least one time step and a batch of at least one sample, got {time} and {batch_size_max}"
    )]
    Empty {
        /// Number of time steps asked for.
        time: usize,
        /// Largest batch asked for.
        batch_size_max: usize,
    },
    /// The buffers would be larger than [`Instance::MEMORY_BYTES_MAX`].
    #[error(
        "batches of {batch_size_max} samples of {time} time steps need more than {limit_bytes} bytes of memory; \
         lower the largest batch"
    )]
    TooLarge {
        /// Number of time steps asked for.
        time: usize,
        /// Largest batch asked for.
        batch_size_max: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// More samples than the instance has memory for.
    #[error("batch of {batch_size} samples, but the instance was made for at most {batch_size_max}")]
    BatchSize {
        /// Number of samples handed in.
        batch_size: usize,
        /// Largest batch of this instance.
        batch_size_max: usize,
    },
    /// A sample of another size.
    #[error("sample {position} of the batch has {got} values, the model takes {expected}")]
    SampleSize {
        /// Position in the batch, counted from 0.
        position: usize,
        /// Number of values handed in.
        got: usize,
        /// Time steps times features.
        expected: usize,
    },
}

/// A model with memory of its own: runs one batch at a time.
///
/// All memory is allocated when the instance is made, for the largest batch.
#[derive(Debug)]
pub struct Instance {
    model: Arc<Model>,
    settings: InstanceSettings,
    /// Input of the current layer, `[time, batch, width]`.
    current: Vec<f32>,
    /// Output of the current layer, `[time, batch, width]`.
    next: Vec<f32>,
    /// `[batch, width]`.
    last_hidden: Vec<f32>,
    /// `[batch, output]`.
    outputs: Vec<f32>,
    scratch: Scratch,
}

impl Instance {
    /// Most memory that the buffers of one instance may take: far more than any real model needs, and small enough
    /// to say no before the allocator gives up.
    pub const MEMORY_BYTES_MAX: usize = 8 << 30;

    /// Makes an instance and allocates its buffers.
    ///
    /// # Errors
    /// [`InstanceError::Empty`] and [`InstanceError::TooLarge`].
    pub fn new(model: Arc<Model>, settings: InstanceSettings) -> Result<Self, InstanceError> {
        let InstanceSettings { time, batch_size_max, .. } = settings;
        if time == 0 || batch_size_max == 0 {
            return Err(InstanceError::Empty { time, batch_size_max });
        }
        let step_width = model.widest(|layer| layer.input_count().max(layer.output_count()));
        let gate_width = model.widest(Layer::gate_width);
        let hidden_width = model.widest(Layer::hidden_count);
        let output_widths = model.last_hidden_count() + model.output_count();

        let widths_once = State::BUFFER_COUNT * hidden_width + output_widths;
        let fits = time
            .checked_mul(2 * step_width + gate_width)
            .and_then(|count| count.checked_add(widths_once))
            .and_then(|count| count.checked_mul(size_of::<f32>()))
            .and_then(|bytes| bytes.checked_mul(batch_size_max))
            .is_some_and(|bytes| bytes <= Self::MEMORY_BYTES_MAX);
        if !fits {
            return Err(InstanceError::TooLarge {
                time,
                batch_size_max,
                limit_bytes: Self::MEMORY_BYTES_MAX,
            });
        }

        let zeros = |width: usize| vec![0.0; batch_size_max * width];
        Ok(Self {
            current: zeros(time * step_width),
            next: zeros(time * step_width),
            last_hidden: zeros(model.last_hidden_count()),
            outputs: zeros(model.output_count()),
            scratch: Scratch {
                gates: zeros(time * gate_width),
                state: State::new(batch_size_max * hidden_width),
            },
            model,
            settings,
        })
    }

    /// Number of values of one sample: time steps times features.
    #[must_use]
    pub fn sample_len(&self) -> usize {
        self.settings.time * self.model.input_count()
    }

    /// The model that the instance runs.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs one batch and returns the outputs, a row `[output]` for each sample, in the order of the inputs.
    ///
    /// Each input is one sample, `[time, feature]`, row-major. Everything is computed in f32; a sample's result does
    /// not depend on the other samples, but its last bits may depend on the size of the batch. NaN in a sample makes
    /// that sample's outputs NaN and no other's. Our own code allocates nothing.
    ///
    /// # Errors
    /// [`InstanceError::BatchSize`] and [`InstanceError::SampleSize`]; nothing was computed then.
    pub fn execute<'a>(
        &mut self,
        inputs: impl ExactSizeIterator<Item = &'a [f32]>,
    ) -> Result<ChunksExact<'_, f32>, InstanceError> {
        let extent = Extent { time: self.settings.time, batch_size: inputs.len() };
        self.gather(inputs, extent)?;
        if extent.batch_size > 0 {
            self.compute(extent);
        }
        let output_count = self.model.output_count();
        Ok(self.outputs[..extent.batch_size * output_count].chunks_exact(output_count))
    }

    /// From `self.current` to `self.outputs`.
    fn compute(&mut self, extent: Extent) {
        let threads = self.settings.threads;
        for layer in &self.model.layers {
            layer.forward(&self.current, &mut self.next, extent, &mut self.scratch, threads);
            std::mem::swap(&mut self.current, &mut self.next);
        }
        let last_layer = self.model.last_layer();
        let last_hidden = &mut self.last_hidden[..extent.batch_size * last_layer.output_count()];
        last_layer.last_hidden(&self.current, last_hidden, extent);

        let outputs = &mut self.outputs[..extent.batch_size * self.model.output_count()];
        match &self.model.head {
            Some(head) => head.forward(last_hidden, outputs, threads),
            None => outputs.copy_from_slice(last_hidden),
        }
    }

    /// Copies the samples into `self.current`, time-major.
    fn gather<'a>(
        &mut self,
        inputs: impl Iterator<Item = &'a [f32]>,
        extent: Extent,
    ) -> Result<(), InstanceError> {
        let Extent { batch_size, .. } = extent;
        let batch_size_max = self.settings.batch_size_max;
        if batch_size > batch_size_max {
            return Err(InstanceError::BatchSize { batch_size, batch_size_max });
        }
        let expected = self.sample_len();
        let width = self.model.input_count();
        for (position, sample) in inputs.enumerate() {
            if sample.len() != expected {
                return Err(InstanceError::SampleSize { position, got: sample.len(), expected });
            }
            for (time, features) in sample.chunks_exact(width).enumerate() {
                let place = (time * batch_size + position) * width;
                self.current[place..][..width].copy_from_slice(features);
            }
        }
        Ok(())
    }
}
