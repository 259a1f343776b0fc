//! Checks the rules of the issue loop and of the effective settings, one by one, if no recording shows them.

use std::sync::{Arc, Mutex};

use crate::behaviour::scripted;
use crate::{
    behaviour::scripted::{Bench, MS, after},
    log_files::write_logs,
};
use proctor_loadgen::{
    EffectiveSettings, GeneratedTotals, IssueEnd, LoadGenOptions, QueryGenerator, RealClock, ScenarioFigures,
    TestOutcome, TestSettings, config_file, log::LogIdentity, phases,
};
use proctor_vocabulary::{Scenario, TestMode};

/// A test of 20 queries, at least.
fn settings(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        min_query_count: 20,
        min_duration_ms: 0,
        single_stream_expected_latency_ns: 1e6,
        multi_stream_expected_latency_ns: 1e6,
        multi_stream_samples_per_query: 2,
        server_target_qps: 1000.0,
        ..TestSettings::default()
    }
}

/// Every sample takes a millisecond.
fn run(request: TestSettings) -> TestOutcome {
    Bench::new(request, |_, sample| after(MS, sample)).run()
}

fn end(request: TestSettings) -> IssueEnd {
    run(request).phases[0].end
}

fn totals(request: &TestSettings) -> (EffectiveSettings, GeneratedTotals) {
    let effective = EffectiveSettings::new(request, 4, 10).unwrap().0;
    let totals = QueryGenerator::new(&effective, &phases(&effective)[0]).totals();
    (effective, totals)
}

#[test]
fn a_natural_end_goes_before_a_limit_that_is_reached_with_it() {
    for scenario in [Scenario::SingleStream, Scenario::MultiStream] {
        let request = TestSettings { max_query_count: 20, ..settings(scenario) };
        assert_eq!(end(request), IssueEnd::Naturally, "{scenario}");
        let request = TestSettings { max_query_count: 19, ..settings(scenario) };
        assert_eq!(end(request), IssueEnd::MaxQueryCount { issued_count: 19 }, "{scenario}");
    }
}

#[test]
fn server_has_no_natural_end_so_that_its_last_query_can_reach_a_limit() {
    assert_eq!(end(settings(Scenario::Server)), IssueEnd::AllIssued);
    let outcome = run(TestSettings { max_query_count: 20, ..settings(Scenario::Server) });
    assert_eq!(outcome.phases[0].end, IssueEnd::MaxQueryCount { issued_count: 20 });
    assert_eq!(outcome.phases[0].record.generated.query_count, 20);
    let result = outcome.performance.as_ref().unwrap();
    assert!(result.min_queries_met, "an error in the log is no reason by itself");
    assert_eq!(outcome.errors().len(), 1);
}

#[test]
fn the_count_goes_before_the_duration_and_the_duration_has_to_be_exceeded() {
    // Query n leaves after n - 1 ms.
    let request = |max_duration_ms, max_query_count| TestSettings {
        max_duration_ms,
        max_query_count,
        ..settings(Scenario::SingleStream)
    };
    assert_eq!(end(request(5, 0)), IssueEnd::MaxDuration { duration_ns: 6 * MS });
    assert_eq!(end(request(5, 7)), IssueEnd::MaxQueryCount { issued_count: 7 });
    assert_eq!(end(request(5, 8)), IssueEnd::MaxDuration { duration_ns: 6 * MS });
}

#[test]
fn outstanding_queries_are_counted_after_the_issue_and_before_the_other_limits() {
    let request = |server_max_async_queries| TestSettings {
        server_max_async_queries,
        max_query_count: 6,
        ..settings(Scenario::Server)
    };
    let run = |request| Bench::new(request, |_, sample| after(10_000 * MS, sample)).run().phases[0].end;
    assert_eq!(run(request(5)), IssueEnd::TooManyOutstanding { issued_count: 6, outstanding_count: 6 });
    assert_eq!(run(request(6)), IssueEnd::MaxQueryCount { issued_count: 6 });
    // Only Server looks at it.
    let request = TestSettings { server_max_async_queries: 1, ..settings(Scenario::MultiStream) };
    assert_eq!(end(request), IssueEnd::Naturally);
}

