//! The findings for which a run is INVALID: of its tests, and of the run as a whole.

use std::fmt;

use proctor_bed::{Fault, Test, model_files};
use proctor_config::Settings;
use proctor_loadgen::{Finding, Rule};
use proctor_results::PluginPart;

use crate::performance_runs::PerformanceRuns;

/// A reason why a run is INVALID that does not concern a single test.
#[derive(Debug)]
pub(crate) enum RunFault {
    /// The answers were not scored, as they could not be written for this error.
    NotScored(String),
    /// The answers could not be scored, or a test could not begin: an error with its causes.
    Failed(Vec<String>),
    /// A test of accuracy and performance in one ended before its performance phase.
    NoPerformancePhase,
    /// The accuracy run did not end.
    NoPerformanceRun,
    /// The rules require more runs.
    TooFewRuns { made: u64, planned: u64 },
}

impl fmt::Display for RunFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotScored(error) => write!(f, "the answers were not scored: {error}"),
            Self::Failed(messages) => f.write_str(&messages.join(": ")),
            Self::NoPerformancePhase => {
                f.write_str("there was no performance phase: the test ended before it")
            }
            Self::NoPerformanceRun => {
                f.write_str("there was no performance run, because the accuracy run did not come to its end")
            }
            Self::TooFewRuns { made, planned } => write!(f, "only {made} of {planned} runs were made"),
        }
    }
}

/// Lists every finding that makes a run with these tests INVALID, each with its test as the start of a sentence if
/// there are several; empty for a VALID run. `of_run` are the findings of the run so far.
pub(super) fn breaches(
    settings: &Settings,
    accuracy_run: Option<&Test>,
    performance_runs: &PerformanceRuns,
    of_run: Vec<Finding>,
    plugin: &PluginPart,
) -> Vec<(String, Finding)> {
    let of = |test: &Test, name: &str| {
        let broken = test.outcome.broken().into_iter();
        broken.map(|finding| (name.to_owned(), finding.clone())).collect::<Vec<_>>()
    };
    let whole_run = |finding| (String::new(), finding);
    let mut breaches = accuracy_run.map(|test| of(test, "accuracy run: ")).unwrap_or_default();
    breaches.extend(performance_runs.numbered().flat_map(|(run, test)| of(test, &run)));
    // What the user did comes before what followed from it.
    breaches.sort_by_key(|(_, finding)| finding.rule != Rule::Interrupted);
    let ended = performance_runs.numbered().filter(|(_, test)| test.outcome.ended_before_performance());
    breaches.extend(ended.map(|(run, _)| (run, Finding::of_run(RunFault::NoPerformancePhase))));
    let is_explained = performance_runs.deciding().is_some() || !of_run.is_empty();
    breaches.extend(of_run.into_iter().map(whole_run));
    if !is_explained && settings.run.mode.is_none() {
        breaches.push(whole_run(Finding::of_run(RunFault::NoPerformanceRun)));
    }
    let (made, planned) = (performance_runs.tests.len() as u64, performance_runs.planned_count);
    if breaches.is_empty() && made < planned {
        // The reason why they ended, such as a full disk, is the error of the run.
        breaches.push(whole_run(Finding::of_run(RunFault::TooFewRuns { made, planned })));
    }
    breaches.extend(objections(plugin).map(whole_run));
    breaches
}

/// Returns the findings for which no run with this plugin is VALID: random weights, and answers within its reach.
pub fn objections(plugin: &PluginPart) -> impl Iterator<Item = Finding> {
    let exposed = plugin.isolation.iter().filter_map(|it| it.objection.clone()).map(Fault::Exposed);
    plugin.model_files.iter().filter_map(model_files::objection).chain(exposed).map(Finding::of_run)
}
