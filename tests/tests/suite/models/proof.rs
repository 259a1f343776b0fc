//! `host prove`: data that are looked at, one accuracy run, and a record of both.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_test_needs::skip;
use proctor_tests::{Bench, Finished, datasets, json, workspace};
use serde_json::Value;

use crate::models::{fashion_mnist, onnx_peer::needs};

const GOOD: i32 = 0;
const BAD: i32 = 1;
const SETTINGS: i32 = 2;

/// Proves a benchmark into a folder of the bench, and returns the end of the program and the path of the record.
fn prove(bench: &Bench, arguments: &str) -> (Finished, PathBuf) {
    let finished = bench.host(&format!("prove {arguments} --output proven"));
    (finished, bench.file("proven/proof.json"))
}

/// Asserts that the text ends with the path of the record, which is the same that the run has left.
fn read(finished: &Finished, path: &Path) -> Value {
    let last = finished.stdout.lines().last().unwrap_or_default();
    assert!(last.trim_start().starts_with("proof ") && last.ends_with("proven/proof.json"), "{finished}");
    json(path)
}

#[test]
fn a_benchmark_is_proven_with_its_files_and_its_data() {
    let bench = Bench::new();
    let (finished, path) = prove(&bench, "digits-lstm --plugin cpu-rnn");
    assert_eq!(finished.code(), GOOD, "{finished}");
    assert!(finished.stdout.contains("\ndigits-lstm: proven\n"), "{finished}");
    let (proof, result) = (read(&finished, &path), json(&bench.file("proven/result.json")));
    assert_eq!(proof["passed"], true, "{proof}");
    assert_eq!(proof["finished_at_utc"], result["finished_at_utc"]);
    let definition = workspace().join("host/config/benchmarks/digits-lstm.toml");
    let sum = proctor_datasets::sha256_of_file(&definition).unwrap();
    assert_eq!(proof["benchmark"]["definition_sha256"], sum.as_str());
    let file = &proof["model_files"][0];
    let weights = datasets().join("digits").join(file["name"].as_str().unwrap());
    assert_eq!(file["bytes"], fs::metadata(&weights).unwrap().len());
    assert_eq!(file["sha256"], proctor_datasets::sha256_of_file(&weights).unwrap().as_str());
    let dataset = &proof["dataset"];
    assert_eq!((&dataset["name"], &dataset["defect_count"]), (&"digits".into(), &0.into()), "{proof}");
    assert!(dataset["file_count"].as_u64().unwrap() > 0, "{proof}");
    assert_eq!(dataset["checksums"], "SHA-256 of its files, in checksums.sha256");
    assert_eq!(proof["samples"], result["samples"]);
    let (proven, accuracy) = (&proof["accuracy"], &result["accuracy"]);
    for (ours, theirs) in [
        ("measured", "value"),
        ("target", "target"),
        ("interval_95", "interval_95"),
        ("judged_count", "judged_count"),
    ] {
        assert_eq!(proven[ours], accuracy[theirs], "{ours}");
    }
    assert_eq!(proven["expected"], result["benchmark"]["accuracy_reference"]);
    assert_eq!(proof["plugin"]["name"], "cpu-rnn");
    assert!(result["performance_run"].is_null());
}

#[test]
fn data_with_a_defect_prove_nothing() {
    let bench = Bench::new();
    let root = bench.copy_of_datasets();
    let list = root.join("digits/checksums.sha256");
    let sums = fs::read_to_string(&list).unwrap();
    fs::write(&list, format!("{sums}{}  lost.bin\n", "0".repeat(64))).unwrap();
    let (finished, path) = prove(&bench, "digits-lstm --plugin cpu-rnn --data-root datasets");
    assert_eq!(finished.code(), BAD, "{finished}");
    assert!(finished.stdout.contains("\ndigits-lstm: not proven: the data set is not whole\n"), "{finished}");
    assert!(finished.stderr.contains("lost.bin"), "{finished}");
    let proof = read(&finished, &path);
    assert_eq!((&proof["passed"], &proof["accuracy"]["passed"]), (&false.into(), &true.into()), "{proof}");
    assert_eq!(proof["dataset"]["defect_count"], 1, "{proof}");
}

#[test]
fn an_accuracy_below_its_target_proves_nothing() {
    let bench = Bench::new();
    let definition = fs::read_to_string(workspace().join("host/config/benchmarks/digits-lstm.toml")).unwrap();
    let reference = definition.lines().find(|line| line.starts_with("reference = ")).unwrap();
    bench.write("mine.toml", definition.replace(reference, "reference = 1.0"));
    let (finished, path) = prove(&bench, "mine.toml --plugin cpu-rnn --json");
    assert_eq!(finished.code(), BAD, "{finished}");
    let event: Value = serde_json::from_str(finished.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&event["event"], &event["passed"]), (&"proof".into(), &false.into()), "{finished}");
    assert_eq!(json(&path)["accuracy"]["passed"], false);
}

#[test]
fn random_weights_and_generated_samples_are_refused() {
    let bench = Bench::new();
    for benchmark in ["resnet50-generated", "gnmt"] {
        let (refused, _) = prove(&bench, &format!("{benchmark} --plugin mock"));
        refused.assert_error(SETTINGS, &["is not to be proven", "would hold random weights (recipe "]);
    }
    assert_eq!(bench.host("data generate imagenet --samples 2 --out made").code(), GOOD);
    let given = "resnet50 --plugin mock --dataset-folder made --model-file mine.onnx";
    let (refused, _) = prove(&bench, given);
    refused.assert_error(SETTINGS, &["the samples of its data set \"imagenet\" are generated"]);
    for (flag, words) in
        [("--set mode=performance", "leave out mode"), ("--virtual-time", "leave out virtual_time")]
    {
        let (refused, _) = prove(&bench, &format!("digits-lstm --plugin cpu-rnn {flag}"));
        refused.assert_error(SETTINGS, &[words]);
    }
    assert!(!bench.file("proven").exists());
}

#[test]
fn clothes_are_proven_by_the_plugin_of_proofs() {
    let bench = Bench::new();
    let root = match fashion_mnist::root(&bench).and_then(|root| needs(&bench).map(|()| root)) {
        Ok(root) => root,
        Err(missing) => return skip(missing),
    };
    let flags = format!("--scenario Offline --batch-size 16 --data-root {}", root.display());
    let (finished, path) = prove(&bench, &format!("fashion-mnist {flags}"));
    assert_eq!(finished.code(), GOOD, "{finished}");
    let proof = read(&finished, &path);
    assert_eq!((&proof["plugin"]["name"], &proof["samples"]["count"]), (&"onnx".into(), &10_000.into()));
    assert_eq!(proof["dataset"]["checksums"], "SHA-256 of its files, in this program");
    let measured = proof["accuracy"]["measured"].as_f64().unwrap();
    assert!((measured - 0.9131).abs() < 0.001, "{proof}");
}
