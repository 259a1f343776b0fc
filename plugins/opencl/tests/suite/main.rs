//! Plans and kernels of `plugin-api/device` on the first device of OpenCL, compared with the host and ONNX Runtime.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod calibrate;
mod device;
mod few;
mod models;
mod narrow;
mod onnxruntime;
mod operators;
mod profile;
mod recurrent;
