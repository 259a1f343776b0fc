//! The manifest: a plugin's description of itself, before any device is touched.

use super::basic::ProctorString;

/// The plugin runs batches that the host forms: create_instance, execute and destroy_instance of ProctorPlugin. A
/// plugin has this capability, or PROCTOR_CAPABILITY_ISSUE, or both.
pub const PROCTOR_CAPABILITY_EXECUTE: u64 = 1;
/// The plugin can take whole queries: the extension PROCTOR_EXTENSION_ISSUE.
pub const PROCTOR_CAPABILITY_ISSUE: u64 = 2;
/// The plugin can run in virtual time: the extension PROCTOR_EXTENSION_VIRTUAL_TIME.
pub const PROCTOR_CAPABILITY_VIRTUAL_TIME: u64 = 4;
/// The system is reached by a network: it is one of MLPerf's network division.
pub const PROCTOR_CAPABILITY_NETWORK: u64 = 16;
/// Several threads may be in ProctorIssue.issue at the same time, each with a query of its own. Without it they take
/// turns. Only beside PROCTOR_CAPABILITY_ISSUE.
pub const PROCTOR_CAPABILITY_CONCURRENT_ISSUE: u64 = 8;

/// The model takes samples whose shapes differ from sample to sample: PROCTOR_REQUEST_INPUTS_VARY. Without this bit,
/// and without that one, all have the shapes of the request.
pub const PROCTOR_MODEL_DYNAMIC_SHAPES: u64 = 1;

/// Bit of SingleStream in a set of scenarios.
pub const PROCTOR_SCENARIO_SINGLE_STREAM: u32 = 1;
/// Bit of MultiStream in a set of scenarios.
pub const PROCTOR_SCENARIO_MULTI_STREAM: u32 = 2;
/// Bit of Server in a set of scenarios.
pub const PROCTOR_SCENARIO_SERVER: u32 = 4;
/// Bit of Offline in a set of scenarios.
pub const PROCTOR_SCENARIO_OFFLINE: u32 = 8;

/// One row of the list of what a plugin can run: model or file format, precision, scenarios, device.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorModelSupport {
    /// Model id such as `digits-lstm`, or the beginning of one and `*`; `*` alone is every model that
    /// comes in this format.
    pub model: ProctorString,
    /// File format that the plugin reads: `safetensors`, `onnx`, ..., `none` if it needs no file, or `*` for any.
    pub format: ProctorString,
    /// Precision that it computes in: `f32`, `bf16`, `f16`, `int8`, ...
    pub precision: ProctorString,
    /// Kind of device: `cpu`, `cuda`, `opencl`, ...
    pub device: ProctorString,
    /// Set of PROCTOR_SCENARIO bits; at least one.
    pub scenarios: u32,
    /// Largest batch in samples; 0 means no limit.
    pub batch_size_max: u32,
    /// Set of PROCTOR_MODEL bits.
    pub flags: u64,
    /// Device memory that one instance needs, in bytes; 0 means not known.
    pub memory_bytes: u64,
}

/// `true` or `false`.
pub const PROCTOR_OPTION_BOOLEAN: u32 = 1;
/// A 64-bit signed integer.
pub const PROCTOR_OPTION_INTEGER: u32 = 2;
/// A finite double.
pub const PROCTOR_OPTION_FLOAT: u32 = 3;
/// Any text.
pub const PROCTOR_OPTION_TEXT: u32 = 4;
/// The path of a file or folder; the host makes it absolute.
pub const PROCTOR_OPTION_PATH: u32 = 5;
/// One of a fixed list of words.
pub const PROCTOR_OPTION_CHOICE: u32 = 6;

/// One option that a plugin takes, set by `--set <plugin>.<option>=<value>`.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorOptionSpec {
    /// Name: lower-case letters, digits and underscores.
    pub name: ProctorString,
    /// Its effect, in a sentence, with the unit; may be null. The texts of all options together, words of choices
    /// included, have at most PROCTOR_TEXT_LENGTH_MAX bytes.
    pub help: ProctorString,
    /// Value if the user gives none, as text; null if the option is then left out.
    pub default_value: ProctorString,
    /// One of the PROCTOR_OPTION constants.
    pub kind: u32,
    /// Number of choices.
    pub choice_count: u32,
    /// The allowed words of a choice; null for other kinds.
    pub choices: *const ProctorString,
    /// Smallest integer that is allowed. If smallest and largest are both 0, any integer is.
    pub integer_min: i64,
    /// Largest integer that is allowed.
    pub integer_max: i64,
    /// Smallest float that is allowed. If smallest and largest are both 0, any finite one is.
    pub float_min: f64,
    /// Largest float that is allowed.
    pub float_max: f64,
}

/// The description of a plugin and of what it can run. Owned by the plugin, valid to the end of the process.
///
/// Its texts are lines without control characters. They are required and not empty unless they may be null.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorManifest {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Short name, lower-case letters, digits and hyphens: `cpu-rnn`.
    pub name: ProctorString,
    /// Who made it; may be null.
    pub vendor: ProctorString,
    /// Version of the plugin.
    pub version: ProctorString,
    /// Licence, as an SPDX expression or `proprietary`.
    pub license: ProctorString,
    /// Description in a sentence; may be null.
    pub description: ProctorString,
    /// Set of PROCTOR_CAPABILITY bits.
    pub capabilities: u64,
    /// Models that it can run; at least one element.
    pub models: *const ProctorModelSupport,
    /// Number of elements of `models`.
    pub model_count: usize,
    /// Distance of two elements of `models` in bytes.
    pub model_stride: usize,
    /// The options that it takes; may be null if there are none.
    pub options: *const ProctorOptionSpec,
    /// Number of elements of `options`.
    pub option_count: usize,
    /// Distance of two elements of `options` in bytes.
    pub option_stride: usize,
}

/// The value of one option, checked by the host against its ProctorOptionSpec.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorOptionValue {
    /// Which option.
    pub name: ProctorString,
    /// The value of a text, a path or a choice.
    pub text: ProctorString,
    /// The value of an integer; 0 or 1 for a boolean.
    pub integer: i64,
    /// The value of a float.
    pub number: f64,
    /// One of the PROCTOR_OPTION constants.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}
