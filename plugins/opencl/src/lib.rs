//! The OpenCL plugin: runs ONNX files on any OpenCL device.
//!
//! Graphs, plans and kernels come from `proctor-device`; this crate makes the OpenCL calls.

mod devices;
mod driver;
mod plugin;

pub use devices::{DeviceInfo, OpenError, devices};
pub use driver::OpenCl;
pub use plugin::OpenClPlugin;
