//! MultiStream at fixed intervals against a scripted system in virtual time.

use std::fs;

use crate::{
    behaviour::scripted::{Bench, MS, after},
    log_files::write_logs,
};
use proctor_loadgen::{
    Clock, IntervalRecord, IntervalResult, IssueEnd, LoadGenOptions, Recommendation, Rules, ScenarioFigures,
    SystemUnderTest, TestOutcome, TestSettings, Wake, log::LogIdentity, rounds::Round,
};
use proctor_vocabulary::{QuerySample, Scenario, TestMode};
use proptest::prelude::*;

fn round(name: &str) -> Rules {
    name.parse().expect("it is a round")
}

/// Two samples every 10 ms, 100 times.
fn settings() -> TestSettings {
    TestSettings {
        scenario: Scenario::MultiStream,
        rules: round("v0.5"),
        multi_stream_interval_ms: 10.0,
        multi_stream_samples_per_query: 2,
        min_duration_ms: 100,
        min_query_count: 100,
        ..TestSettings::default()
    }
}

/// A system whose query n takes `latencies_ns(n)`; its second sample is the slower one.
fn bench(request: TestSettings, latencies_ns: impl Fn(u64) -> u64 + Sync + 'static) -> Bench {
    Bench::new(request, move |n, sample| {
        let latency_ns = latencies_ns(n / 2);
        after(if n % 2 == 1 { latency_ns } else { latency_ns / 2 }, sample)
    })
}

fn intervals(outcome: &TestOutcome) -> IntervalResult {
    let result = outcome.performance.as_ref().expect("it is a performance run");
    result.intervals.expect("it has intervals")
}

/// Returns the intervals in which queries were issued.
fn ticks(bench: &Bench) -> Vec<u64> {
    let instants_ns = bench.issues().into_iter().map(|(at_ns, sample_count)| {
        assert_eq!(sample_count, 2);
        assert_eq!(at_ns % (10 * MS), 0, "queries leave on the grid");
        at_ns / (10 * MS)
    });
    instants_ns.collect()
}

/// Each rule is requested separately: a round with fixed intervals and early stopping, which never existed.
#[test]
fn a_round_may_have_any_rules() {
    static ROUND: Round =
        Round { name: "v1.5", has_intervals: true, stops_early: true, has_tokens: true, extends_logs: false };
    let outcome = bench(TestSettings { rules: Rules::from(&ROUND), ..settings() }, |_| 4 * MS).run();
    let result = outcome.performance.as_ref().unwrap();
    assert_eq!(intervals(&outcome).record.query_count, 100);
    assert!(result.perf_constraints_met && result.min_queries_met, "{:?}", outcome.reasons());
    assert!(
        !result.early_stopping.met && !outcome.is_valid(),
        "100 queries are too few for the 99th percentile"
    );
    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let detail = fs::read_to_string(folder.path().join("mlperf_log_detail.txt")).unwrap();
    assert!(detail.contains("\"early_stopping_met\"") && !detail.contains("\"result_rules\""));
}

#[test]
fn a_system_that_is_always_in_time_gets_a_query_at_each_interval() {
    // At the very start of the next interval is in time.
    for latency_ns in [0, 1, 4 * MS, 10 * MS] {
        let bench = bench(settings(), move |_| latency_ns);
        let outcome = bench.run();
        assert!(ticks(&bench).into_iter().eq(0..100));
        let expected = IntervalRecord {
            interval_ns: 10 * MS,
            query_count: 100,
            elapsed_interval_count: 100,
            skipped_interval_count: 0,
            longest_skip_count: 0,
            skipping_query_count: 0,
            late_query_count: 0,
        };
        assert_eq!(intervals(&outcome).record, expected);
        assert_eq!(intervals(&outcome).stream_count, 2);
        let phase = &outcome.phases[0];
        assert_eq!((phase.end, phase.issue_delay.max_ns), (IssueEnd::Naturally, 0));
        assert_eq!(phase.record.query_latencies_ns, vec![latency_ns; 100]);
        assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    }
}

#[test]
fn a_system_that_is_always_late_by_less_than_an_interval_skips_every_other() {
    for latency_ns in [10 * MS + 1, 17 * MS, 20 * MS] {
        let bench = bench(settings(), move |_| latency_ns);
        let outcome = bench.run();
        assert!(ticks(&bench).into_iter().eq((0..100).map(|query| 2 * query)));
        let record = intervals(&outcome).record;
        assert_eq!((record.skipped_interval_count, record.longest_skip_count), (99, 1));
        // The last query delays none, but it takes too long by itself.
        assert_eq!((record.skipping_query_count, record.late_query_count), (99, 100));
        assert_eq!(
            outcome.reasons(),
            [
                "100 of 100 queries caused skipped intervals or took longer than the interval of 10 ms, of at most 1: \
                 set multi_stream_samples_per_query = 1"
            ]
        );
        let result = outcome.performance.unwrap();
        assert_eq!(result.recommendations, [Recommendation::ReduceSamplesPerQuery]);
        assert_eq!((result.perf_constraints_met, result.early_stopping.met), (false, true));
    }
}

