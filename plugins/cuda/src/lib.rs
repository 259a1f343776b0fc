//! The CUDA plugin: ONNX files on NVIDIA's graphics processors.
//!
//! Graphs, plans and kernels are those of `proctor-device`; here are the calls of CUDA. Libraries are loaded when the
//! plugin is opened, none of which a build needs: the driver through cudarc, which `libraries::cuda` keeps from
//! panicking; the compiler NVRTC; cuBLASLt for products of matrices and cuDNN for convolutions, without which the
//! shared kernels compute them; and NVML for what the devices use, without which there are no such figures.

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
