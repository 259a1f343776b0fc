//! The seam between the callers of models (the plugin, tests) and the models.
//!
//! A [`Model`] is parameters, shared; an [`Instance`] is the memory and the threads to run them; a [`Batch`] is where
//! the samples of one call lie. Nothing here copies a sample.

use std::{fmt, sync::Arc};

use proctor_rnn_engine::{CallError, Layer, StreamError, Team};
use proctor_rnn_layer::{LayerShape, Schedule};
use proctor_timed_steps::mel::MelError;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A loaded model: parameters only, shared by its instances.
pub trait Model: fmt::Debug + Send + Sync {
    /// Makes a copy that can run on the team's threads, with all its memory allocated.
    ///
    /// # Errors
    /// [`RunError::TooLarge`] if the memory for the largest batch is out of all proportion.
    fn instance(self: Arc<Self>, team: Team) -> Result<Box<dyn Instance>, RunError>;

    /// Returns a description in a few lines: layers, shapes, schedules.
    fn summary(&self) -> String;
}

/// A model with its own working memory: runs one batch at a time.
pub trait Instance: fmt::Debug + Send {
    /// Reads the inputs of every sample of the batch and writes the outputs.
    ///
    /// After the first batches of each size it allocates nothing.
    ///
    /// # Errors
    /// [`RunError`]; outputs may then be partly written.
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError>;
}

/// Places of the tensors of the samples of one batch.
///
/// # Safety
/// The tensors are disjoint, and each stays where it is while the batch is borrowed: an address of one stays valid when
/// another is asked for.
pub unsafe trait Batch {
    /// Returns the number of samples.
    fn sample_count(&self) -> usize;

    /// Returns the bytes of an input tensor of a sample.
    ///
    /// # Panics
    /// If the sample or input does not exist.
    fn input(&self, sample: usize, input: usize) -> &[u8];

    /// Returns the whole buffer of an output tensor of a sample; all of it counts as written.
    ///
    /// # Panics
    /// If the sample or output does not exist.
    fn output_mut(&mut self, sample: usize, output: usize) -> &mut [u8];

    /// Reports that only the first `size_bytes` of an output are written, and that they hold `token_count` tokens.
    /// Called after [`Self::output_mut`].
    ///
    /// # Panics
    /// If there is no such output or it has less room.
    fn set_output_size(&mut self, sample: usize, output: usize, size_bytes: usize, token_count: usize);

    /// Reports the first token of a sample's answer, at most once for each sample. Does nothing if tokens are not
    /// measured.
    fn first_token(&mut self, _sample: usize) {}

    /// Begins a stage of the work and ends the one before; the last one ends with the batch. Its name has lower-case
    /// letters and underscores, and a batch has at most 8 stages. Does nothing if stages are not recorded.
    fn begin_stage(&mut self, _name: &'static str) {}
}

impl dyn Batch + '_ {
    /// Returns the values of an input tensor that holds such elements.
    ///
    /// # Errors
    /// [`RunError::Alignment`] if the bytes are not whole aligned values.
    pub fn input_values<T: FromBytes + Immutable>(
        &self,
        sample: usize,
        input: usize,
    ) -> Result<&[T], RunError> {
        <[T]>::ref_from_bytes(self.input(sample, input)).map_err(|_| RunError::Alignment(sample))
    }

    /// Returns the room of an output tensor that holds such elements.
    ///
    /// # Errors
    /// As `input_values`.
    pub fn output_values<T: FromBytes + IntoBytes>(
        &mut self,
        sample: usize,
        output: usize,
    ) -> Result<&mut [T], RunError> {
        <[T]>::mut_from_bytes(self.output_mut(sample, output)).map_err(|_| RunError::Alignment(sample))
    }
}

/// A layer of a model, and the calls that will be made of it.
#[derive(Debug, Clone)]
pub struct LayerCalls<'a> {
    /// Name of the layer in its model, for people.
    pub name: String,
    /// Shape of the layer.
    pub layer: &'a Layer,
    /// Shape of the calls.
    pub shape: LayerShape,
}

impl<'a> LayerCalls<'a> {
    /// Creates calls of `batch` sequences of `time` steps.
    #[must_use]
    pub fn new(name: impl Into<String>, layer: &'a Layer, time: usize, batch: usize) -> Self {
        Self { name: name.into(), layer, shape: layer.spec().shape(time, batch) }
    }
}

/// Chooses how the layers of a model run. Asked once, with all of them, when the model is loaded.
pub trait Scheduler {
    /// Returns a schedule for each of the calls, in order.
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule>;
}

