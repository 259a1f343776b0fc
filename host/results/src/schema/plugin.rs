//! The plugin of a run.

use std::{collections::BTreeMap, ops::Not, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{nan, or_default, or_nan};

/// Plugin of a run.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct PluginPart {
    /// Name of the plugin.
    pub name: String,
    /// Vendor of the plugin.
    #[serde(default)]
    pub vendor: String,
    /// Version of the plugin.
    pub version: String,
    /// License of the plugin.
    #[serde(default, deserialize_with = "or_default")]
    pub license: String,
    /// Path of the library, or a note that it is linked in.
    #[serde(default)]
    pub source: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// Version of the boundary that it was built for.
    #[serde(default, deserialize_with = "or_default")]
    pub abi_version: String,
    /// True if the layouts of its structures were compared.
    #[serde(default, deserialize_with = "or_default")]
    pub layout_checked: bool,
    /// Precision that it computed in.
    pub precision: String,
    /// Memory that the samples were loaded into, for each input: `host`, or of the plugin `pinned` or `device`.
    #[serde(default, deserialize_with = "or_default")]
    pub sample_memory: Vec<String>,
    /// The inputs as given them; empty if they were in the benchmark's form.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputPart>,
    /// True if the system is reached by a network.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Not::not")]
    pub network: bool,
    /// Devices that it lists and the run used.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DevicePart>,
    /// Index of the device of each instance, if it lists devices.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub instance_devices: Vec<u32>,
    /// Form of its work: `batches` or `whole queries`.
    #[serde(default)]
    pub dispatch: String,
    /// The process of its own, if it had one.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationPart>,
    /// Options of the plugin.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Files of the model.
    #[serde(default, deserialize_with = "or_default")]
    pub model_files: Vec<ModelFilePart>,
    /// Figures that it reported; not in virtual time.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub metrics: Option<BTreeMap<String, PluginMetricPart>>,
    /// Stages of its work; not in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<BTreeMap<String, StagePart>>,
}

/// Stages with one name, over all batches or completions of the run except the warm-up's.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct StagePart {
    /// Number of occurrences.
    pub count: u64,
    /// Minimum length in ns.
    pub least_ns: u64,
    /// Maximum length in ns.
    pub greatest_ns: u64,
    /// Mean length in ns.
    pub mean_ns: f64,
}

/// A figure of the plugin's own.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct PluginMetricPart {
    /// Unit, such as `W`; empty for a count or a ratio.
    #[serde(default, deserialize_with = "or_default")]
    pub unit: String,
    /// Last value.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub last: f64,
    /// Minimum value.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub least: f64,
    /// Maximum value.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub greatest: f64,
    /// Weighted by how long each value held, the last one to the end of the last test.
    #[serde(default = "nan", deserialize_with = "or_nan")]
    pub mean: f64,
    /// Number of values.
    #[serde(default)]
    pub count: u64,
}

/// An input as the plugin received it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct InputPart {
    /// Name of the input.
    pub name: String,
    /// Type of its elements.
    pub element_type: String,
    /// Shape of the input.
    pub shape: Vec<usize>,
    /// `as_given`, or `channels_last`.
    pub layout: String,
    /// Integers for real values: value / scale + zero point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
    /// The zero point of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_point: Option<i32>,
}

/// A device that the plugin lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct DevicePart {
    /// Position in the plugin's list.
    pub index: u32,
    /// Name of the device.
    pub name: String,
    /// Name that distinguishes it from others, such as a UUID.
    pub id: Option<String>,
    /// Memory of the device in bytes.
    pub memory_bytes: Option<u64>,
    /// Node of the processors that are near it.
    pub numa_node: Option<u32>,
}

/// A verified file of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ModelFilePart {
    /// Format, as a benchmark's definition names it.
    pub format: String,
    /// Absolute path of the file.
    pub path: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Name of the recipe of a file that was made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// True if it holds random weights instead of trained ones that the user has not given.
    #[serde(skip_serializing_if = "Not::not")]
    pub stands_in: bool,
}

/// Process of the plugin, and its restrictions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct IsolationPart {
    /// Isolation of the plugin from the host: `process`.
    pub mode: String,
    /// Version of landlock that holds; 0 for none.
    pub landlock_abi: u32,
    /// `restricted` to its given files, or `open`.
    pub files: String,
    /// True if data sets or results are among the files that it was given, or nothing restricts it.
    pub data_readable: bool,
    /// Reason why the run does not count, if the plugin could read the answers; not in the file.
    #[serde(skip)]
    pub objection: Option<String>,
    /// `out of reach` or `open`.
    pub host_memory: String,
    /// `out of reach` of its signals, or `open`.
    pub other_processes: String,
    /// Limits, priority, scheduler and processors of the host: `out of reach`, or `compared` after each test.
    pub host_limits: String,
    /// `filtered` or `open`.
    pub calls: String,
    /// `none`, or `kept` as the user has them.
    pub capabilities: String,
    /// `denied`; `allowed` if the settings say so; or `open`.
    pub network: String,
    /// Keys of the above that only the process itself can confirm, from before it had any code of the plugin.
    pub word_of_process: Vec<String>,
}
