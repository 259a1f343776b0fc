//! Translation and speech recognition on data sets in the layouts that they are published in, made here: with answers
//! whose score is known, and through a plugin from text to text and from sound to text.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proctor_sound_file::{Format, decode};
use proctor_test_needs::skip;
use proctor_tests::{Bench, Run, SCENARIOS, short, workspace};
use proctor_timed_steps::mel::{Dither, Mel};
use serde_json::{Value, json};

use crate::models::responses::{answer_file, logged};

/// Labels of characters, by their numbers.
const LABELS: &str = " abcdefghijklmnopqrstuvwxyz'";
/// Choices of the float64 networks by less than this may be others in f32.
const MARGIN_MIN: f64 = 2e-4;
/// Why a run with generated weights is INVALID.
const RANDOM: &str = "the weights are random, of the recipe";

/// A folder for a test, with its own place for prepared samples and generated weights, and a made data set in it.
fn bench_with(benchmark: &str, sample_count: usize) -> Bench {
    let bench = bench();
    let folder = bench.file("made").display().to_string();
    for command in [
        format!("data generate {benchmark} --out {folder} --samples {sample_count} --seed 5"),
        format!("data verify {benchmark} --folder {folder}"),
        format!("data prepare {benchmark} --folder {folder}"),
    ] {
        let done = bench.host(&command);
        assert_eq!(done.code(), 0, "{done}");
    }
    bench
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.set_variable("PROCTOR_CACHE_FOLDER", bench.file("cache"));
    fs::create_dir_all(bench.file("data")).unwrap();
    bench
}

/// Runs a benchmark on the made data set.
fn run(bench: &Bench, benchmark: &str, flags: &str) -> Run {
    let (folder, root) = (bench.file("made"), bench.file("data"));
    bench.run(&format!(
        "--benchmark {benchmark} --dataset-folder {} --data-root {} {flags}",
        folder.display(),
        root.display()
    ))
}

/// The accuracy of the mock with these responses.
fn score(bench: &Bench, benchmark: &str, responses: &[Vec<u8>]) -> Value {
    let file = bench.write("responses.txt", answer_file(responses));
    let flags = "--plugin mock --mode accuracy --scenario Offline --set mock.answers=responses";
    let run = run(bench, benchmark, &format!("{flags} --set mock.answer_file={}", file.display()));
    let result = run.result();
    assert_eq!(result["verdict"]["valid"], true, "the mock needs no weights: {}", run.finished);
    assert!(!bench.file("data/generated").exists(), "none were made");
    result["accuracy"].clone()
}

/// The answers with every tenth one replaced by the next sample's.
fn tenth_wrong(answers: &[String]) -> Vec<String> {
    let next = |at: usize| answers[(at + 1) % answers.len()].clone();
    let one = |(at, answer): (usize, &String)| if at % 10 == 0 { next(at) } else { answer.clone() };
    answers.iter().enumerate().map(one).collect()
}