#[test]
fn the_samples_that_are_advised_were_in_time() {
    // In proportion to the latency of the whole query, three of four samples would be few enough.
    let request = TestSettings { multi_stream_samples_per_query: 4, ..settings() };
    let latencies_ms = [2, 11, 12, 13];
    let outcome =
        Bench::new(request, move |n, sample| after(latencies_ms[n as usize % 4] * MS, sample)).run();
    let reasons = outcome.reasons();
    assert!(reasons[0].ends_with(": set multi_stream_samples_per_query = 1"), "{reasons:?}");
}

/// Runs queries; the first `late_count` skip one interval each.
fn late(percentile: f64, query_count: u64, late_count: u64) -> TestOutcome {
    let request = TestSettings {
        multi_stream_target_latency_percentile: percentile,
        min_query_count: query_count,
        ..settings()
    };
    bench(request, move |query| if query < late_count { 11 * MS } else { MS }).run()
}

#[test]
fn one_percent_of_the_queries_may_cause_skipped_intervals_and_no_more() {
    for (percentile, query_count, allowed_count) in
        [(0.99, 100, 1), (0.99, 300, 3), (0.99, 299, 2), (0.97, 100, 3), (0.97, 99, 2), (0.99, 99, 0)]
    {
        let outcome = late(percentile, query_count, allowed_count);
        assert!(outcome.is_valid(), "{:?}", outcome.reasons());
        assert_eq!(intervals(&outcome).allowed_late_query_count, allowed_count);
        let outcome = late(percentile, query_count, allowed_count + 1);
        assert_eq!(intervals(&outcome).record.late_query_count, allowed_count + 1);
        assert!(!outcome.is_valid(), "{percentile} {query_count}");
    }
}

#[test]
fn a_query_that_skips_many_intervals_is_one_query() {
    // The third takes five intervals and a half: five pass without a query.
    let bench = bench(settings(), |query| if query == 2 { 55 * MS } else { MS });
    let outcome = bench.run();
    assert_eq!(ticks(&bench)[..5], [0, 1, 2, 8, 9]);
    let record = intervals(&outcome).record;
    assert_eq!((record.skipped_interval_count, record.longest_skip_count), (5, 5));
    assert_eq!((record.skipping_query_count, record.late_query_count), (1, 1));
    assert_eq!(record.elapsed_interval_count, 105);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn the_last_query_is_judged_by_its_own_latency() {
    let last = |latency_ns: u64| {
        bench(settings(), move |query| match query {
            0 => 11 * MS,
            99 => latency_ns,
            _ => MS,
        })
        .run()
    };
    let outcome = last(10 * MS);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    let outcome = last(10 * MS + 1);
    let record = intervals(&outcome).record;
    assert_eq!((record.skipping_query_count, record.late_query_count), (1, 2));
    assert!(!outcome.is_valid());
}

#[test]
fn counts_and_duration_are_rules_and_early_stopping_is_none() {
    // 40 queries: far too few for early stopping, which the older rules do not have.
    let outcome = bench(TestSettings { min_query_count: 40, ..settings() }, |_| MS).run();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    assert_eq!(outcome.performance.as_ref().unwrap().issued_query_count, 40);
    // The query at 1000 ms meets the duration.
    let outcome =
        bench(TestSettings { min_query_count: 1, min_duration_ms: 1000, ..settings() }, |_| MS).run();
    assert_eq!(outcome.performance.as_ref().unwrap().issued_query_count, 101);
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    let outcome = bench(TestSettings { max_query_count: 30, ..settings() }, |_| MS).run();
    assert!(!outcome.is_valid());
    assert!(outcome.performance.unwrap().recommendations.contains(&Recommendation::ExitedEarly));
}

#[test]
fn a_system_that_stalls_is_noticed() {
    let options = LoadGenOptions { watchdog_ms: 500, ..LoadGenOptions::default() };
    let bench =
        Bench::with_options(
            settings(),
            options,
            |n, sample| {
                if n == 21 { Vec::new() } else { after(MS, sample) }
            },
        );
    let outcome = bench.run();
    let phase = &outcome.phases[0];
    assert_eq!(phase.end, IssueEnd::Stalled);
    assert_eq!(phase.missing.as_ref().unwrap().count, 1);
    let record = intervals(&outcome).record;
    assert_eq!((record.query_count, record.skipped_interval_count, record.late_query_count), (11, 0, 1));
    assert!(!outcome.is_valid());
}

#[test]
fn a_stop_ends_the_wait_for_an_interval() {
    let bench = bench(settings(), |_| MS);
    let stop = bench.loadgen.stop_handle();
    bench.clock.schedule(35 * MS, move || stop.stop("enough"));
    let outcome = bench.run();
    assert_eq!(ticks(&bench), [0, 1, 2, 3]);
    assert_eq!(outcome.phases[0].end, IssueEnd::Stopped);
}

#[test]
fn a_system_that_works_inside_the_issue_call_is_busy_meanwhile() {
    // Each call takes 25 ms, at whose end its query is complete: two intervals pass.
    let mut bench = Bench::new(settings(), |_, sample| after(0, sample));
    bench.sut.issue_takes_ns = 25 * MS;
    let outcome = bench.run();
    assert_eq!(ticks(&bench)[..4], [0, 3, 6, 9]);
    let record = intervals(&outcome).record;
    assert_eq!((record.skipped_interval_count, record.late_query_count), (2 * 99, 100));
    assert_eq!(outcome.phases[0].issue_delay.max_ns, 0);
}

/// A system that answers at once, but whose sixth issue call returns only after a while.
struct SlowToReturn<'a> {
    bench: &'a Bench,
    takes_ns: u64,
}

