//! Makes `find_max.json`: the result of a search, for programs.

use proctor_config::{Deviation, QslCounts, Settings};
use proctor_results::{FindMaxFile, FullRun, MachinePart, PluginPart, Program, SCHEMA_VERSION};
use proctor_run::{arrivals, deviations, finished_at_utc};
use proctor_search::SearchEnd;

use super::{answer, plan::SearchPlan, state::State};

pub(super) fn find_max_file(
    plan: &SearchPlan,
    settings: &Settings,
    counts: QslCounts,
    state: &State,
    end: SearchEnd,
    plugin: PluginPart,
    machine: MachinePart,
) -> FindMaxFile {
    let run = &settings.run;
    let load = match end {
        SearchEnd::Found { load, .. } => Some(load),
        _ => None,
    };
    let full_runs: Vec<_> =
        state.judged_full_runs().map(|(run, met)| FullRun { met: Some(met), ..run.clone() }).collect();
    let confirmed = full_runs.iter().filter(|run| Some(run.load) == load && run.met == Some(true));
    let may_fail = plan.may_fail().then_some(Deviation::FailedSamples { allowed_share: plan.error_share });
    let deviations = deviations::all(settings, counts, &plugin).into_iter().chain(may_fail);
    FindMaxFile {
        schema_version: SCHEMA_VERSION,
        program: Program::this(),
        finished_at_utc: finished_at_utc(settings),
        load,
        unit: plan.unit().to_owned(),
        metric: confirmed.filter_map(|run| run.metric).min_by(f64::total_cmp),
        summary: answer::summary(plan, state, end),
        end: Some(end),
        faults: Vec::new(),
        objections: state.objections.clone(),
        scenario: run.scenario.name().to_owned(),
        rules: run.rules.name.to_owned(),
        virtual_time: run.virtual_time,
        official_length: settings.is_of_official_length(),
        arrivals: arrivals::part(settings, None),
        deviations: deviations.map(|deviation| (&deviation).into()).collect(),
        query_count: state.search.query_count(),
        search: Some(plan.search.clone()),
        bounds_ns: plan
            .bounds
            .iter()
            .map(|bound| (bound.what.name().to_owned(), Some(bound.bound_ns)))
            .collect(),
        percentile: plan.percentile(),
        max_error_share: plan.error_share,
        curve: state.curve.clone(),
        full_runs,
        benchmark: settings.benchmark.id.clone(),
        plugin,
        machine: machine.in_result(run.virtual_time),
        settings: settings.of_result().map(|(key, effective)| (key.clone(), effective.into())).collect(),
    }
}
