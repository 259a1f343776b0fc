//! The CUDA plugin: runs ONNX files on NVIDIA graphics processors.
//!
//! Graphs, plans and kernels come from `proctor-device`; this crate makes the CUDA calls. It loads libraries when the
//! plugin is opened, and a build needs none of them: the driver through cudarc, which `libraries::cuda` keeps from
//! panicking; the compiler NVRTC; cuBLASLt for matrix products and cuDNN for convolutions, which the shared kernels
//! replace if absent; and NVML for device metrics, which are missing without it.
//!
//! # Where things are
//! - `libraries`: those of NVIDIA, loaded and checked; `devices` finds the devices;
//! - `driver` makes the calls, with a `context`, its `memory`, a `queue`, and each `launch` on it;
//! - `product`: products by cuBLASLt, as `shape` describes them; `convolution`: those of cuDNN; `compiler`: kernels to
//!   code;
//! - `error`: in words that say what to do; `metrics`: what the devices use; `plugin`: the manifest and the model.

mod compiler;
mod context;
mod convolution;
mod devices;
mod driver;
mod error;
mod launch;
mod libraries;
mod memory;
mod metrics;
mod plugin;
mod product;
mod queue;
mod shape;

pub use compiler::Compiler;
pub use convolution::ConvolutionLibrary;
pub use devices::{DeviceInfo, devices};
pub use driver::{Cuda, Libraries};
pub use error::OpenError;
pub use plugin::CudaPlugin;
pub use product::ProductLibrary;
