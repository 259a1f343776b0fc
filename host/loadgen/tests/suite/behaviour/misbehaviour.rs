//! Systems that break the rules, and tests that end early: never a crash, always an outcome that says why.

use std::{fs, sync::Arc};

use crate::{
    behaviour::scripted::{Answer, Bench, MS, NotingLibrary, after, answer, respond},
    log_files::write_logs,
};
use proctor_loadgen::{
    IssueEnd, LoadGenError, LoadGenOptions, PerformanceResult, SampleRecord, ScenarioFigures, TestOutcome,
    TestSettings, ViolationKind, log::LogIdentity,
};
use proctor_vocabulary::{QuerySample, ResponseId, SampleStatus, Scenario, TestMode};

fn settings(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        server_target_qps: 1000.0,
        offline_expected_qps: 1000.0,
        min_duration_ms: 100,
        ..TestSettings::default()
    }
}

/// Answers the n-th sample in a special way and all others after a millisecond.
fn except(
    n: u64,
    special: impl Fn(QuerySample) -> Vec<Answer> + Sync + 'static,
) -> impl Fn(u64, QuerySample) -> Vec<Answer> + Sync + 'static {
    move |number, sample| if number == n { special(sample) } else { after(MS, sample) }
}

fn only_reason(outcome: &TestOutcome) -> String {
    assert!(!outcome.is_valid());
    let [reason] = <[String; 1]>::try_from(outcome.reasons()).expect("there is one reason");
    reason
}

fn kinds(outcome: &TestOutcome) -> Vec<(ViolationKind, u64)> {
    outcome.violations.iter().map(|violation| (violation.kind, violation.count)).collect()
}

#[test]
fn what_comes_after_the_run_counts_too() {
    let bench = Bench::new(settings(Scenario::SingleStream), |_, sample| after(MS, sample));
    let mut outcome = bench.run();
    bench.loadgen.add_late_violations(&mut outcome);
    assert!(outcome.is_valid());
    let index = bench.issued()[3].index;
    for id in [1 << 48 | 3, 1 << 48 | 9_999_999] {
        respond(&*bench.loadgen.sink(), answer(0, ResponseId(id)), index);
    }
    assert!(outcome.is_valid(), "nobody has looked");
    bench.loadgen.add_late_violations(&mut outcome);
    assert_eq!(kinds(&outcome), [(ViolationKind::NotIssued, 1), (ViolationKind::Duplicate, 1)]);
    assert_eq!(outcome.reasons().len(), 2);
    assert_eq!(outcome.performance.unwrap().issued_query_count, bench.issued().len() as u64);
}

#[test]
fn a_sample_that_never_completes_is_named() {
    for scenario in [Scenario::Server, Scenario::Offline] {
        let bench = Bench::new(settings(scenario), except(17, |_| Vec::new()));
        let outcome = bench.run();
        let index = bench.issued()[17].index;
        let expected = format!("1 sample was never completed: sample 17 (library index {index})");
        assert!(outcome.reasons().contains(&expected), "{:?}", outcome.reasons());
        let missing = outcome.phases[0].missing.as_ref().unwrap();
        assert_eq!((missing.count, &missing.first[..]), (1, &[(17, index)][..]));
        // Everything else is there.
        let record = &outcome.phases[0].record;
        assert_eq!(record.sample_latencies_ns.len(), record.issued_sample_count - 1);
        assert_eq!(outcome.samples().nth(17).unwrap().latency_ns, SampleRecord::NOT_COMPLETED);
    }
}

#[test]
fn a_stream_ends_at_the_sample_that_never_completes() {
    let bench = Bench::new(settings(Scenario::SingleStream), except(17, |_| Vec::new()));
    let outcome = bench.run();
    assert_eq!(outcome.phases[0].end, IssueEnd::Stalled);
    assert_eq!(outcome.phases[0].record.sample_latencies_ns, vec![MS; 17]);
    assert_eq!(bench.issues().len(), 18);
    let named = outcome.reasons().iter().any(|reason| reason.contains("sample 17 (library index"));
    assert!(named, "{:?}", outcome.reasons());
}

