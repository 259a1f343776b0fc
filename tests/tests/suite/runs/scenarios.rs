//! The four scenarios, with the plugins loaded from their libraries: each run is VALID.

use std::{fs, process::Command};

use proctor_tests::{Bench, Run, plugin};

/// Flags that make a run of a scenario short, and its verdict independent of how busy the machine is. Offline has a
/// number of samples, not a duration.
fn flags(scenario: &str) -> String {
    let length = match scenario {
        "Server" => "--duration 200ms --target-qps 600 --set server_target_latency_ns=20000000000",
        "Offline" => "--set min_query_count=1000",
        _ => "--duration 200ms",
    };
    format!("--scenario {scenario} {length}")
}

fn cpu_rnn(scenario: &str) {
    let bench = Bench::new();
    let run = bench.run(&format!("--plugin {} {}", plugin("cpu-rnn").display(), flags(scenario)));
    let result = run.assert_valid().result();
    assert_eq!(result["scenario"], scenario);
    assert!(result["accuracy"]["value"].as_f64().unwrap() >= 0.95, "{}", result["accuracy"]);
    let identity = &result["plugin"];
    let sum = Command::new("sha256sum").arg(plugin("cpu-rnn")).output().unwrap().stdout;
    assert_eq!(identity["sha256"].as_str().unwrap(), String::from_utf8_lossy(&sum[..64]));
    assert!(identity["source"].as_str().unwrap().ends_with("libcpu_rnn_sut.so"), "{identity}");
    assert_eq!(identity["layout_checked"], true);
}

/// The mock knows no digits: its runs are VALID, though their accuracy fails.
fn mock(scenario: &str) {
    let bench = Bench::new();
    let path = plugin("mock");
    let path = path.display();
    let run = |more: &str| bench.run(&format!("--plugin {path} {} {more}", flags(scenario)));
    let dispatch = |run: &Run| run.result()["plugin"]["dispatch"].as_str().unwrap().to_owned();

    let whole = run("");
    assert_eq!(whole.result()["verdict"]["valid"], true, "{}", whole.finished);
    assert_eq!(whole.result()["accuracy"]["passed"], false);
    assert_eq!(whole.finished.code(), 1);
    assert_eq!(dispatch(&whole), "whole queries");

    let batches = run("--mode performance --batch-size 8 --instances 2");
    assert_eq!(dispatch(batches.assert_valid()), "batches");
    assert_eq!(batches.result()["accuracy"], serde_json::Value::Null);
}

#[test]
fn cpu_rnn_single_stream() {
    cpu_rnn("SingleStream");
}

#[test]
fn cpu_rnn_multi_stream() {
    cpu_rnn("MultiStream");
}

#[test]
fn cpu_rnn_server() {
    cpu_rnn("Server");
}

#[test]
fn cpu_rnn_offline() {
    cpu_rnn("Offline");
}

#[test]
fn mock_single_stream() {
    mock("SingleStream");
}

#[test]
fn mock_multi_stream() {
    mock("MultiStream");
}

#[test]
fn mock_server() {
    mock("Server");
}

#[test]
fn mock_offline() {
    mock("Offline");
}

#[test]
fn size_or_timeout_forms_batches() {
    let bench = Bench::new();
    let policy = "--policy size-or-timeout --batch-size 16 --set batch_timeout_us=5000";
    let run = bench.run(&format!("--plugin mock --mode performance {} {policy}", flags("Server")));
    let scheduler = &run.assert_valid().result()["performance_run"]["scheduler"];
    let sizes = scheduler["batch_sizes"].as_object().unwrap();
    assert!(sizes.keys().all(|size| size.parse::<u32>().unwrap() <= 16), "{scheduler}");
    assert!(scheduler["batch_size_mean"].as_f64().unwrap() > 1.0, "{scheduler}");
}

#[test]
fn the_linked_in_plugin_and_its_library_answer_alike() {
    let bench = Bench::new();
    let flags = "--mode accuracy";
    let linked = bench.run(flags);
    let library = bench.run(&format!("{flags} --plugin {}", plugin("cpu-rnn").display()));
    let source = |run: &Run| run.assert_valid().result()["plugin"]["source"].as_str().unwrap().to_owned();
    assert_eq!(source(&linked), "linked in");
    assert!(source(&library).ends_with(".so"));
    let log = |run: &Run| run.text("accuracy/mlperf_log_accuracy.json");
    assert!(log(&linked).lines().count() > 600);
    assert_eq!(log(&linked), log(&library));
}

/// Two threads issue: to the scheduler, and in turn to a plugin that takes whole queries.
#[test]
fn several_threads_issue_server_queries() {
    let bench = Bench::new();
    for flavour in ["mock", "null", "mock --batch-size 8 --instances 2", "null --batch-size 4 --instances 2"]
    {
        let flags = format!("{} --mode performance --set server_num_issue_query_threads=2", flags("Server"));
        let run = bench.run(&format!("--plugin {flavour} {flags}"));
        run.assert_valid();
        assert!(run.samples().len() > 50, "{flavour}: {}", run.finished);
        let detail = fs::read_to_string(run.folder().join("mlperf_log_detail.txt")).unwrap();
        let registered = detail.lines().filter(|line| line.contains("Registered IssueQueryThread["));
        assert_eq!(registered.count(), 2, "{flavour}");
    }
}

#[test]
fn the_number_of_issuing_threads_changes_nothing_in_virtual_time() {
    let bench = Bench::new();
    let samples = |issuer_count: u32| {
        let run = bench.run(&format!(
            "--plugin mock --scenario Server --virtual-time --mode performance --duration 2s \
             --set server_num_issue_query_threads={issuer_count}"
        ));
        fs::read(run.folder().join("samples.bin")).unwrap()
    };
    let one = samples(0);
    assert!(one.len() > 16 * 100);
    assert!(one == samples(1) && one == samples(3));
}
