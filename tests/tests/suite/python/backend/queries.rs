//! Classes that take whole queries.

use proctor_tests::{Bench, Run, SCENARIOS, short};

use super::{backend, bench};

fn run(bench: &Bench, fault: &str, scenario: &str, flags: &str) -> Run {
    let file = backend("queries.py");
    bench.run(&format!(
        "--benchmark digits-mlp --plugin {file} --set queries.fault={fault} --mode performance {} {flags}",
        short(scenario)
    ))
}

#[test]
fn queries_are_completed_in_each_scenario_from_any_thread() {
    for scenario in SCENARIOS {
        let Some(bench) = bench() else { return };
        for fault in ["none", "inline"] {
            run(&bench, fault, scenario, "").assert_valid();
        }
    }
}

#[test]
fn what_fails_is_failed_and_named() {
    let Some(bench) = bench() else { return };
    for (fault, text) in [
        ("raise", "RuntimeError: the device is gone (at queries.py:"),
        ("interrupt", "KeyboardInterrupt (at faults.py:"),
        ("exit", "SystemExit: 3 (at faults.py:"),
        ("drop", "let go of the query without completing this sample"),
        ("fail", "the device is busy"),
        ("shape", "\"logits\" as float32[1, 7] instead of float32[1, 10]"),
    ] {
        run(&bench, fault, "SingleStream", "").assert_invalid(&[text]);
    }
}

#[test]
fn a_sample_is_completed_once() {
    let Some(bench) = bench() else { return };
    let run = run(&bench, "twice", "SingleStream", "");
    run.assert_valid();
    assert!(run.finished.stderr.contains("was completed before"), "{}", run.finished);
}

#[test]
fn a_query_that_is_never_completed_hangs_nothing() {
    let Some(bench) = bench() else { return };
    for fault in ["never_late", "callback"] {
        let run = run(&bench, fault, "SingleStream", "--set watchdog_ms=400");
        run.assert_invalid(&["1 sample was never completed"]);
    }
    let run = run(&bench, "never", "SingleStream", "--set watchdog_ms=400");
    run.finished.assert_error(3, &["hangs: it was asked to warm up"]);
}