impl SystemUnderTest for SlowToReturn<'_> {
    fn name(&self) -> &str {
        "slow to return"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.bench.sut.issue(samples);
        if self.bench.issues().len() == 6 {
            let clock = &self.bench.clock;
            clock.wait_until(clock.now_ns() + self.takes_ns, &Wake::new());
        }
    }

    fn flush(&self) {}
}

#[test]
fn a_late_issue_is_a_delay_that_counts_in_the_latency() {
    let run = |takes_ns| {
        let bench = bench(settings(), |_| 0);
        let outcome = bench.loadgen.run(&SlowToReturn { bench: &bench, takes_ns }, &bench.qsl).unwrap();
        let instants: Vec<_> = bench.issues()[5..9].iter().map(|(at_ns, _)| at_ns / MS).collect();
        (instants, outcome.phases[0].issue_delay.max_ns / MS, intervals(&outcome).record)
    };
    // The next query leaves 2 ms late, and nothing is skipped: the system was free in time.
    let (instants, delay_ms, record) = run(12 * MS);
    assert_eq!((instants, delay_ms), (vec![50, 62, 70, 80], 2));
    assert_eq!((record.skipped_interval_count, record.late_query_count), (0, 0));
    // The query of 60 ms leaves at 75 ms, too late to be complete at 70 ms.
    let (instants, delay_ms, record) = run(25 * MS);
    assert_eq!((instants, delay_ms), (vec![50, 75, 80, 90], 15));
    assert_eq!((record.skipped_interval_count, record.late_query_count), (1, 1));
}

#[test]
fn the_share_of_the_newer_rules_is_not_asked() {
    // The same system under v5.0 has no intervals, and the next query follows the last.
    let request = TestSettings { rules: Rules::default(), min_query_count: 700, ..settings() };
    let bench = bench(request, |_| 17 * MS);
    let outcome = bench.run();
    assert_eq!(bench.issues()[1].0, 17 * MS);
    assert!(outcome.performance.as_ref().unwrap().intervals.is_none());
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
}

#[test]
fn accuracy_runs_keep_the_intervals() {
    let request = TestSettings { mode: TestMode::SubmissionRun, ..settings() };
    let bench = bench(request, |_| MS);
    let outcome = bench.run();
    assert!(outcome.is_valid(), "{:?}", outcome.reasons());
    // Three sets of 4, 4 and 2 samples in queries of two, then the performance phase.
    assert_eq!(
        outcome.phases.iter().map(|phase| phase.record.issued_query_count).collect::<Vec<_>>(),
        [2, 2, 1, 100]
    );
    for phase in &outcome.phases {
        let record = phase.record.intervals.unwrap();
        assert_eq!((record.elapsed_interval_count, record.late_query_count), (record.query_count, 0));
    }
}

