//! Runs models on a device: turns ONNX files into graphs, folds, fuses and plans them, and provides the kernels.
//!
//! The plugins for OpenCL and CUDA are this crate with a [`Driver`](driver::Driver) each. A model goes through five
//! stages, the first three once per batch size:
//!
//! 1. [`read`] makes a [`Graph`](graph::Graph) of the file: every operator is one of `op`, every shape is known, and
//!    everything that follows from constants is computed.
//! 2. [`passes`] make the graph cheaper without changing its results, for example attention as one operator, or round
//!    it to f16 or bf16.
//! 3. [`program`] plans the calls of [`kernels`] that compute the graph, and the memory between them.
//! 4. [`session`] compiles the kernels, copies the constants to the device, and runs the calls there.
//! 5. [`serve`] composes batches from such sessions, behind the plugin traits.
//!
//! [`evaluate`] defines each operator, in f64 on the host: it folds constants, and tests compare kernels with it.
//! [`profile`] measures each call of a program. [`signals`] restores the host's signal handlers if a driver replaces
//! them.
//!
//! # Where things are
//! - `tensor`, `graph`, `op`: the values and operators of a graph; `driver`: the trait of a device;
//! - `calibrate`: the tile of products that suits a device, kept in the `cache`;
//! - of a program, `lower` has a file for each kind of operator, `view` and `expression` are nodes that need no call
//!   of their own, `library` is for products and convolutions of the device's own library, `types` names element types
//!   in C, and `memory` has the offsets of buffers.

pub mod cache;
pub mod calibrate;
pub mod driver;
pub mod evaluate;
pub mod graph;
pub mod kernels;
pub(crate) mod op;
pub mod passes;
pub mod profile;
pub mod program;
pub mod read;
pub mod serve;
pub mod session;
pub mod signals;
pub mod tensor;
