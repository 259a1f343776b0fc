//! `host data quantise`: a model in integers that keeps its accuracy, and the document on how it was made.

use std::fs;

use proctor_datasets::{read_file, sha256_hex};
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_test_needs::skip;
use proctor_tests::{Bench, Finished, find_plugin, workspace};
use proctor_vocabulary::ElementType::F32;

use crate::models::onnx_peer::needs_runtime;

const GOOD: i32 = 0;
const SETTINGS: i32 = 2;
const PLUGIN: i32 = 3;
const DATA: i32 = 4;

/// A bench on which the plugin onnx finds its library; `None` where there is none.
fn bench() -> Option<Bench> {
    let bench = Bench::new();
    needs_runtime(&bench).map_err(skip).ok().map(|()| bench)
}

fn quantise(bench: &Bench, flags: &str) -> Finished {
    bench.host(&format!("data quantise {flags}"))
}

/// Number of right answers of a model in integers.
fn correct_count(bench: &Bench, benchmark: &str, file: &str) -> u64 {
    let run = bench.run(&format!(
        "--plugin onnx --benchmark {benchmark} --scenario Offline --mode accuracy --precision int8 --model-file {file}"
    ));
    let accuracy = &run.result()["accuracy"];
    assert_eq!(run.result()["plugin"]["precision"], "int8");
    accuracy["correct_count"].as_u64().unwrap_or_else(|| panic!("{}", run.finished))
}

#[test]
fn a_model_in_integers_keeps_its_accuracy_and_is_the_same_twice() {
    let Some(bench) = bench() else { return };
    for (benchmark, least, float) in
        [("digits-cnn", 590, None), ("digits-mlp", 585, None), ("digits-lstm", 580, Some("LSTM"))]
    {
        let made = quantise(&bench, &format!("{benchmark} --out {benchmark}-8.onnx"));
        assert_eq!(made.code(), GOOD, "{made}");
        assert!(made.stdout.contains("none of them is a sample that accuracy is measured on"), "{made}");
        if let Some(operator) = float {
            assert!(
                made.stdout.contains(&format!("{operator}, which has no form in integers here")),
                "{made}"
            );
        }
        let again = format!("again-{benchmark}/{benchmark}-8.onnx");
        let refused = quantise(&bench, &format!("{benchmark} --out {again}"));
        assert_ne!(refused.code(), GOOD, "the folder is not there: {refused}");
        fs::create_dir(bench.file(&format!("again-{benchmark}"))).unwrap();
        assert_eq!(quantise(&bench, &format!("{benchmark} --out {again}")).code(), GOOD);
        for ending in ["onnx", "calibration.md"] {
            let [one, two] = ["", &format!("again-{benchmark}/")].map(|folder| {
                read_file(&bench.file(&format!("{folder}{benchmark}-8.{ending}"))).expect("it is written")
            });
            assert!(one == two, "{benchmark}-8.{ending}");
        }
        let count = correct_count(&bench, benchmark, &format!("{benchmark}-8.onnx"));
        assert!(count >= least, "{benchmark}: {count}");
    }
}

#[test]
fn the_document_has_method_samples_and_ranges() {
    let Some(bench) = bench() else { return };
    bench.write("list.txt", "7 3\n12\n");
    let source = workspace().join("datasets/digits/digits-cnn.onnx");
    fs::copy(&source, bench.file("mine.onnx")).unwrap();
    let flags =
        "mine.onnx --benchmark digits-cnn --calibration list.txt --samples 2 --full-range --out small.onnx";
    let made = quantise(&bench, flags);
    assert_eq!(made.code(), GOOD, "{made}");
    assert!(made.stdout.contains("2 of them are samples that accuracy is measured on"), "{made}");
    let text = fs::read_to_string(bench.file("small.calibration.md")).unwrap();
    let sha256 = |path: &std::path::Path| sha256_hex(&fs::read(path).unwrap());
    for part in [
        "# Calibration of `small.onnx`".to_owned(),
        format!("`mine.onnx`, SHA-256 `{}`", sha256(&source)),
        format!("`small.onnx`, SHA-256 `{}`", sha256(&bench.file("small.onnx"))),
        format!("list `list.txt`, SHA-256 `{}`", sha256(&bench.file("list.txt"))),
        "over 127 steps".to_owned(),
        "| Conv | 2 | int8 |".to_owned(),
        "| `image` | 0 | 1 | 0.003921569 | 0 |".to_owned(),
        "\n- `7`\n- `3`\n".to_owned(),
    ] {
        assert!(text.contains(&part), "no {part:?} in {text}");
    }
    assert!(!text.contains("`12`"), "only the first two samples");
}

