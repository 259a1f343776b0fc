//! Models through the program, against other implementations of them, and benchmarks on published data sets.

pub(crate) mod fashion_mnist;
pub(crate) mod onnx_peer;
mod photographs;
mod prequantised;
mod proof;
mod published;
mod published_dense_onnx;
mod published_rows_and_volumes;
mod published_speech;
mod published_text;
mod published_vision_onnx;
mod recurrent;
mod responses;
mod texts;
mod trained;