#[test]
fn the_watchdog_waits_as_long_as_something_completes() {
    let options = LoadGenOptions { watchdog_ms: 50, ..LoadGenOptions::default() };
    // One completion each 40 ms, for longer than the watchdog; the last one 200 ms after the others.
    let slow = |n: u64, sample| after(if n < 99 { (n + 1) * 40 * MS } else { (99 * 40 + 200) * MS }, sample);
    let request = TestSettings { min_duration_ms: 0, ..settings(Scenario::Offline) };
    let outcome = Bench::with_options(request, options, slow).run();
    let missing = outcome.phases[0].missing.as_ref().unwrap();
    assert_eq!((missing.count, missing.first[0].0), (1, 99));
}

#[test]
fn a_double_completion_counts_once_and_makes_the_run_invalid() {
    let twice = |sample: QuerySample| [after(MS, sample), after(MS, sample)].concat();
    for scenario in Scenario::ALL {
        // All samples of Offline are complete after a millisecond.
        let min_duration_ms = if *scenario == Scenario::Offline { 1 } else { 100 };
        let request = TestSettings { min_query_count: 700, min_duration_ms, ..settings(*scenario) };
        let bench = Bench::new(request, except(5, twice));
        let outcome = bench.run();
        let id = bench.issued()[5].id;
        assert_eq!(
            only_reason(&outcome),
            format!("1 sample completed more than once: sample 5 (response id {id})"),
            "{scenario}"
        );
        assert_eq!(outcome.phases[0].record.sample_latencies_ns.iter().nth(5), Some(MS));
    }
}

#[test]
fn an_invented_id_is_counted_and_harmless() {
    let invent = |sample: QuerySample| {
        let invented = |id| answer(MS, ResponseId(id));
        vec![after(MS, sample)[0], invented(0), invented(u64::MAX), invented(sample.id.0 + 1_000_000)]
    };
    let request = TestSettings { min_query_count: 700, ..settings(Scenario::SingleStream) };
    let outcome = Bench::new(request, except(5, invent)).run();
    assert_eq!(kinds(&outcome), [(ViolationKind::UnknownId, 2), (ViolationKind::NotIssued, 1)]);
    assert_eq!(
        outcome.reasons()[0],
        "2 samples completed with an unknown response id: response id 0x0, response id 0xffffffffffffffff"
    );
    assert_eq!(outcome.reasons().len(), 2);
}

#[test]
fn a_completion_of_an_earlier_phase_is_late() {
    let request = TestSettings { mode: TestMode::AccuracyOnly, ..settings(Scenario::SingleStream) };
    // The first sample of the second set (of four) also completes the first of the first set again.
    let late = |sample: QuerySample| {
        let id = ResponseId(1 << 48);
        vec![answer(MS / 2, id), after(MS, sample)[0]]
    };
    let outcome = Bench::new(request, except(4, late)).run();
    assert_eq!(kinds(&outcome), [(ViolationKind::Late, 1)]);
    assert!(only_reason(&outcome).contains("after the end of their phase: sample 0 "));
    assert_eq!(outcome.accuracy.len(), 10);
}

#[test]
fn a_failed_sample_makes_the_run_invalid() {
    let fail = |sample: QuerySample| vec![Answer { status: SampleStatus(42), ..after(MS, sample)[0] }];
    let request = TestSettings { min_query_count: 700, ..settings(Scenario::Server) };
    let outcome = Bench::new(request, except(600, fail)).run();
    assert_eq!(only_reason(&outcome), "1 sample failed: sample 600 (status 42)");
    assert_eq!(outcome.samples().nth(600).unwrap().latency_ns, MS | SampleRecord::FAILED_BIT);
}

