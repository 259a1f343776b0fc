//! The CPU RNN plugin: LSTM and GRU inference in f32 on the CPU, from safetensors files with PyTorch's names.
//!
//! [`CpuRnn`] is the plugin as the host sees it, exported by the crate's one macro call. Behind it, and usable without it:
//! a [`Model`] holds the parameters: a stack of recurrent layers, in one direction or in both, and an optional linear
//! layer on the last hidden state. An [`Instance`] shares a model and owns the memory that a batch needs; one batch is
//! samples `[time, feature]` in, a row of outputs for each sample out.
//!
//! Design choices:
//! - **Time-major inside.** The samples of a batch are gathered into `[time, batch, feature]`. The input products of
//!   all time steps are then one matrix product, and each step works on rows that lie together.
//! - **Two halves.** What a layer computes from its input alone (`linear`) is done for the whole sequence at once; what
//!   depends on the step before (`cell/lstm`, `cell/gru`) is one small object with one function. `layer` joins the two
//!   in one loop over time, and that loop is the seam for faster code: whatever takes its place, a packed layout, fused
//!   steps or a split over cores, is unseen from outside.
//! - **Weights are transposed once, at load**, to the order in which the product reads them.
//! - **One unsafe call of our own**, to the `gemm` crate, in `matmul`, behind a function that checks every length.
//! - **A file is believed only when it is understood whole.** Sizes follow from shapes, shapes must fit each other, every
//!   weight must be finite, and a tensor without a place in the model is an error ([`WeightsError`]), because to leave
//!   it out would be to run another model.
//! - **Single-threaded unless told otherwise**: the benchmark's scheduler scales by instances, and instances that
//!   split their products over the same cores would disturb each other.
//!
//! ```
//! use std::{path::Path, sync::Arc};
//!
//! use cpu_rnn_sut::{GruReset, Instance, InstanceSettings, Model, Threads};
//! use safetensors::{Dtype, serialize, tensor::TensorView};
//!
//! // One LSTM unit and a linear layer, all weights 0, and 1.5 as the bias of the only output.
//! let zeros = [0; 16];
//! let bias = 1.5_f32.to_le_bytes();
//! let tensor = |data, shape: &[usize]| TensorView::new(Dtype::F32, shape.to_vec(), data);
//! let file = serialize(
//!     [
//!         ("lstm.weight_ih_l0", tensor(&zeros, &[4, 1])?),
//!         ("lstm.weight_hh_l0", tensor(&zeros, &[4, 1])?),
//!         ("lstm.bias_ih_l0", tensor(&zeros, &[4])?),
//!         ("lstm.bias_hh_l0", tensor(&zeros, &[4])?),
//!         ("fc.weight", tensor(&zeros[..4], &[1, 1])?),
//!         ("fc.bias", tensor(&bias, &[1])?),
//!     ],
//!     None,
//! )?;
//!
//! let model = Arc::new(Model::from_bytes(Path::new("tiny.safetensors"), &file, GruReset::default())?);
//! let settings = InstanceSettings { time: 3, batch_size_max: 2, threads: Threads::SINGLE };
//! let mut instance = Instance::new(model, settings)?;
//! let samples: [&[f32]; 2] = [&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]];
//! let outputs: Vec<&[f32]> = instance.execute(samples.into_iter())?.collect();
//! assert_eq!(outputs, [[1.5], [1.5]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Limits: f32 only; no projections (`proj_size`) and no peepholes; biases are required; every sample of a model has
//! the same number of time steps; only the state after the last step is put out. `gemm` allocates a small block in
//! each product of two proper matrices, so only batches of one sample and one step are free of allocation altogether.
//! With the same samples, another batch size or number of threads may change the last bits of a result.

mod cell;
mod error;
mod layer;
mod linear;
mod matmul;
mod model;
mod plugin;
mod weights;

pub use cell::GruReset;
pub use error::WeightsError;
pub use matmul::Threads;
pub use model::{Instance, InstanceError, InstanceSettings, Model};
pub use plugin::{CpuRnn, LoadedInstance, LoadedModel};
