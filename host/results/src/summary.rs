//! One row for a run.

use std::path::PathBuf;

use serde::Serialize;

use crate::{
    result_file::{LatencyPart, MetricPart},
    run::{Ending, Run, RunKind},
};

/// A run in one row: what it was of, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// The folder.
    pub folder: PathBuf,
    /// Its outcome.
    pub outcome: RunOutcome,
    /// Id of the benchmark.
    pub benchmark: Option<String>,
    /// Name of the scenario.
    pub scenario: Option<String>,
    /// Name and version of the plugin.
    pub plugin: Option<String>,
    /// Precision that it computed in.
    pub precision: Option<String>,
    /// When the run was finished; not in virtual time.
    pub finished_at_utc: Option<String>,
    /// Whether it is of official length.
    pub official_length: Option<bool>,
    /// Whether the accuracy passed; `None` if it was not measured.
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
    /// It has no result: an error ended it, or it goes on.
    Unfinished,
}

impl RunOutcome {
    /// The outcome in a word.
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
    /// The row of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let nothing = Self {
            folder: run.folder.clone(),
            outcome: RunOutcome::Unfinished,
            benchmark: None,
            scenario: None,
            plugin: None,
            precision: None,
            finished_at_utc: None,
            official_length: None,
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
                Self { outcome, scenario, plugin, metric, query_latency, ..nothing }
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
                    precision: Some(result.plugin.precision.clone()),
                    finished_at_utc: result.finished_at_utc.clone(),
                    official_length: Some(result.official_length),
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