#[test]
fn what_is_no_answer_is_in_no_figure_that_is_shown() {
    // Every tenth sample fails at once, and one is completed twice.
    let script = |n: u64, sample: QuerySample| match n {
        5 => [after(MS, sample), after(MS, sample)].concat(),
        _ if n.is_multiple_of(10) => vec![Answer { status: SampleStatus(42), ..after(MS / 100, sample)[0] }],
        _ => after(MS, sample),
    };
    for scenario in Scenario::ALL {
        let request = TestSettings { min_query_count: 700, ..settings(*scenario) };
        let outcome = Bench::new(request, script).run();
        let failed_count = outcome.violation_count(ViolationKind::Failed);
        assert_eq!(outcome.violation_count(ViolationKind::Duplicate), 1, "{scenario}");
        let (logged, shown) = (outcome.performance.as_ref().unwrap(), outcome.figures().unwrap());
        let issued_count = outcome.phases[0].record.issued_sample_count;
        assert_eq!(failed_count, issued_count.div_ceil(10), "{scenario}");
        assert_eq!(logged.sample_latencies.count, issued_count, "{scenario}");
        assert_eq!(shown.sample_latencies.count, issued_count - failed_count, "{scenario}");
        assert_eq!((logged.sample_latencies.min_ns, shown.sample_latencies.min_ns), (MS / 100, MS));
        assert_eq!(shown.issued_query_count, logged.issued_query_count);
        assert_eq!(shown.min_queries_met, logged.min_queries_met);
        let rate = |result: &PerformanceResult| match result.figures {
            ScenarioFigures::SingleStream { qps_with_loadgen_overhead, .. } => qps_with_loadgen_overhead,
            // In each 40 samples, no sample of the last query of five fails.
            ScenarioFigures::MultiStream { ref query_latencies } => query_latencies.count as f64,
            ScenarioFigures::Server { completed_samples_per_second, .. } => completed_samples_per_second,
            ScenarioFigures::Offline { samples_per_second, .. } => samples_per_second,
        };
        let share = if *scenario == Scenario::MultiStream { 0.2 } else { 0.9 };
        let ratio = rate(shown) / rate(logged);
        assert!((ratio / share - 1.0).abs() < 0.01, "{scenario}: {ratio}");

        // LoadGen's own logs count failed samples.
        let folder = tempfile::tempdir().unwrap();
        write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
        let summary = fs::read_to_string(folder.path().join("mlperf_log_summary.txt")).unwrap();
        let least = if *scenario == Scenario::MultiStream { MS } else { MS / 100 };
        assert!(summary.contains(&format!("Min latency (ns)                : {least}\n")), "{summary}");
    }
}

#[test]
fn a_run_of_which_no_sample_fails_is_shown_as_it_is_logged() {
    let outcome = Bench::new(settings(Scenario::Server), except(17, |_| Vec::new())).run();
    assert!(outcome.answered.is_none(), "a missing sample has no latency anyway");
    assert_eq!(outcome.figures(), outcome.performance.as_ref());
}

#[test]
fn a_sample_that_is_completed_after_its_test_is_late_and_stays_missing() {
    let bench = Bench::new(settings(Scenario::Server), except(17, |_| Vec::new()));
    let mut outcome = bench.run();
    let before = outcome.figures().unwrap().clone();
    let QuerySample { id, index } = bench.issued()[17];
    respond(&*bench.loadgen.sink(), answer(0, id), index);
    bench.loadgen.add_late_violations(&mut outcome);
    assert_eq!(kinds(&outcome), [(ViolationKind::Late, 1)]);
    assert_eq!(outcome.violation_count(ViolationKind::Late), 1);
    assert_eq!(outcome.phases[0].missing.as_ref().unwrap().count, 1);
    assert_eq!(outcome.figures(), Some(&before));
    assert_eq!(outcome.samples().nth(17).unwrap().latency_ns, SampleRecord::NOT_COMPLETED);
}