#[test]
fn the_logs_say_which_rules_judged() {
    let outcome = late(0.99, 100, 2);
    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &LogIdentity::default()).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let summary = read("mlperf_log_summary.txt");
    for line in [
        "Result is : INVALID",
        "  Performance constraints satisfied : NO",
        " * Reduce samples per query to improve latency.",
        "Rules                           : v0.5",
        "Samples per query               : 2",
        "Interval (ns)                   : 10000000",
        "Intervals                       : 102",
        "Skipped intervals               : 2",
        "Most skipped in a row           : 1",
        "Queries that caused skips       : 2",
        "Queries over the interval       : 2",
        "Queries that may be over        : 1",
        "target_latency (ns): 10000000",
    ] {
        assert!(summary.lines().any(|found| found == line), "no {line:?} in\n{summary}");
    }
    assert!(!summary.contains("Early"), "{summary}");
    let detail = read("mlperf_log_detail.txt");
    for entry in [
        r#""key": "requested_rules", "value": "v0.5""#,
        r#""key": "effective_multi_stream_interval_ns", "value": 10000000"#,
        r#""key": "result_perf_constraints_met", "value": false"#,
        r#""key": "result_skipped_interval_count", "value": 2"#,
        r#""key": "result_late_query_count", "value": 2"#,
        r#""key": "result_allowed_late_query_count", "value": 1"#,
    ] {
        assert!(detail.contains(entry), "no {entry} in\n{detail}");
    }
    assert!(!detail.contains("early_stopping"));
}

#[test]
fn the_other_scenarios_are_judged_without_early_stopping() {
    for scenario in [Scenario::SingleStream, Scenario::Server, Scenario::Offline] {
        let request = TestSettings {
            scenario,
            server_target_qps: 100.0,
            offline_expected_qps: 1000.0,
            min_query_count: 10,
            ..settings()
        };
        let run = |rules| {
            Bench::new(TestSettings { rules, ..request.clone() }, |n, sample| after((n + 1) * MS, sample))
                .run()
        };
        let (older, newer) = (run(round("v0.7")), run(Rules::default()));
        assert!(older.is_valid(), "{scenario}: {:?}", older.reasons());
        // Ten queries are too few for early stopping, which Offline is not asked for.
        assert_eq!(newer.is_valid(), scenario == Scenario::Offline, "{scenario}");
        let result = older.performance.unwrap();
        assert!(result.intervals.is_none() && !matches!(result.figures, ScenarioFigures::MultiStream { .. }));
        assert_eq!(result.rules, round("v0.7"));
    }
}

#[test]
fn the_older_rules_know_no_tokens() {
    let request = TestSettings { use_token_latencies: true, ..settings() };
    let bench = bench(request, |_| MS);
    let error = bench.loadgen.run(&bench.sut, &bench.qsl).unwrap_err();
    let expected = format!(
        "setting rules = v0.5 is out of range: give {}, or turn use_token_latencies off: v0.5 knows no tokens",
        Rules::default()
    );
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #[test]
    fn each_interval_has_one_query_or_is_skipped(
        latencies_ns in proptest::collection::vec(prop_oneof![0_u64..12_000, 0_u64..80_000], 1..60),
        interval_us in 1_u64..20,
        min_query_count in 1_u64..200,
    ) {
        let request = TestSettings {
            multi_stream_interval_ms: interval_us as f64 / 1000.0,
            min_duration_ms: 0,
            min_query_count,
            ..settings()
        };
        let interval_ns = interval_us * 1000;
        let of_query = latencies_ns.clone();
        let latency_ns = move |query: u64| of_query[query as usize % of_query.len()];
        let bench = bench(request, latency_ns);
        let outcome = bench.run();
        let record = intervals(&outcome).record;
        prop_assert_eq!(record.query_count, min_query_count);
        prop_assert_eq!(record.query_count + record.skipped_interval_count, record.elapsed_interval_count);

        // By hand: each query at the first interval, after the last query's, by whose start the last is complete.
        let mut expected = Vec::new();
        let (mut next, mut late_count) = (0, 0);
        for query in 0..min_query_count {
            let latency_ns = latencies_ns[query as usize % latencies_ns.len()];
            expected.push(next * interval_ns);
            next += latency_ns.div_ceil(interval_ns).max(1);
            late_count += u64::from(latency_ns > interval_ns);
        }
        let issued: Vec<_> = bench.issues().iter().map(|(at_ns, _)| *at_ns).collect();
        prop_assert_eq!(&issued, &expected);
        prop_assert_eq!(record.elapsed_interval_count, expected.last().unwrap() / interval_ns + 1);
        prop_assert_eq!(record.late_query_count, late_count);
        prop_assert!(record.late_query_count - record.skipping_query_count <= 1);
        prop_assert_eq!(outcome.phases[0].issue_delay.max_ns, 0);
    }
}
