//! Plugins that are classes in Python.

mod examples;
mod queries;
mod refused;

use proctor_test_needs::NUMPY_PACKAGE;
use proctor_tests::{Bench, Run, SCENARIOS, short, workspace};

use super::bench_with;

/// Returns a bench whose programs find a Python with NumPy.
fn bench() -> Option<Bench> {
    bench_with(&[NUMPY_PACKAGE])
}

/// Returns the path of a backend of the tests.
fn backend(name: &str) -> String {
    workspace().join("host/python/tests/backends").join(name).display().to_string()
}

/// Runs the backend that has a fault, or none.
fn run_with(bench: &Bench, fault: &str, flags: &str) -> Run {
    let file = backend("faulty.py");
    let flags = format!(
        "--benchmark digits-mlp --plugin {file} --set faulty.fault={fault} --mode performance {flags}"
    );
    bench.run(&flags)
}

#[test]
fn a_class_is_a_plugin_in_each_scenario() {
    for scenario in SCENARIOS {
        let Some(bench) = bench() else { return };
        for flags in ["", "--set instances=2", "--set batch_size=7"] {
            let run = run_with(&bench, "none", &format!("{} {flags}", short(scenario)));
            run.assert_valid();
            let plugin = &run.result()["plugin"];
            assert_eq!((&plugin["name"], &plugin["version"]), (&"faulty".into(), &"2.1".into()));
            assert_eq!(plugin["source"], backend("faulty.py"));
        }
    }
}

#[test]
fn answers_may_be_written_or_returned() {
    let Some(bench) = bench() else { return };
    let digits = |fault: &str| {
        let file = backend("faulty.py");
        let run = bench.run(&format!(
            "--benchmark digits-mlp --plugin {file} --set faulty.fault={fault} --mode accuracy {}",
            short("Offline")
        ));
        run.text("accuracy/mlperf_log_accuracy.json")
    };
    assert_eq!(digits("none"), digits("returned"));
}

#[test]
fn a_wrong_answer_fails_its_samples_and_says_what_to_do() {
    let Some(bench) = bench() else { return };
    for (fault, texts) in [
        (
            "shape",
            ["\"logits\" as float32[1, 7] instead of float32[1, 10]", "the first dimension is the samples"],
        ),
        ("dtype", ["\"logits\" as float64[1, 10] instead of float32[1, 10]", ".astype(numpy.float32)"]),
        ("list", ["\"logits\" as float64[1, 10]", ".astype(numpy.float32)"]),
        ("name", ["the output \"digit\"", "the model has \"logits\""]),
        ("write", ["read-only", "faulty.py:"]),
    ] {
        let run = run_with(&bench, fault, &short("SingleStream"));
        run.assert_invalid(&["samples failed"]);
        let failures = failures(&run);
        assert!(texts.iter().all(|text| failures.contains(text)), "{fault}: {failures}");
    }
    let run = bench.run(&format!(
        "--benchmark digits-mlp --plugin {} --mode performance {}",
        backend("nothing.py"),
        short("SingleStream")
    ));
    run.assert_invalid(&["samples failed"]);
    assert!(failures(&run).contains("returned nothing and wrote no output"), "{}", failures(&run));
}

/// Returns the plugin's words about the samples and the batches that failed.
fn failures(run: &Run) -> String {
    format!("{}\n{}", run.reasons(), run.result()["performance_run"]["sample_failures"])
}

#[test]
fn an_exception_fails_its_samples_and_its_traceback_is_in_the_result() {
    let Some(bench) = bench() else { return };
    for (fault, text) in [
        ("raise", "ZeroDivisionError: division by zero (at faulty.py:"),
        ("raise_late", "AttributeError: 'Faulty' object has no attribute 'missing'"),
        ("interrupt", "KeyboardInterrupt (at faults.py:"),
        ("exit", "SystemExit: 3 (at faults.py:"),
        ("fail_one", "the first one is unreadable"),
    ] {
        let run = run_with(&bench, fault, &short("SingleStream"));
        run.assert_invalid(&["samples failed"]);
        assert!(failures(&run).contains(text), "{}", failures(&run));
    }
}

#[test]
fn an_exception_at_load_is_the_error_of_loading() {
    let Some(bench) = bench() else { return };
    for (fault, text) in [
        ("load_raise", "RuntimeError: no such accelerator (at faulty.py:"),
        ("load_interrupt", "KeyboardInterrupt (at faulty.py:"),
        ("load_exit", "SystemExit: that is all (at faulty.py:"),
    ] {
        let run = run_with(&bench, fault, &short("SingleStream"));
        assert_ne!(run.finished.code(), 0, "{}", run.finished);
        assert!(run.finished.stderr.contains(text), "{}", run.finished);
    }
}

#[test]
fn a_backend_that_ends_the_interpreter_leaves_a_result() {
    let Some(bench) = bench() else { return };
    for fault in ["end", "end_in_thread"] {
        let run = run_with(&bench, fault, "--scenario SingleStream --duration 2s");
        run.finished.assert_error(70, &["ended the program with exit code 5, as by _exit"]);
    }
}

#[test]
fn tokens_and_answers_that_vary_are_told() {
    let Some(bench) = bench() else { return };
    for returns in [true, false] {
        let run = bench.run(&format!(
            "--benchmark llama-small-generate --plugin {} --set tokens.returns={returns} --mode performance {} \
             --set single_stream_expected_latency_ns=2000",
            backend("tokens.py"),
            short("SingleStream")
        ));
        run.assert_valid();
        assert!(run.result()["performance_run"]["figures"]["tokens"].is_object(), "{}", run.result());
    }
}

#[test]
fn tokens_of_a_batch_that_is_over_do_not_count_for_the_next() {
    let Some(bench) = bench() else { return };
    let run = bench.run(&format!(
        "--benchmark llama-small-generate --plugin {} --set tokens.late=true --mode performance {} \
         --set single_stream_expected_latency_ns=2000",
        backend("tokens.py"),
        short("SingleStream")
    ));
    run.assert_valid();
    assert!(run.finished.stderr.contains("the batch is over"), "{}", run.finished);
}

#[test]
fn views_that_are_kept_stay_valid() {
    let Some(bench) = bench() else { return };
    run_with(&bench, "keep", &short("Offline")).assert_valid();
}

#[test]
fn stdout_is_the_answers_alone() {
    let Some(bench) = bench() else { return };
    let run = run_with(&bench, "print", &short("Offline"));
    assert!(!run.finished.stdout.contains("printed by the backend"), "{}", run.finished);
    run.assert_valid();
}
