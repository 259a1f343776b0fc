//! Describes the intent of a run, as passed to the plugin in the model request.

use proctor_config::{QslCounts, Settings};
use proctor_vocabulary::{Intent, Scenario};

use crate::plugin::dispatch::Dispatch;

/// Returns the intent of a performance run with these settings over a library of these sizes; nothing if no run can be
/// made of them, which is reported later.
pub(crate) fn intent(settings: &Settings, counts: QslCounts, dispatch: Dispatch) -> Intent {
    let (test, scenario) = (&settings.test, settings.test.scenario);
    let Ok(effective) = counts.effective_settings(test) else { return Intent::default() };
    let tokens = |bound: u64| (scenario == Scenario::Server && test.use_token_latencies).then_some(bound);
    let samples_per_query = effective.samples_per_query;
    // A batch of Server is as large as its queries come close together.
    let batch_size = (scenario != Scenario::Server && dispatch == Dispatch::Batches)
        .then(|| samples_per_query.min(settings.run.batch_size as u64));
    Intent {
        latency_bound_ns: Some(effective.target_latency_ns).filter(|bound| *bound > 0),
        first_token_bound_ns: tokens(test.server_ttft_latency),
        per_token_bound_ns: tokens(test.server_tpot_latency),
        target_qps: effective.has_schedule().then_some(effective.target_qps),
        samples_per_query: Some(samples_per_query),
        expected_batch_size: batch_size.and_then(|size| u32::try_from(size).ok()),
    }
}

/// Returns the number of samples in each query of a warm-up: as many as in a query of the test. In Offline, whose one
/// query is the whole test, it is as many as in a batch.
pub(crate) fn warm_up_sample_count(settings: &Settings, counts: QslCounts) -> usize {
    let Intent { samples_per_query, .. } = intent(settings, counts, Dispatch::WholeQueries);
    match settings.test.scenario {
        Scenario::Offline => settings.run.batch_size,
        _ => samples_per_query.and_then(|count| usize::try_from(count).ok()).unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn of(assignments: &[&str], dispatch: Dispatch) -> Intent {
        let settings = Loader::new().set_all(assignments).load().unwrap();
        intent(&settings, settings.benchmark.qsl, dispatch)
    }

    #[test]
    fn each_scenario_says_what_is_known_of_it() {
        let single = of(&["batch_size=4"], Dispatch::Batches);
        let expected =
            Intent { samples_per_query: Some(1), expected_batch_size: Some(1), ..Intent::default() };
        assert_eq!(single, expected);
        let server = of(
            &["scenario=Server", "server_target_qps=250", "server_target_latency_ns=15000000"],
            Dispatch::Batches,
        );
        let expected = Intent {
            latency_bound_ns: Some(15_000_000),
            target_qps: Some(250.0),
            samples_per_query: Some(1),
            ..Intent::default()
        };
        assert_eq!(server, expected);
        let tokens =
            ["scenario=Server", "use_token_latencies=true", "server_ttft_latency=7", "server_tpot_latency=3"];
        let tokens = of(&tokens, Dispatch::WholeQueries);
        assert_eq!((tokens.first_token_bound_ns, tokens.per_token_bound_ns), (Some(7), Some(3)));
        let multi = of(&["scenario=MultiStream", "batch_size=4"], Dispatch::Batches);
        assert_eq!((multi.samples_per_query, multi.expected_batch_size), (Some(8), Some(4)));
        let offline =
            of(&["scenario=Offline", "batch_size=4", "min_query_count=5000"], Dispatch::WholeQueries);
        assert!(offline.samples_per_query.is_some_and(|count| count >= 5000), "{offline:?}");
        assert_eq!((offline.target_qps, offline.expected_batch_size), (None, None));
    }
}