#[test]
fn a_stop_ends_issuing_and_waits_for_the_rest() {
    let bench = Bench::new(settings(Scenario::Server), |_, sample| after(30 * MS, sample));
    let stop = bench.loadgen.stop_handle();
    bench.clock.schedule(50 * MS, move || stop.stop("signal SIGINT"));
    let outcome = bench.run();
    assert!(outcome.reasons().contains(&"interrupted: signal SIGINT".to_owned()));
    assert_eq!(outcome.interrupted.as_deref(), Some("signal SIGINT"));
    let phase = &outcome.phases[0];
    assert_eq!((phase.end, phase.missing.as_ref()), (IssueEnd::Stopped, None));
    assert!(bench.issues().iter().all(|(at_ns, _)| *at_ns <= 50 * MS));
    assert_eq!(phase.record.sample_latencies_ns.len(), bench.issues().len() as u64);
    assert_eq!(bench.sut.flush_count.into_inner(), 1);
}

#[test]
fn a_stop_ends_the_wait_of_a_stream() {
    let bench = Bench::new(settings(Scenario::SingleStream), |_, sample| after(30 * MS, sample));
    let stop = bench.loadgen.stop_handle();
    bench.clock.schedule(50 * MS, move || stop.stop("enough"));
    let outcome = bench.run();
    assert_eq!(outcome.phases[0].end, IssueEnd::Stopped);
    assert_eq!(bench.issues(), [(0, 1), (30 * MS, 1)]);
    assert_eq!(outcome.phases[0].record.sample_latencies_ns, vec![30 * MS; 2]);
}

#[test]
fn a_second_stop_gives_up_what_is_outstanding() {
    let bench = Bench::new(settings(Scenario::Server), |_, sample| after(1000 * MS, sample));
    for at_ns in [50 * MS, 60 * MS] {
        let stop = bench.loadgen.stop_handle();
        bench.clock.schedule(at_ns, move || stop.stop(format!("stop at {at_ns}")));
    }
    let outcome = bench.run();
    assert_eq!(outcome.interrupted.as_deref(), Some("stop at 50000000"));
    assert_eq!(outcome.phases[0].missing.as_ref().unwrap().count, bench.issues().len() as u64);
}

#[test]
fn a_stop_between_phases_leaves_the_rest_out() {
    let request = TestSettings { mode: TestMode::SubmissionRun, ..settings(Scenario::SingleStream) };
    let bench = Bench::new(request, |_, sample| after(MS, sample));
    let stop = bench.loadgen.stop_handle();
    bench.clock.schedule(5 * MS, move || stop.stop("enough"));
    let outcome = bench.run();
    assert_eq!(outcome.phases.len(), 2);
    assert!(outcome.performance.is_none());
    assert_eq!(only_reason(&outcome), "interrupted: enough");
    // Its figures are about the performance phase, which it did not come to.
    assert!(outcome.ended_before_performance());
    assert_eq!((outcome.reported_phases().count(), outcome.samples().count()), (0, 0));
    assert_eq!(outcome.accuracy_phases_beside().count(), 2);
}

#[test]
fn a_stop_before_the_run_issues_nothing() {
    for scenario in Scenario::ALL {
        let bench = Bench::new(settings(*scenario), |_, sample| after(MS, sample));
        bench.loadgen.stop_handle().stop("changed my mind");
        let outcome = bench.run();
        assert!(bench.issues().is_empty());
        assert_eq!(only_reason(&outcome), "interrupted: changed my mind");
    }
}

#[test]
fn limits_end_a_test_early_with_an_error_in_the_log() {
    let run = |request: TestSettings| Bench::new(request, |_, sample| after(100 * MS, sample)).run();
    let outcome = run(TestSettings { max_query_count: 20, ..settings(Scenario::Server) });
    assert_eq!(outcome.phases[0].end, IssueEnd::MaxQueryCount { issued_count: 20 });
    let outcome = run(TestSettings { server_max_async_queries: 9, ..settings(Scenario::Server) });
    assert_eq!(
        outcome.phases[0].end,
        IssueEnd::TooManyOutstanding { issued_count: 10, outstanding_count: 10 }
    );
    let outcome = run(TestSettings { max_duration_ms: 250, ..settings(Scenario::SingleStream) });
    assert_eq!(outcome.phases[0].end, IssueEnd::MaxDuration { duration_ns: 300 * MS });

    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let detail = fs::read_to_string(folder.path().join("mlperf_log_detail.txt")).unwrap();
    assert!(detail.contains(
        "{\"key\": \"error_runtime\", \"value\": \"IssueQueryThread 0 Ending early: Max test duration reached. duration_ns 300000000\""
    ));
    let summary = fs::read_to_string(folder.path().join("mlperf_log_summary.txt")).unwrap();
    assert!(summary.contains("Result is : INVALID"), "{summary}");
    assert!(summary.ends_with("1 ERROR encountered. See detailed log.\n"), "{summary}");
}

