//! Compares tokens, features and answers with those of transformers, on random texts.
//!
//! `peer.py` makes the cases, in one process. It needs the packages of `requirements.txt`, by `PYTHONPATH`, as
//! `cargo xtask test` sets it.

use std::{collections::HashMap, ffi::OsStr, fs, path::Path};

use proctor_test_needs::python;
use proctor_text::{BertTokenizer, Context, Features, Logits, Question, Windows, basic_tokens};
use serde::Deserialize;

const SEED: &str = "1";

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Basic {
        text: String,
        tokens: Vec<String>,
    },
    Bert {
        text: String,
        ids: Vec<u32>,
    },
    Features {
        context: String,
        question: String,
        lengths: (usize, usize, usize),
        rows: Vec<Row>,
        tries: Vec<Try>,
    },
}

#[derive(Deserialize)]
struct Row {
    ids: Vec<u32>,
    mask: Vec<u32>,
    segments: Vec<u32>,
    /// The word of each position, -1 outside the context.
    words: Vec<i64>,
    /// Positions with the most context.
    most: Vec<usize>,
}

/// Logits of each row, and the answers to which they lead.
#[derive(Deserialize)]
struct Try {
    logits: Vec<Option<(Vec<f64>, Vec<f64>)>>,
    best: Vec<(String, f64, f64)>,
}

/// One case in this many shows whether something is broken; all of them are compared by [`at_full_count`].
const FEW: usize = 20;

#[test]
fn texts_become_the_tokens_features_and_answers_of_transformers() {
    compare_one_in(FEW);
}

mod at_full_count {
    #[test]
    fn texts_become_the_tokens_features_and_answers_of_transformers() {
        super::compare_one_in(1);
    }
}

fn compare_one_in(divisor: usize) {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/peer.py");
    let arguments: [&dyn AsRef<OsStr>; 3] = [&folder.path(), &SEED, &divisor.to_string()];
    if python(&script, &arguments, "transformers").is_none() {
        return;
    }
    let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
    let tokenizer = BertTokenizer::from_vocabulary_lines(&read("vocab.txt")).unwrap();
    let from_json = BertTokenizer::from_tokenizer_json(&read("tokenizer.json")).unwrap();
    let mut counts = HashMap::new();
    for line in read("cases.jsonl").lines() {
        let kind = match serde_json::from_str(line).unwrap() {
            Case::Basic { text, tokens } => {
                assert_eq!(basic_tokens(&text), tokens, "{text:?}");
                "basic"
            }
            Case::Bert { text, ids } => {
                assert_eq!(tokenizer.tokenize(&text), ids, "{text:?}");
                assert_eq!(from_json.tokenize(&text), ids, "{text:?}");
                "bert"
            }
            Case::Features { context, question, lengths: (row, most, stride), rows, tries } => {
                let windows = Windows { row, question: most, stride };
                let question = Question { id: "q".to_owned(), text: question };
                let contexts = vec![Context { text: context, questions: vec![question] }];
                let features = Features::new(tokenizer.clone(), contexts, windows);
                assert_same_rows(&features, &rows, line);
                for (number, tried) in tries.iter().enumerate() {
                    assert_same_answers(&features, tried, &format!("try {number} of {line}"));
                }
                "features"
            }
        };
        *counts.entry(kind).or_insert(0) += 1;
    }
    for (kind, least) in [("basic", 25_000), ("bert", 4000), ("features", 1000)] {
        assert!(counts.get(kind).is_some_and(|count| *count >= least / divisor), "{kind} in {counts:?}");
    }
}

fn assert_same_rows(features: &Features, rows: &[Row], case: &str) {
    assert_eq!(features.len(), rows.len(), "{case}");
    for (number, row) in rows.iter().enumerate() {
        let feature = features.feature(number);
        let count = feature.token_count();
        let mut ids: Vec<u32> = feature.ids().collect();
        assert_eq!(ids.len(), count, "{case}");
        ids.resize(features.windows().row, 0);
        assert_eq!(ids, row.ids, "row {number} of {case}");
        let mask: Vec<u32> = (0..ids.len()).map(|at| u32::from(at < count)).collect();
        assert_eq!(mask, row.mask, "row {number} of {case}");
        let is_context = |at| at >= feature.context_start() && at < count;
        let segments: Vec<u32> = (0..ids.len()).map(|at| u32::from(is_context(at))).collect();
        assert_eq!(segments, row.segments, "row {number} of {case}");
        let words: Vec<i64> = (0..count).map(|at| feature.word(at).map_or(-1, |word| word as i64)).collect();
        assert_eq!(words, row.words, "row {number} of {case}");
        let most: Vec<usize> = (0..ids.len()).filter(|at| feature.has_most_context(*at)).collect();
        assert_eq!(most, row.most, "row {number} of {case}");
    }
}

fn assert_same_answers(features: &Features, tried: &Try, case: &str) {
    let logits = tried.logits.iter().cloned();
    let logits: Vec<_> = logits.map(|logits| logits.map(|(start, end)| Logits { start, end })).collect();
    let of_row = |row: usize| logits[row].as_ref();
    let best = features.best_answers(0, of_row).unwrap();
    let best: Vec<_> = best.into_iter().map(|best| (best.text, best.start_logit, best.end_logit)).collect();
    assert_eq!(best, tried.best, "{case}");
    let first = tried.best.first().map_or("empty", |best| best.0.as_str());
    assert_eq!(features.answer(0, of_row).unwrap(), first, "{case}");
}
