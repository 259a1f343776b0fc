//! The settings of the host and of its scheduler.

use std::{path::PathBuf, str::FromStr};

use proctor_loadgen::{Rules, Wait, WaitPolicy};
use proctor_vocabulary::{Scenario, TestMode};
use serde::{Deserialize, Deserializer, de::Error};

/// The settings of the host and of its scheduler. [`keys`](crate::keys) explains them and knows their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunSettings {
    /// Name of the plugin, or path of its library.
    pub plugin: String,
    /// Name of the benchmark, or path of its definition.
    pub benchmark: String,
    /// How queries arrive.
    #[serde(deserialize_with = "name")]
    pub scenario: Scenario,
    /// What to run; `None` is accuracy, then performance.
    #[serde(deserialize_with = "optional_name")]
    pub mode: Option<TestMode>,
    /// `quick` or `official`.
    pub preset: String,
    /// The round of rules that a run is made and judged by.
    #[serde(deserialize_with = "name")]
    pub rules: Rules,
    /// Server: performance runs that make one result, from 1.
    pub server_run_count: u64,
    /// Folder of the data sets and models; `None` is the one that comes with the program.
    pub data_root: Option<PathBuf>,
    /// Folder of the results; `None` is a new one below `runs/`.
    pub output_folder: Option<PathBuf>,
    /// Folders in which to look for plugins, first to last.
    #[serde(deserialize_with = "folders")]
    pub plugin_path: Vec<PathBuf>,
    /// Precision to compute in; `None` is the plugin's choice.
    pub precision: Option<String>,
    /// Kind of device to run on; `None` is the plugin's choice.
    pub device: Option<String>,
    /// Folder in which plugins may keep what is costly to make again; `None` is a temporary one.
    pub cache_folder: Option<PathBuf>,
    /// File that overrides settings of the performance run, as the audit tests of MLPerf want it.
    pub audit_config: Option<PathBuf>,
    /// Refuse to run wherever there would be a warning about settings.
    pub strict: bool,
    /// Write a trace of each test.
    pub enable_trace: bool,
    /// Print the summary log of each test.
    pub copy_summary_to_stdout: bool,
    /// Print the detail log of each test.
    pub copy_detail_to_stdout: bool,
    /// Simulate the run in virtual time.
    pub virtual_time: bool,
    /// Time without any completion after which the plugin counts as hung, in ms.
    pub watchdog_ms: u64,
    /// Measure the harness's own floor.
    pub floor: bool,
    /// How the issuing thread waits.
    #[serde(deserialize_with = "name")]
    pub wait: Wait,
    /// How long it waits awake with [`Wait::Hybrid`], in microseconds.
    pub wait_spin_us: u64,
    /// Hand whole queries to the plugin?
    pub issue: IssueMode,
    /// Name of the scheduler's policy. The scheduler knows which there are.
    pub policy: String,
    /// Most samples in a batch, from 1.
    pub batch_size: usize,
    /// Number of instances of the model, from 1.
    pub instances: usize,
    /// `auto` or `off`: whether instances get processors of their own.
    pub placement: String,
    /// How long the oldest sample may wait for its batch to fill, in microseconds.
    pub batch_timeout_us: u64,
    /// Most samples that wait at once, from 1.
    pub queue_capacity: usize,
    /// Batches that each instance runs before the test.
    pub warm_up_batches: u64,
}

impl RunSettings {
    /// How the clock of a run waits.
    #[must_use]
    pub fn wait_policy(&self) -> WaitPolicy {
        WaitPolicy { wait: self.wait, spin_ns: self.wait_spin_us.saturating_mul(1000) }
    }
}

/// Whether the plugin is handed whole queries, which only some plugins take, or batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum IssueMode {
    /// Whole queries if the plugin takes them.
    #[serde(rename = "auto")]
    Auto,
    /// Whole queries; a plugin that does not take them is refused.
    #[serde(rename = "true")]
    Always,
    /// Batches.
    #[serde(rename = "false")]
    Never,
}

fn name<'de, T: FromStr<Err: std::fmt::Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

fn optional_name<'de, T: FromStr<Err: std::fmt::Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
}

fn folders<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    Ok(std::env::split_paths(&text).filter(|path| !path.as_os_str().is_empty()).collect())
}
