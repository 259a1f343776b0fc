//! `host bench rnn`: recurrent layers through the plugin boundary. How fast anything is, is not looked at here.

use std::fs;

use proctor_tests::Bench;
use serde_json::Value;

/// Runs it without peers for a moment, and reads the file of figures.
fn figures(bench: &Bench, flags: &str) -> (Value, String) {
    let finished = bench.host(&format!("bench rnn --quick --peers none --json rnn.json {flags}"));
    assert_eq!(finished.code(), 0, "{finished}");
    let text = fs::read_to_string(bench.file("rnn.json")).expect("the file is written");
    (serde_json::from_str(&text).expect("it is JSON"), finished.stdout)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("there is a list")
}

#[test]
fn a_layer_is_measured_through_the_plugin_boundary_and_its_answer_is_right() {
    let bench = Bench::new();
    let (report, table) = figures(&bench, "--groups extra --match small-bidir --threads 1 --markdown rnn.md");
    let [row] = list(&report, "rows") else { panic!("one row in {report}") };
    assert_eq!(row["name"], "small-bidir lstm bi 24,32,1,63");
    let [entry] = list(row, "entries") else { panic!("one entry in {row}") };
    assert_eq!((&entry["system"], &entry["threads"]), (&"ours".into(), &1.into()));
    let measured = &entry["measured"];
    for key in ["median_ns", "p99_ns", "least_ns", "calls", "load_ms", "busy_share"] {
        assert!(measured[key].as_f64().is_some_and(|value| value > 0.0), "{key} in {measured}");
    }
    assert!(measured["max_abs_error"].as_f64().is_some_and(|error| error < 5e-6), "{measured}");
    assert!(row["limits"][0]["least_time_ns"].as_f64().is_some_and(|time| time > 0.0), "{row}");
    assert!(table.contains("too short for figures to rely on"), "{table}");
    let page = fs::read_to_string(bench.file("rnn.md")).expect("the page is written");
    assert!(page.contains("| small-bidir lstm bi 24,32,1,63 |"), "{page}");
}

#[test]
fn every_cell_and_a_step_from_a_state_give_the_right_answer() {
    let bench = Bench::new();
    for flags in [
        "--groups table1-lbr0 --match 64,64,10,100",
        "--groups table1-bidir --match 256,256,1,1 --match 256,256,1,10",
        "--groups extra --match one-step --match 256",
        "--groups extra --match call-floor",
    ] {
        // Schedules are computed, not measured, which takes a moment instead of seconds.
        let (report, _) = figures(&bench, &format!("--threads 1 --set calibration_s=0 {flags}"));
        assert!(!list(&report, "rows").is_empty());
    }
}

#[test]
fn a_single_step_is_streamed_beside_the_call() {
    let bench = Bench::new();
    let (report, table) = figures(&bench, "--threads 1 --groups extra --match call-floor");
    let entries = list(&list(&report, "rows")[0], "entries");
    let names: Vec<_> = entries.iter().filter_map(|entry| entry["system"].as_str()).collect();
    assert_eq!(names, ["ours", "ours streamed"]);
    let error = entries[1]["measured"]["max_abs_error"].as_f64();
    assert!(error.is_some_and(|error| error < 5e-6), "{report}");
    assert!(table.contains("Streamed steps"), "{table}");
}

#[test]
fn the_four_ways_of_the_paper_give_the_same_answer() {
    let bench = Bench::new();
    let (report, table) = figures(&bench, "--ablation --threads 1 --match 64,64,1,100");
    let [row] = list(&report, "rows") else { panic!("one row in {report}") };
    let entries = list(row, "entries");
    let names: Vec<_> = entries.iter().filter_map(|entry| entry["system"].as_str()).collect();
    assert_eq!(names, ["parallel GEMM", "fusion", "MM-DAG + fusion + PCP", "everything"]);
    for entry in entries {
        let measured = &entry["measured"];
        assert!(measured["max_abs_error"].as_f64().is_some_and(|error| error < 5e-6), "{entry}");
        assert!(measured["weight_bytes"].as_f64().is_some_and(|bytes| bytes > 0.0), "{entry}");
    }
    assert!(table.contains("What each technique brings, on 1 thread"), "{table}");
}

