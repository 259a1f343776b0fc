//! The rules before v5.0: MultiStream at fixed intervals, and several runs of Server.

use proctor_loadgen::Rules;
use proctor_tests::{Bench, Run};
use serde_json::Value;

/// Eight samples every 50 ms; each takes a fixed time, one after the other.
const MULTI_STREAM: &str = "--plugin mock --scenario MultiStream --virtual-time --mode performance \
                            --set rules=v0.5 --set mock.service=fixed";

fn intervals(run: &Run) -> &Value {
    &run.result()["performance_run"]["figures"]["intervals"]
}

#[test]
fn a_system_that_keeps_up_with_the_intervals_is_valid() {
    let bench = Bench::new();
    let run = bench.run(&format!("{MULTI_STREAM} --set mock.service_us=6000"));
    let result = run.assert_valid().result();
    assert_eq!((&result["rules"], &result["settings"]["rules"]["value"]), (&"v0.5".into(), &"v0.5".into()));
    assert_eq!(result["metric"]["value"], 8.0);
    assert_eq!(result["metric"]["unit"], "streams");
    assert_eq!(intervals(&run)["interval_count"], 100);
    assert_eq!(intervals(&run)["skipped_interval_count"], 0);
    // 100 queries; the last one leaves at 99 times 50 ms and takes eight times 6 ms.
    assert_eq!(result["performance_run"]["duration_ns"], 99 * 50_000_000_u64 + 48_000_000);
    for line in ["Rules                           : v0.5", "Skipped intervals               : 0"] {
        assert!(run.text("mlperf_log_summary.txt").lines().any(|found| found == line), "{line}");
    }
    let instants: Vec<_> = run.samples().into_iter().map(|(scheduled_ns, _)| scheduled_ns).collect();
    assert!(instants.into_iter().eq((0..800).map(|sample| sample / 8 * 50_000_000)));
}

#[test]
fn a_system_that_does_not_keep_up_skips_intervals_and_is_invalid() {
    let bench = Bench::new();
    let run = bench.run(&format!("{MULTI_STREAM} --set mock.service_us=7000"));
    run.assert_invalid(&[
        "100 of 100 queries caused skipped intervals or took longer than the interval of 50 ms",
    ]);
    assert_eq!(intervals(&run)["interval_count"], 199);
    assert_eq!(intervals(&run)["skipped_interval_count"], 99);
    assert_eq!(intervals(&run)["late_query_count"], 100);
    assert!(run.finished.stdout.contains("99 of 199 intervals of 50.00 ms skipped"), "{}", run.finished);
    // Seven streams are few enough, and so is a longer interval.
    for fewer in ["multi_stream_samples_per_query=7", "multi_stream_interval_ms=56"] {
        bench.run(&format!("{MULTI_STREAM} --set mock.service_us=7000 --set {fewer}")).assert_valid();
    }
}

#[test]
fn under_the_default_rules_there_are_no_intervals() {
    let bench = Bench::new();
    let run = bench.run(&format!("{MULTI_STREAM} --set mock.service_us=7000 --set rules=v5.0"));
    let result = run.assert_valid().result();
    assert_eq!(result["rules"], "v5.0");
    assert!(intervals(&run).is_null());
    let summary = run.text("mlperf_log_summary.txt");
    assert!(summary.contains("Early stopping satisfied: Yes") && !summary.contains("Rules"), "{summary}");
    assert!(!run.text("mlperf_log_detail.txt").contains("rules"));
}

#[test]
fn the_share_of_late_queries_is_that_of_the_percentile() {
    let bench = Bench::new();
    let flags = "--plugin mock --scenario MultiStream --virtual-time --mode performance --set rules=v0.7 \
                 --batch-size 8 --set mock.service=log-normal --set mock.service_us=20000 \
                 --set mock.service_sigma=0.4 --set min_query_count=20000";
    let runs = ["0.99", "0.97"].map(|percentile| {
        let setting = format!("--set multi_stream_target_latency_percentile={percentile}");
        bench.run(&format!("{flags} {setting}"))
    });
    // A logarithm of 2.5 over 0.4 standard deviations: about 1.1 % take longer than the interval.
    let late_counts = runs.each_ref().map(|run| intervals(run)["late_query_count"].as_u64());
    assert_eq!(late_counts[0], late_counts[1]);
    assert!(late_counts[0].is_some_and(|count| (201..=600).contains(&count)), "{late_counts:?}");
    runs[0].assert_invalid(&["queries caused skipped intervals"]);
    runs[1].assert_valid();
    for run in &runs {
        let count = |key: &str| intervals(run)[key].as_u64();
        let issued = run.result()["performance_run"]["issued_query_count"].as_u64();
        let sum = issued.zip(count("skipped_interval_count")).map(|(issued, skipped)| issued + skipped);
        assert_eq!(count("interval_count"), sum);
    }
}

