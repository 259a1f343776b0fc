//! Compares F1 of BERT's logits, all the way from the files of the data set, with Python and transformers.
//!
//! `oracle.py` draws the cases, in one process. It needs the packages of the text crate's `requirements.txt`, by
//! `PYTHONPATH`, as `cargo xtask test` sets it.

use std::{ffi::OsStr, fs, path::Path};

use proctor_accuracy::{AccuracyCheck, AnswerSource, PublishedSamples, ResponseForm};
use proctor_datasets::DataRoot;
use proctor_test_needs::python;
use proctor_vocabulary::ElementType;
use serde::Deserialize;

const SEED: &str = "1";
/// Questions that are drawn, unless that takes more than these seconds of a processor.
const ALL: &str = "4000";
/// Questions that show whether something is broken.
const FEW: &str = "200";
const SECONDS: &str = "60";

#[derive(Deserialize)]
struct Expected {
    question_count: usize,
    /// The question of each row.
    names: Vec<String>,
    line: String,
    /// Rows without a response.
    missing: Vec<u64>,
    /// Number of responses that count as none.
    damaged: usize,
}

#[test]
fn drawn_logits_have_the_f1_of_transformers() {
    compare(FEW);
}

mod at_full_count {
    #[test]
    fn drawn_logits_have_the_f1_of_transformers() {
        super::compare(super::ALL);
    }
}

/// Compares the F1 of so many questions.
fn compare(count: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/oracle.py");
    let arguments: [&dyn AsRef<OsStr>; 4] = [&folder.path(), &SEED, &count, &SECONDS];
    if python(&script, &arguments, "transformers").is_none() {
        return;
    }
    let text = fs::read(folder.path().join("expected.json")).expect("it was written");
    let expected: Expected = serde_json::from_slice(&text).expect("it was written as JSON");
    let samples = PublishedSamples { folder: folder.path().to_owned(), names: expected.names };
    let check = AccuracyCheck {
        answers: AnswerSource::Labels { dataset: "squad".into(), published: Some(samples) },
        metric: "f1".into(),
        response: ResponseForm::up_to(ElementType::F32, 768),
        tolerance: None,
        reference_value: 90.874,
        target_ratio: 0.99,
        padding_record_count: 0,
        performance_seq_id: None,
    };
    let log = folder.path().join("mlperf_log_accuracy.json");
    let result = check.run(&log, &DataRoot::search()).expect("there are questions and responses");
    assert_eq!(result.line.as_deref(), Some(expected.line.as_str()));
    assert_eq!(result.missing_samples, expected.missing);
    assert_eq!(result.malformed_samples.len(), expected.damaged);
    // Neither right nor wrong throughout, or the comparison would say little.
    assert!(expected.question_count >= 100 && (20.0..95.0).contains(&result.value), "{}", expected.line);
}