#[test]
fn coalesced_queries_count_one_by_one() {
    let request = TestSettings {
        server_coalesce_queries: true,
        max_query_count: 10,
        min_query_count: 200,
        ..settings(Scenario::Server)
    };
    let mut bench = Bench::new(request, |_, sample| after(0, sample));
    // Everything that follows is overdue after the first call.
    bench.sut.issue_takes_ns = 10_000 * MS;
    assert_eq!(bench.run().phases[0].end, IssueEnd::MaxQueryCount { issued_count: 200 });
    assert_eq!(bench.issues().iter().map(|(_, sample_count)| *sample_count).collect::<Vec<_>>(), [1, 199]);
}

#[test]
fn accuracy_phases_issue_everything_whatever_the_limits() {
    for scenario in Scenario::ALL {
        let request = TestSettings {
            mode: TestMode::AccuracyOnly,
            max_query_count: 1,
            max_duration_ms: 1,
            server_max_async_queries: 1,
            ..settings(*scenario)
        };
        let outcome = Bench::new(request, |_, sample| after(50 * MS, sample)).run();
        let indices = outcome.accuracy.iter().map(|record| record.index.0);
        let mut indices: Vec<_> = indices.collect();
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices, (0..10).collect::<Vec<_>>(), "{scenario}");
        assert!(outcome.phases.iter().all(|phase| phase.end == IssueEnd::AllIssued), "{scenario}");
    }
}

#[test]
fn a_flush_ends_the_issuing_of_each_phase() {
    let request = TestSettings { mode: TestMode::SubmissionRun, ..settings(Scenario::SingleStream) };
    let bench = Bench::new(request, |_, sample| after(MS, sample));
    let outcome = bench.run();
    // Three sets of the accuracy run, and the performance run.
    assert_eq!(outcome.phases.len(), 4);
    assert_eq!(bench.sut.flush_count.load(std::sync::atomic::Ordering::Relaxed), 4);
}

#[test]
fn offline_leaves_min_query_count_to_its_samples() {
    let request = TestSettings {
        offline_expected_qps: 30.0,
        min_duration_ms: 1000,
        min_query_count: 32,
        ..settings(Scenario::Offline)
    };
    let (effective, totals) = totals(&request);
    // 1.1 * 1 s * 30/s is one more.
    assert_eq!((effective.samples_per_query, effective.min_query_count), (33, 1));
    assert_eq!((effective.target_duration_ms, effective.request.min_duration_ms), (0, 1000));
    assert_eq!((totals.query_count, totals.samples_per_query), (1, 33));
    let outcome = Bench::new(request, |_, sample| after(999 * MS, sample)).run();
    let result = outcome.performance.unwrap();
    assert!(result.min_queries_met && !result.min_duration_met, "the longest latency is the duration");
}

#[test]
fn equal_issue_rounds_up_and_leaves_the_rules_alone() {
    for scenario in [Scenario::MultiStream, Scenario::Server] {
        let request =
            TestSettings { sample_concatenate_permutation: true, min_query_count: 21, ..settings(scenario) };
        let (effective, totals) = totals(&request);
        let set_len = phases(&effective)[0].set.indices.len() as u64;
        assert_eq!(effective.min_query_count, 21, "{scenario}");
        assert_eq!(totals.query_count % set_len, 0, "{scenario}");
    }
    let request = TestSettings {
        sample_concatenate_permutation: true,
        min_query_count: 10,
        ..settings(Scenario::Offline)
    };
    let (effective, generated) = totals(&request);
    assert_eq!((effective.samples_per_query, generated.samples_per_query), (10, 12));
    // Only SingleStream raises the rule itself, by a whole set if it was a multiple of one.
    let request = TestSettings {
        sample_concatenate_permutation: true,
        min_query_count: 20,
        performance_sample_count_override: 3,
        ..settings(Scenario::SingleStream)
    };
    assert_eq!(totals(&request).0.min_query_count, 24, "by the library's count, not the override");
}

