//! The seam between the plugin and its models: a model reads its weights from a file and becomes a [`Network`], which
//! all instances share and which turns the tensors of a batch into its outputs.

use std::fmt;

use candle_core::{DType, Device, Tensor};
use proctor_plugin_api::{
    Host, Response,
    vocabulary::{ResponseId, SampleIndex, TensorSpec},
};

use crate::{
    error::LoadError,
    weights::{Format, Weights},
};

/// A loaded model. Instances share it, each calls it from its own thread, within the threads that it may use.
pub trait Network: Send + Sync + fmt::Debug {
    /// Computes the outputs of a batch, in the order of [`LoadRequest::outputs`].
    ///
    /// # Errors
    /// If the engine refuses the call, or a value of an input is out of range.
    fn run(&self, call: &NetworkCall) -> candle_core::Result<Vec<Output>>;

    /// Returns the layers and sizes in a few words, such as `LSTM of 64, linear 10`.
    fn summary(&self) -> String;
}

/// Request to load a model.
#[derive(Debug, Clone, Copy)]
pub struct LoadRequest<'a> {
    /// Model id, such as `resnet50-tiny`.
    pub model: &'a str,
    /// File, open, with the precision and the device that tensors are read for.
    pub weights: &'a Weights,
    /// The input tensors of one sample, in order.
    pub inputs: &'a [TensorSpec],
    /// The tensors of one sample that go out, in order.
    pub outputs: &'a [TensorSpec],
    /// Largest expected batch, in samples.
    pub batch_size_max: usize,
    /// Number of instances that will share the network, each with one batch at a time.
    pub instance_count: usize,
    /// Number of texts that a search of words keeps at a time, if the user says so; otherwise as the model id says.
    pub beam: Option<usize>,
}

/// Makes a network of a file, or says why it cannot.
pub type Load = fn(&LoadRequest<'_>) -> Result<Box<dyn Network>, LoadError>;

/// A kind of model that the plugin knows.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Ids; an asterisk at the end matches any. Sizes are read from the tensors, so one function loads all.
    pub ids: &'static [&'static str],
    /// Formats of the file that its weights may come in.
    pub formats: &'static [Format],
    /// Function that reads its weights.
    pub load: Load,
}

/// One batch, as a network sees it.
#[derive(Debug)]
pub struct NetworkCall {
    /// The inputs in the order of [`LoadRequest::inputs`], each `[batch, shape of a sample ...]`, as f32, i64 or u32
    /// (which i32 becomes, since it is what the engine takes as indices).
    pub inputs: Vec<Tensor>,
    /// Identity of each sample of the batch, for events.
    pub samples: Vec<ResponseId>,
    /// Index of each sample in the library, for messages.
    pub indices: Vec<SampleIndex>,
    /// Type that the network computes in.
    pub dtype: DType,
    /// Device that computes.
    pub device: Device,
    pub(crate) host: Host,
}

/// One output of a batch.
#[derive(Debug)]
pub enum Output {
    /// f32 (or what can be made f32), i64 or u32; `[batch, shape of a sample ...]`.
    Tensor(Tensor),
    /// Tokens of each sample, of any number.
    Tokens(Vec<Vec<i32>>),
}

impl NetworkCall {
    /// Returns the number of samples; at least 1.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// Returns an input of floating-point values, converted to the type of the computation.
    ///
    /// # Errors
    /// If the engine cannot convert it.
    pub fn input(&self, index: usize) -> candle_core::Result<Tensor> {
        self.inputs[index].to_dtype(self.dtype)
    }

    /// Reports that the first token of a sample of the batch is there.
    pub fn first_token(&self, sample: usize) {
        let id = self.samples[sample];
        self.host.first_token(&[Response::new(id, &[]).with_token_count(1)]);
    }
}
