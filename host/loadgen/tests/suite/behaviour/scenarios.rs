//! Each scenario against a scripted system in virtual time, with latencies that can be computed by hand.

use std::fs;

use crate::{
    behaviour::scripted::{Bench, MS, after},
    log_files::write_logs,
};
use proctor_loadgen::{
    EffectiveSettings, IssueEnd, PhaseOutcome, QueryGenerator, ScenarioFigures, TestSettings,
    log::LogIdentity, phases,
};
use proctor_vocabulary::{Scenario, TestMode};

fn settings(scenario: Scenario) -> TestSettings {
    TestSettings {
        scenario,
        min_duration_ms: 100,
        min_query_count: 100,
        qsl_rng_seed: 1,
        sample_index_rng_seed: 2,
        schedule_rng_seed: 3,
        ..TestSettings::default()
    }
}

#[test]
fn single_stream_issues_when_the_last_sample_is_complete() {
    let bench = Bench::new(settings(Scenario::SingleStream), |_, sample| after(MS, sample));
    let outcome = bench.run();
    // One query each millisecond; the one at 100 ms meets the duration.
    let expected: Vec<_> = (0..=100).map(|k| (k * MS, 1)).collect();
    assert_eq!(bench.issues(), expected);
    let phase = &outcome.phases[0];
    assert_eq!((phase.end, phase.missing.as_ref()), (IssueEnd::Naturally, None));
    assert_eq!(phase.record.sample_latencies_ns, vec![MS; 101]);
    assert_eq!(phase.duration_ns, 101 * MS);
    let result = outcome.performance.as_ref().unwrap();
    assert_eq!(result.sample_latencies.target_ns, MS);
    let ScenarioFigures::SingleStream { qps_with_loadgen_overhead, .. } = result.figures else { panic!() };
    assert_eq!(qps_with_loadgen_overhead, 1000.0);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    assert!(outcome.errors().is_empty());
    assert_eq!(bench.sut.flush_count.into_inner(), 1);
    assert_eq!(bench.qsl.loads.into_inner().unwrap(), bench.qsl.unloads.into_inner().unwrap());
}