/// Runs every layer on the calling thread, unoptimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SingleThread;

impl Scheduler for SingleThread {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        vec![Schedule::SINGLE; calls.len()]
    }
}

/// The schedules of a layer for the batch sizes that it was planned for.
#[derive(Debug, Clone)]
pub struct Plans {
    /// Batch sizes, ascending, with their schedules; at least one.
    by_batch: Vec<(usize, Schedule)>,
}

/// Maximum memory in bytes of the buffers of one instance: far more than any real model needs, and small enough to
/// refuse before the allocator gives up.
pub(crate) const MEMORY_BYTES_MAX: usize = 8 << 30;

/// Largest batch that layers are planned for: beyond it a call takes so long that nothing new is learned from timing
/// it.
pub(crate) const PLANNED_BATCH_MAX: usize = 64;

impl Plans {
    /// Plans layers, each with its name and number of time steps, for batches of one sample and of `batch_size_max`, or
    /// 64 if that is less.
    #[must_use]
    pub fn new(
        layers: &[(String, &Layer, usize)],
        batch_size_max: usize,
        scheduler: &dyn Scheduler,
    ) -> Vec<Self> {
        let mut sizes = vec![1, batch_size_max.clamp(1, PLANNED_BATCH_MAX)];
        sizes.dedup();
        let calls: Vec<LayerCalls<'_>> = layers
            .iter()
            .flat_map(|(name, layer, time)| {
                sizes.iter().map(move |batch| LayerCalls::new(name.as_str(), layer, *time, *batch))
            })
            .collect();
        let schedules = scheduler.plan(&calls);
        let of_layer =
            |schedules: &[Schedule]| Self::of(sizes.iter().copied().zip(schedules.iter().copied()));
        schedules.chunks_exact(sizes.len()).map(of_layer).collect()
    }

    /// Creates plans from schedules with the batch sizes that they were chosen for, ascending; at least one.
    pub(crate) fn of(by_batch: impl IntoIterator<Item = (usize, Schedule)>) -> Self {
        Self { by_batch: by_batch.into_iter().collect() }
    }

    /// Returns the batch sizes, ascending, with their schedules.
    pub(crate) fn by_batch(&self) -> &[(usize, Schedule)] {
        &self.by_batch
    }

    /// Returns whether a schedule wants the weights primed before the first call.
    #[must_use]
    pub fn are_primed(&self) -> bool {
        self.by_batch.iter().any(|(_, schedule)| schedule.primed)
    }

    /// Returns the schedule for a batch: from the smallest planned batch that is large enough, else from the largest
    /// one.
    #[must_use]
    pub fn at(&self, batch: usize) -> &Schedule {
        let planned = self.by_batch.iter().find(|(size, _)| batch <= *size).or(self.by_batch.last());
        &planned.expect("a plan has a schedule").1
    }
}

/// Reason why a batch cannot run, or an instance cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum RunError {
    #[error(
        "batches of {batch_size_max} samples of {time} time steps need more than {MEMORY_BYTES_MAX} bytes of memory; \
         lower the largest batch"
    )]
    TooLarge { time: usize, batch_size_max: usize },
    #[error("batch of {batch_size} samples, but the instance was made for at most {batch_size_max}")]
    BatchSize { batch_size: usize, batch_size_max: usize },
    #[error("{tensor} of sample {sample} has {got} values, the model has {expected}")]
    SampleSize {
        /// Position in the batch, counted from 0.
        sample: usize,
        tensor: &'static str,
        got: usize,
        expected: usize,
    },
    #[error("{tensor} of sample {sample} holds {value}, but only {expected} are possible")]
    Value {
        /// Position in the batch, counted from 0.
        sample: usize,
        tensor: &'static str,
        value: i64,
        expected: String,
    },
    #[error(
        "batches of {0} samples need more than {MEMORY_BYTES_MAX} bytes of memory; lower the largest batch"
    )]
    Memory(usize),
    /// A waveform of this sample has no features.
    #[error("sample {0}: {1}")]
    Features(usize, MelError),
    /// A graph does not take a batch of this size; with the misfit in words.
    #[error("a batch of {0} samples: {1}")]
    Plan(usize, String),
    /// A node, with its operator, does not take the values of its inputs; with the fault in words.
    #[error("node {0}: {1}")]
    Node(String, String),
    #[error("a tensor of sample {0} is not made of whole aligned values of its element type")]
    Alignment(usize),
    /// A layer refuses its input.
    #[error(transparent)]
    Layer(#[from] CallError),
    /// A layer that runs step by step refuses its input.
    #[error(transparent)]
    Stream(#[from] StreamError),
}
