//! The plugin that checks the host: this one keeps its promises, whichever way it calls.

use proctor_tests::{Bench, PLACES, Run, plugin};

/// Runs the validator with these flags, without the floor.
fn run(flags: &str) -> Run {
    let library = plugin("host-probe");
    let library = library.display();
    Bench::new().run(&format!("--plugin {library} --set floor=false --set min_duration_ms=0 {flags}"))
}

/// Asserts that it has found nothing, in an accuracy run and a performance run. Its answers are zeros, and how long a
/// run takes is not its business: what counts is that no call of it failed.
fn assert_kept(flags: &str) -> Run {
    let run = run(flags);
    assert_eq!(run.result()["plugin"]["name"], "host-probe");
    assert!(run.is_whole() && !run.reasons().contains("host-probe"), "{flags}: {}", run.finished);
    run
}

#[test]
fn no_promise_is_broken_in_any_scenario_either_way() {
    for scenario in ["SingleStream", "MultiStream", "Server --target-qps 500", "Offline"] {
        for (dispatch, flags) in [
            ("whole queries", "--set issue=true"),
            ("batches", "--set issue=false --instances 3 --batch-size 4"),
        ] {
            let run = assert_kept(&format!("--scenario {scenario} --set min_query_count=200 {flags}"));
            assert_eq!(run.result()["plugin"]["dispatch"], dispatch, "{}", run.finished);
        }
    }
}

#[test]
fn samples_of_different_shapes_keep_the_promises_too() {
    let bench = Bench::new();
    let (data, cache) = (bench.file("rows"), bench.file("cache"));
    let made = bench.host(&format!("data generate dlrm --samples 12 --out {}", data.display()));
    assert_eq!(made.code(), 0, "{made}");
    for flags in PLACES {
        assert_kept(&format!(
            "--benchmark dlrm --dataset-folder {} --set cache_folder={} --scenario Offline --set min_query_count=50 \
             --set issue=false {flags}",
            data.display(),
            cache.display()
        ));
    }
}

#[test]
fn a_performance_run_with_it_is_valid() {
    run("--mode performance --scenario Offline --set min_query_count=500").assert_valid();
}

#[test]
fn batches_in_flight_keep_the_promises_too() {
    for scenario in ["Server --target-qps 500", "Offline"] {
        assert_kept(&format!(
            "--scenario {scenario} --set min_query_count=200 --set issue=false --instances 2 --batch-size 4 \
             --set host-probe.in_flight=3 --set host-probe.service_us=100"
        ));
    }
}

#[test]
fn threads_that_issue_take_turns_and_parts_fit_together() {
    assert_kept(
        "--mode performance --scenario Server --target-qps 2000 --set min_query_count=500 --set issue=true \
         --set server_num_issue_query_threads=3",
    );
    assert_kept("--mode performance --scenario Offline --set min_query_count=150000 --set issue=true");
}

#[test]
fn samples_that_do_not_fit_into_memory_at_once_keep_the_promises_too() {
    // The accuracy run goes through the data set in several parts.
    let bench = Bench::new();
    let text =
        std::fs::read_to_string(proctor_tests::workspace().join("host/config/benchmarks/digits-mlp.toml"));
    let text = text
        .expect("the definition is there")
        .replace("performance_sample_count = 600", "performance_sample_count = 250");
    assert!(text.contains("= 250"));
    let benchmark = bench.write("parts.toml", text);
    for flags in ["--set issue=true", "--set issue=false --instances 2"] {
        assert_kept(&format!("--benchmark {} --scenario Offline {flags}", benchmark.display()));
    }
}

#[test]
fn a_search_and_a_run_in_virtual_time_keep_the_promises_too() {
    assert_kept(
        "--virtual-time --scenario Server --target-qps 300 --instances 2 --batch-size 4 \
         --set host-probe.service_us=1000",
    );
    let peak = run(
        "--virtual-time --scenario Server --mode FindPeakPerformance --duration 2s --set target_qps=100 \
         --set queue_capacity=8 --set host-probe.service_us=1000",
    );
    peak.assert_valid();

    let bench = Bench::new();
    let folder = bench.file("search");
    let found = bench.host(&format!(
        "find-max --output {} --plugin {} --virtual-time --scenario Server --target-qps 200 --duration 5s \
         --set host-probe.service_us=1000 --set server_target_latency_ns=10000000",
        folder.display(),
        plugin("host-probe").display()
    ));
    assert_eq!(found.code(), 0, "{found}");
}
