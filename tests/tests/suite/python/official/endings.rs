//! Ends of a run by the official LoadGen when something goes wrong. It cannot be told to stop.

use proctor_tests::{INTERRUPTED, Run};

use super::{bench, run};

/// A module around the installed one, whose every test logs an error of its own at its end.
const WITH_AN_ERROR: &str = r#"
import importlib.machinery, importlib.util, os, sys

us, here = sys.modules[__name__], os.path.dirname(__file__)
paths = [path for path in sys.path if os.path.realpath(path) != os.path.realpath(here)]
spec = importlib.machinery.PathFinder.find_spec(__name__, paths)
official = importlib.util.module_from_spec(spec)
spec.loader.exec_module(official)
# The extension puts itself there.
sys.modules[__name__] = us
globals().update({name: value for name, value in vars(official).items() if not name.startswith("__")})

def StartTestWithLogSettings(sut, qsl, settings, logs, audit):
    official.StartTestWithLogSettings(sut, qsl, settings, logs, audit)
    with open(os.path.join(os.fsdecode(logs.log_output.outdir), "mlperf_log_detail.txt"), "a") as log:
        print(':::MLLOG {"key": "error_runtime", "value": "a token is lost", "metadata": {"is_error": true}}', file=log)
"#;

#[test]
fn a_run_that_is_too_short_is_invalid() {
    let Some(bench) = bench() else { return };
    let flags = "--engine official --plugin mock --scenario Server --mode performance --target-qps 100 \
                 --duration 200ms --set min_query_count=10 --set floor=false --set server_target_latency_ns=1";
    bench.run(flags).assert_invalid(&["latency"]);
}

#[test]
fn an_error_in_the_log_makes_the_run_invalid() {
    let Some(bench) = bench() else { return };
    bench.write("other/mlperf_loadgen.py", WITH_AN_ERROR);
    for flags in ["--mode performance", ""] {
        let flags = format!("--plugin cpu-rnn --loadgen ./other {flags}");
        let run = run(&bench, "Offline", &flags);
        run.assert_invalid(&["the official LoadGen logged an error, error_runtime: a token is lost"]);
        let log = run.text("mlperf_log_detail.txt");
        assert!(log.contains("\"result_validity\", \"value\": \"VALID\""), "{log}");
        let test = &run.result()["performance_run"];
        let findings = test["findings"].as_array().unwrap_or_else(|| panic!("{test}"));
        assert!(findings.iter().any(|finding| finding["rule"] == "engine_error"), "{findings:?}");
    }
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
