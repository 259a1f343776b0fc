//! `scale.json`: what came of a system that was scaled, for programs.

use std::collections::BTreeMap;

use chrono::{SecondsFormat, Utc};
use proctor_config::{Effective, Settings};
use proctor_scaling::{Decision, Goal, Knobs, Reason};
use serde::Serialize;

use super::{Input, ScaleOptions, traffic::TrafficCounts};
use crate::{
    bed::scaling::{
        event::ScalingEvent,
        trace::{Settled, Span, Trace},
    },
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
    input: Input,
    duration_ns: u64,
    /// Other targets during the run: from when on, and what, in ns.
    targets: Vec<(u64, u64)>,
    courses: Vec<Course>,
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
pub(crate) struct Course {
    pub(super) policy: String,
    pub(super) goal: Goal,
    pub(super) begun_ns: u64,
    pub(super) lasted_ns: u64,
    /// The setting to use; null if the policy has not settled, or nothing meets the target.
    pub(super) setting: Option<Knobs>,
    /// Where the knobs stood at the end.
    pub(super) last: Knobs,
    /// Samples that were completed since the policy has settled.
    pub(super) settled: Option<Settled>,
    /// Samples completed in a second since then.
    pub(super) throughput_qps: Option<f64>,
    /// Share of the samples above the target since then.
    pub(super) violation_share: Option<f64>,
    /// The same of the whole run.
    pub(super) violation_share_of_all: f64,
    pub(super) decisions: Vec<Decision>,
    pub(super) spans: Vec<Span>,
    pub(super) events: Vec<ScalingEvent>,
    pub(super) counts: TrafficCounts,
    /// The plugin's first error.
    pub(super) first_error: Option<String>,
}

impl Course {
    #[expect(clippy::too_many_arguments, reason = "each is a part of the result")]
    pub(super) fn new(
        policy: &str,
        goal: Goal,
        (begun_ns, lasted_ns): (u64, u64),
        decisions: Vec<Decision>,
        trace: &Trace,
        events: Vec<ScalingEvent>,
        counts: TrafficCounts,
        first_error: Option<String>,
    ) -> Self {
        let settled = trace.settled().copied();
        let last = decisions.last();
        let setting = last.filter(|last| last.is_settled && last.reason != Reason::Infeasible);
        Self {
            policy: policy.to_owned(),
            goal,
            begun_ns,
            lasted_ns,
            setting: setting.map(|last| last.knobs),
            last: last.map_or(Knobs::LEAST, |last| last.knobs),
            settled,
            throughput_qps: settled.map(|settled| settled.throughput_qps()),
            violation_share: settled.map(|settled| settled.violation_share()),
            violation_share_of_all: trace.violations as f64 / trace.samples.max(1) as f64,
            decisions,
            spans: trace.spans().to_vec(),
            events,
            counts,
            first_error,
        }
    }

    /// Decisions until it had settled for the first time.
    pub(super) fn decisions_to_settle(&self) -> Option<usize> {
        self.decisions.iter().position(|decision| decision.is_settled).map(|index| index + 1)
    }
}

impl ScaleResult {
    pub(super) fn new(
        settings: &Settings,
        options: &ScaleOptions,
        goal: Goal,
        courses: Vec<Course>,
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
            targets: options.targets.clone(),
            courses,
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
        let is_good = |course: &Course| {
            course.setting.is_some() && course.counts.failed == 0 && course.counts.unknown == 0
        };
        !self.courses.is_empty() && self.courses.iter().all(is_good) && self.faults.is_empty()
    }
}
