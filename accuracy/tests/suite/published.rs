//! Checks of published data sets, from files of labels and a log to a verdict.

use std::{fs, path::Path};

use proctor_accuracy::{AccuracyCheck, AccuracyResult, AnswerSource, PublishedSamples, ResponseForm};
use proctor_datasets::DataRoot;
use proctor_vocabulary::ElementType;
use serde_json::json;

/// Checks responses to samples 0, 1 and so on of a data set, a tenth of which may be wrong.
fn check(
    (dataset, metric, names): (&str, &str, Vec<String>),
    folder: &Path,
    responses: &[Vec<u8>],
) -> AccuracyResult {
    let line = |(index, response): (usize, &Vec<u8>)| {
        let hex: String = response.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("{{ \"seq_id\" : {index}, \"qsl_idx\" : {index}, \"data\" : \"{hex}\" }}")
    };
    let lines: Vec<_> = responses.iter().enumerate().map(line).collect();
    let log = folder.join("mlperf_log_accuracy.json");
    fs::write(&log, format!("[\n{}\n]\n", lines.join(",\n"))).expect("the folder takes files");
    let published = PublishedSamples { folder: folder.to_owned(), names };
    let element_type = match metric {
        "bleu" => ElementType::U8,
        "word-accuracy" => ElementType::I64,
        _ => ElementType::F32,
    };
    let check = AccuracyCheck {
        answers: AnswerSource::Labels { dataset: dataset.into(), published: Some(published) },
        metric: metric.into(),
        response: ResponseForm::up_to(element_type, 1000),
        tolerance: None,
        reference_value: if metric == "map" { 1.0 } else { 100.0 },
        target_ratio: 0.95,
        padding_record_count: 0,
        performance_seq_id: None,
    };
    check.run(&log, &DataRoot::search()).expect("there are labels and responses")
}

fn assert_right(result: &AccuracyResult, line: &str) {
    assert!(result.passed && result.reasons.is_empty(), "{result:?}");
    assert_eq!((result.line.as_deref(), result.correct_count, result.judged_count), (Some(line), None, 10));
}

#[test]
fn boxes_of_coco() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = 100..110;
    let list = json!({
        "images": ids.clone().map(|id| json!({"id": id, "height": 100, "width": 200})).collect::<Vec<_>>(),
        "annotations": ids.clone().map(|id| json!({
            "id": id, "image_id": id, "category_id": 90, "bbox": [20, 10, 60, 50], "area": 3000, "iscrowd": 0
        })).collect::<Vec<_>>(),
        "categories": [{"id": 1, "name": "a"}, {"id": 90, "name": "b"}],
    });
    fs::create_dir(folder.path().join("annotations")).expect("a folder");
    fs::write(folder.path().join("annotations/instances_val2017.json"), list.to_string()).expect("a file");
    let response = |index: u8| {
        let record = [f32::from(index), 0.1, 0.1, 0.6, 0.4, 0.5, 90.0];
        record.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
    };
    let of = |responses: &[Vec<u8>]| {
        check(("coco", "map", ids.clone().map(|id| id.to_string()).collect()), folder.path(), responses)
    };
    let mut responses: Vec<_> = (0..10).map(response).collect();
    assert_right(&of(&responses), "mAP=100.000%");

    responses[3].clear();
    let result = of(&responses);
    // Without the tenth box, precision is 1 at the recalls 0 to 0.9: at 91 of 101.
    assert!((result.value - 91.0 / 101.0).abs() < 1e-9 && !result.passed, "{result:?}");
    assert_eq!(result.details["recall_100"], 0.9);
    assert_eq!(result.reasons, ["map is 0.90099, below the target of 0.95000"]);

    responses[3] = vec![0; 27];
    responses.pop();
    let result = of(&responses);
    assert_eq!((result.malformed_samples, result.missing_samples), (vec![3], vec![9]));
    assert_eq!(
        result.reasons[1..],
        [
            "samples without a record: 1 (9)",
            "samples with a damaged response: 1 (3)",
            "response of sample 3: 27 bytes are no whole number of 28",
        ]
    );
}

