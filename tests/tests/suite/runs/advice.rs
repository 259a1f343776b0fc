//! The advice of an INVALID run, followed: the next run is VALID. On the mock plugin in virtual time.

use proctor_tests::{Bench, Run};
use serde_json::Value;

fn findings(run: &Run) -> &[Value] {
    run.result()["performance_run"]["findings"].as_array().unwrap()
}

/// The flags that follow the advice of every broken rule.
fn followed(run: &Run) -> String {
    let broken = findings(run).iter().filter(|finding| finding["standing"] == "broken");
    let flags = |finding: &Value| {
        let remedy = &finding["remedy"];
        let setting = remedy["setting"].as_str()?;
        assert!(finding["time_s"].as_f64().unwrap() > 0.0, "{finding}");
        let lifted = finding["lift"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let lifted: String = lifted.map(|setting| format!(" --set {setting}=0")).collect();
        Some(format!(" --set {setting}={}{lifted}", remedy["value"]))
    };
    broken.filter_map(flags).collect()
}

/// Runs with the flags, then with the advice of that run added.
fn run_and_follow(bench: &Bench, flags: &str) -> (Run, Run) {
    let mut runs = run_and_follow_up_to(bench, flags, 1);
    let next = runs.pop().expect("the advice was followed");
    (runs.remove(0), next)
}

/// The first run, and those that follow the advice of all before, up to a VALID one.
fn run_and_follow_up_to(bench: &Bench, flags: &str, most: usize) -> Vec<Run> {
    let mut flags = format!("--plugin mock --virtual-time --mode performance {flags}");
    let mut runs = vec![bench.run(&flags)];
    assert_eq!(runs[0].finished.code(), 1, "{}", runs[0].finished);
    while runs.len() <= most && runs[runs.len() - 1].finished.code() == 1 {
        flags = format!("{flags} {}", followed(&runs[runs.len() - 1]));
        runs.push(bench.run(&flags));
    }
    runs
}

/// Each batch takes a millisecond, and waits for 50 ms or for 64 samples.
#[test]
fn a_wait_for_full_batches_is_not_blamed_on_the_system() {
    let bench = Bench::new();
    for qps in [1000, 3000] {
        let flags = format!(
            "--scenario Server --set target_latency=10 --duration 5s --target-qps {qps} --batch-size 64 \
             --policy size-or-timeout --set batch_timeout_us=50000 --set mock.service=fixed \
             --set mock.service_us=1000"
        );
        let (first, next) = run_and_follow(&bench, &flags);
        first.assert_invalid(&[
            "set batch_timeout_us = ",
            "or try a higher rate, at which batches fill sooner",
        ]);
        next.assert_valid();
    }
}

#[test]
fn the_rate_that_is_advised_is_valid() {
    let bench = Bench::new();
    // The rate for a system in batches is a guess, after which early stopping may want more queries or a lower rate.
    for (system, most) in [
        ("--set mock.service=fixed --set mock.service_us=1000", 1),
        ("--set mock.service=log-normal --set mock.service_us=800", 1),
        ("--set mock.service=log-normal --set mock.service_us=2500 --instances 3", 1),
        (
            "--set mock.service=fixed --set mock.service_us=2000 --set mock.per_sample_us=500 --batch-size 4",
            3,
        ),
    ] {
        for qps in [2500, 1150] {
            let server = "--scenario Server --set target_latency=15 --duration 5s";
            let runs = run_and_follow_up_to(&bench, &format!("{server} --target-qps {qps} {system}"), most);
            let (first, next) = (&runs[0], &runs[runs.len() - 1]);
            first.assert_invalid(&["p99 latency ", "over the 15 ms bound: lower the rate to about "]);
            assert!(first.finished.stdout.contains("lower the rate to about"), "{}", first.finished);
            next.assert_valid();
            let rate = |run: &Run| run.result()["metric"]["value"].as_f64().unwrap();
            assert!(rate(next) > 200.0, "{system}: {} after {}", next.finished, first.finished);
        }
    }
}

#[test]
fn as_many_queries_as_advised_are_enough() {
    let bench = Bench::new();
    // Log-normal times, 0.7 % of which are over the bound, at a rate at which queries do not meet.
    let flags = "--scenario Server --target-qps 2 --set target_latency=25 --set min_query_count=700 \
                 --set min_duration=0 --set mock.service=log-normal --set mock.service_us=7200";
    let (first, next) = run_and_follow(&bench, flags);
    first.assert_invalid(&["early stopping needs ", " at this rate: set min_query_count = "]);
    next.assert_valid();
}

#[test]
fn what_kept_a_run_short_is_set_as_advised() {
    let bench = Bench::new();
    let system = "--duration 5s --set mock.service=fixed --set mock.service_us=1000";
    for (flags, reason) in [
        ("--scenario SingleStream --set target_latency=100", "set single_stream_expected_latency_ns = "),
        ("--scenario Offline --set target_qps=50", "set offline_expected_qps = "),
        ("--scenario Server --target-qps 200 --set max_query_count=900", "set max_query_count = "),
        ("--scenario Server --target-qps 200 --set max_duration=900", "set max_duration_ms = "),
    ] {
        let (first, next) = run_and_follow(&bench, &format!("{system} {flags}"));
        first.assert_invalid(&[reason, "the run took "]);
        next.assert_valid();
    }
}

#[test]
fn a_limit_that_ends_a_run_is_named_and_one_in_the_way_is_lifted() {
    let bench = Bench::new();
    let system = "--set mock.service=fixed --set mock.service_us=1000";
    let server = "--scenario Server --duration 1s --target-qps 200 --set max_query_count=90";
    let ended = bench.run(&format!("--plugin mock --virtual-time --mode performance {system} {server}"));
    ended.assert_invalid(&["the run issued 90 queries of at least 662, ended by max_query_count = 90: "]);
    let named = findings(&ended).iter().find(|finding| finding["rule"] == "min_query_count").unwrap();
    assert_eq!(named["ended_by"], serde_json::json!({"setting": "max_query_count", "value": 90}));

    // Early stopping needs 64 queries.
    let stream =
        "--scenario SingleStream --set min_query_count=50 --set min_duration=0 --set max_query_count=60";
    let (first, next) = run_and_follow(&bench, &format!("{system} {stream}"));
    first.assert_invalid(&["set min_query_count = 64; set max_query_count = 0, which is no limit"]);
    next.assert_valid();
}

#[test]
fn a_run_ends_where_its_samples_begin_to_fail_and_virtual_time_stands_still() {
    // A hundred queries take time, and all others fail at once.
    let run = Bench::new().run(
        "--plugin mock --virtual-time --mode performance --scenario SingleStream --set mock.service=fixed \
         --set mock.fail_instance=1 --set mock.fail_after=100",
    );
    run.assert_invalid(&["samples that fail take no virtual time, so find out why they fail"]);
    assert!(run.text("mlperf_log_detail.txt").contains("no virtual time passed during"), "{}", run.finished);
}

#[test]
fn the_memory_for_logged_responses_can_be_raised_as_its_error_says() {
    let bench = Bench::new();
    let flags = "--plugin mock --virtual-time --mode performance --set mock.service=fixed --set mock.service_us=1000 \
                 --duration 1s --set accuracy_log_probability=1";
    let lost = |bytes: u64| {
        let run = bench.run(&format!("{flags} --set response_arena_bytes={bytes}"));
        run.text("mlperf_log_detail.txt")
            .contains("did not fit into the accuracy log: raise response_arena_bytes")
    };
    assert!(lost(100) && !lost(1 << 20));
}

#[test]
fn a_limit_on_outstanding_queries_is_named_before_any_rate() {
    let bench = Bench::new();
    let server = "--scenario Server --set target_latency=15 --duration 5s --set mock.service=fixed \
                  --set mock.service_us=1000";
    // A few queries, the last of them one too many, reveal nothing about the rate.
    for (qps, limit) in [(500, 1), (2500, 4), (2500, 1000)] {
        let flags = format!("{server} --target-qps {qps} --set server_max_async_queries={limit}");
        let runs = run_and_follow_up_to(&bench, &flags, 2);
        let (first, next) = (&runs[0], &runs[runs.len() - 1]);
        let named = format!("server_max_async_queries = {limit}");
        for reason in first.reasons().lines() {
            let advice = reason.find(": ").unwrap_or_else(|| panic!("no advice: {reason}"));
            assert!(reason.find(&named).is_some_and(|place| place < advice), "{reason}");
        }
        next.assert_valid();
        let rate = next.result()["metric"]["value"].as_f64().unwrap();
        assert!(rate > 400.0, "{rate}: {}", next.finished);
    }
}

#[test]
fn a_valid_run_says_what_limits_it() {
    let flags = "--plugin mock --virtual-time --mode performance --scenario Server --set target_latency=10 \
                 --duration 5s --set mock.service=fixed --set mock.service_us=1000";
    let bench = Bench::new();
    let slow = bench.run(&format!("{flags} --target-qps 100"));
    slow.assert_valid();
    assert!(
        slow.finished.stdout.contains("  limited by  the rate asked for: 100 queries/s; "),
        "{}",
        slow.finished
    );
    let fast = bench.run(&format!("{flags} --target-qps 740"));
    fast.assert_valid();
    assert!(fast.finished.stdout.contains("  limited by  p99 latency "), "{}", fast.finished);
}

#[test]
fn a_peak_says_what_is_missed_above_it_and_sends_below_it() {
    let bench = Bench::new();
    let search = "--plugin mock --virtual-time --scenario Server --mode FindPeakPerformance --target-qps 100 \
                  --set mock.service=fixed --set mock.service_us=1000";
    let full = bench.run(&format!("{search} --duration 5s --set queue_capacity=4"));
    full.assert_valid();
    assert!(
        full.finished.stdout.contains("  limited by  failed samples at the next rate, "),
        "{}",
        full.finished
    );
    assert!(findings(&full).iter().any(|finding| finding["rule"] == "next_rate"), "{}", full.finished);

    let short =
        bench.run(&format!("{search} --duration 500ms --set min_query_count=700 --set max_duration_ms=1000"));
    short.assert_invalid(&["early stopping needs ", "make a run at a rate below it with --mode performance"]);
    assert!(!short.finished.stdout.contains("set min_query_count"), "{}", short.finished);
}

/// At each lower rate a run of the same time has fewer queries, and early stopping wants more even if none is late.
#[test]
fn too_few_queries_at_the_peak_are_not_sent_to_a_lower_rate() {
    let bench = Bench::new();
    let system = "--plugin mock --virtual-time --scenario Server --set target_latency=20000 --duration 600s \
                  --set mock.service=fixed --set mock.service_us=1500000 --target-qps 0.05";
    let search =
        format!("{system} --mode FindPeakPerformance --set server_find_peak_qps_decimals_of_precision=3");
    let short = bench.run(&format!("{search} --set min_query_count=100"));
    short.assert_invalid(&["early stopping needs ", "set min_query_count = "]);
    assert!(!short.finished.stdout.contains("make a run at a rate below"), "{}", short.finished);

    let find_max = |count: u64| {
        bench.host(&format!("find-max --output find-max-{count} {system} --set min_query_count={count}"))
    };
    let short = find_max(100);
    assert_eq!(short.code(), 1, "{short}");
    assert!(short.stdout.contains("even if none is over the bound: set min_query_count = 459"), "{short}");
    let found = find_max(459);
    assert_eq!(found.code(), 0, "{found}");
}

#[test]
fn misbehaviour_comes_with_advice_in_the_printed_verdict() {
    let flags = "--plugin faulty --set faulty.fault=complete-twice --set issue=true --mode performance --duration 50ms";
    let run = Bench::new().run(flags);
    run.assert_invalid(&["1 sample completed more than once: sample 5"]);
    assert!(run.finished.stdout.contains(": complete each sample once"), "{}", run.finished);
    assert_eq!(findings(&run).last().unwrap()["rule"], "duplicate_samples");
}