/// Lines of a file of the made data set.
fn lines(bench: &Bench, name: &str) -> Vec<String> {
    let text = fs::read_to_string(bench.file("made").join(name)).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn translations_are_scored_by_bleu() {
    let bench = bench_with("gnmt", 60);
    let references: Vec<_> =
        lines(&bench, "newstest2014.tok.bpe.32000.de").iter().map(|line| line.replace("@@ ", "")).collect();
    let score = |answers: &[String]| {
        let responses: Vec<_> = answers.iter().map(|answer| answer.clone().into_bytes()).collect();
        score(&bench, "gnmt", &responses)
    };
    let all = score(&references);
    assert_eq!((&all["value"], &all["passed"]), (&100.0.into(), &true.into()), "{all}");
    assert_eq!((&all["sample_count"], &all["target"]), (&60.into(), &(23.9 * 0.99).into()));
    let wrong = tenth_wrong(&references);
    let (some, expected) = (score(&wrong), bleu(&wrong, &references));
    let value = some["value"].as_f64().unwrap();
    assert!((value - expected).abs() < 1e-9 && value < 95.0, "{value} instead of {expected}");
}

/// BLEU in percent: for each length from 1 to 4 the share of the answers' parts that the reference has, too, each as
/// often as it is there; their geometric mean, less what too short answers cost.
fn bleu(answers: &[String], references: &[String]) -> f64 {
    let mut precisions = 1.0_f64;
    let word_count =
        |texts: &[String]| texts.iter().map(|text| text.split(' ').count()).sum::<usize>() as f64;
    for order in 1..=4 {
        let parts = |text: &str| {
            let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
            let mut counts = HashMap::<Vec<String>, usize>::new();
            words.windows(order).for_each(|part| *counts.entry(part.to_vec()).or_default() += 1);
            counts
        };
        let (mut found, mut all) = (0, 0);
        for (answer, reference) in answers.iter().zip(references) {
            let there = parts(reference);
            for (part, count) in parts(answer) {
                found += count.min(there.get(&part).copied().unwrap_or(0));
                all += count;
            }
        }
        precisions *= found as f64 / all as f64;
    }
    let shortness = (1.0 - word_count(references) / word_count(answers)).min(0.0);
    100.0 * precisions.powf(0.25) * shortness.exp()
}

#[test]
fn transcripts_are_scored_by_words() {
    let bench = bench_with("rnnt", 30);
    let manifest = fs::read(bench.file("made/dev-clean-wav.json")).unwrap();
    let manifest: Vec<Value> = serde_json::from_slice(&manifest).unwrap();
    let transcripts: Vec<_> =
        manifest.iter().map(|entry| entry["transcript"].as_str().unwrap().to_owned()).collect();
    let score = |answers: &[String]| {
        let label = |character| LABELS.find(character).unwrap() as i64;
        let response = |answer: &String| answer.chars().flat_map(|it| label(it).to_le_bytes()).collect();
        score(&bench, "rnnt", &answers.iter().map(response).collect::<Vec<_>>())
    };
    let all = score(&transcripts);
    assert_eq!((&all["value"], &all["passed"]), (&100.0.into(), &true.into()), "{all}");
    assert_eq!(all["target"], 92.547_746_285_147_35 * 0.99);
    let wrong = tenth_wrong(&transcripts);
    let errors: usize = wrong.iter().zip(&transcripts).map(|(got, text)| word_errors(got, text)).sum();
    let words: usize = transcripts.iter().map(|text| text.split(' ').count()).sum();
    let (some, expected) = (score(&wrong), 100.0 * (1.0 - errors as f64 / words as f64));
    let value = some["value"].as_f64().unwrap();
    assert!((value - expected).abs() < 1e-9 && value < 97.0, "{value} instead of {expected}");
}

/// Minimum number of words to insert, leave out or replace, one row of the table after the other.
fn word_errors(got: &str, expected: &str) -> usize {
    let expected: Vec<_> = expected.split(' ').collect();
    let mut row: Vec<usize> = (0..=expected.len()).collect();
    for (above, word) in got.split(' ').enumerate() {
        let mut next = vec![above + 1];
        for (at, other) in expected.iter().enumerate() {
            let exchanged = row[at] + usize::from(word != *other);
            next.push(exchanged.min(row[at + 1] + 1).min(next[at] + 1));
        }
        row = next;
    }
    row[expected.len()]
}

/// The definition of a benchmark with the narrow network.
fn narrow(bench: &Bench, benchmark: &str) -> String {
    let path = workspace().join(format!("host/config/benchmarks/{benchmark}.toml"));
    let text = fs::read_to_string(path).unwrap();
    let name = |text: String, before: &str| {
        let (from, to) = (format!("{before}\"{benchmark}\""), format!("{before}\"{benchmark}-tiny\""));
        assert!(text.contains(&from), "{from}");
        text.replacen(&from, &to, 1)
    };
    let text = name(name(text, "[model]\nid = "), "generated = ");
    bench.write(&format!("{benchmark}.toml"), text).display().to_string()
}

/// Runs a benchmark with random weights through cpu-rnn in scenarios. Nothing but the weights is wrong with a run.
fn run_in(bench: &Bench, definition: &str, scenarios: &[&str]) {
    for scenario in scenarios {
        let run = run(bench, definition, &short(scenario));
        run.assert_invalid(&[RANDOM]);
        let result = run.result();
        let reasons = result["verdict"]["reasons"].as_array().unwrap();
        assert_eq!(reasons.len(), 1, "{scenario}: {reasons:?}");
        assert!(result["metric"]["value"].as_f64().unwrap() > 0.0, "{scenario}");
        assert!(run.finished.stdout.contains(RANDOM), "{}", run.finished);
    }
}

/// Answers of the network in float64, with the least margin of each; `None`, and the reason is printed, where numpy is
/// not there.
fn float64_answers(model: &str, samples: &[Value]) -> Option<Vec<(Vec<usize>, f64)>> {
    let has_numpy = Command::new("python3").args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|output| output.status.success()) {
        skip("python3 has no module numpy; `cargo xtask test` brings it");
        return None;
    }
    let mut python = Command::new("python3")
        .arg("-B")
        .arg(workspace().join("tests/tests/suite/models/float64.py"))
        .arg(workspace().join("datasets/recipes"))
        .arg(model)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(json!(samples).to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "python3 says why");
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let tokens = |answer: &Value| {
        let tokens = answer["tokens"].as_array().unwrap().iter();
        tokens.map(|token| token.as_u64().unwrap() as usize).collect()
    };
    Some(answers.iter().map(|answer| (tokens(answer), answer["margin"].as_f64().unwrap())).collect())
}

