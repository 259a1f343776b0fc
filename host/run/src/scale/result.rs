//! `scale.json`: what came of a system that was scaled, for programs.

use std::collections::BTreeMap;

use chrono::{SecondsFormat, Utc};
use proctor_config::{Effective, Settings};
use proctor_scaling::Goal;
use serde::Serialize;

use super::{ScaleInput, ScaleOptions, TargetChange, kept_curve::KeptCurve, traffic::TrafficCounts};
use crate::{
    bed::scaling::course::Course,
    machine::Machine,
    result::{PluginPart, Program},
};

/// Version of the form of the file.
const SCALE_SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct ScaleResult {
    schema_version: u32,
    program: Program,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at_utc: Option<String>,
    goal: Goal,
    /// Latency counts from the start of a batch with saturated input, else from the arrival of a sample.
    input: ScaleInput,
    duration_ns: u64,
    target_changes: Vec<TargetChange>,
    #[serde(rename = "courses")]
    pub(super) results: Vec<PolicyResult>,
    /// The curve that was kept in the file of the setting `curves`, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept_curve: Option<KeptCurve>,
    /// Misbehaviour of the plugin, in words.
    pub(super) faults: Vec<String>,
    benchmark: String,
    virtual_time: bool,
    pub(super) plugin: PluginPart,
    machine: Machine,
    settings: BTreeMap<String, Effective>,
}

/// Result of one policy.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyResult {
    /// Round in which it ran, from 1.
    pub(super) round: u32,
    #[serde(flatten)]
    pub(super) course: Course,
    pub(super) counts: TrafficCounts,
    /// The plugin's first error.
    pub(super) first_error: Option<String>,
}

impl ScaleResult {
    pub(super) fn new(
        settings: &Settings,
        options: &ScaleOptions,
        goal: Goal,
        results: Vec<PolicyResult>,
        plugin: PluginPart,
        machine: Machine,
    ) -> Self {
        let is_virtual = settings.run.virtual_time;
        let mut effective = settings.effective.clone();
        if is_virtual {
            effective.remove("output_folder");
        }
        Self {
            schema_version: SCALE_SCHEMA_VERSION,
            program: Program::this(),
            finished_at_utc: (!is_virtual).then(|| Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)),
            goal,
            input: options.input,
            duration_ns: options.duration_ns,
            target_changes: options.target_changes.clone(),
            results,
            kept_curve: None,
            faults: Vec::new(),
            benchmark: settings.benchmark.id.clone(),
            virtual_time: is_virtual,
            plugin,
            machine: if is_virtual { Machine { load_average: None, ..machine } } else { machine },
            settings: effective,
        }
    }

    /// Whether every policy has found a setting, and the plugin did what it had to.
    pub(super) fn is_good(&self) -> bool {
        let is_good = |policy: &PolicyResult| {
            policy.course.setting.is_some() && policy.counts.failed == 0 && policy.counts.unknown == 0
        };
        !self.results.is_empty() && self.results.iter().all(is_good) && self.faults.is_empty()
    }
}
