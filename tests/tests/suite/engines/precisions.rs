//! Models in less precision keep their accuracy, and it shows when one does not.

use std::fs;

use proctor_tests::workspace;

use crate::engines::engine::{ACCURACY, BAD_RESULT, Engine, Replaced, reference};

/// The share of the accuracy in f32 that has to be kept.
const KEPT: f64 = 0.99;

pub fn every_precision_keeps_the_accuracy(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let model = engine.model();
    for precision in engine.precisions {
        let run = engine.run(&bench, model, &format!("{ACCURACY} --batch-size 8 --precision {precision}"));
        let result = run.assert_valid().result();
        assert_eq!(result["plugin"]["precision"], *precision);
        let accuracy = &result["accuracy"];
        assert_eq!(accuracy["passed"], true, "{precision}: {accuracy}");
        let correct_count = accuracy["correct_count"].as_f64().unwrap();
        assert!(correct_count >= KEPT * reference(model).correct_count as f64, "{precision}: {accuracy}");
        let file = &result["plugin"]["model_files"][0];
        if engine.format == "onnx" {
            // There is no file in bf16: who has it rounds the one in f32.
            let own =
                if matches!(*precision, "f32" | "bf16") { String::new() } else { format!("-{precision}") };
            let path = file["path"].as_str().unwrap();
            assert!(path.ends_with(&format!("/{model}{own}.onnx")), "{precision} was computed with {path}");
        }
    }
}

/// The CNN in 8 bits with a wrong scale of its input: `quantise.py --wrong-scale 2`.
pub fn a_bad_quantisation_fails(engine: &Engine) {
    let Some(bench) = engine.bench() else { return };
    let bytes = fs::read(workspace().join("tests/fixtures/digits/digits-cnn-int8-wrong-scale.onnx")).unwrap();
    let replaced = Replaced::new(&bench, "digits-cnn", "digits-cnn-int8.onnx", &bytes);
    let run = replaced.run(&bench, engine, &format!("{ACCURACY} --precision int8"));
    assert_eq!(run.finished.code(), BAD_RESULT, "{}", run.finished);
    let accuracy = &run.result()["accuracy"];
    assert_eq!(accuracy["passed"], false, "{accuracy}");
    // 570 with exact rounding; of 595 in f32, 590 would be enough.
    let correct_count = accuracy["correct_count"].as_u64().unwrap();
    assert!((500..590).contains(&correct_count), "{accuracy}");
    assert!(run.finished.stdout.contains("FAIL: top1"), "{}", run.finished);
}
