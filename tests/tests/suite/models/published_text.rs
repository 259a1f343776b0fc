//! BERT on a made SQuAD: the F1 that logits are worth is known.

use std::{fs, path::PathBuf};

use proctor_published::squad::{self, Squad};
use proctor_tests::{Bench, Run};
use serde_json::Value;

use crate::models::responses::answer_file;

/// Positions of a row.
const ROW: usize = 384;

/// A made SQuAD.
struct Made {
    bench: Bench,
    folder: PathBuf,
    squad: Squad,
    /// The right answer to each question.
    answers: Vec<String>,
}

impl Made {
    fn new(sample_count: usize) -> Self {
        let bench = Bench::new();
        let folder = bench.file("squad");
        let flags = format!("--out {} --samples {sample_count} --seed 5", folder.display());
        let made = bench.host(&format!("data generate bert {flags}"));
        assert_eq!(made.code(), 0, "{made}");
        let file: Value = serde_json::from_slice(&fs::read(folder.join("dev-v1.1.json")).unwrap()).unwrap();
        let paragraphs = file["data"][0]["paragraphs"].as_array().unwrap();
        let answer =
            |paragraph: &Value| paragraph["qas"][0]["answers"][0]["text"].as_str().unwrap().to_owned();
        let answers = paragraphs.iter().map(answer).collect();
        let squad = squad::open(&folder).unwrap();
        assert_eq!(squad.features().len(), sample_count);
        Self { bench, folder, squad, answers }
    }

    /// A response for each sample: logits that are sure of these answers to the questions.
    fn responses(&self, answers: &[String]) -> Vec<Vec<u8>> {
        let features = self.squad.features();
        let mut is_answered = vec![false; answers.len()];
        let responses = (0..features.len()).map(|row| {
            let question = features.feature(row).question();
            let mut pairs = [[0.0_f32; 2]; ROW];
            if let Some((first, last)) = features.positions_of(row, &answers[question]) {
                (pairs[first][0], pairs[last][1]) = (1.0, 1.0);
                is_answered[question] = true;
            }
            pairs.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
        });
        let responses = responses.collect();
        assert!(is_answered.iter().all(|it| *it), "each answer stands in a row of its question");
        responses
    }

    /// Runs the mock with these responses.
    fn run(&self, responses: &[Vec<u8>], flags: &str) -> Run {
        let responses = self.bench.write("responses.txt", answer_file(responses));
        self.bench.run(&format!(
            "--plugin mock --benchmark bert --dataset-folder {} --set mock.answers=responses \
             --set mock.answer_file={} {flags}",
            self.folder.display(),
            responses.display()
        ))
    }
}

/// Twice the words that two answers share, by the words of both: their F1. No answer here has a word twice.
fn f1(given: &str, right: &str) -> f64 {
    let words = |answer: &str| -> Vec<String> {
        let kept = answer.to_lowercase().replace(|c: char| c.is_ascii_punctuation(), "");
        kept.split(' ').filter(|word| !["", "a", "an", "the"].contains(word)).map(str::to_owned).collect()
    };
    let (given, right) = (words(given), words(right));
    let shared = given.iter().filter(|word| right.contains(word)).count();
    2.0 * shared as f64 / (given.len() + right.len()) as f64
}

