//! Models on a device: ONNX files as graphs that are folded, fused and planned, and the kernels that run them.
//!
//! The plugins for OpenCL and CUDA are this crate and a [`Driver`](driver::Driver) each. A model goes through five
//! stages, the first three of them once for each batch size:
//!
//! 1. [`read`] makes a [`Graph`](graph::Graph) of the file: every operator is one of `op`, every shape is known,
//!    and all that follows from constants is computed.
//! 2. [`passes`] make the graph cheaper without changing its results, such as attention as one operator, or round it to
//!    f16 or bf16.
//! 3. [`program`] plans the calls of [`kernels`] that compute the graph, and the memory between them.
//! 4. [`session`] compiles the kernels, brings the constants onto the device, and runs the calls there.
//! 5. [`serve`] puts batches together out of such sessions, behind the traits of a plugin.
//!
//! [`evaluate`] defines each operator, in f64 on the host: it folds constants, and tests compare kernels with it.
//! [`profile`] measures each call of a program. [`signals`] keeps the host's handlers from drivers that take them.

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
