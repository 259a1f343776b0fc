//! Models on a device: ONNX files as graphs that are folded, fused and planned, and the kernels that run them.
//!
//! The plugins for OpenCL and CUDA are this crate and a driver each. A file goes through these stages when it is
//! loaded, once for each batch size:
//!
//! 1. [`read`] makes a [`Graph`](graph::Graph) of it: every operator is one of [`Op`](op::Op), every shape is known,
//!    and all that follows from constants is computed.
//!
//! [`evaluate`] says what each operator means, in f64 on the host. It folds constants, and is what kernels are held
//! against.

pub mod driver;
pub mod evaluate;
pub mod graph;
pub mod kernels;
pub mod op;
pub mod passes;
pub mod program;
pub mod read;
pub mod serve;
pub mod session;
pub mod tensor;
