//! The ONNX Runtime plugin: any ONNX file, on the execution providers of the runtime.