#[test]
fn single_stream_with_a_system_that_completes_inside_the_call() {
    let request = TestSettings { min_duration_ms: 0, ..settings(Scenario::SingleStream) };
    let outcome = Bench::new(request, |_, sample| after(0, sample)).run();
    assert_eq!(outcome.phases[0].record.sample_latencies_ns, vec![0; 100]);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn a_multi_stream_query_takes_as_long_as_its_slowest_sample() {
    let request = TestSettings {
        multi_stream_samples_per_query: 4,
        min_query_count: 662,
        ..settings(Scenario::MultiStream)
    };
    let bench = Bench::new(request, |n, sample| after((4 - n % 4) * MS, sample));
    let outcome = bench.run();
    let expected: Vec<_> = (0..662).map(|k| (k * 4 * MS, 4)).collect();
    assert_eq!(bench.issues(), expected);
    let record = &outcome.phases[0].record;
    assert_eq!(record.query_latencies_ns, vec![4 * MS; 662]);
    assert_eq!(record.sample_latencies_ns.iter().take(4).collect::<Vec<_>>(), [4 * MS, 3 * MS, 2 * MS, MS]);
    assert_eq!(record.final_query_all_samples_done_ns, 662 * 4 * MS);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn server_issues_by_the_schedule_whatever_the_system_does() {
    let request = TestSettings { server_target_qps: 5000.0, ..settings(Scenario::Server) };
    let offsets_ns = schedule(&request);
    let bench = Bench::new(request, |_, sample| after(7 * MS, sample));
    let outcome = bench.run();
    assert_eq!(bench.issues(), offsets_ns.iter().map(|at_ns| (*at_ns, 1)).collect::<Vec<_>>());
    let phase = &outcome.phases[0];
    assert_eq!(phase.end, IssueEnd::AllIssued);
    assert_eq!(phase.record.sample_latencies_ns, vec![7 * MS; offsets_ns.len()]);
    assert_eq!(phase.issue_delay.max_ns, 0);
    assert_eq!(phase.record.final_query_scheduled_ns, *offsets_ns.last().unwrap());
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

fn schedule(request: &TestSettings) -> Vec<u64> {
    let effective = EffectiveSettings::new(request, 4, 10).expect("the settings make a test").0;
    let mut queries = QueryGenerator::new(&effective, &phases(&effective)[0]);
    std::iter::from_fn(|| queries.next_query()).map(|query| query.offset_ns).collect()
}

#[test]
fn server_latency_counts_from_the_schedule_however_late_the_issue() {
    let request = TestSettings { server_target_qps: 1000.0, ..settings(Scenario::Server) };
    let offsets_ns = schedule(&request);
    // Each issue call takes 3 ms, and its sample completes at the end: three times too slow.
    let mut bench = Bench::new(request, |_, sample| after(0, sample));
    bench.sut.issue_takes_ns = 3 * MS;
    let outcome = bench.run();
    let mut free_ns = 0;
    let (mut latencies_ns, mut delays_ns) = (Vec::new(), Vec::new());
    for scheduled_ns in offsets_ns {
        let issued_ns = scheduled_ns.max(free_ns);
        free_ns = issued_ns + 3 * MS;
        delays_ns.push(issued_ns - scheduled_ns);
        latencies_ns.push(free_ns - scheduled_ns);
    }
    let phase = &outcome.phases[0];
    assert_eq!(phase.record.sample_latencies_ns, latencies_ns);
    assert_eq!(phase.issue_delay.max_ns, *delays_ns.iter().max().unwrap());
    assert_eq!(phase.issue_delay.mean_ns, delays_ns.iter().sum::<u64>() / delays_ns.len() as u64);
    assert!(!outcome.is_valid(), "the bound of 100 ms cannot be met");
}

#[test]
fn a_coalescing_server_merges_what_is_overdue() {
    let request = TestSettings {
        server_target_qps: 1000.0,
        server_coalesce_queries: true,
        ..settings(Scenario::Server)
    };
    let offsets_ns = schedule(&request);
    let mut bench = Bench::new(request, |_, sample| after(0, sample));
    bench.sut.issue_takes_ns = 3 * MS;
    let outcome = bench.run();
    let (mut expected, mut latencies_ns) = (Vec::new(), Vec::new());
    let mut rest = &offsets_ns[..];
    let mut free_ns = 0;
    while let Some(first_ns) = rest.first() {
        let issued_ns = free_ns.max(*first_ns);
        let merged = rest.partition_point(|scheduled_ns| *scheduled_ns <= issued_ns);
        free_ns = issued_ns + 3 * MS;
        expected.push((issued_ns, merged));
        latencies_ns.extend(rest[..merged].iter().map(|scheduled_ns| free_ns - scheduled_ns));
        rest = &rest[merged..];
    }
    assert_eq!(bench.issues(), expected);
    let record = &outcome.phases[0].record;
    assert_eq!(record.sample_latencies_ns, latencies_ns);
    assert_eq!(record.issued_query_count, offsets_ns.len() as u64);
}

#[test]
fn offline_counts_from_the_start() {
    let request = TestSettings { offline_expected_qps: 1000.0, ..settings(Scenario::Offline) };
    // One sample each millisecond; LoadGen asks for 10 % more than the rate and the duration make.
    let bench = Bench::new(request, |n, sample| after((n + 1) * MS, sample));
    let outcome = bench.run();
    assert_eq!(bench.issues(), [(0, 110)]);
    let record = &outcome.phases[0].record;
    assert_eq!(record.sample_latencies_ns, (1..=110).map(|n| n * MS).collect::<Vec<_>>());
    let ScenarioFigures::Offline { samples_per_second, .. } = outcome.performance.as_ref().unwrap().figures
    else {
        panic!()
    };
    assert_eq!(samples_per_second, 1000.0);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn an_accuracy_run_answers_for_every_sample_of_the_library() {
    for scenario in Scenario::ALL {
        let request = TestSettings {
            mode: TestMode::AccuracyOnly,
            multi_stream_samples_per_query: 2,
            ..settings(*scenario)
        };
        let bench = Bench::new(request, |n, sample| after((1 + n % 3) * MS, sample));
        let outcome = bench.run();
        assert!(outcome.is_valid(), "{:?}", outcome.reasons());
        assert_eq!(outcome.phases.len(), 3, "sets of 4, 4 and 2 samples");
        assert!(outcome.performance.is_none());
        let issued = bench.issued();
        assert_eq!(outcome.accuracy.len(), issued.len());
        for ((number, record), sample) in (0..).zip(&outcome.accuracy).zip(&issued) {
            assert_eq!((record.sample_id, record.index), (number, sample.index), "{scenario}");
            assert_eq!(record.data, sample.index.0.to_le_bytes());
        }
        let mut indices: Vec<_> = outcome.accuracy.iter().map(|record| record.index.0).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..10), "{scenario}");
        assert_eq!(bench.sut.flush_count.into_inner(), 3);
    }
}

#[test]
fn a_submission_run_is_an_accuracy_run_and_then_a_performance_run() {
    let request = TestSettings { mode: TestMode::SubmissionRun, ..settings(Scenario::SingleStream) };
    let outcome = Bench::new(request, |_, sample| after(MS, sample)).run();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    assert_eq!(outcome.phases.len(), 4);
    assert_eq!(outcome.accuracy.len(), 10);
    assert_eq!(outcome.performance.as_ref().unwrap().issued_query_count, 101);
    assert_eq!(outcome.phases[3].first_sample_id, 10);
    assert_eq!(outcome.samples().count(), 101, "the samples file is of the performance phase");
    let query_count = |phase: &PhaseOutcome| phase.record.issued_query_count;
    assert_eq!(outcome.reported_phases().map(query_count).sum::<u64>(), 101);
    assert_eq!(outcome.accuracy_phases_beside().map(query_count).sum::<u64>(), 10);
}

#[test]
fn ten_minutes_of_server_at_a_thousand_queries_a_second() {
    let request =
        TestSettings { server_target_qps: 1000.0, min_duration_ms: 600_000, ..settings(Scenario::Server) };
    let outcome = Bench::new(request, |_, sample| after(5 * MS, sample)).run();
    let result = outcome.performance.as_ref().unwrap();
    // The deviation of a Poisson count of 600,000 is 775.
    assert!((596_000..604_000).contains(&result.issued_query_count), "{}", result.issued_query_count);
    assert_eq!(result.sample_latencies.max_ns, 5 * MS);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn the_same_run_leaves_the_same_bytes() {
    for scenario in Scenario::ALL {
        let request = TestSettings { accuracy_log_probability: 0.3, ..settings(*scenario) };
        let files = || {
            let outcome = Bench::new(request.clone(), |n, sample| after(1 + n * 7919 % MS, sample)).run();
            let folder = tempfile::tempdir().unwrap();
            write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
            let mut samples = Vec::new();
            outcome.write_samples(&mut samples).unwrap();
            assert_eq!(samples.len() % 16, 0);
            let logs = ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"];
            (samples, logs.map(|name| fs::read_to_string(folder.path().join(name)).unwrap()))
        };
        let (samples, [summary, detail, accuracy]) = files();
        assert!(summary.contains(&format!("Scenario : {scenario}")), "{summary}");
        assert!(detail.contains("Starting performance mode"));
        assert!(accuracy.contains("\"qsl_idx\""), "three in ten responses are logged");
        assert_eq!(files(), (samples, [summary, detail, accuracy]));
    }
}
