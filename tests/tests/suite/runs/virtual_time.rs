//! Virtual time: a long run in a short time, and the same bytes again.

use std::{fs, time::Instant};

use proctor_tests::{Bench, Run};
use serde_json::Value;

const TEN_MINUTES: &str = "--plugin mock --scenario Server --virtual-time --duration 10m --mode performance";

/// Asserts that two runs left the same files with the same bytes.
fn assert_same_bytes(first: &Run, second: &Run) {
    assert_eq!(first.files(), second.files());
    for name in first.files() {
        let bytes = |run: &Run| fs::read(run.folder().join(&name)).unwrap();
        assert!(bytes(first) == bytes(second), "{name} differs");
    }
}

/// The last value of a key in the detail log.
fn last_logged(run: &Run, key: &str) -> Value {
    let log = run.text("mlperf_log_detail.txt");
    let entries =
        log.lines().map(|line| serde_json::from_str(line.strip_prefix(":::MLLOG ").unwrap()).unwrap());
    let entries: Vec<Value> = entries.collect();
    entries.iter().rfind(|entry| entry["key"] == key).unwrap()["value"].clone()
}

#[test]
fn ten_minutes_of_server_are_the_same_twice() {
    let bench = Bench::new();
    let run = || {
        let start = Instant::now();
        let run = bench.run(TEN_MINUTES);
        println!("ten virtual minutes took {:?}", start.elapsed());
        run
    };
    let (first, second) = (run(), run());
    let result = first.assert_valid().result();
    assert_eq!(result["virtual_time"], true);
    assert!(result["performance_run"]["duration_ns"].as_u64().unwrap() >= 600_000_000_000, "{result}");
    assert_same_bytes(&first, &second);
}

#[test]
fn every_scenario_is_the_same_twice_and_the_seed_matters() {
    let bench = Bench::new();
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let flags = format!(
            "--plugin mock --scenario {scenario} --virtual-time --duration 1s --batch-size 4 --instances 3 \
             --set min_query_count=700 --set mock.service=log-normal"
        );
        let (first, second) = (bench.run(&flags), bench.run(&flags));
        assert_eq!(first.result()["virtual_time"], true);
        assert!(first.files().contains(&"accuracy/mlperf_log_accuracy.json".to_owned()));
        assert_same_bytes(&first, &second);
        let other = bench.run(&format!("{flags} --seed 99"));
        assert_ne!(first.text("mlperf_log_detail.txt"), other.text("mlperf_log_detail.txt"), "{scenario}");
    }
}

#[test]
fn the_search_for_the_peak_is_the_same_twice_and_finds_what_the_plugin_can_do() {
    let bench = Bench::new();
    // One instance that takes 1 ms for each sample; a short queue fails samples above the peak.
    let flags = "--plugin mock --scenario Server --mode FindPeakPerformance --virtual-time --duration 5s \
                 --set target_qps=100 --set queue_capacity=8 --set mock.service=fixed --set mock.service_us=1000";
    let (first, second) = (bench.run(flags), bench.run(flags));
    let result = first.assert_valid().result();
    assert_eq!(result["metric"]["name"], "peak rate");
    let peak_qps = result["metric"]["value"].as_f64().unwrap();
    assert!((400.0..1000.0).contains(&peak_qps), "{peak_qps}");
    let found = format!("FindPeakPerformance: Found peak performance field: {peak_qps:.6}");
    assert_eq!(last_logged(&first, "generic_message"), found);
    assert_same_bytes(&first, &second);
}

/// However long it is by its own clock.
#[test]
fn a_run_in_virtual_time_is_no_official_one_wherever_it_is_shown() {
    let bench = Bench::new();
    let run = bench.run(
        "--plugin mock --virtual-time --preset official --mode performance --set mock.service=fixed \
         --set mock.service_us=20000 --set enable_trace=false",
    );
    let result = run.assert_valid().result();
    assert!(result["performance_run"]["duration_ns"].as_u64().unwrap() >= 600_000_000_000, "{result}");
    assert_eq!(result["official_length"], false);
    let kinds: Vec<_> = result["deviations"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["benchmark", "virtual-time"]);
    for text in
        ["not of official length (virtual time)", "the round has no benchmark digits-lstm; time is virtual"]
    {
        assert!(run.finished.stdout.contains(text), "{text}: {}", run.finished);
    }
    let (folder, page) = (run.folder().display(), bench.file("page.html"));
    let marked = "VALID (virtual time, deviates)";
    for (command, text) in [
        (format!("list runs {}", bench.path().display()), marked),
        (format!("export {folder} --format markdown"), marked),
        (format!("export {folder} --format json"), "\"kind\": \"virtual-time\""),
        (format!("export {folder} --format openmetrics"), "proctor_run_virtual_time{"),
        (
            format!("compare {folder} {folder}"),
            "these runs are not results: the round has no benchmark digits-lstm; time",
        ),
        (format!("report --output {} {folder} {folder}", page.display()), "page.html"),
    ] {
        let shown = bench.host(&command);
        assert_eq!(shown.code(), 0, "{shown}");
        assert!(shown.stdout.contains(text), "{command}: {shown}");
    }
    let page = fs::read_to_string(&page).unwrap();
    for text in
        [" (virtual time, deviates)</td>", "Not of official length (virtual time)", "; time is virtual."]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn an_audit_file_overrides_the_performance_run_and_one_with_an_error_is_refused() {
    let bench = Bench::new();
    let audit =
        bench.write("audit.config", "*.*.accuracy_log_sampling_target = 50\n*.*.min_duration = 2000\n");
    let flags = "--plugin mock --scenario Server --virtual-time --mode performance --duration 1s";
    let run = bench.run(&format!("{flags} --set audit_config={}", audit.display()));
    assert!(run.result()["performance_run"]["duration_ns"].as_u64().unwrap() >= 2_000_000_000);
    let warning = last_logged(&run, "warning_generic_message");
    assert!(warning.as_str().unwrap().starts_with("Found Audit Config file (audit.config). Overriding"));
    assert_eq!(last_logged(&run, "effective_min_duration_ms"), 2000);
    assert!(run.text("mlperf_log_accuracy.json").contains("seq_id"));

    let broken = bench.write("broken.config", "*.*.min_duration 2000\n");
    let refused = bench.run(&format!("{flags} --set audit_config={}", broken.display()));
    refused.finished.assert_error(2, &["broken.config: line 1: expected `key = value`"]);
}

#[test]
fn a_plugin_without_virtual_time_says_so() {
    let run = Bench::new().run("--plugin cpu-rnn --virtual-time");
    run.finished.assert_error(3, &["plugin cpu-rnn does not run in virtual time", "such as mock"]);
    assert!(!run.folder().exists());
}
