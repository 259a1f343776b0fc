//! MobileNet, and the networks that v0.5 provides quantised, on made data sets: with a model of the user's.

use std::fs;

use proctor_tests::{Bench, Run};
use serde_json::Value;

/// A folder with a made data set, and the file of a model.
fn made(benchmark: &str) -> Bench {
    let bench = Bench::new();
    let made =
        bench.host(&format!("data generate {benchmark} --out {} --samples 40", bench.file("data").display()));
    assert_eq!(made.code(), 0, "{made}");
    bench.write("int8.onnx", "8 bits");
    bench
}

/// Runs the mock on the made data set.
fn run(bench: &Bench, benchmark: &str, flags: &str) -> Run {
    let data = bench.file("data");
    bench.run(&format!("--plugin mock --benchmark {benchmark} --dataset-folder {} {flags}", data.display()))
}

#[test]
fn the_classes_of_mobilenet_are_compared_without_the_background() {
    let bench = made("mobilenet");
    let list = fs::read_to_string(bench.file("data/val_map.txt")).expect("it was made");
    let labels: Vec<u64> = list
        .lines()
        .map(|line| line.split_whitespace().last().and_then(|class| class.parse().ok()).expect("a class"))
        .collect();
    let accuracy = |offset: u64, flags: &str| {
        let classes: Vec<_> = labels.iter().map(|label| (label + offset).to_string()).collect();
        let answers = bench.write("answers.txt", classes.join("\n"));
        let answers = format!("--set mock.answers=file --set mock.answer_file={}", answers.display());
        run(&bench, "mobilenet", &format!("--mode accuracy {answers} {flags}")).result()["accuracy"].clone()
    };
    let right = accuracy(0, "");
    assert_eq!((&right["value"], &right["passed"]), (&1.0.into(), &true.into()), "{right}");
    assert_eq!(accuracy(0, "--set mock.accuracy=0.9")["value"], 0.9);
    assert_eq!(accuracy(1, "")["value"], 0.0);
    let target = accuracy(0, "--set rules=v0.5")["target"].as_f64().expect("a number");
    assert!((target - 0.98 * 0.71676).abs() < 1e-12, "{target}");
}

#[test]
fn quantised_networks_are_run_with_their_own_files() {
    for benchmark in ["mobilenet", "ssd-mobilenet"] {
        let bench = made(benchmark);
        let file = bench.file("int8.onnx");
        for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
            let flags = format!(
                "--scenario {scenario} --virtual-time --mode performance --precision int8 --model-file {} --set mock.service=fixed \
                 --set mock.service_us=500 --set rules=v0.5",
                file.display()
            );
            let run = run(&bench, benchmark, &flags);
            let result: &Value = run.assert_valid().result();
            assert_eq!(result["plugin"]["precision"], "int8", "{benchmark} {scenario}: {}", result["plugin"]);
            let files = &result["plugin"]["model_files"];
            let path = files[0]["path"].as_str().expect("a path");
            assert!(path.ends_with("int8.onnx"), "{files}");
            assert!(!result["deviations"].to_string().contains("int8"), "{}", result["deviations"]);
        }
    }
}

#[test]
fn a_quantised_network_that_is_not_given_is_asked_for() {
    if proctor_tests::find_plugin("onnx").is_none() {
        proctor_test_needs::skip("plugin onnx is not built; `cargo xtask test` builds it");
        return;
    }
    for (benchmark, wanted) in [
        (
            "mobilenet",
            "needs a model of yours as onnx; give it with --model-file FILE.onnx: the MobileNet-v1 1.0 224 that",
        ),
        (
            "ssd-mobilenet",
            "needs a model of yours as onnx; give it with --model-file FILE.onnx: the SSD-MobileNet-v1 that",
        ),
    ] {
        let bench = made(benchmark);
        let data = bench.file("data");
        let run = bench.run(&format!(
            "--plugin onnx --benchmark {benchmark} --dataset-folder {} --precision int8",
            data.display()
        ));
        run.finished.assert_error(4, &[wanted]);
    }
}
