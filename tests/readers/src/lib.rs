//! Properties of every file reader, and of the host's readers of plugin data, on any input: for property tests and fuzz
//! targets.
//!
//! Each function takes the bytes of a file, reads them, and panics if an invariant does not hold:
//! - any bytes are read or refused, and a refusal names a line that the file has;
//! - data that was read, written in the normal form and read again is the same;
//! - data that was read equals an independent interpretation: another parser, or the C library's number parsers;
//! - memory stays below a multiple of the length of the file.
//!
//! The tests of this crate run them on mutated files, the targets in `tests/fuzz` for as long as you like.
//!
//! [`read_detail_log`] is a reader that only tests need: it refuses a log with an invalid line, where the host skips
//! such a line.
//!
//! # Example
//! ```
//! proctor_readers::check_mlperf_conf(b"*.Server.target_qps = 0x1.8p1\n");
//! ```

#![forbid(unsafe_code)]

mod accuracy_log;
mod arrivals_trace;
mod audit_config;
mod benchmark;
mod boundary;
mod conf_oracle;
mod curves;
mod data_files;
mod detail_log;
mod file;
mod memory;
mod mlperf_conf;
mod model_files;
mod onnx;
mod plan_cache;
mod safetensors;
mod settings_file;
mod summary_log;

pub use accuracy_log::check_accuracy_log;
pub use arrivals_trace::check_arrivals_trace;
pub use audit_config::check_audit_config;
pub use benchmark::check_benchmark;
pub use boundary::{elf::check_elf, plugin::check_plugin};
pub use curves::check_curves;
pub use data_files::{
    gguf::check_gguf, idx::check_idx, jpeg::check_jpeg, nifti::check_nifti, sound::check_sound,
    tar::check_tar, tokenizer::check_tokenizer,
};
pub use detail_log::{
    check_detail_log,
    reader::{DetailLogError, read_detail_log},
};
pub use mlperf_conf::check_mlperf_conf;
pub use model_files::{check_frozen_graph, check_graph_model, check_torch};
pub use onnx::{check_onnx_file, check_onnx_graph};
pub use plan_cache::check_plan_cache;
pub use safetensors::check_safetensors;
pub use settings_file::check_settings_file;
pub use summary_log::check_summary_log;

/// A function that checks the bytes of a file.
pub type Check = fn(&[u8]);

/// All checks, by the names of the fuzz targets.
pub const CHECKS: [(&str, Check); 25] = [
    ("accuracy_log", check_accuracy_log),
    ("arrivals_trace", check_arrivals_trace),
    ("audit_config", check_audit_config),
    ("benchmark", check_benchmark),
    ("curves", check_curves),
    ("detail_log", check_detail_log),
    ("elf", check_elf),
    ("frozen_graph", check_frozen_graph),
    ("graph_model", check_graph_model),
    ("gguf", check_gguf),
    ("idx", check_idx),
    ("jpeg", check_jpeg),
    ("mlperf_conf", check_mlperf_conf),
    ("nifti", check_nifti),
    ("onnx_file", check_onnx_file),
    ("onnx_graph", check_onnx_graph),
    ("plan_cache", check_plan_cache),
    ("plugin", check_plugin),
    ("safetensors", check_safetensors),
    ("settings_file", check_settings_file),
    ("sound", check_sound),
    ("summary_log", check_summary_log),
    ("tar", check_tar),
    ("tokenizer", check_tokenizer),
    ("torch", check_torch),
];
