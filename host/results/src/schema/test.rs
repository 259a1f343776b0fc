//! One test of a run.

use std::collections::BTreeMap;

use proctor_noise::Noise;
use serde::{Deserialize, Serialize};

use super::{
    energy::{EnergyPart, ProcessorEnergyPart},
    figures::FiguresPart,
    finding::Finding,
    or_default,
    scaling::ScalingPart,
    tokens::SearchPart,
};

/// One test; of a search for the peak, its reported run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct TestPart {
    /// Mode of the test.
    pub mode: String,
    /// True if it is VALID.
    pub valid: bool,
    /// Reasons why the test is not VALID, in words.
    #[serde(default, deserialize_with = "or_default")]
    pub reasons: Vec<String>,
    /// Rules that the verdict rests on.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Time from the start of issuing to the last completion, in ns: of the performance phase, or over all accuracy
    /// phases.
    pub duration_ns: u64,
    /// Number of queries.
    pub issued_query_count: u64,
    /// Number of samples.
    pub issued_sample_count: u64,
    /// Samples that completed as failed, which are in no latency and no throughput; `None` in results of earlier
    /// versions, which do not count them.
    pub failed_sample_count: Option<u64>,
    /// Number of samples that never completed; `None` likewise.
    pub missing_sample_count: Option<u64>,
    /// The plugin's own words about some of the samples that failed; a plugin in Python gives the traceback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_failures: Vec<String>,
    /// Number of responses that came after the end of their test.
    #[serde(default)]
    pub late_response_count: u64,
    /// Number of repeated responses for a sample.
    #[serde(default)]
    pub repeated_response_count: u64,
    /// Maximum lateness of a query that has a schedule, in ns.
    #[serde(default)]
    pub issue_delay_max_ns: u64,
    /// The mean lateness, in ns.
    #[serde(default)]
    pub issue_delay_mean_ns: u64,
    /// The median lateness, in ns.
    #[serde(default)]
    pub issue_delay_p50_ns: u64,
    /// 99th percentile of the lateness of queries, in ns.
    #[serde(default)]
    pub issue_delay_p99_ns: u64,
    /// 99.9th percentile of the lateness of queries, in ns.
    #[serde(default)]
    pub issue_delay_p99_9_ns: u64,
    /// Figures of a performance run.
    pub figures: Option<FiguresPart>,
    /// Energy of a performance test in real time, if the plugin counts it.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyPart>,
    /// Energy of the processor in a performance test in real time, or why it was not counted.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub processor_energy: Option<ProcessorEnergyPart>,
    /// Quietness of the machine in a performance test in real time; noise in a form of a later version is left out.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Steps of the search for the peak, if this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPart>,
    /// Batches, if the host formed them; `None` in a test of accuracy and performance in one, whose batches
    /// are not counted apart.
    pub scheduler: Option<SchedulerPart>,
    /// The course of a policy that scales, if one did; a course with reasons of a later version is left out.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ScalingPart>,
    /// Queries for which the plugin was BUSY, if it takes whole queries.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub busy: Option<BusyPart>,
    /// The accuracy phases of a test of accuracy and performance in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_phases: Option<AccuracyPhasesPart>,
}

/// Accuracy phases in addition to a performance phase. They only contribute to their test's counts of late
/// and repeated responses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AccuracyPhasesPart {
    /// Length in ns.
    #[serde(default)]
    pub duration_ns: u64,
    /// Number of queries.
    #[serde(default)]
    pub issued_query_count: u64,
    /// Number of samples.
    pub issued_sample_count: u64,
    /// Number of samples that completed as failed.
    #[serde(default)]
    pub failed_sample_count: u64,
    /// Number of samples that never completed.
    #[serde(default)]
    pub missing_sample_count: u64,
}

/// Queries that the plugin refused with BUSY, and that were issued again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct BusyPart {
    /// Number of these queries.
    pub refused_query_count: u64,
    /// Number of times that one was refused.
    pub refusal_count: u64,
    /// Time that issuing threads waited, in ns; the latency of the queries has it, too.
    pub wait_ns: u64,
}

/// The scheduler's part.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SchedulerPart {
    /// Number of batches.
    pub batch_count: u64,
    /// Mean number of samples of a batch.
    pub batch_size_mean: f64,
    /// Number of batches by their size.
    #[serde(default)]
    pub batch_sizes: BTreeMap<u64, u64>,
    /// Number of samples that found the queue full.
    #[serde(default)]
    pub rejected_sample_count: u64,
    /// Maximum number of samples that waited.
    pub queue_depth_max: u64,
    /// Maximum number of samples that may wait.
    #[serde(default)]
    pub queue_capacity: u64,
    /// Time that each instance was busy, in ns.
    #[serde(default)]
    pub instance_busy_ns: Vec<u64>,
    /// Number of batches that failed.
    #[serde(default)]
    pub failed_batch_count: u64,
}

impl TestPart {
    /// Returns the finding of a rule.
    #[must_use]
    pub fn finding(&self, rule: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.rule == rule)
    }

    /// Returns the latency bound of the scenario in ns, if it has one.
    #[must_use]
    pub fn latency_bound_ns(&self) -> Option<f64> {
        self.finding("latency_bound").filter(|it| it.unit.as_deref() == Some("ns")).and_then(|it| it.bound)
    }
}
