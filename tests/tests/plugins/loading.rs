//! Requests to a plugin before a test: the load that it is told, its placement, a warm-up.

use proctor_tests::{Bench, Run, compile};

/// Runs the C plugin that does something about loading wrong; `None` without a C compiler.
fn run_wrong(bench: &Bench, case: &str, flags: &str) -> Option<Run> {
    let library = compile("loading_plugin.c", &[&format!("CASE={case}")], bench.path(), "loading")?;
    let flags = format!("{flags} --set floor=false --duration 50ms --mode performance");
    Some(bench.run(&format!("--plugin {} {flags}", library.display())))
}

/// Runs the mock plugin and returns what it and the host log.
fn log_of_mock(bench: &Bench, flags: &str) -> String {
    let mut command = bench.command(&format!(
        "run --output run --plugin mock {flags} --set floor=false --duration 50ms --mode performance"
    ));
    command.env("PROCTOR_LOG", "info");
    let finished = bench.start_command(command).finish();
    assert_eq!(finished.code(), 0, "{finished}");
    finished.stderr.clone()
}

#[test]
fn a_plugin_is_told_the_load_that_a_run_will_bring() {
    let bench = Bench::new();
    let log = log_of_mock(
        &bench,
        "--scenario Server --target-qps 500 --set server_target_latency_ns=15000000 --set issue=true \
         --set instances=2",
    );
    for told in [
        "latency_bound_ns: Some(15000000)",
        "target_qps: Some(500.0)",
        "samples_per_query: Some(1)",
        "Placement { instance_index: 1, instance_count: 2",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
}

#[test]
fn a_warm_up_of_whole_queries_completes_nothing() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "MultiStream"] {
        let flags = format!("--plugin mock --scenario {scenario} --set issue=true --duration 50ms");
        bench.run(&format!("{flags} --mode performance --set floor=false")).assert_valid();
    }
    let Some(run) = run_wrong(&bench, "COMPLETES_WARM_UP", "--set issue=true") else { return };
    run.assert_invalid(&[
        "plugin zeros: answered samples in warm_up, which completes none; and 2 more of this kind",
    ]);
    let Some(run) = run_wrong(&bench, "COMPLETES_WARM_UP", "--set issue=false") else { return };
    run.assert_valid();
    let Some(run) = run_wrong(&bench, "FAILS_WARM_UP", "--set issue=true") else { return };
    run.assert_invalid(&[
        "the warm-up failed: plugin zeros: warm_up failed (DEVICE_LOST): the device is cold",
    ]);
}
