//! Writes `scale.json`: the outcome of a scaled system, for programs.

use std::collections::BTreeMap;

use chrono::{SecondsFormat, Utc};
use proctor_bed::Fault;
use proctor_config::{Deviation, Effective, QslCounts, Settings};
use proctor_loadgen::Finding;
use proctor_results::{DeviationPart, MachinePart, PluginPart, Program, ScalingPart};
use proctor_run::deviations;
use proctor_scaling::Goal;
use proctor_vocabulary::Scenario;
use serde::Serialize;

use super::{
    ScaleOptions, TargetChange, base::Base, input::ScaleInput, kept_curve::KeptCurve, traffic::TrafficCounts,
};
use crate::objections::Objections;

/// Version of the form of the file.
const SCALE_SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct ScaleResult {
    schema_version: u32,
    program: Program,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at_utc: Option<String>,
    goal: Goal,
    /// Base of the target, if it is a multiple of a measured latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<Base>,
    /// Latency counts from the start of a batch with saturated input, else from the arrival of a sample.
    input: ScaleInput,
    duration_ns: u64,
    /// True if the user stopped the run before all policies had their time.
    pub(super) interrupted: bool,
    target_changes: Vec<TargetChange>,
    pub(super) courses: Vec<PolicyResult>,
    /// The curve that was kept in the file of the setting `curves`, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept_curve: Option<KeptCurve>,
    /// Misbehaviour of the plugin, in words.
    pub(super) faults: Vec<String>,
    /// Reasons why no setting counts: answers within reach of the plugin, and changes of the host's process. Omitted
    /// when empty.
    #[serde(skip_serializing_if = "Objections::is_empty")]
    pub(super) objections: Objections,
    benchmark: String,
    pub(super) rules: &'static str,
    /// Rules of the round that a run of this kind does not keep; left out if it keeps all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) deviations: Vec<DeviationPart>,
    virtual_time: bool,
    pub(super) plugin: PluginPart,
    machine: MachinePart,
    settings: BTreeMap<String, Effective>,
}

/// Returns the round's rules that a run of this kind breaks. A scenario unknown to scaling breaks none.
fn deviations(settings: &Settings, counts: QslCounts, plugin: &PluginPart) -> Vec<DeviationPart> {
    let mut deviations = deviations::all(settings, counts, plugin);
    if settings.run.scenario.loadgen() != Scenario::Server {
        deviations.retain(|deviation| !matches!(deviation, Deviation::Scenario { .. }));
    }
    deviations.iter().map(DeviationPart::from).collect()
}

#[derive(Debug, Serialize)]
pub(crate) struct PolicyResult {
    /// Round in which it ran, from 1.
    pub(super) round: u32,
    #[serde(flatten)]
    pub(super) course: ScalingPart,
    pub(super) counts: TrafficCounts,
    /// Number of arrivals that were refused, or waited for longer than the target at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unanswered: Option<u64>,
    /// Lateness of the issuing thread at p99, in ns; only with arrivals in real time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issue_delay_p99_ns: Option<u64>,
    /// Number of instances that did not come back from their last batch.
    pub(super) hung: usize,
    /// True if the load was abandoned because batches were no longer answered.
    pub(super) given_up: bool,
    /// The plugin's first error.
    pub(super) first_error: Option<String>,
}

impl PolicyResult {
    /// Returns whether samples failed and none was answered: then there is no setting to use.
    pub(super) fn answered_nothing(&self) -> bool {
        self.counts.completed == 0 && self.counts.failed > 0
    }
}

impl ScaleResult {
    pub(super) fn new(
        settings: &Settings,
        counts: QslCounts,
        options: &ScaleOptions,
        (goal, base): (Goal, Option<Base>),
        plugin: PluginPart,
        machine: MachinePart,
    ) -> Self {
        let is_virtual = settings.run.virtual_time;
        let mut objections = Objections::default();
        for why in plugin.isolation.iter().filter_map(|it| it.objection.clone()) {
            objections.add(&Finding::of_run(Fault::Exposed(why)));
        }
        Self {
            schema_version: SCALE_SCHEMA_VERSION,
            program: Program::this(),
            finished_at_utc: None,
            goal,
            base,
            input: options.input,
            duration_ns: options.duration_ns,
            interrupted: false,
            target_changes: options.target_changes.clone(),
            courses: Vec::new(),
            kept_curve: None,
            faults: Vec::new(),
            objections,
            benchmark: settings.benchmark.id.clone(),
            rules: settings.run.rules.name,
            deviations: deviations(settings, counts, &plugin),
            virtual_time: is_virtual,
            plugin,
            machine: machine.in_result(is_virtual),
            settings: settings.of_result().map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    /// Records the faults that disqualify every setting, each once, and returns the others, in words.
    pub(super) fn object(&mut self, faults: Vec<Fault>) -> Vec<String> {
        let (objections, others): (Vec<_>, Vec<_>) = faults.into_iter().partition(Fault::is_change_of_host);
        for objection in objections.into_iter().map(Finding::of_run) {
            self.objections.add(&objection);
        }
        others.iter().map(ToString::to_string).collect()
    }

    /// Ends the record, with these faults.
    pub(super) fn finish(&mut self, faults: Vec<String>) {
        self.faults = faults;
        // In virtual time two runs write the same bytes.
        self.finished_at_utc =
            (!self.virtual_time).then(|| Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true));
    }

    /// Returns whether every policy had its time and has found a setting that meets the target, and the
    /// plugin behaved.
    pub(super) fn is_good(&self) -> bool {
        let is_good = |policy: &PolicyResult| {
            let PolicyResult { course, counts, hung, given_up, .. } = policy;
            course.setting.is_some()
                && course.within_target == Some(true)
                && counts.failed == 0
                && counts.unknown == 0
                && counts.refused == 0
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

#[cfg(test)]
mod tests {
    use proctor_bed::HostPart;
    use proctor_config::Loader;
    use proctor_scaling::Knobs;
    use proctor_words::read_machine;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_the_host_speaks_against_every_setting_and_is_told_once() {
        let settings = Loader::new().load().unwrap();
        let options = ScaleOptions {
            policies: Vec::new(),
            rounds: 1,
            duration_ns: 1,
            input: ScaleInput::Saturated,
            target_changes: Vec::new(),
        };
        let goal = Goal::new(1_000_000, 0.95, Knobs::LEAST);
        let plugin = json!({"name": "p", "version": "1", "precision": "f32", "sha256": null});
        let (plugin, machine) = (serde_json::from_value(plugin).unwrap(), read_machine());
        let mut result =
            ScaleResult::new(&settings, settings.benchmark.qsl, &options, (goal, None), plugin, machine);
        assert!(serde_json::to_value(&result).unwrap()["objections"].is_null());
        for _ in 0..2 {
            let faults = vec![
                Fault::HostChanged { plugin: "p".to_owned(), part: HostPart::Limits },
                Fault::NotEnded { plugin: "p".to_owned() },
            ];
            assert_eq!(result.object(faults), [Fault::NotEnded { plugin: "p".to_owned() }.to_string()]);
        }
        let objections = serde_json::to_value(&result).unwrap()["objections"].clone();
        assert_eq!(objections.as_array().map(Vec::len), Some(1), "{objections}");
    }
}