/// Compares the answers that are decided by a margin, which most have to be.
fn assert_same(got: &[String], expected: &[(String, f64)]) {
    assert_eq!(got.len(), expected.len());
    let decided: Vec<_> = got.iter().zip(expected).filter(|(_, (_, margin))| *margin >= MARGIN_MIN).collect();
    assert!(2 * decided.len() > got.len(), "{} of {} answers are decided", decided.len(), got.len());
    for (got, (expected, margin)) in &decided {
        assert_eq!(*got, expected, "decided by {margin}");
    }
    assert!(decided.iter().filter(|(got, _)| !got.is_empty()).count() * 2 > decided.len(), "few have words");
}

#[test]
fn a_few_recordings_become_labels() {
    let bench = bench_with("rnnt", 4);
    labels_are_those_of_float64(&bench, &narrow(&bench, "rnnt"), &["--scenario Offline"]);
}

#[test]
fn recordings_become_labels() {
    let bench = bench_with("rnnt", 12);
    let definition = narrow(&bench, "rnnt");
    run_in(&bench, &definition, &["SingleStream", "Server", "Offline"]);
    let refused = run(&bench, &definition, "--scenario MultiStream");
    refused.finished.assert_error(2, &["has no scenario MultiStream, because the rules of v0.7"]);
    let flags = ["--scenario Offline", "--precision f32 --isolate"];
    labels_are_those_of_float64(&bench, &definition, &flags);
}

/// Compares the labels of all recordings in runs with these flags.
fn labels_are_those_of_float64(bench: &Bench, definition: &str, flags: &[&str]) {
    // From the sound file to the network's features by a way of their own, and from there on in float64.
    let features = |file: PathBuf| -> Value {
        let samples = decode(&fs::read(&file).unwrap(), Format::SPEECH).unwrap();
        let waveform: Vec<_> = samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut features = vec![0.0; Mel::row_count(waveform.len()) * Mel::FEATURE_COUNT];
        Mel::new(Dither::On).compute(&waveform, &mut features).unwrap();
        let path = file.with_extension("features");
        fs::write(&path, features.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>()).unwrap();
        path.display().to_string().into()
    };
    let manifest = fs::read(bench.file("made/dev-clean-wav.json")).unwrap();
    let manifest: Vec<Value> = serde_json::from_slice(&manifest).unwrap();
    let file = |entry: &Value| bench.file("made").join(entry["files"][0]["fname"].as_str().unwrap());
    let samples: Vec<_> = manifest.iter().map(|entry| features(file(entry))).collect();
    let Some(expected) = float64_answers("rnnt-tiny", &samples) else { return };
    let characters: Vec<_> = LABELS.chars().collect();
    let spelled = |labels: &[usize]| labels.iter().map(|label| characters[*label]).collect::<String>();
    let expected: Vec<_> = expected.iter().map(|(labels, margin)| (spelled(labels), *margin)).collect();

    for flags in flags {
        let run = run(bench, definition, &format!("--mode accuracy {flags}"));
        run.assert_invalid(&[RANDOM]);
        let got = logged(&run).into_iter().map(|data| {
            let labels = data.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes) as usize);
            spelled(&labels.collect::<Vec<_>>())
        });
        assert_same(&got.collect::<Vec<_>>(), &expected);
    }
}

