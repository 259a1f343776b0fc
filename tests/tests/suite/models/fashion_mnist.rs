//! The benchmark fashion-mnist on all its 10,000 images, which `cargo xtask setup` has placed.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use proctor_accuracy::read_log;
use proctor_test_needs::{packages, skip};
use proctor_tests::{Bench, Run, datasets};
use serde_json::Value;

use crate::models::onnx_peer::needs_runtime;

const MODEL: &str = "fashion-mnist-cnn";

/// A data root with the images and the network; the error is the reason to skip a test.
pub fn root(bench: &Bench) -> Result<PathBuf, String> {
    let fetched = packages(&["fashion-mnist"])?;
    let root = bench.file("with-clothes");
    fs::create_dir(&root).unwrap();
    symlink(fs::canonicalize(fetched.join("fashion-mnist")).unwrap(), root.join("fashion-mnist")).unwrap();
    symlink(datasets().join(MODEL), root.join(MODEL)).unwrap();
    Ok(root)
}

/// Asserts that a run has passed, and has the classes that ONNX Runtime found with the file in this precision, except
/// for a few: each engine adds in an order of its own.
pub fn assert_as_the_reference(run: &Run, precision: &str) {
    let name = if precision == "f32" { MODEL.to_owned() } else { format!("{MODEL}-{precision}") };
    let reference = fs::read_to_string(datasets().join(MODEL).join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&reference).unwrap();
    let expected = reference["models"][name]["predictions"].as_str().unwrap();

    let accuracy = &run.assert_valid().result()["accuracy"];
    assert_eq!(
        (&accuracy["passed"], &accuracy["judged_count"]),
        (&true.into(), &10_000.into()),
        "{accuracy}"
    );
    let mut log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    log.sort_by_key(|record| record.qsl_idx);
    assert_eq!(log.len(), expected.len());
    let class = |data: &[u8]| {
        let logits = data.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        b"0123456789".iter().zip(logits).max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(class, _)| *class)
    };
    let differ =
        log.iter().zip(expected.bytes()).filter(|(record, expected)| class(&record.data) != Some(*expected));
    let differ = differ.count();
    let most = if precision == "f32" { 2 } else { 20 };
    assert!(differ <= most, "{differ} of 10,000 classes differ from the reference: {accuracy}");
}

#[test]
fn ten_thousand_images_have_the_classes_of_the_reference() {
    let bench = Bench::new();
    let root = match root(&bench) {
        Ok(root) => root.display().to_string(),
        Err(missing) => return skip(missing),
    };
    let told = bench.host(&format!("data info fashion-mnist --data-root {root}"));
    assert!(told.stdout.contains("fashion-mnist: 10000 samples\n"), "{told}");
    let whole = bench.host(&format!("data verify fashion-mnist-calibration --data-root {root}"));
    assert!(whole.stdout.contains("fashion-mnist: nothing is missing or damaged"), "{whole}");

    if let Err(missing) = needs_runtime(&bench) {
        return skip(missing);
    }
    for precision in ["f32", "int8"] {
        let flags = format!("--scenario Offline --mode accuracy --batch-size 16 --precision {precision}");
        let run = bench.run(&format!("--plugin onnx --benchmark fashion-mnist {flags} --data-root {root}"));
        assert_as_the_reference(&run, precision);
        let [low, high] = [0, 1].map(|end| run.result()["accuracy"]["interval_95"][end].as_f64().unwrap());
        assert!(0.90 < low && low < 0.9131 && 0.9121 < high && high < 0.93, "{low} to {high}");
        assert_eq!(run.result()["samples"]["count"], 10_000);
    }
}
