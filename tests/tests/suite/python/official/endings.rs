//! Ends of a run by the official LoadGen when something goes wrong. It cannot be told to stop.

use proctor_tests::{INTERRUPTED, Run};

use super::{bench, run};

#[test]
fn a_run_that_is_too_short_is_invalid() {
    let Some(bench) = bench() else { return };
    let flags = "--engine official --plugin mock --scenario Server --mode performance --target-qps 100 \
                 --duration 200ms --set min_query_count=10 --set floor=false --set server_target_latency_ns=1";
    bench.run(flags).assert_invalid(&["latency"]);
}

#[test]
fn a_sample_that_fails_makes_the_run_invalid() {
    for way in ["issue=true", "issue=false"] {
        let Some(bench) = bench() else { return };
        let flags =
            format!("--plugin faulty --set faulty.fault=sample-failure --set {way} --mode performance");
        run(&bench, "SingleStream", &flags).assert_invalid(&["1 sample failed: sample 5"]);
    }
}

#[test]
fn an_error_of_a_call_makes_the_run_invalid() {
    for way in ["issue=true", "issue=false"] {
        let Some(bench) = bench() else { return };
        let flags = format!("--plugin faulty --set faulty.fault=error --set {way} --mode performance");
        run(&bench, "SingleStream", &flags).assert_invalid(&["sample failed: sample 5"]);
    }
}

#[test]
fn a_sample_that_is_never_completed_hangs_nothing() {
    for fault in ["never-complete --set issue=true", "hang --set issue=false"] {
        let Some(bench) = bench() else { return };
        let flags =
            format!("--plugin faulty --set faulty.fault={fault} --set watchdog_ms=400 --mode performance");
        let run = run(&bench, "SingleStream", &flags);
        run.assert_invalid(&["1 sample was never completed: sample 5"]);
        assert!(!run.samples().is_empty(), "{}", run.finished);
    }
}

#[test]
fn a_sample_that_is_completed_twice_or_does_not_exist_is_kept_from_loadgen() {
    for (fault, told) in
        [("complete-twice", "completed more than once"), ("unknown-id", "unknown response id")]
    {
        let Some(bench) = bench() else { return };
        let flags = format!("--plugin faulty --set faulty.fault={fault} --set issue=true --mode performance");
        let run = run(&bench, "SingleStream", &flags);
        run.assert_invalid(&[told]);
        super::assert_no_errors(&run, "mlperf_log_detail.txt");
    }
}

#[test]
fn a_crash_of_the_plugin_leaves_its_report() {
    let Some(bench) = bench() else { return };
    let flags = "--plugin faulty --set faulty.fault=crash --set issue=true --mode performance";
    let run = run(&bench, "SingleStream", flags);
    run.finished.assert_error(70, &["plugin faulty crashed with SIGSEGV"]);
    assert!(run.text("crash.txt").contains("crashed with SIGSEGV"));
}

#[test]
fn an_interrupted_run_is_invalid_and_kept() {
    for scenario in ["Server --target-qps 200", "SingleStream --set single_stream_expected_latency_ns=1e6"] {
        let Some(bench) = bench() else { return };
        let flags = format!(
            "--engine official --plugin mock --mode performance --scenario {scenario} --duration 10m"
        );
        let (mut started, output) = bench.start_run(&flags);
        started.wait_for_samples(&output.with_added_extension("partial"));
        started.signal("INT");
        let run = Run::new(started.finish(), output);
        assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
        assert!(run.is_whole(), "{}", run.finished);
        assert_eq!(run.result()["verdict"]["valid"], false);
        assert_eq!(run.result()["verdict"]["interrupted"], true);
        assert!(run.finished.stdout.contains("INVALID (interrupted)"), "{}", run.finished);
        assert!(!run.samples().is_empty(), "{}", run.finished);
    }
}

#[test]
fn an_interruption_while_a_sample_hangs_ends_the_run() {
    let Some(bench) = bench() else { return };
    let flags = "--engine official --plugin faulty --set issue=false --set faulty.fault=hang --mode performance \
                 --duration 10m --set single_stream_expected_latency_ns=1e6";
    let (mut started, output) = bench.start_run(flags);
    started.wait_for_samples(&output.with_added_extension("partial"));
    started.signal("INT");
    started.wait_until("it waits", |started| started.stderr().contains("press Ctrl-C again to give them up"));
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    assert!(run.reasons().contains("never completed"), "{}", run.reasons());
}
