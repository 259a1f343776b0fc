//! The form of `scale.json`: the outcome of a scaled system. What each key means is in docs/scaling.md.

use std::{collections::BTreeMap, path::PathBuf};

use proctor_scaling::Goal;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    result_file::Program,
    schema::{
        machine::MachinePart,
        or_default,
        plugin::PluginPart,
        scaling::ScalingPart,
        setting::{DeviationPart, SettingPart},
    },
};

/// Content of `scale.json`.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ScaleFile {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// The program that wrote it.
    #[serde(default, deserialize_with = "or_default")]
    pub program: Program,
    /// Instant at which it was finished; not in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at_utc: Option<String>,
    /// The latency target, and the bounds of the knobs; `None` if it has another form.
    #[serde(default, deserialize_with = "or_default")]
    pub goal: Option<Goal>,
    /// Base of the target, if it is a multiple of a measured latency.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub base: Option<TargetBase>,
    /// Latency counts from the start of a batch with saturated input, else from the arrival of a sample.
    #[serde(default, deserialize_with = "or_default")]
    pub input: Option<ScaleInput>,
    /// Running time of each policy, in ns.
    #[serde(default, deserialize_with = "or_default")]
    pub duration_ns: u64,
    /// True if the user stopped the run before all policies had their time.
    #[serde(default, deserialize_with = "or_default")]
    pub interrupted: bool,
    /// Other targets during the run, in the order of time.
    #[serde(default, deserialize_with = "or_default")]
    pub target_changes: Vec<TargetChange>,
    /// Result of each policy. One with reasons of a later version is left out.
    #[serde(deserialize_with = "known_courses")]
    pub courses: Vec<PolicyResult>,
    /// The curve that was kept in the file of the setting `curves`, if one was.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub kept_curve: Option<KeptCurve>,
    /// Misbehaviour of the plugin, in words.
    #[serde(default, deserialize_with = "or_default")]
    pub faults: Vec<String>,
    /// Reasons why no setting counts, in words: answers within reach of the plugin, and changes of the host's process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// Id of the benchmark.
    pub benchmark: String,
    /// Round of the rules.
    #[serde(default)]
    pub rules: String,
    /// Rules of the round that a run of this kind does not keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<DeviationPart>,
    /// True if time was virtual.
    #[serde(default)]
    pub virtual_time: bool,
    /// Plugin of the run.
    pub plugin: PluginPart,
    /// Machine of the run.
    pub machine: MachinePart,
    /// Settings by key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingPart>,
}

fn known_courses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PolicyResult>, D::Error> {
    let courses = Vec::<Value>::deserialize(deserializer)?;
    Ok(courses.into_iter().filter_map(|course| serde_json::from_value(course).ok()).collect())
}

impl ScaleFile {
    /// Returns whether every policy had its time and has found a setting that meets the target, and the plugin behaved.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let is_good = |policy: &PolicyResult| {
            let PolicyResult { course, counts, hung, given_up, .. } = policy;
            course.setting.is_some()
                && course.within_target == Some(true)
                && (counts.failed, counts.unknown, counts.refused) == (0, 0, 0)
                && *hung == 0
                && !given_up
        };
        !self.interrupted
            && !self.courses.is_empty()
            && self.courses.iter().all(is_good)
            && self.faults.is_empty()
            && self.objections.is_empty()
    }
}

/// Result of a policy in one round.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct PolicyResult {
    /// Round in which it ran, from 1.
    #[serde(default, deserialize_with = "or_default")]
    pub round: u32,
    /// Decisions and observations.
    #[serde(flatten)]
    pub course: ScalingPart,
    /// Samples by their end.
    #[serde(default, deserialize_with = "or_default")]
    pub counts: TrafficCounts,
    /// Number of arrivals that were refused, or waited for longer than the target at the end.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u64>,
    /// Lateness of the issuing thread at p99, in ns; only with arrivals in real time.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub issue_delay_p99_ns: Option<u64>,
    /// Number of instances that did not come back from their last batch.
    #[serde(default, deserialize_with = "or_default")]
    pub hung: usize,
    /// True if the load was abandoned because batches were no longer answered.
    #[serde(default, deserialize_with = "or_default")]
    pub given_up: bool,
    /// The plugin's first error.
    #[serde(default, deserialize_with = "or_default")]
    pub first_error: Option<String>,
}

impl PolicyResult {
    /// Returns whether samples failed and none was answered: then there is no setting to use.
    #[must_use]
    pub fn answered_nothing(&self) -> bool {
        self.counts.completed == 0 && self.counts.failed > 0
    }
}

/// Samples of a load by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct TrafficCounts {
    /// Number of samples with an answer.
    pub completed: u64,
    /// Number of samples that failed.
    pub failed: u64,
    /// Number of answers to samples that were not outstanding.
    pub unknown: u64,
    /// Number of arrivals that were not issued, because too many samples were outstanding.
    pub refused: u64,
}

/// Arrival of samples at a scaled system.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ScaleInput {
    /// Another sample is always waiting, so latency is service time, from the start of a batch to its end.
    Saturated,
    /// Samples arrive by the arrival process of the settings. Latency counts from the arrival.
    Arrivals {
        /// Mean rate, in samples in a second.
        rate_qps: f64,
    },
}

/// Another latency target from some time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct TargetChange {
    /// Begin of its effect, in ns since the start.
    pub at_ns: u64,
    /// The target, in ns.
    pub target_ns: u64,
}

/// A target that is a multiple of a measured latency, as in the DNNScaler paper (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct TargetBase {
    /// The multiple, as in the setting.
    pub slo_x: f64,
    /// Mean latency of one sample at a time on one instance, in ns.
    pub mean_ns: f64,
    /// Number of batches that the mean is taken over.
    pub batches: u64,
    /// The resulting target, in ms, as the setting `slo_ms` has it.
    pub slo_ms: f64,
}

/// A measured curve of latencies by number of instances.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct KeptCurve {
    /// File with the curves.
    pub path: PathBuf,
    /// Name of the curve in the file.
    pub network: String,
    /// The numbers of instances that were measured; the others are estimated.
    pub measured: Vec<usize>,
    /// Latencies from one instance on, in ms.
    pub latencies_ms: Vec<f64>,
}