#[test]
fn a_stream_that_is_faster_than_expected_runs_out_of_queries() {
    let request = TestSettings {
        single_stream_expected_latency_ns: 10e6,
        min_query_count: 10,
        ..settings(Scenario::SingleStream)
    };
    let outcome = Bench::new(request, |_, sample| after(MS, sample)).run();
    assert_eq!(outcome.phases[0].end, IssueEnd::RanOut);
    assert!(outcome.errors()[0].starts_with("Ending early: Ran out of generated queries"));
}

#[test]
fn responses_that_do_not_fit_are_an_error_that_names_the_option() {
    let request = TestSettings { accuracy_log_probability: 1.0, ..settings(Scenario::SingleStream) };
    // Room for ten responses of 8 + 16 bytes.
    let options = LoadGenOptions { response_arena_bytes: 240, ..LoadGenOptions::default() };
    let outcome = Bench::with_options(request, options, |_, sample| after(MS, sample)).run();
    assert_eq!(outcome.accuracy.len(), 10);
    assert_eq!(
        outcome.errors(),
        ["91 responses did not fit into the accuracy log: raise response_arena_bytes = 240"]
    );
    assert!(outcome.is_valid(), "the figures are not touched: {:?}", outcome.reasons());
}

#[test]
fn memory_that_is_not_there_is_refused_with_the_option_that_asks_for_it() {
    let bench = |request| {
        let options = LoadGenOptions { response_arena_bytes: u64::MAX, ..LoadGenOptions::default() };
        Bench::with_options(request, options, |_, sample| after(MS, sample))
    };
    let logged = TestSettings { accuracy_log_probability: 1.0, ..settings(Scenario::SingleStream) };
    let logged = bench(logged);
    let error = logged.loadgen.run(&logged.sut, &logged.qsl).unwrap_err();
    assert!(matches!(error, LoadGenError::ResponseMemory { arena_bytes: u64::MAX, .. }));
    let text = error.to_string();
    assert!(text.ends_with(": lower response_arena_bytes = 18446744073709551615"), "{text}");
    // If nothing is logged, no memory is requested.
    assert!(bench(settings(Scenario::SingleStream)).run().is_valid());
}

#[test]
fn what_cannot_be_run_is_refused() {
    let run = |request, library: &NotingLibrary| {
        let bench = Bench::new(request, |_, sample| after(MS, sample));
        bench.loadgen.run(&bench.sut, library).unwrap_err()
    };
    let library = NotingLibrary::new(10, 4);
    let find_peak = TestSettings { mode: TestMode::FindPeakPerformance, ..settings(Scenario::Offline) };
    let error = run(find_peak, &library);
    assert!(matches!(error, LoadGenError::FindPeakNeedsServer { scenario: Scenario::Offline }));
    assert_eq!(
        error.to_string(),
        "setting mode = FindPeakPerformance needs scenario = Server, not Offline: Finding peak performance is only \
         supported in Server scenarios."
    );
    let threads = TestSettings { server_num_issue_query_threads: 1025, ..settings(Scenario::Server) };
    let error = run(threads, &library).to_string();
    assert!(error.starts_with("setting server_num_issue_query_threads = 1025 is out of range"), "{error}");
    let broken = NotingLibrary { fails_to_load: true, ..NotingLibrary::new(10, 4) };
    let error = run(settings(Scenario::Server), &broken).to_string();
    assert_eq!(error, "library noting failed to load 4 samples: disk on fire");
}

