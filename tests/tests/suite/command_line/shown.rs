//! Things that a run shows while it goes on: lines, nothing, or JSON.

use proctor_tests::Bench;
use serde_json::Value;

const RUN: &str = "run --plugin null --scenario Server --target-qps 200 --set floor=false -o out";

#[test]
fn quiet_leaves_the_verdict_and_the_warnings() {
    let bench = Bench::new();
    let warned = "--set server_coalesce_queries=true --set arrivals_cv=3";
    let run = bench.host(&format!("{RUN} --mode performance --duration 1300ms --quiet {warned}"));
    assert!(run.stdout.contains("\n  verdict  ") && run.stdout.contains("\n  run folder  out\n"), "{run}");
    assert!(run.stderr.contains("warning: arrivals_cv has no effect"), "{run}");
    assert!(!run.stderr.contains("outstanding"), "{run}");
}

#[test]
fn without_a_terminal_progress_is_a_line_a_second() {
    let bench = Bench::new();
    let run = bench.host(&format!("{RUN} --mode performance --duration 1300ms"));
    assert!(
        run.stderr.lines().any(|line| line.starts_with("performance ") && line.contains("outstanding")),
        "{run}"
    );
    assert!(!run.stderr.contains('\u{1b}'), "{run}");
}

#[test]
fn json_is_a_line_for_each_event_and_nothing_else() {
    let bench = Bench::new();
    let run = bench.host(&format!("{RUN} --duration 2500ms --json"));
    let lines = run.stdout.lines();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line} in {run}"));
    let events: Vec<Value> = lines.map(read).collect();
    let names: Vec<_> =
        events.iter().map(|event| event["event"].as_str().expect("an event has a name")).collect();
    let of_tests: Vec<_> = names.iter().filter(|name| **name != "progress").collect();
    // The accuracy run, then the performance run.
    assert_eq!(of_tests, [&"test_begins", &"test_ends", &"test_begins", &"test_ends", &"verdict"], "{run}");
    let progress =
        events.iter().filter(|event| event["event"] == "progress" && event["mode"] == "performance");
    let progress: Vec<_> = progress.collect();
    assert!(!progress.is_empty(), "{run}");
    for event in progress {
        assert!(event["done_share"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{event}");
        assert!(event["completed_sample_count"].as_u64() <= event["issued_sample_count"].as_u64(), "{event}");
    }
    let verdict = events.last().expect("there are events");
    assert_eq!(verdict["result"], "out/result.json");
    let result = std::fs::read_to_string(bench.file("out/result.json")).expect("it is there");
    let result: Value = serde_json::from_str(&result).expect("it is JSON");
    for key in ["valid", "accuracy_passed", "interrupted", "reasons"] {
        assert_eq!(verdict[key], result["verdict"][key], "{key}");
    }
    for key in ["metric", "official_length", "deviations"] {
        assert_eq!(verdict[key], result[key], "{key}");
    }
    assert_eq!(
        run.code(),
        i32::from(verdict["valid"] != true || verdict["accuracy_passed"] == false),
        "{run}"
    );

    let both = bench.host("run --quiet --json");
    both.assert_error(2, &["--quiet", "--json", "cannot be used with"]);
}