#[test]
fn translations_of_wmt() {
    let folder = tempfile::tempdir().expect("a folder");
    let sentence = |number| format!("das ist Satz {number} von zehn");
    let divided: String = (0..10).map(|number| sentence(number).replace("Satz", "Sa@@ tz") + "\n").collect();
    fs::write(folder.path().join("newstest2014.tok.bpe.32000.de"), divided).expect("a file");
    let mut responses: Vec<_> = (0..10).map(|number| sentence(number).into_bytes()).collect();
    let of = |responses: &[Vec<u8>]| check(("wmt", "bleu", Vec::new()), folder.path(), responses);
    assert_right(&of(&responses), "BLEU: 100.0");
    responses[0] = b"x x x x x x".to_vec();
    let result = of(&responses);
    // Of each order nine in ten runs are right, and the length is.
    assert!((result.value - 90.0).abs() < 1e-9, "{result:?}");
}

#[test]
fn transcripts_of_librispeech() {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<_> = (0..10).map(|number| format!("{number}.wav")).collect();
    let entry = |name: &String| json!({"files": [{"fname": name, "speed": 1}], "transcript": "A CAB"});
    let list: Vec<_> = names.iter().map(entry).collect();
    fs::write(folder.path().join("dev-clean-wav.json"), json!(list).to_string()).expect("a file");
    let spelled = |labels: &[i64]| labels.iter().flat_map(|label| label.to_le_bytes()).collect::<Vec<u8>>();
    let mut responses = vec![spelled(&[1, 0, 3, 1, 2]); 10];
    let of = |responses: &[Vec<u8>]| {
        check(("librispeech", "word-accuracy", names.clone()), folder.path(), responses)
    };
    assert_right(&of(&responses), "Word Error Rate: 0.0%, accuracy=100.0%");
    responses[9] = spelled(&[1]);
    assert_eq!(of(&responses).value, 95.0);
    responses[9] = Vec::new();
    assert_eq!(of(&responses).line.as_deref(), Some("Word Error Rate: 10.0%, accuracy=90.0%"));
}

#[test]
fn answers_to_questions_of_squad() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "[PAD] [UNK] [CLS] [SEP] who ada was here".split(' ').map(str::to_owned);
    let vocabulary = words.chain((0..).map(|number| format!("[unused{number}]"))).take(30_522);
    fs::write(folder.path().join("vocab.txt"), vocabulary.map(|token| token + "\n").collect::<String>())
        .expect("a file");
    let names: Vec<_> = (0..10).map(|number| format!("question-{number}")).collect();
    let asked = |name: &String| json!({"id": name, "question": "Who", "answers": [{"text": "Ada was here"}]});
    let questions: Vec<_> = names.iter().map(asked).collect();
    let file =
        json!({"version": "1.1", "data": [{"paragraphs": [{"context": "Ada was here", "qas": questions}]}]});
    fs::write(folder.path().join("dev-v1.1.json"), file.to_string()).expect("a file");
    // Of [CLS] who [SEP] ada was here [SEP].
    let logits = |first: usize, last: usize| {
        let mut pairs = [[0.0_f32; 2]; 7];
        (pairs[first][0], pairs[last][1]) = (1.0, 1.0);
        pairs.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
    };
    let of = |responses: &[Vec<u8>]| check(("squad", "f1", names.clone()), folder.path(), responses);
    let mut responses = vec![logits(3, 5); 10];
    assert_right(&of(&responses), "{\"exact_match\": 100.0, \"f1\": 100.0}");

    // "Ada" has all of its words right, and a third of the wanted ones.
    responses[0] = logits(3, 3);
    let result = of(&responses);
    assert_eq!((result.value, result.details["exact_match"]), (95.0, 90.0));

    responses[1].pop();
    responses.pop();
    let result = of(&responses);
    assert_eq!((result.value, result.missing_samples, result.malformed_samples), (75.0, vec![9], vec![1]));
    assert_eq!(
        result.reasons,
        [
            "f1 is 75.000, below the target of 95.000",
            "samples without a record: 1 (9)",
            "samples with a damaged response: 1 (1)",
            "response of sample 1: 55 bytes are no whole number of 8",
        ]
    );
}
