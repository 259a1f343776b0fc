//! The tract plugin: ONNX files in Rust alone, where there is no ONNX Runtime.
