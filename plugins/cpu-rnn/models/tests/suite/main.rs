//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod against_reference;
mod bad_onnx;
mod bad_weights;
mod common;
mod float64_answers;
mod nets;
mod onnx_files;
mod onnx_node_tests;
mod stack_stream;
