//! `find_max.json`: the result of a search, for programs.
//!
//! As in `result.json`, in virtual time it contains nothing that another search with the same settings would
//! not have.

use std::collections::BTreeMap;

use chrono::{SecondsFormat, Utc};
use proctor_config::{Deviation, Effective, NotOfficial, QslCounts, Settings};
use proctor_results::{ArrivalsPart, DeviationPart, MachinePart, PluginPart, Program};
use proctor_run::{arrivals, deviations};
use proctor_search::{SearchEnd, SearchSettings};
use serde::Serialize;

use super::{
    answer,
    plan::SearchPlan,
    state::{FullRun, Point, State},
};
use crate::objections::Objections;

/// Version of the form of the file.
pub(crate) const FIND_MAX_SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct FindMaxResult<'a> {
    schema_version: u32,
    program: Program,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at_utc: Option<String>,
    /// The highest load that is VALID, or with an error share meets its constraints; null if none was found.
    load: Option<f64>,
    unit: &'static str,
    /// The metric of the full runs at that load; the lowest if there were several.
    metric: Option<f64>,
    /// Summary for the user.
    pub(crate) summary: String,
    end: SearchEnd,
    /// Plugin misbehaviour at shutdown, in words, which makes the search bad even if it has a result. If the plugin
    /// hangs or crashes there, this says that it has not shut down.
    pub(super) faults: Vec<String>,
    /// Reasons why no load counts; omitted when empty.
    #[serde(skip_serializing_if = "Objections::is_empty")]
    objections: &'a Objections,
    scenario: &'static str,
    pub(super) rules: &'static str,
    virtual_time: bool,
    official_length: bool,
    /// Reason why the full runs are not as long as the rules want them, for the note.
    #[serde(skip)]
    pub(super) not_official: Option<NotOfficial>,
    /// Arrival process, if it differs from the rules'; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arrivals: Option<ArrivalsPart>,
    /// Rules of the round that the runs do not keep; left out if they keep all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) deviations: Vec<DeviationPart>,
    /// Number of queries of all probes and full runs.
    query_count: u64,
    search: &'a SearchSettings,
    bounds_ns: BTreeMap<&'static str, u64>,
    percentile: f64,
    max_error_share: f64,
    curve: &'a [Point],
    full_runs: Vec<FullRunPart<'a>>,
    benchmark: String,
    pub(super) plugin: PluginPart,
    machine: MachinePart,
    settings: BTreeMap<String, Effective>,
}

/// A full run, with whether it counts.
#[derive(Debug, Serialize)]
struct FullRunPart<'a> {
    #[serde(flatten)]
    run: &'a FullRun,
    /// True if it met the constraints of the search, which are looser than the rules where samples may fail.
    met: bool,
}

impl<'a> FindMaxResult<'a> {
    pub(super) fn new(
        plan: &'a SearchPlan,
        settings: &Settings,
        counts: QslCounts,
        state: &'a State,
        end: SearchEnd,
        plugin: PluginPart,
        machine: MachinePart,
    ) -> Self {
        let is_virtual = settings.run.virtual_time;
        let load = match end {
            SearchEnd::Found { load, .. } => Some(load),
            _ => None,
        };
        let confirmed = state.judged_full_runs().filter(|(run, met)| Some(run.load) == load && *met);
        let may_fail =
            plan.may_fail().then_some(Deviation::FailedSamples { allowed_share: plan.error_share });
        let deviations = deviations::all(settings, counts, &plugin).into_iter().chain(may_fail);
        Self {
            schema_version: FIND_MAX_SCHEMA_VERSION,
            program: Program::this(),
            finished_at_utc: (!is_virtual).then(|| Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)),
            load,
            unit: plan.unit(),
            metric: confirmed.filter_map(|(run, _)| run.metric).min_by(f64::total_cmp),
            summary: answer::summary(plan, state, end),
            end,
            faults: Vec::new(),
            objections: &state.objections,
            scenario: settings.run.scenario.name(),
            rules: settings.run.rules.name,
            virtual_time: is_virtual,
            official_length: settings.is_of_official_length(),
            not_official: settings.not_official(),
            arrivals: arrivals::part(settings, None),
            deviations: deviations.map(|deviation| (&deviation).into()).collect(),
            query_count: state.search.query_count(),
            search: &plan.search,
            bounds_ns: plan.bounds.iter().map(|bound| (bound.what.name(), bound.bound_ns)).collect(),
            percentile: plan.percentile(),
            max_error_share: plan.error_share,
            curve: &state.curve,
            full_runs: state.judged_full_runs().map(|(run, met)| FullRunPart { run, met }).collect(),
            benchmark: settings.benchmark.id.clone(),
            plugin,
            machine: machine.in_result(is_virtual),
            settings: settings.of_result().map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}
