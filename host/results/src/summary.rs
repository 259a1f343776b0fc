//! One row for a run.

use std::path::PathBuf;

use serde::Serialize;

use crate::{
    result_file::VIRTUAL_TIME,
    run::{Ending, Run, RunKind},
    schema::{figures::MetricPart, latency::LatencyPart, setting::DeviationPart},
};

/// A run in one row: its subject, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Outcome of the run.
    pub outcome: RunOutcome,
    /// Id of the benchmark.
    pub benchmark: Option<String>,
    /// Name of the scenario.
    pub scenario: Option<String>,
    /// Name and version of the plugin.
    pub plugin: Option<String>,
    /// Name of the load generator, if it is not the host's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Precision that it computed in.
    pub precision: Option<String>,
    /// Instant at which the run was finished; not in virtual time.
    pub finished_at_utc: Option<String>,
    /// True if it is of official length.
    pub official_length: Option<bool>,
    /// True if time was virtual.
    pub virtual_time: Option<bool>,
    /// All reasons why it is not a result by its round, except its length.
    pub deviations: Vec<DeviationPart>,
    /// Number of errors in its detail logs; `None` of a run without a result.
    pub error_count: Option<u64>,
    /// True if the accuracy passed; `None` if it was not measured.
    pub accuracy_passed: Option<bool>,
    /// Name of the accuracy's metric, its value, and its unit or nothing.
    pub accuracy: Option<MetricPart>,
    /// The metric of the scenario.
    pub metric: Option<MetricPart>,
    /// Latencies of the queries that were answered; `None` if none was.
    pub query_latency: Option<LatencyPart>,
    /// Number of samples of the performance run.
    pub sample_count: Option<u64>,
    /// Length of the performance run in ns.
    pub duration_ns: Option<u64>,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// VALID.
    Valid,
    /// INVALID.
    Invalid,
    /// The user ended it.
    Interrupted,
    /// The plugin crashed.
    Crashed,
    /// The run has no result: an error ended it, or it is still running.
    Unfinished,
}

impl RunOutcome {
    /// Returns the outcome in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Invalid => "INVALID",
            Self::Interrupted => "interrupted",
            Self::Crashed => "crashed",
            Self::Unfinished => "unfinished",
        }
    }
}

impl RunSummary {
    /// Returns the outcome, followed by the [`marks`](Self::marks): `VALID (short, deviates)`.
    #[must_use]
    pub fn marked_outcome(&self) -> String {
        let name = self.outcome.name();
        match self.marks().as_slice() {
            [] => name.to_owned(),
            marks => format!("{name} ({})", marks.join(", ")),
        }
    }

