//! A plugin that breaks the rules while it is measured: the run is INVALID or ends with a clear error, the sample is
//! named, what was recorded is on disk, and the program comes to its end.

use proctor_tests::{Bench, Run};

/// The plugin's words in every error and panic.
const ASKED_FOR: &str = "this was asked for by option fault";

/// Latency of a sample that was never completed.
const NOT_COMPLETED: u64 = u64::MAX;

/// Set in the latency of a sample that failed.
const FAILED_BIT: u64 = 1 << 63;

/// Who completes the samples: the host, batch by batch, or the plugin, query by query.
#[derive(Clone, Copy)]
enum Way {
    Execute,
    Issue,
}

/// A short SingleStream run in which sample 5 meets its fault.
fn run(way: Way, fault: &str) -> Run {
    run_with(way, fault, "--mode performance --duration 50ms")
}

fn run_with(way: Way, fault: &str, flags: &str) -> Run {
    let issue = matches!(way, Way::Issue);
    Bench::new().run(&format!(
        "--plugin faulty --set faulty.fault={fault} --set issue={issue} --set watchdog_ms=400 {flags}"
    ))
}

/// Asserts that exactly sample 5 failed, and all others went well.
fn assert_only_sample_5_failed(run: &Run) {
    let samples = run.samples();
    assert!(samples.len() >= 100, "{} samples: {}", samples.len(), run.finished);
    for (number, (_, latency_ns)) in samples.iter().enumerate() {
        let failed = latency_ns & FAILED_BIT != 0;
        assert_eq!(failed, number == 5, "sample {number}: {}", run.finished);
    }
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : INVALID"));
}

/// Asserts that all samples went well: what was wrong came on top.
fn assert_all_samples_completed(run: &Run) {
    let samples = run.samples();
    assert!(samples.len() >= 100, "{} samples: {}", samples.len(), run.finished);
    assert!(samples.iter().all(|(_, latency_ns)| latency_ns & FAILED_BIT == 0));
}

/// Asserts that the run ended at sample 5, which was never completed, and says so.
fn assert_ended_at_sample_5(run: &Run) {
    assert_latencies_end_at_sample_5(run);
    assert!(run.text("mlperf_log_detail.txt").contains("sample 5"), "{}", run.finished);
}

/// Asserts that the recorded samples are five that completed and one that did not.
fn assert_latencies_end_at_sample_5(run: &Run) {
    let latencies: Vec<_> = run.samples().into_iter().map(|(_, latency_ns)| latency_ns).collect();
    assert_eq!(latencies.len(), 6, "{}", run.finished);
    assert!(latencies[..5].iter().all(|latency_ns| latency_ns & FAILED_BIT == 0));
    assert_eq!(latencies[5], NOT_COMPLETED);
}

#[test]
fn without_a_fault_it_is_valid() {
    for way in [Way::Execute, Way::Issue] {
        assert_all_samples_completed(run(way, "none").assert_valid());
    }
}

#[test]
fn an_error_of_execute() {
    let run = run(Way::Execute, "error");
    run.assert_invalid(&["1 sample failed: sample 5 (status 1)", ASKED_FOR]);
    assert_only_sample_5_failed(&run);
}

#[test]
fn an_error_of_issue() {
    let run = run(Way::Issue, "error");
    run.assert_invalid(&["1 sample failed: sample 5 (status 1)", "plugin faulty: issue failed", ASKED_FOR]);
    assert_only_sample_5_failed(&run);
}

#[test]
fn a_panic_is_caught() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "panic");
        run.assert_invalid(&["1 sample failed: sample 5", "panicked", ASKED_FOR]);
        assert_only_sample_5_failed(&run);
    }
}

#[test]
fn a_sample_that_fails() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "sample-failure");
        run.assert_invalid(&["1 sample failed: sample 5 (status 1)"]);
        assert_only_sample_5_failed(&run);
        if matches!(way, Way::Execute) {
            // Its words are shown after the test.
            let stderr = &run.finished.stderr;
            assert!(stderr.contains("failed (FAILED): as the option says"), "{stderr}");
        }
    }
}

#[test]
fn an_output_of_the_wrong_size() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "wrong-size");
        run.assert_invalid(&["sample 5", "36 bytes", "40"]);
        assert_only_sample_5_failed(&run);
    }
}

#[test]
fn an_output_of_the_wrong_size_does_not_reach_the_accuracy_log() {
    for way in [Way::Execute, Way::Issue] {
        let run = run_with(way, "wrong-size", "--mode accuracy");
        run.assert_invalid(&["36 bytes"]);
        let log =
            proctor_accuracy::read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
        assert_eq!(log.len(), 599, "{}", run.finished);
        assert!(log.iter().all(|record| record.data.len() == 40));
        assert_eq!(run.result()["accuracy"]["missing_samples"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn an_unknown_id() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "unknown-id");
        run.assert_invalid(&[
            "1 sample completed with an unknown response id: response id 0xffffffffffffffff",
        ]);
        assert_all_samples_completed(&run);
    }
}

#[test]
fn a_double_completion() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "complete-twice");
        run.assert_invalid(&["1 sample completed more than once: sample 5 (response id "]);
        assert_all_samples_completed(&run);
    }
}

#[test]
fn a_completion_after_the_phase() {
    // Six phases of a hundred samples each; sample 5 of the first is completed once more in the second.
    for way in [Way::Execute, Way::Issue] {
        let run =
            run_with(way, "late-complete", "--mode accuracy --set performance_sample_count_override=100");
        run.assert_invalid(&["1 sample completed after the end of their phase: sample 5 (response id "]);
        let log =
            proctor_accuracy::read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
        assert_eq!(log.len(), 600);
    }
}