#[test]
fn right_answers_have_an_f1_of_100_and_wrong_ones_cost_what_they_miss() {
    let made = Made::new(60);
    let folder = made.folder.display();
    let verified = made.bench.host(&format!("data verify bert --folder {folder}"));
    assert_eq!(verified.code(), 0, "{verified}");
    let prepared = made.bench.host(&format!("data prepare bert --folder {folder}"));
    assert!(prepared.code() == 0 && prepared.stdout.contains("60 of 60 samples"), "{prepared}");

    let all = made.run(&made.responses(&made.answers), "--mode accuracy");
    let result = all.assert_valid().result();
    let accuracy = &result["accuracy"];
    assert_eq!((&accuracy["metric"], &accuracy["value"]), (&"f1".into(), &100.0.into()));
    assert_eq!((&accuracy["details"]["exact_match"], &accuracy["passed"]), (&100.0.into(), &true.into()));
    assert_eq!(accuracy["line"], "{\"exact_match\": 100.0, \"f1\": 100.0}");
    assert_eq!(accuracy["sample_count"], 60);

    // A tenth of the answers, by turns one with a word too many and one with none that counts.
    let mut given = made.answers.clone();
    for (number, answer) in given.iter_mut().step_by(10).enumerate() {
        *answer = if number % 2 == 0 { format!("is {answer}") } else { "The".to_owned() };
    }
    let some = made.run(&made.responses(&given), "--mode accuracy");
    let accuracy = &some.result()["accuracy"];
    let count = made.answers.len() as f64;
    let wrong_count = (count / 10.0).ceil();
    let expected =
        given.iter().zip(&made.answers).map(|(given, right)| f1(given, right)).sum::<f64>() / count;
    let value = |of: &Value| of.as_f64().unwrap();
    assert!((value(&accuracy["value"]) - 100.0 * expected).abs() < 1e-9, "{accuracy} instead of {expected}");
    assert!((0.9..0.97).contains(&expected), "{expected}");
    let exact = value(&accuracy["details"]["exact_match"]);
    assert!((exact - 100.0 * (1.0 - wrong_count / count)).abs() < 1e-9, "{accuracy}");
}

#[test]
fn damaged_responses_are_listed_and_short_ones_are_whole() {
    let made = Made::new(30);
    let right = made.responses(&made.answers);
    let features = made.squad.features();
    let single = |row: &usize| features.rows_of(features.feature(*row).question()).len() == 1;
    let singles: Vec<usize> = (0..right.len()).filter(single).take(3).collect();

    // Beyond the last token there is nothing to point at.
    let cut = right.iter().enumerate().map(|(row, response)| {
        let size = features.feature(row).token_count() * 8;
        response[..size].to_vec()
    });
    let short = made.run(&cut.collect::<Vec<_>>(), "--mode accuracy");
    assert_eq!(short.assert_valid().result()["accuracy"]["value"], 100.0);

    let mut damaged = right;
    damaged[singles[0]].clear();
    damaged[singles[1]].truncate(12);
    damaged[singles[2]][4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    let run = made.run(&damaged, "--mode accuracy");
    let accuracy = &run.result()["accuracy"];
    assert_eq!(
        (&accuracy["malformed_samples"], &accuracy["passed"]),
        (&singles.clone().into(), &false.into())
    );
    let count = made.answers.len() as f64;
    let value = accuracy["value"].as_f64().unwrap();
    assert!((value - 100.0 * (count - 3.0) / count).abs() < 1e-9, "{accuracy}");
    let reasons = accuracy["reasons"].to_string();
    assert!(reasons.contains("samples with a damaged response: 3 ("), "{reasons}");
}

#[test]
fn bert_is_run_in_its_scenarios_and_by_its_rounds() {
    let made = Made::new(20);
    let responses = made.responses(&made.answers);
    for scenario in ["SingleStream", "Server", "Offline"] {
        let flags = format!(
            "--virtual-time --scenario {scenario} --set mock.service=fixed --set mock.service_us=500"
        );
        let run = made.run(&responses, &flags);
        assert_eq!(run.assert_valid().result()["accuracy"]["value"], 100.0, "{scenario}");
    }
    let refused = made.run(&responses, "--scenario MultiStream");
    refused.finished.assert_error(2, &["no round has BERT in MultiStream"]);

    let deviations = |rules: &str| {
        let run = made.run(&responses, &format!("--mode accuracy --set rules={rules}"));
        run.result()["deviations"].to_string()
    };
    assert!(deviations("v0.7").contains("tokenize is done untimed"));
    assert!(!deviations("v5.0").contains("untimed"));
    let strict = made.run(&responses, "--mode accuracy --quality-target 99.9");
    let target = strict.result()["accuracy"]["target"].as_f64().unwrap();
    assert!((target - 0.999 * 90.874).abs() < 1e-9, "{target}");
}