    /// Returns the reasons why a VALID run is not a result by its round, each in a word or two; empty for any other
    /// run.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        if self.outcome != RunOutcome::Valid {
            return Vec::new();
        }
        let is_virtual = self.virtual_time == Some(true);
        let deviates = self.deviations.iter().any(|deviation| deviation.kind != VIRTUAL_TIME);
        let marks = [
            // What takes no time has no length.
            ("short", self.official_length == Some(false) && !is_virtual),
            ("virtual time", is_virtual),
            ("deviates", deviates),
        ];
        let mut marks: Vec<_> =
            marks.into_iter().filter(|(_, is_set)| *is_set).map(|(mark, _)| mark.to_owned()).collect();
        match self.error_count {
            None | Some(0) => {}
            Some(1) => marks.push("with 1 error".to_owned()),
            Some(count) => marks.push(format!("with {count} errors")),
        }
        marks
    }

    /// Returns the row of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let nothing = Self {
            folder: run.folder.clone(),
            outcome: RunOutcome::Unfinished,
            benchmark: None,
            scenario: None,
            plugin: None,
            engine: None,
            precision: None,
            finished_at_utc: None,
            official_length: None,
            virtual_time: None,
            deviations: Vec::new(),
            error_count: None,
            accuracy_passed: None,
            accuracy: None,
            metric: None,
            query_latency: None,
            sample_count: None,
            duration_ns: None,
        };
        match &run.kind {
            RunKind::Partial(Some(Ending::Crash(_))) => Self { outcome: RunOutcome::Crashed, ..nothing },
            RunKind::Partial(_) => nothing,
            RunKind::Logs(log) => {
                let outcome = match log.is_valid() {
                    Some(true) => RunOutcome::Valid,
                    Some(false) => RunOutcome::Invalid,
                    None => RunOutcome::Unfinished,
                };
                let scenario = log.scenario().map(ToOwned::to_owned);
                let plugin = log.value("sut_name").and_then(|name| Some(name.as_str()?.to_owned()));
                let (metric, query_latency) = (log.metric(), log.query_latency());
                let error_count = Some(log.error_count);
                Self { outcome, scenario, plugin, error_count, metric, query_latency, ..nothing }
            }
            RunKind::Whole(whole) => {
                let result = &whole.result;
                let test = result.performance_run.as_ref();
                let outcome = match (result.verdict.valid, result.verdict.interrupted) {
                    (true, _) => RunOutcome::Valid,
                    (false, true) => RunOutcome::Interrupted,
                    (false, false) => RunOutcome::Invalid,
                };
                Self {
                    outcome,
                    benchmark: Some(result.benchmark.id.clone()),
                    scenario: Some(result.scenario.clone()),
                    plugin: Some(format!("{} {}", result.plugin.name, result.plugin.version)),
                    engine: result.engine.as_ref().map(|engine| engine.name.clone()),
                    precision: Some(result.plugin.precision.clone()),
                    finished_at_utc: result.finished_at_utc.clone(),
                    official_length: Some(result.official_length),
                    virtual_time: Some(result.virtual_time),
                    deviations: result.all_deviations(),
                    error_count: Some(run.error_count()),
                    accuracy_passed: result.verdict.accuracy_passed,
                    accuracy: result.accuracy.as_ref().map(|accuracy| MetricPart {
                        name: accuracy.metric.clone(),
                        value: accuracy.value,
                        unit: String::new(),
                    }),
                    metric: result.metric.clone(),
                    query_latency: test
                        .and_then(|test| test.figures.as_ref())
                        .map(|figures| figures.query_latency)
                        .filter(|latencies| latencies.count > 0),
                    sample_count: test.map(|test| test.issued_sample_count),
                    duration_ns: test.map(|test| test.duration_ns),
                    ..nothing
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    /// The result of a VALID run of official length, with these keys in place of its own.
    fn result(keys: &Value) -> Value {
        let mut result = json!({
            "schema_version": 1,
            "verdict": {"valid": true},
            "scenario": "Server",
            "preset": "official",
            "rules": "v5.0",
            "official_length": true,
            "benchmark": {
                "id": "b", "model": "m", "dataset": "d", "total_sample_count": 1, "performance_sample_count": 1,
            },
            "plugin": {"name": "p", "version": "1", "precision": "f32"},
            "machine": {},
        });
        for (key, value) in keys.as_object().unwrap() {
            result[key] = value.clone();
        }
        result
    }

    /// The row of a run with this [`result`].
    fn summary(keys: &Value) -> RunSummary {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("result.json"), result(keys).to_string()).unwrap();
        RunSummary::of(&Run::open(folder.path()).unwrap())
    }

    #[test]
    fn a_valid_run_that_is_no_result_of_its_round_is_marked() {
        let seed = json!({"kind": "seed", "setting": "qsl_rng_seed", "text": "qsl_rng_seed is 1"});
        let simulated = json!({"kind": "virtual-time", "text": "time is virtual"});
        for (keys, expected, deviations) in [
            (json!({}), "VALID", &[][..]),
            (json!({"official_length": false}), "VALID (short)", &[]),
            (json!({"deviations": [seed]}), "VALID (deviates)", &["seed"]),
            (
                json!({"official_length": false, "virtual_time": true, "deviations": [simulated]}),
                "VALID (virtual time)",
                &["virtual-time"],
            ),
            // As in earlier versions.
            (json!({"virtual_time": true}), "VALID (virtual time)", &["virtual-time"]),
            (json!({"recorded": true, "official_length": false}), "VALID (short, deviates)", &["recorded"]),
            (json!({"arrivals": {"process": "gamma", "parameters": {}}}), "VALID (deviates)", &["arrivals"]),
            (json!({"verdict": {"valid": false}, "official_length": false}), "INVALID", &[]),
        ] {
            let run = summary(&keys);
            assert_eq!(run.marked_outcome(), expected, "{keys}");
            let kinds: Vec<_> = run.deviations.iter().map(|deviation| deviation.kind.as_str()).collect();
            assert_eq!(kinds, deviations, "{keys}");
        }
    }

    #[test]
    fn a_valid_run_with_errors_in_its_log_is_marked() {
        let entry = |key: &str, value: &str, is_error: bool| {
            format!(
                ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"is_error\": {is_error}}}}}\n"
            )
        };
        let of = |validity: &str, errors: &str| {
            let folder = tempfile::tempdir().unwrap();
            let log = entry("result_validity", validity, false) + errors;
            fs::write(folder.path().join("mlperf_log_detail.txt"), log).unwrap();
            RunSummary::of(&Run::open(folder.path()).unwrap())
        };
        let error = entry("error_runtime", "\"late\"", true);
        for (errors, outcome, count) in [
            (String::new(), "VALID", 0),
            (error.clone(), "VALID (with 1 error)", 1),
            (error.repeat(2), "VALID (with 2 errors)", 2),
            (entry("num_errors", "3", false), "VALID (with 3 errors)", 3),
        ] {
            let run = of("\"VALID\"", &errors);
            assert_eq!((run.marked_outcome(), run.error_count), (outcome.to_owned(), Some(count)));
        }
        assert_eq!(of("\"INVALID\"", &error).marked_outcome(), "INVALID");
    }

    #[test]
    fn a_result_that_contradicts_itself_is_refused_with_both_keys() {
        let test = |keys: &Value| {
            let mut test = json!({
                "mode": "PerformanceOnly", "valid": true, "duration_ns": 1, "issued_query_count": 1,
                "issued_sample_count": 1,
            });
            for (key, value) in keys.as_object().unwrap() {
                test[key] = value.clone();
            }
            test
        };
        let broken = json!([{"rule": "min_duration", "standing": "broken", "text": "too short"}]);
        let accuracy = json!({"metric": "top1", "value": 0.5, "target": 0.9, "passed": false});
        let passed = |reasons: &Value| {
            let mut accuracy = accuracy.clone();
            accuracy["passed"] = true.into();
            accuracy["reasons"] = reasons.clone();
            accuracy
        };
        for (keys, fault) in [
            (
                json!({"performance_run": test(&json!({"valid": false}))}),
                "has verdict.valid true and performance_run.valid false",
            ),
            (
                json!({"accuracy_run": test(&json!({"valid": false}))}),
                "has verdict.valid true and accuracy_run.valid false",
            ),
            (
                json!({"performance_run": test(&json!({"findings": broken}))}),
                "has performance_run.valid true and the broken rule min_duration in performance_run.findings",
            ),
            (
                json!({"verdict": {"valid": true, "reasons": ["p99 too high"]}}),
                "has verdict.valid true and verdict.reasons \"p99 too high\"",
            ),
            (
                json!({"verdict": {"valid": true, "accuracy_passed": true}, "accuracy": accuracy}),
                "has verdict.accuracy_passed true and accuracy.passed false",
            ),
            (
                json!({"verdict": {"valid": true, "accuracy_passed": true}, "accuracy": passed(&json!([]))}),
                "has accuracy.passed true and accuracy.value 0.5 below accuracy.target 0.9",
            ),
            (
                json!({"accuracy": passed(&json!(["too low"]))}),
                "has accuracy.passed true and accuracy.reasons \"too low\"",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("result.json"), result(&keys).to_string()).unwrap();
            let error = Run::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(fault) && error.contains("result.json"), "{error}");
        }
        let consistent =
            json!({"performance_run": test(&json!({"valid": false})), "verdict": {"valid": false}});
        assert_eq!(summary(&consistent).outcome, RunOutcome::Invalid);
        // It is 0.9000 in five figures.
        let near = json!({"metric": "top1", "value": 0.899_999, "target": 0.9, "passed": true});
        assert_eq!(summary(&json!({"accuracy": near})).outcome, RunOutcome::Valid);
    }
}
