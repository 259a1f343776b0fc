//! `host bench engines`: whole models through plugins, compared with direct calls of ONNX Runtime. Speed is not checked
//! here.

use std::fs;

use proctor_test_needs::skip;
use proctor_tests::Bench;
use serde_json::Value;

fn report(bench: &Bench) -> Value {
    let text = fs::read_to_string(bench.file("engines.json")).expect("the file is written");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The only row, and its entry of a system: a plugin by its name, or the package by its way.
fn entry<'a>(report: &'a Value, kind: &str, name: &str) -> &'a Value {
    let [row] = &report["rows"].as_array().expect("there are rows")[..] else {
        panic!("one row in {report}")
    };
    let entries = row["entries"].as_array().expect("there are entries");
    let found = entries.iter().find(|entry| entry["system"][kind] == name);
    found.unwrap_or_else(|| panic!("no {name} in {row}"))
}

#[test]
fn a_network_through_the_host_beside_the_package() {
    let bench = Bench::new();
    let flags = "--benchmark digits-cnn --batch 1 --threads 1 --engine onnx --rounds 1 --quick";
    let finished = bench.host(&format!("bench engines {flags} --json engines.json --markdown engines.md"));
    assert_eq!(finished.code(), 0, "{finished}");
    let report = report(&bench);
    let (onnx, binding) = (entry(&report, "plugin", "onnx"), entry(&report, "package", "binding"));
    for (name, entry) in [("onnx", onnx), ("Python, run_with_iobinding", binding)] {
        match entry["skipped"].as_str() {
            Some(reason) => {
                assert!(finished.stderr.contains(&format!("skipped: {name}: {reason}")), "{finished}");
                skip(format!("{name}: {reason}"));
            }
            None => assert!(entry["measured"]["times"]["median_ns"].as_f64() > Some(0.0), "{entry}"),
        }
    }
    if onnx["skipped"].is_null() {
        let round = &onnx["measured"]["rounds"][0];
        assert_eq!(round["input_bytes_copied"], 0.0, "{round}");
        assert!(round["outside_ns"].as_f64() > Some(0.0), "{round}");
        if binding["skipped"].is_null() {
            assert!(
                onnx["measured"]["difference"].as_f64().is_some_and(|difference| difference < 1e-3),
                "{onnx}"
            );
            assert!(onnx["limit_standing"].is_string(), "{onnx}");
        }
    }
    let page = fs::read_to_string(bench.file("engines.md")).expect("the page is written");
    assert!(page.contains("### digits-cnn") && page.contains("| 1 | 1 | onnx |"), "{page}");
}

#[test]
fn batches_are_queries_of_multi_stream() {
    let bench = Bench::new();
    let flags =
        "--benchmark digits-cnn --batch 8 --threads 2 --engine null,mock --peer none --quick --rounds 1";
    let finished = bench.host(&format!("bench engines {flags} --json engines.json"));
    assert_eq!(finished.code(), 0, "{finished}");
    let report = report(&bench);
    let measured = &entry(&report, "plugin", "null")["measured"];
    assert!(measured["times"]["calls"].as_u64() > Some(1), "{measured}");
    assert!(measured["rounds"][0]["input_bytes_copied"].is_null(), "{measured}");
    assert!(finished.stdout.contains("not told"), "{finished}");
    assert!(finished.stdout.contains("too short for figures to rely on"), "{finished}");
}

#[test]
fn what_is_not_there_is_skipped_with_the_reason() {
    let bench = Bench::new();
    let flags = "--benchmark digits-cnn --batch 1 --threads 1 --quick --rounds 1 --python ./no-such-python";
    let finished = bench.host(&format!("bench engines {flags} --engine ./no-such_sut.so,cpu-rnn,null"));
    assert_eq!(finished.code(), 0, "{finished}");
    for text in [
        "skipped: Python, run: ./no-such-python: No such file",
        "venv/bin/pip install numpy onnxruntime",
        "skipped: ./no-such_sut.so: ",
        "skipped: cpu-rnn: ",
    ] {
        assert!(finished.stderr.contains(text), "no \"{text}\" in {finished}");
    }
    // The rows say it, too.
    let row = finished.stdout.lines().find(|line| line.contains("  cpu-rnn  ")).expect("there is a row");
    assert!(row.ends_with("skipped: plugin cpu-rnn does not declare model digits-cnn"), "{finished}");
}

#[test]
fn benchmarks_and_options_that_are_not_there_are_errors() {
    let bench = Bench::new();
    bench.host("bench engines --benchmark digit-cnn").assert_error(2, &["digits-cnn"]);
    bench.host("bench engines --engine null --set mock.sigma=1").assert_error(2, &["--set mock", "null"]);
    bench
        .host("bench engines --benchmark digits-cnn --batch 1000")
        .assert_error(2, &["--batch 1000", "600 samples"]);
}

#[test]
fn an_interrupted_benchmark_shows_what_it_has() {
    let bench = Bench::new();
    let flags =
        "--benchmark digits-cnn --batch 1 --threads 1 --engine null --peer none --rounds 1000 --seconds 0.05";
    let mut started = bench.start(&format!("bench engines {flags} --json engines.json"));
    started.wait_until("the second round", |started| started.stderr().contains("round 3: null"));
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.code(), 130, "{finished}");
    assert!(finished.stderr.contains("ending with what was measured so far"), "{finished}");
    let report = report(&bench);
    assert_eq!(report["is_interrupted"], true);
    let rounds = entry(&report, "plugin", "null")["measured"]["rounds"].as_array().map(Vec::len);
    assert!(rounds >= Some(2), "{report}");
}
