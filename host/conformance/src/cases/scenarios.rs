//! Short runs by the load generator, in each scenario, as `host run` makes them.

use proctor_bed::{Dispatch, TestBed, row_for};
use proctor_config::IssueMode;
use proctor_loadgen::{Finding, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};

use crate::{
    bed::{in_scenario, need_dispatch},
    case::Case,
    subject::{Subject, undisturbed},
    verdict::{Verdict, failed, skipped},
};

const BATCHES: &str = "batches/one-sample";
const QUERIES: &str = "queries/one-sample";
const RULE: &str =
    "each sample is completed once, in time and without an error, in whichever scenario queries arrive";
const FIX: &str = "mend what the reason names; the groups batches and queries show it more closely";

macro_rules! cases {
    ($($name:literal, $about:literal, $needs:ident, $scenario:ident, $dispatch:ident;)+) => {
        &[$(Case {
            name: $name,
            about: $about,
            rule: RULE,
            fix: FIX,
            needs: $needs,
            run: |subject| run(subject, Scenario::$scenario, Dispatch::$dispatch),
        }),+]
    };
}

pub(super) const CASES: &[Case] = cases! {
    "scenarios/single-stream-batches", "SingleStream in batches: one sample after the other", BATCHES, SingleStream, Batches;
    "scenarios/multi-stream-batches", "MultiStream in batches: one query of several samples after the other", BATCHES, MultiStream, Batches;
    "scenarios/server-batches", "Server in batches: queries at random instants", BATCHES, Server, Batches;
    "scenarios/offline-batches", "Offline in batches: all samples at once", BATCHES, Offline, Batches;
    "scenarios/single-stream-queries", "SingleStream in whole queries: one sample after the other", QUERIES, SingleStream, WholeQueries;
    "scenarios/multi-stream-queries", "MultiStream in whole queries: one query of several samples after the other", QUERIES, MultiStream, WholeQueries;
    "scenarios/server-queries", "Server in whole queries: queries at random instants", QUERIES, Server, WholeQueries;
    "scenarios/offline-queries", "Offline in whole queries: all samples in one query", QUERIES, Offline, WholeQueries;
};

/// Queries of a run; of Offline, samples.
const QUERY_COUNT: u64 = 200;

/// Makes a run of this scenario, and judges the plugin's errors in it, but not its speed.
fn run(subject: &Subject, scenario: Scenario, dispatch: Dispatch) -> Verdict {
    subject.need_model()?;
    let library = subject.load()?;
    need_dispatch(&library, dispatch)?;
    let mut settings = in_scenario(&subject.settings, scenario);
    // The row of this model, in the requested precision: others may have other scenarios.
    if let Err(error) = row_for(&settings, library.manifest(), dispatch) {
        return skipped(error.messages().join(": "));
    }
    settings.run.watchdog_ms = subject.watchdog_ms();
    settings.run.issue = match dispatch {
        Dispatch::Batches => IssueMode::Never,
        Dispatch::WholeQueries => IssueMode::Always,
    };
    settings.run.virtual_time = false;
    let test = TestSettings {
        mode: TestMode::PerformanceOnly,
        min_duration_ms: 0,
        min_query_count: QUERY_COUNT,
        max_query_count: QUERY_COUNT,
        server_target_qps: 2000.0,
        offline_expected_qps: QUERY_COUNT as f64,
        ..settings.test.clone()
    };
    settings.test = test.clone();
    let interrupt = undisturbed();
    let bed = TestBed::open_for_bench(&settings, &interrupt)?;
    let outcome = bed.measure(test, true)?;
    let reasons: Vec<_> = outcome.objections().map(Finding::reason).collect();
    if reasons.is_empty() { Ok(()) } else { failed(reasons.join("; ")) }
}
