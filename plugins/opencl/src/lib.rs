//! The OpenCL plugin: ONNX files on any device that OpenCL drives.
//!
//! Graphs, plans and kernels are those of `proctor-device`; here are the calls of OpenCL.

mod devices;
mod driver;
mod plugin;

pub use devices::{DeviceInfo, OpenError, devices};
pub use driver::OpenCl;
pub use plugin::OpenClPlugin;
