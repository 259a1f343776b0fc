//! The form of `find_max.json`: the result of a search. What each key means is in docs/find-max.md.

use std::collections::BTreeMap;

use proctor_search::{SearchEnd, SearchSettings, Side};
use serde::{Deserialize, Serialize};

use crate::{
    result_file::Program,
    schema::{
        arrivals::ArrivalsPart,
        machine::MachinePart,
        or_default,
        plugin::PluginPart,
        setting::{DeviationPart, SettingPart},
    },
};

/// Content of `find_max.json`. As in `result.json`, in virtual time it contains nothing that another search with the
/// same settings would not have.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct FindMaxFile {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// The program that wrote it.
    #[serde(default, deserialize_with = "or_default")]
    pub program: Program,
    /// Instant at which it was made; not in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at_utc: Option<String>,
    /// The highest load that is VALID, or with an error share meets its constraints; `None` if none was found.
    pub load: Option<f64>,
    /// Unit of the load.
    pub unit: String,
    /// The metric of the full runs at that load; the lowest if there were several.
    #[serde(default, deserialize_with = "or_default")]
    pub metric: Option<f64>,
    /// The answer in words.
    pub summary: String,
    /// End of the search; `None` if a later version has it.
    #[serde(default, deserialize_with = "or_default")]
    pub end: Option<SearchEnd>,
    /// Plugin misbehaviour at shutdown, in words, which makes the search bad even if it has a result. If the plugin
    /// hangs or crashes there, this says that it has not shut down.
    #[serde(default, deserialize_with = "or_default")]
    pub faults: Vec<String>,
    /// Reasons why no load counts, in words.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// Name of the scenario.
    #[serde(default, deserialize_with = "or_default")]
    pub scenario: String,
    /// Round of the rules.
    #[serde(default)]
    pub rules: String,
    /// True if time was virtual.
    #[serde(default)]
    pub virtual_time: bool,
    /// True if the full runs were as long as the rules want them.
    #[serde(default, deserialize_with = "or_default")]
    pub official_length: bool,
    /// Arrival process, if it differs from the rules'.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsPart>,
    /// Rules of the round that its runs do not keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<DeviationPart>,
    /// Number of queries of all probes and full runs.
    #[serde(default, deserialize_with = "or_default")]
    pub query_count: u64,
    /// Settings of the search; `None` if they have another form.
    #[serde(default, deserialize_with = "or_default")]
    pub search: Option<SearchSettings>,
    /// Bounds by name, in ns.
    #[serde(default)]
    pub bounds_ns: BTreeMap<String, Option<u64>>,
    /// Percentile of the latencies that the bounds hold for.
    #[serde(default, deserialize_with = "or_default")]
    pub percentile: f64,
    /// Share of samples that may fail; above 0, the found load need not be VALID.
    #[serde(default)]
    pub max_error_share: f64,
    /// Probes and full runs, in their order.
    #[serde(default)]
    pub curve: Vec<CurvePoint>,
    /// The full runs.
    #[serde(default)]
    pub full_runs: Vec<FullRun>,
    /// Id of the benchmark.
    pub benchmark: String,
    /// Plugin of the runs.
    pub plugin: PluginPart,
    /// Machine of the runs.
    pub machine: MachinePart,
    /// Settings by key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingPart>,
}

/// Latencies at a load that was tried. All in ns, of queries; `None` if no query was answered.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct CurvePoint {
    /// Kind of the try.
    pub kind: PointKind,
    /// The load that was tried.
    pub load: f64,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// The limiting constraint.
    #[serde(default)]
    pub constraint: String,
    /// Share of queries that missed it.
    #[serde(default)]
    pub over_share: f64,
    /// Side of the constraints.
    pub side: Side,
    /// Confidence in the side.
    #[serde(default)]
    pub confidence: f64,
    /// Number of queries.
    #[serde(default)]
    pub query_count: u64,
    /// Time from the first issue to the last completion.
    #[serde(default)]
    pub duration_ns: u64,
}

impl CurvePoint {
    /// Returns whether all constraints were met.
    #[must_use]
    pub fn is_under(&self) -> bool {
        self.side == Side::Under
    }
}

/// Kind of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    /// A test that ends once its side is known.
    Probe,
    /// A run by the rules.
    FullRun,
}

/// A full run of a search.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct FullRun {
    /// Folder, within the search's folder.
    pub folder: String,
    /// Load of the full run.
    pub load: f64,
    /// True if it was VALID by the rules, which no error share loosens.
    pub valid: bool,
    /// The metric of its result, if it has one.
    #[serde(default, deserialize_with = "or_default")]
    pub metric: Option<f64>,
    /// Reasons why it is not VALID.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// True if it met the constraints of the search, which are looser than the rules where samples may fail; `None` if
    /// the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}