#[test]
fn in_real_time_the_intervals_add_up() {
    let bench = Bench::new();
    // The system may be slow: whether it keeps up is not what this is about.
    let run = bench.run(
        "--plugin mock --scenario MultiStream --mode performance --set rules=v0.5 --set min_query_count=50 \
         --set min_duration_ms=0 --set multi_stream_interval_ms=2",
    );
    let count = |key: &str| intervals(&run)[key].as_u64().expect("it is a count");
    assert_eq!(count("interval_count"), 50 + count("skipped_interval_count"));
    let instants: Vec<_> = run.samples().into_iter().map(|(scheduled_ns, _)| scheduled_ns).collect();
    assert_eq!(instants.len(), 400);
    assert!(instants.iter().all(|scheduled_ns| scheduled_ns % 2_000_000 == 0));
    assert!(instants.chunks(8).collect::<Vec<_>>().windows(2).all(|queries| queries[0][7] < queries[1][0]));
}

const SERVER: &str = "--plugin mock --scenario Server --virtual-time --set rules=v0.5 --target-qps 500 \
                      --set mock.service=fixed --set mock.service_us=500 --set server_run_count=3";

#[test]
fn the_lowest_of_several_server_runs_is_the_result_and_all_are_listed() {
    let run = Bench::new().run(&format!("{SERVER} --mode performance"));
    let result = run.assert_valid().result();
    let runs = result["performance_runs"].as_array().expect("there are several");
    assert_eq!(runs.len(), 3);
    let rate = |run: &Value| run["figures"]["scheduled_samples_per_second"].as_f64();
    let lowest = runs.iter().filter_map(rate).fold(f64::INFINITY, f64::min);
    assert_eq!(result["metric"]["value"].as_f64(), Some(lowest));
    assert_eq!(rate(&result["performance_run"]), Some(lowest));
    assert_eq!(result["metric"]["name"], "rate of scheduled samples, lowest of 3 runs");
    for number in 1..=3 {
        let summary = run.text(&format!("run_{number}/mlperf_log_summary.txt"));
        assert!(summary.contains("Result is : VALID") && summary.contains("Rules  "), "{summary}");
    }
    assert!(!run.files().contains(&"mlperf_log_summary.txt".to_owned()));
}

#[test]
fn an_invalid_server_run_ends_the_series() {
    let run = Bench::new().run(&format!("{SERVER} --mode performance --set server_target_latency_ns=400000"));
    run.assert_invalid(&["run 1 of 3: p99 latency "]);
    assert_eq!(run.result()["performance_runs"].as_array().map(Vec::len), Some(1), "only one was made");
    assert!(run.finished.stdout.contains("1 made, 0 of them VALID"), "{}", run.finished);
    assert!(run.files().contains(&"run_1/samples.bin".to_owned()));
    assert!(!run.files().iter().any(|name| name.starts_with("run_2")));
}

#[test]
fn a_submission_of_several_runs_scores_the_answers_of_the_first() {
    let run = Bench::new().run(&format!("{SERVER} --mode SubmissionRun"));
    let result = run.result();
    assert_eq!(result["accuracy"]["sample_count"], 600);
    let modes: Vec<_> =
        result["performance_runs"].as_array().into_iter().flatten().map(|run| &run["mode"]).collect();
    assert_eq!(modes, ["SubmissionRun", "PerformanceOnly", "PerformanceOnly"]);
}

#[test]
fn the_official_preset_is_that_of_the_rules() {
    let explained = Bench::new().host("explain --preset official --scenario Server --set rules=v0.5").stdout;
    let value = |key: &str| {
        let row = explained.lines().find(|line| line.split_whitespace().next() == Some(key));
        row.and_then(|row| row.split_whitespace().nth(1)).map(str::to_owned)
    };
    for (key, expected) in [
        ("rules", "v0.5"),
        ("server_run_count", "5"),
        ("min_query_count", "270336"),
        ("min_duration_ms", "60000"),
        ("server_target_latency_percentile", "0.99"),
    ] {
        assert_eq!(value(key).as_deref(), Some(expected), "{key}");
    }
    assert!(explained.contains("length of the run: official\n"), "{explained}");
}

#[test]
fn unknown_rules_are_refused() {
    let refused = Bench::new().host("run --set rules=v0.8");
    let expected = format!("rules = v0.8: give one of {}", Rules::NAMES.join(", "));
    refused.assert_error(2, &[&expected]);
}