#[test]
fn a_load_generator_runs_once() {
    let bench = Bench::new(settings(Scenario::SingleStream), |_, sample| after(MS, sample));
    bench.run();
    let again = bench.loadgen.run(&bench.sut, &bench.qsl);
    assert!(matches!(again, Err(LoadGenError::AlreadyRun)));
}

#[test]
fn progress_shows_a_running_test() {
    use std::sync::Mutex;

    let script = |n, sample: QuerySample| match n {
        8 => vec![Answer { status: SampleStatus(42), ..after(MS, sample)[0] }],
        _ => after(MS, sample),
    };
    let bench = Bench::new(settings(Scenario::SingleStream), script);
    let progress = bench.loadgen.progress();
    assert_eq!(progress.current(), None);
    let seen = Arc::new(Mutex::new(None));
    let (reader, place) = (progress.clone(), Arc::clone(&seen));
    bench.clock.schedule(10 * MS + MS / 2, move || {
        let mut samples = Vec::new();
        reader.read_samples(8..u64::MAX, &mut samples);
        let outstanding: Vec<_> =
            (0..13).filter(|n| reader.is_outstanding(ResponseId(1 << 48 | n))).collect();
        assert_eq!(outstanding, [10]);
        assert!(!reader.is_outstanding(ResponseId(2 << 48 | 10)), "that is another phase");
        *place.lock().unwrap() = Some((reader.current().unwrap(), samples));
    });
    let outcome = bench.run();
    let (current, samples) = seen.lock().unwrap().take().unwrap();
    assert_eq!((current.phase_number, current.issued_count, current.completed_count), (1, 11, 10));
    assert_eq!(current.elapsed_ns, 10 * MS + MS / 2);
    let scheduled: Vec<_> = samples.iter().map(|sample| sample.scheduled_ns).collect();
    assert_eq!(scheduled, [8 * MS, 9 * MS, 10 * MS]);
    assert_eq!(samples[2].latency_ns, SampleRecord::NOT_COMPLETED);

    let end = progress.current().unwrap();
    assert_eq!(end.completed_count, outcome.phases[0].record.issued_sample_count);
    bench.clock.schedule(900 * MS, || {});
    proctor_loadgen::Clock::wait_until(&*bench.clock, 900 * MS, &proctor_loadgen::Wake::new());
    assert_eq!(progress.current().unwrap().elapsed_ns, end.elapsed_ns, "time stands still after the end");
}

#[test]
fn a_system_that_takes_no_virtual_time_ends_the_test() {
    // Expected to take 1 ns, so that there are a hundred million queries.
    let request = |scenario| TestSettings {
        single_stream_expected_latency_ns: 1.0,
        multi_stream_expected_latency_ns: 1.0,
        multi_stream_samples_per_query: 1,
        ..settings(scenario)
    };
    let outcome = Bench::new(request(Scenario::SingleStream), |_, sample| after(0, sample)).run();
    let end = IssueEnd::TimeStandsStill { issued_count: 1_000_000 };
    assert_eq!(outcome.phases[0].end, end);
    assert_eq!(
        outcome.reasons()[0],
        "the run took 0 ns of at least 100 ms: the system under test has to take some virtual time, or no run is \
         long enough"
    );

    // After 50 ms all samples fail, which takes no time.
    let fails = |n: u64, sample: QuerySample| match n {
        0..50 => after(MS, sample),
        _ => vec![Answer { status: SampleStatus(42), ..after(0, sample)[0] }],
    };
    let outcome = Bench::new(request(Scenario::MultiStream), fails).run();
    assert_eq!(outcome.phases[0].end, end);
    assert_eq!(
        outcome.reasons()[0],
        "the run took 50 ms of at least 100 ms: samples that fail take no virtual time, so find out why they fail; \
         until then no run is long enough"
    );
}