#[test]
fn drawn_layers_give_the_right_answer() {
    let bench = Bench::new();
    let flags = "--random 30 --seed 100 --threads 1 --set calibration_s=0";
    let (report, table) = figures(&bench, &format!("{flags} --match ,9"));
    let names: Vec<_> = list(&report, "rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names[..2], ["lstm bi 5,8,1,9", "gru0 8,13,13,9"]);
    assert!(table.contains("Layers drawn at random"), "{table}");
    // One step of two rows goes on from a state of each.
    let step = "--random 50 --seed 1 --match 47,421,2,1 --threads 1 --set calibration_s=0";
    assert_eq!(list(&figures(&bench, step).0, "rows")[0]["name"], "gru 47,421,2,1");
    bench.host("bench rnn --random 3 --groups extra").assert_error(2, &["--random", "--groups"]);
}

#[test]
fn a_competitor_burns_a_processor_meanwhile_and_is_no_stranger() {
    let bench = Bench::new();
    let flags =
        "--groups extra --match small-bidir --threads 1 --set calibration_s=0 --interference --seed 100";
    let (report, table) = figures(&bench, flags);
    assert_eq!(report["interference"]["seed"], 100);
    let measured = &list(&report, "rows")[0]["entries"][0]["measured"];
    assert!(measured["competitor_share"].as_f64().is_some_and(|share| share > 0.0), "{measured}");
    assert!(table.contains("beside a competitor"), "{table}");
}

#[test]
fn layers_plugins_and_threads_that_are_not_there_are_errors() {
    let bench = Bench::new();
    bench.host("bench rnn --match gnu").assert_error(2, &["no layer has a name", "gru bi 200,512,1,20"]);
    bench.host("bench rnn --threads 200").assert_error(2, &["--threads", "cannot measure 200 cores"]);
    let missing =
        bench.host("bench rnn --groups extra --match call-floor --quick --peers none --plugin ./no.so");
    missing.assert_error(3, &["plugin ./no.so"]);
}

#[test]
fn peers_that_are_not_there_are_skipped_with_what_to_do() {
    let bench = Bench::new();
    let flags =
        "--quick --groups extra --match call-floor --threads 1 --peers torch --python ./no-such-python";
    let finished = bench.host(&format!("bench rnn {flags}"));
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stderr.contains("skipped: torch (./no-such-python: "), "{finished}");
    assert!(finished.stderr.contains("pip install numpy torch"), "{finished}");
}

#[test]
fn a_plugin_that_does_not_run_layers_says_so_in_each_row() {
    let finished = Bench::new()
        .host("bench rnn --quick --groups extra --match call-floor --threads 1 --peers none --plugin null");
    assert_eq!(finished.code(), 1, "{finished}");
    assert!(finished.stdout.contains("call-floor lstm 16,16,1,1: ours in f32 on 1 thread"), "{finished}");
}

#[test]
fn an_interrupted_benchmark_shows_what_it_has() {
    let bench = Bench::new();
    let flags = "--groups extra --peers none --threads 1 --repeat 1 --set calibration_s=0 --json rnn.json";
    let mut started = bench.start(&format!("bench rnn {flags}"));
    started.wait_until("the second layer", |started| started.stderr().contains("small-bidir"));
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.code(), 130, "{finished}");
    assert!(finished.stderr.contains("ending with what was measured so far"), "{finished}");
    assert!(finished.stdout.contains("call-floor lstm 16,16,1,1"), "{finished}");
    let report: Value = serde_json::from_str(&fs::read_to_string(bench.file("rnn.json")).unwrap()).unwrap();
    assert_eq!(report["is_interrupted"], true);
}