/// A network for the pictures of ResNet-50: the mean of each channel, times weights.
fn means() -> Vec<u8> {
    let mut graph = GraphBuilder::new("means");
    graph.input("image", F32, &Dim::batch_of(&[3, 224, 224]));
    graph.node("GlobalAveragePool", "mean", &["image"], &[]);
    graph.node("Flatten", "flat", &["mean"], &[]);
    let weights: Vec<f32> = (0..3 * 1000).map(|it| (it % 17) as f32 - 8.0).collect();
    let w = graph.constant("w", &[3, 1000], &weights);
    graph.node("MatMul", "scores", &["flat", &w], &[]);
    graph.output("scores", F32, &Dim::batch_of(&[1000]));
    graph.into_bytes()
}

#[test]
fn pictures_of_a_list_or_a_folder_are_calibrated_on() {
    let Some(bench) = bench() else { return };
    let made = bench.host("data generate imagenet --samples 3 --seed 5 --out made");
    assert_eq!(made.code(), GOOD, "{made}");
    bench.write("means.onnx", means());
    let [one, three] = [1, 3].map(|number| format!("ILSVRC2012_val_0000000{number}.JPEG"));
    bench.write("list.txt", format!("{one}\n{three}\n"));
    for name in [&one, &three] {
        fs::create_dir_all(bench.file("pictures")).unwrap();
        fs::copy(bench.file("made").join(name), bench.file("pictures").join(name)).unwrap();
    }
    let model = "means.onnx --benchmark resnet50 --folder made";
    for (source, out) in [("list.txt", "list.onnx"), ("pictures", "folder.onnx")] {
        let made = quantise(&bench, &format!("{model} --calibration {source} --out {out}"));
        assert_eq!(made.code(), GOOD, "{made}");
        assert!(
            made.stdout.contains("2 samples; 2 of them are samples that accuracy is measured on"),
            "{made}"
        );
    }
    assert!(fs::read(bench.file("list.onnx")).unwrap() == fs::read(bench.file("folder.onnx")).unwrap());

    quantise(&bench, &format!("{model} --out none.onnx"))
        .assert_error(SETTINGS, &["data set imagenet has no part for calibration", "--calibration"]);
    bench.write("gone.txt", format!("{one}\nn0144.JPEG\n"));
    quantise(&bench, &format!("{model} --calibration gone.txt --files pictures --out none.onnx"))
        .assert_error(
            DATA,
            &["gone.txt", "1 of the 2 files that it lists are not there, such as pictures/n0144.JPEG"],
        );
    assert!(!bench.file("none.onnx").exists());
}

#[test]
fn what_cannot_be_quantised_leaves_no_file() {
    let bench = Bench::new();
    bench.write("taken.onnx", "mine");
    bench.write("empty.txt", "");
    bench.write("beyond.txt", "600");
    bench.write("names.txt", "a.jpg");
    bench.write("no.onnx", "not a model");
    let int8 = workspace().join("datasets/digits/digits-cnn-int8.onnx");
    fs::copy(int8, bench.file("int8.onnx")).unwrap();
    for (flags, code, texts) in [
        ("digits-cnn --out taken.onnx", SETTINGS, &["taken.onnx is there already"][..]),
        ("no.onnx --out out.onnx", SETTINGS, &["no.onnx is a file", "--benchmark"]),
        ("digits-cmn --out out.onnx", SETTINGS, &["digits-cmn", "digits-cnn"]),
        ("resnet50 --out out.onnx", SETTINGS, &["resnet50", "FILE.onnx --benchmark resnet50"]),
        ("gone.onnx --benchmark digits-cnn --out out.onnx", DATA, &["gone.onnx"]),
        ("no.onnx --benchmark digits-cnn --out out.onnx", DATA, &["no.onnx is not an ONNX file"]),
        ("int8.onnx --benchmark digits-cnn --out out.onnx", DATA, &["int8.onnx computes in int8 already"]),
        ("digits-cnn --calibration empty.txt --out out.onnx", DATA, &["empty.txt", "lists no sample"]),
        (
            "digits-cnn --calibration beyond.txt --out out.onnx",
            DATA,
            &["beyond.txt", "there is no sample 600"],
        ),
        ("digits-cnn --calibration names.txt --out out.onnx", DATA, &["names.txt", "no sample \"a.jpg\""]),
        ("digits-cnn --calibration gone.txt --out out.onnx", DATA, &["gone.txt"]),
        ("digits-cnn --samples 0 --out out.onnx", SETTINGS, &["--samples"]),
        ("digits-cnn --set onnx.library=gone --out out.onnx", PLUGIN, &["gone", "option library"]),
    ] {
        if code == PLUGIN && find_plugin("onnx").is_none() {
            continue;
        }
        quantise(&bench, flags).assert_error(code, texts);
        assert!(!bench.file("out.onnx").exists() && !bench.file("out.calibration.md").exists(), "{flags}");
    }
}