/// A data set of sentences that the narrow network takes: 40 tokens, some of which go on.
fn write_sentences(bench: &Bench) -> (Vec<String>, Vec<Vec<usize>>) {
    let token = |number: usize| {
        if number.is_multiple_of(5) { format!("teil{number}@@") } else { format!("wort{number}") }
    };
    let special = ["<unk>", "<s>", "</s>"].map(str::to_owned);
    let tokens: Vec<_> = special.into_iter().chain((3..40).map(token)).collect();
    // Lengths from 1 to 12, each word from 3 to 39, none like the one before.
    let sentences: Vec<Vec<usize>> = (0..24)
        .map(|at| (0..1 + at % 12).map(|word| 3 + (at * 7 + word * 11 + at * word) % 37).collect())
        .collect();
    let text = |sentence: &Vec<usize>| {
        let words: Vec<_> = sentence.iter().map(|word| tokens[*word].clone()).collect();
        words.join(" ") + "\n"
    };
    let text: String = sentences.iter().map(text).collect();
    for (name, content) in [
        ("newstest2014.tok.bpe.32000.en", &text),
        ("newstest2014.tok.bpe.32000.de", &text),
        ("vocab.bpe.32000.en", &(tokens.join("\n") + "\n")),
        ("vocab.bpe.32000.de", &(tokens.join("\n") + "\n")),
    ] {
        bench.write(&format!("made/{name}"), content);
    }
    (tokens, sentences)
}

#[test]
fn sentences_become_text() {
    let bench = bench();
    let (tokens, sentences) = write_sentences(&bench);
    let definition = narrow(&bench, "gnmt");
    run_in(&bench, &definition, &SCENARIOS);

    let Some(expected) =
        float64_answers("gnmt-tiny", &sentences.iter().map(|it| json!(it)).collect::<Vec<_>>())
    else {
        return;
    };
    let joined = |words: &[usize]| {
        let mut words: Vec<_> = words.iter().map(|word| tokens[*word].as_str()).collect();
        // A part of a word without its end is no word.
        while words.last().is_some_and(|word| word.ends_with("@@")) {
            words.pop();
        }
        words.join(" ").replace("@@ ", "")
    };
    let expected: Vec<_> = expected.iter().map(|(words, margin)| (joined(words), *margin)).collect();
    for flags in ["--scenario Offline", "--isolate"] {
        let run = run(&bench, &definition, &format!("--mode accuracy {flags}"));
        run.assert_invalid(&[RANDOM]);
        let got: Vec<_> = logged(&run).into_iter().map(|data| String::from_utf8(data).unwrap()).collect();
        assert_same(&got, &expected);
    }
}

/// Weights that the user gives are believed to be trained: the run is VALID, and its accuracy is what it is.
#[test]
fn weights_that_are_given_count() {
    let bench = bench();
    write_sentences(&bench);
    let definition = narrow(&bench, "gnmt");
    let made = bench.host("data make-model gnmt-tiny --out models");
    assert_eq!(made.code(), 0, "{made}");
    let weights = bench.file("models/mine.safetensors");
    fs::rename(bench.file("models/gnmt-tiny.safetensors"), &weights).unwrap();
    let given = run(&bench, &definition, &format!("--mode accuracy --model-file {}", weights.display()));
    let result = given.result();
    assert_eq!((&result["verdict"]["valid"], &result["accuracy"]["passed"]), (&true.into(), &false.into()));
    assert_eq!(given.finished.code(), 1, "{}", given.finished);
    let files = result["plugin"]["model_files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| Path::new(file["path"].as_str().unwrap())).collect();
    assert_eq!(paths, [&weights, &bench.file("made/vocab.bpe.32000.de")]);
    assert!(files.iter().all(|file| file["stands_in"].is_null()), "{files:?}");
    assert!(!given.finished.stderr.contains(RANDOM), "{}", given.finished);

    let random = run(&bench, &definition, "--mode accuracy");
    let file = &random.result()["plugin"]["model_files"][0];
    assert_eq!((&file["stands_in"], &file["recipe"]), (&true.into(), &"gnmt-tiny".into()));
    assert!(random.finished.stderr.contains(&format!("warning: {RANDOM}")), "{}", random.finished);

    fs::remove_file(bench.file("made/vocab.bpe.32000.de")).unwrap();
    let none = run(&bench, &definition, "--mode accuracy");
    none.finished.assert_error(4, &["vocab.bpe.32000.de"]);
}
