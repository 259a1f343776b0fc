//! The OpenCL plugin: ONNX files on any device that OpenCL drives.
//!
//! Graphs, plans and kernels are those of `proctor-device`; here are the calls of OpenCL.

mod driver;
mod platforms;
mod plugin;

pub use driver::OpenCl;
pub use platforms::{OpenError, Place, devices};
pub use plugin::OpenClPlugin;
