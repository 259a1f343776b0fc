//! Runs of benchmarks of the official suites: what the round asks of them, and marks where they deviate.

use std::fs;

use proctor_tests::{Bench, Run, compile, workspace};
use serde_json::Value;

/// A fixed time for each sample, one after the other.
const MOCK: &str = "--plugin mock --virtual-time --mode performance --set mock.service=fixed";

/// The digits LSTM as a benchmark of the suites.
fn linked(bench: &Bench, suite: &str, untimed_steps: &str) -> String {
    let text = fs::read_to_string(workspace().join("host/config/benchmarks/digits-lstm.toml"));
    let text = text.expect("it is in the repository");
    let own = "preprocessing = \"digits\"\n";
    let link = format!("{own}suite = \"{suite}\"\nuntimed_steps = {untimed_steps}\n");
    let path = bench.write("linked.toml", text.replacen(own, &link, 1));
    path.display().to_string()
}

fn deviations(run: &Run) -> Vec<&str> {
    let deviations = run.result()["deviations"].as_array().map(Vec::as_slice).unwrap_or_default();
    deviations.iter().map(|deviation| deviation["text"].as_str().expect("it is a text")).collect()
}

#[test]
fn a_run_that_deviates_from_its_round_is_marked() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[\"tokenize\", \"pad\"]");
    let run = |more: &str| bench.run(&format!("{MOCK} --benchmark {benchmark} {more}"));
    let older = run("--set rules=v0.7");
    let expected = [
        "tokenize is done untimed",
        "f1, by which it judges bert, is not measured",
        "the performance set has 600 samples, and it wants 10833",
    ];
    assert_eq!(deviations(&older), expected);
    let result = older.assert_valid().result();
    let kinds: Vec<_> = result["deviations"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["untimed-step", "figure", "performance-set"]);
    assert_eq!(result["deviations"][0]["step"], "tokenize");
    assert_eq!(result["deviations"][2]["wanted"], 10_833);
    assert_eq!(
        (&result["benchmark"]["suite"]["id"], &result["benchmark"]["suite"]["in_round"]),
        (&"bert".into(), &true.into())
    );
    let note = format!("deviates from v0.7, for comparing runs of your own only: {}", expected.join("; "));
    assert!(older.finished.stdout.contains(&note), "{}", older.finished);
    // The list of v5.0 has text to token ids.
    assert_eq!(deviations(&run("--set rules=v5.0")), expected[1..]);
    // A bound that is looser than the round's is no longer a run by its rules.
    let loose = run("--set rules=v0.7 --scenario Server --target-qps 10 --set target_latency=131");
    assert!(deviations(&loose).contains(&"server_target_latency_ns is 131000000, and it wants 130000000"));
    // Neither a link nor a step: nothing to deviate from, in any round.
    for rules in ["v0.5", "v0.7", "v5.0"] {
        let run = bench.run(&format!("{MOCK} --set rules={rules}"));
        assert!(run.result().get("deviations").is_none() && !run.finished.stdout.contains("deviates"));
    }
}

#[test]
fn a_precision_that_is_not_on_the_list_of_the_round_is_marked() {
    let bench = Bench::new();
    let flags = "--scenario SingleStream --duration 50ms --mode performance --set floor=false";
    for (precision, is_on_list) in [("int8", true), ("bf16", true), ("f64", false), ("f8e4m3", false)] {
        let define = format!("PRECISION=\"{precision}\"");
        let Some(library) = compile("null_plugin.c", &[&define], bench.path(), precision) else { return };
        let run = |rules: &str| {
            let run = bench.run(&format!("--plugin {} {flags} --set rules={rules}", library.display()));
            deviations(&run).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
        };
        let mark = format!(
            "{precision} is none of its numerical formats, INT4, INT8, INT16, UINT8, UINT16, FP11 (1-5-5), FP16, \
             bfloat16, FP32"
        );
        for rules in ["v0.5", "v0.7"] {
            assert_eq!(run(rules), if is_on_list { vec![] } else { vec![mark.clone()] }, "{rules}");
        }
        assert!(run("v5.0").is_empty(), "v5.0 has no list");
    }
}

#[test]
fn the_round_decides_what_is_valid() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "bert", "[]");
    let server = format!(
        "{MOCK} --benchmark {benchmark} --scenario Server --target-qps 5 --set mock.service_us=50000"
    );
    // v0.7 gives it 130 ms in Server. v5.0 does not have it there, so that the bound is the definition's, 20 ms.
    let older = bench.run(&format!("{server} --set rules=v0.7"));
    let figures = &older.assert_valid().result()["performance_run"]["figures"];
    let setting = &older.result()["settings"]["server_target_latency_ns"];
    assert_eq!(setting["value"], 130_000_000);
    assert_eq!((&setting["origin"]["kind"], &setting["origin"]["round"]), (&"suite".into(), &"v0.7".into()));
    assert_eq!(setting["overridden"][0]["origin"]["kind"], "benchmark");
    let newest = bench.run(&server);
    newest.assert_invalid(&["over the 20 ms bound"]);
    // Rates of scheduled and of completed samples are both there, whichever of them is the metric.
    for (run, metric) in [(&older, "scheduled_samples_per_second"), (&newest, "completed_samples_per_second")]
    {
        let figures = &run.result()["performance_run"]["figures"];
        assert_eq!(run.result()["metric"]["value"], figures[metric], "{metric}");
    }
    assert!(
        figures["scheduled_samples_per_second"].is_f64() && figures["completed_samples_per_second"].is_f64()
    );
}

#[test]
fn the_accuracy_target_is_that_of_the_round() {
    let bench = Bench::new();
    let benchmark = linked(&bench, "mobilenet", "[]");
    let target = |rules: &str| {
        let run = bench.run(&format!("--benchmark {benchmark} --mode accuracy --set rules={rules}"));
        let accuracy: &Value = &run.assert_valid().result()["accuracy"];
        assert_eq!(accuracy["passed"], true);
        accuracy["target"].as_f64().unwrap()
    };
    assert!((target("v0.5") - 0.98 * 0.71676).abs() < 1e-12);
    assert!((target("v5.0") - 0.99 * 0.975).abs() < 1e-12, "v5.0 does not have it");
    let run = bench.host(&format!("explain --benchmark {benchmark} --set rules=v0.5"));
    let line = "accuracy target: top1 of at least 0.70242, 98 % of 0.71676, suite mobilenet of v0.5 (mobilenet.toml)";
    assert!(run.stdout.contains(line), "{run}");
}