#[test]
fn a_sample_that_is_never_completed() {
    let run = run(Way::Issue, "never-complete");
    run.assert_invalid(&["1 sample was never completed: sample 5 (library index "]);
    assert_ended_at_sample_5(&run);
}

#[test]
fn a_sample_of_offline_that_is_never_completed() {
    let run = run_with(
        Way::Issue,
        "never-complete",
        "--mode performance --scenario Offline --set min_query_count=1000",
    );
    run.assert_invalid(&["1 sample was never completed: sample 5 (library index "]);
    let samples = run.samples();
    assert!(samples.len() >= 1000);
    assert_eq!(samples.iter().filter(|(_, latency_ns)| *latency_ns == NOT_COMPLETED).count(), 1);
}

/// The accuracy phase is the only one, and none of its times counts as performance.
#[test]
fn a_test_of_both_that_ends_in_its_accuracy_phase() {
    let run =
        run_with(Way::Issue, "never-complete", "--mode SubmissionRun --duration 50ms --set floor=false");
    run.assert_invalid(&["1 sample was never completed: sample 5", "there was no performance phase"]);
    let result = run.result();
    let part = &result["performance_run"];
    let counts =
        |of: &serde_json::Value| ["issued_query_count", "missing_sample_count"].map(|key| of[key].as_u64());
    assert_eq!(counts(part), [Some(0), Some(0)], "{part}");
    assert_eq!(counts(&part["accuracy_phases"]), [Some(6), Some(1)], "{part}");
    for nothing in [&result["metric"], &part["figures"], &part["noise"], &part["processor_energy"]["joules"]]
    {
        assert!(nothing.is_null(), "{nothing}: {}", run.finished);
    }
    assert!(run.samples().is_empty(), "{}", run.finished);
    for row in ["  length ", "  metric ", "  latency "] {
        assert!(!run.finished.stdout.contains(row), "{}", run.finished);
    }
}

#[test]
fn an_execute_that_hangs() {
    let run = run(Way::Execute, "hang");
    run.assert_invalid(&[
        "1 sample was never completed: sample 5 (library index ",
        "instance 0 did not return",
    ]);
    assert_ended_at_sample_5(&run);
}

#[test]
fn an_execute_that_hangs_in_the_accuracy_run_ends_everything() {
    let run = run_with(Way::Execute, "hang", "--duration 50ms");
    run.assert_invalid(&[
        "accuracy run: 1 sample was never completed: sample 5",
        "there was no performance run",
    ]);
    assert!(run.files().contains(&"accuracy/samples.bin".to_owned()));
}

#[test]
fn an_issue_that_hangs() {
    // The samples are written twice a second: long before the watchdog ends the program.
    let flags =
        "--mode performance --plugin faulty --set faulty.fault=hang --set issue=true --set watchdog_ms=3000";
    let run = Bench::new().run(flags);
    run.finished.assert_error(3, &["plugin faulty hangs", "take a query (issue)", "watchdog_ms = 3000"]);
    assert!(!run.is_whole());
    assert!(run.text("error.txt").contains("hangs"));
    assert_latencies_end_at_sample_5(&run);
}

#[test]
fn a_crash_leaves_a_report_and_the_samples() {
    for way in [Way::Execute, Way::Issue] {
        let call = if matches!(way, Way::Execute) { "execute" } else { "issue" };
        // The samples are written twice a second; this is after three seconds.
        let flags =
            "--mode performance --scenario Server --target-qps 500 --duration 60s --set faulty.after=1500";
        let run = run_with(way, "crash", flags);
        run.finished.assert_error(70, &["plugin faulty crashed with SIGSEGV", call]);
        assert!(!run.is_whole());
        let report = run.text("crash.txt");
        assert!(report.contains("plugin faulty crashed with SIGSEGV") && report.contains(call), "{report}");
        let samples = run.samples();
        assert!((1..=1501).contains(&samples.len()), "{} samples", samples.len());
        assert!(!run.folder().join("result.json").exists());
    }
}

#[test]
fn a_query_that_takes_long_inside_issue_is_no_hang_while_samples_complete() {
    // Offline is one query: 100 samples of 20 ms each, all completed before the call returns.
    let flags = "--plugin faulty --scenario Offline --mode performance --set issue=true --set watchdog_ms=800 \
                 --set faulty.fault=slow --set faulty.after=0 --set min_query_count=100 \
                 --set offline_expected_qps=10 --set min_duration_ms=0";
    let bench = Bench::new();
    let run = bench.run(flags);
    assert_eq!(run.assert_valid().samples().len(), 100);
}

#[test]
fn a_flood_of_messages_is_cut_and_counted() {
    for way in [Way::Execute, Way::Issue] {
        let run = run(way, "log-flood");
        let stderr = &run.assert_valid().finished.stderr;
        let written = stderr.lines().filter(|line| line.contains("line ")).count();
        // A second may end within the flood.
        assert!((1000..=2000).contains(&written), "{written} lines");
        let told = format!("{} lines were left out: more than 1000 in a second", 5000 - written);
        assert!(stderr.contains(&told), "{stderr}");
    }
}

#[test]
fn a_panic_where_something_ends_is_named_and_keeps_the_results() {
    let run = run(Way::Execute, "panic-at-end");
    let stderr = &run.finished.stderr;
    for place in
        ["release_samples", "the drop of an instance", "the drop of the model", "the drop of the plugin"]
    {
        assert!(stderr.contains(&format!("{place}: {ASKED_FOR}")), "{place}: {stderr}");
    }
    run.assert_invalid(&["release_samples: this was asked for by option fault"]);
    assert_all_samples_completed(&run);
}