#[test]
fn inferred_tokens_are_samples_times_the_factor() {
    let request = |scenario| TestSettings {
        infer_token_latencies: true,
        token_latency_scaling_factor: 69,
        ..settings(scenario)
    };
    let result = run(request(Scenario::Server)).performance.unwrap();
    let ScenarioFigures::Server { completed_samples_per_second, inferred_tokens_per_second, .. } =
        result.figures
    else {
        panic!("{:?}", result.figures)
    };
    let ratio = inferred_tokens_per_second.unwrap() / completed_samples_per_second;
    assert!((ratio / 69.0 - 1.0).abs() < 1e-12, "{ratio}");
    let result = run(request(Scenario::Offline)).performance.unwrap();
    let ScenarioFigures::Offline { samples_per_second, inferred_tokens_per_second } = result.figures else {
        panic!("{:?}", result.figures)
    };
    assert_eq!(inferred_tokens_per_second, Some(69.0 * samples_per_second));
}

#[test]
fn a_second_user_file_is_an_error_in_the_log() {
    let config_errors = vec![config_file::LogError::RepeatedUserFile];
    let options = LoadGenOptions { config_errors, ..LoadGenOptions::default() };
    let outcome = Bench::with_options(settings(Scenario::Server), options, |_, s| after(MS, s)).run();
    let log = outcome.detail_log(&LogIdentity::default());
    let first = &log.entries[0];
    assert_eq!((first.key.as_ref(), first.is_error), ("error_invalid_config", true));
    let text = "Multiple conf files are used. This is not valid for official submission.";
    assert_eq!(outcome.errors(), [text]);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let outcome = run(settings(Scenario::Server));
    let folder = tempfile::tempdir().unwrap().path().join("none");
    let error = write_logs(&outcome, &folder, &LogIdentity::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().contains("mlperf_log_"), "{error}");
}

/// A system on the real clock that completes inside of the issue call.
struct AtOnce(Arc<dyn proctor_vocabulary::CompletionSink>);

impl proctor_loadgen::SystemUnderTest for AtOnce {
    fn name(&self) -> &str {
        "at once"
    }

    fn issue(&self, samples: &[proctor_vocabulary::QuerySample]) {
        for sample in samples {
            scripted::respond(&*self.0, scripted::answer(0, sample.id), sample.index);
        }
    }

    fn flush(&self) {}
}

#[test]
fn timestamps_are_printed_around_the_performance_phase_alone() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let print = |request: TestSettings| {
        let lines = Arc::clone(&lines);
        let loadgen =
            proctor_loadgen::LoadGen::new(request, Arc::new(RealClock::new()), LoadGenOptions::default())
                .with_console(move |line| lines.lock().unwrap().push(line.to_owned()));
        let library = scripted::NotingLibrary::new(10, 4);
        loadgen.run(&AtOnce(loadgen.sink()), &library).unwrap()
    };
    let request = TestSettings { print_timestamps: true, ..settings(Scenario::Server) };
    let outcome = print(request.clone());
    let printed = std::mem::take(&mut *lines.lock().unwrap());
    assert_eq!(printed.len(), 5, "{printed:?}");
    let check = outcome.phases[0].clock_check.unwrap();
    assert_eq!(
        printed[0],
        format!(
            "Loadgen :: Perf mode start. system_clock Timestamp = {}",
            check.start_unix_ns / 1_000_000_000
        )
    );
    assert!(check.elapsed_ns >= outcome.phases[0].duration_ns);

    print(TestSettings { mode: TestMode::AccuracyOnly, ..request.clone() });
    print(TestSettings { print_timestamps: false, ..request });
    assert_eq!(*lines.lock().unwrap(), [""; 0]);
}
