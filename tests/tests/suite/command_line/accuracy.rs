//! `host accuracy`: accuracy logs by themselves, of this program and in the forms in which others write them.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{fs, path::Path};

use proctor_tests::{Bench, Finished, workspace};
use serde_json::Value;

const GOOD: i32 = 0;
const BAD: i32 = 1;
const SETTINGS: i32 = 2;
const DATA: i32 = 4;

/// The answer of `host accuracy --json`.
fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"))
}

#[test]
fn a_run_folder_is_scored_as_its_run_was() {
    let bench = Bench::new();
    for flags in [
        "--mode accuracy",
        "--mode accuracy --benchmark digits-mlp --scenario Offline --rules v0.7",
        "--mode SubmissionRun --duration 50ms --set floor=false",
        // Six sets of 100, the last query of each of which is filled up with four samples.
        "--mode accuracy --scenario MultiStream --set performance_sample_count_override=100",
        "--mode accuracy --plugin mock",
    ] {
        let run = bench.run(flags);
        let accuracy = &run.result()["accuracy"];
        let folder = run.folder().display();
        let scored = bench.host(&format!("accuracy {folder} --json"));
        assert_eq!(json(&scored)["accuracy"], *accuracy, "{flags}");
        assert_eq!(json(&scored)["rules"], run.result()["rules"], "{flags}");
        let passed = accuracy["passed"].as_bool().unwrap();
        assert_eq!(scored.code(), if passed { GOOD } else { BAD }, "{scored}");

        // The line of the reference comes first, then what the run printed.
        let text = bench.host(&format!("accuracy {folder}")).stdout;
        let printed =
            run.finished.stdout.lines().find_map(|line| line.trim_start().strip_prefix("accuracy "));
        assert!(text.contains(&format!("  accuracy  {}\n", printed.unwrap().trim_start())), "{text}");
        let correct_count = accuracy["correct_count"].as_u64().unwrap();
        let share = correct_count as f64 / 6.0;
        let line = format!("accuracy={share:.3}%, good={correct_count}, total=600\n");
        assert!(text.starts_with(&line), "{text} does not start with {line}");
        if flags.contains("MultiStream") {
            assert_eq!(accuracy["duplicate_samples"].as_array().unwrap().len(), 6 * 4);
            assert!(
                text.contains("24 repeated") && text.contains("up to 42 repeated by MultiStream"),
                "{text}"
            );
        }
    }
}

#[test]
fn the_log_alone_is_as_good_as_its_folder_and_flags_go_before_the_run() {
    let bench = Bench::new();
    let run = bench.run("--mode accuracy");
    let folder = run.folder().display();
    let of_folder = bench.host(&format!("accuracy {folder}"));
    for path in ["accuracy", "accuracy/mlperf_log_accuracy.json"] {
        assert_eq!(bench.host(&format!("accuracy {folder}/{path}")).stdout, of_folder.stdout);
    }
    let other = bench.host(&format!("accuracy {folder} --benchmark digits-cnn --json"));
    assert_eq!(other.code(), BAD, "{other}");
    let of_run = run.result()["accuracy"]["value"].as_f64();
    let other = json(&other);
    assert_eq!(
        (other["accuracy"]["value"].as_f64(), other["reference"].as_f64()),
        (of_run, Some(0.991_666_666_666_666_7))
    );

    // Elsewhere nothing says of which benchmark it is.
    let copy = bench.file("elsewhere.json");
    fs::copy(run.folder().join("accuracy/mlperf_log_accuracy.json"), &copy).unwrap();
    let alone = format!("accuracy {}", copy.display());
    bench.host(&alone).assert_error(SETTINGS, &["elsewhere.json: ", "give --benchmark"]);
    assert_eq!(bench.host(&format!("{alone} --benchmark digits-lstm")).code(), GOOD);
    bench.host("accuracy nowhere").assert_error(DATA, &["nowhere: there is no mlperf_log_accuracy.json"]);
}

/// A made ImageNet of ten pictures, whose classes are 0 to 9, and a place for logs.
struct TenPictures(Bench);

impl TenPictures {
    fn new() -> Self {
        let bench = Bench::new();
        let folder = bench.file("imagenet");
        let made = bench.host(&format!("data generate imagenet --out {} --samples 10", folder.display()));
        assert_eq!(made.code(), GOOD, "{made}");
        let list = fs::read_to_string(folder.join("val_map.txt")).unwrap();
        let names = list.lines().map(|line| line.split_whitespace().next().unwrap());
        let classes: String = names.zip(0..).map(|(name, class)| format!("{name} {class}\n")).collect();
        fs::write(folder.join("val_map.txt"), classes).unwrap();
        Self(bench)
    }

    fn score(&self, log: &Path, flags: &str) -> Finished {
        let (log, folder) = (log.display(), self.0.file("imagenet"));
        let folder = folder.display();
        self.0.host(&format!("accuracy {log} --benchmark resnet50 --dataset-folder {folder} {flags}"))
    }

    /// Scores a log of this text, whose responses are classes in f32.
    fn of(&self, text: &str) -> Finished {
        self.score(&self.0.write("log/mlperf_log_accuracy.json", text), "--element-type f32 --json")
    }
}

/// A record in LoadGen's form, whose response is a number.
fn record(sample: u64, class: f32) -> String {
    format!("{{ \"seq_id\" : {sample}, \"qsl_idx\" : {sample}, \"data\" : \"{}\" }}", hex(class))
}

fn hex(number: f32) -> String {
    number.to_le_bytes().iter().map(|byte| format!("{byte:02X}")).collect()
}

fn log(records: &[String]) -> String {
    format!("[\n{}\n]\n", records.join(",\n"))
}

#[test]
fn a_log_that_loadgen_wrote_is_scored_and_nothing_is_prepared() {
    let pictures = TenPictures::new();
    // LoadGen 6.0.17 recorded it from a system whose response is the index of the sample as an u32.
    let golden = workspace().join("accuracy/tests/golden/offline.json");
    let scored = pictures.score(&golden, "--element-type i32");
    assert_eq!(scored.code(), GOOD, "{scored}");
    assert!(scored.stdout.starts_with("accuracy=100.000%, good=10, total=10\n"), "{scored}");
    let warning = "imagenet has 10 of the benchmark's 50000 samples";
    assert!(scored.stderr.contains(warning), "{scored}");
    let prepared = fs::read_dir(pictures.0.file("cache/proctor/prepared")).unwrap();
    let sizes: Vec<_> =
        prepared.map(|it| fs::metadata(it.unwrap().path().join("samples")).unwrap().len()).collect();
    assert_eq!(sizes, [0]);

    // The definition's own responses are i64; and as f32 these numbers are nearly 0.
    let own = pictures.score(&golden, "--json");
    assert_eq!((own.code(), &json(&own)["accuracy"]["malformed_samples"]), (BAD, &(0..10).collect()));
    let floats = pictures.score(&golden, "--element-type f32");
    assert!(floats.stdout.starts_with("accuracy=10.000%, good=1, total=10\n"), "{floats}");
    let refused = pictures.score(&golden, "--element-type u8");
    refused
        .assert_error(SETTINGS, &["--element-type u8: top1 is computed from one output, of logits in f32"]);
    let refused = pictures.score(&golden, "--element-type float32");
    refused.assert_error(SETTINGS, &["--element-type <TYPE>", "give one of f32, f64, "]);
}

#[test]
fn every_form_of_a_whole_log_has_the_same_score() {
    let pictures = TenPictures::new();
    let records: Vec<_> = (0..10).map(|sample| record(sample, sample as f32)).collect();
    let text = log(&records);
    let expected = json(&pictures.of(&text))["accuracy"].clone();
    assert_eq!((&expected["value"], &expected["passed"]), (&1.0.into(), &true.into()));
    let turned: Vec<_> = (0..10)
        .map(|sample| format!("{{\"data\":\"{}\",\"qsl_idx\":{sample},\"seq_id\":0}}", hex(sample as f32)))
        .collect();
    let reversed: Vec<_> = records.iter().rev().cloned().collect();
    for (form, text) in [
        ("without line breaks", text.replace('\n', "")),
        ("without spaces", text.replace(' ', "")),
        ("with CRLF", text.replace('\n', "\r\n")),
        ("with lower digits", text.to_lowercase()),
        ("in another order of keys", log(&turned)),
        ("in another order of records", log(&reversed)),
        ("with tokens", text.replace(" }", ", \"token_data\" : \"0000\", \"token_count\" : 1 }")),
    ] {
        let scored = pictures.of(&text);
        assert_eq!(json(&scored)["accuracy"], expected, "{form}");
        assert_eq!(scored.code(), GOOD, "{form}: {scored}");
    }
}

#[test]
fn defects_are_counted_listed_and_fail() {
    let pictures = TenPictures::new();
    let whole: Vec<_> = (0..10).map(|sample| record(sample, sample as f32)).collect();
    let with = |change: fn(&mut Vec<String>)| {
        let mut records = whole.clone();
        change(&mut records);
        let scored = pictures.of(&log(&records));
        assert_eq!(scored.code(), BAD, "{scored}");
        json(&scored)["accuracy"].clone()
    };
    let lists = |accuracy: &Value| {
        ["missing_samples", "malformed_samples", "duplicate_samples", "unknown_samples"].map(|list| {
            accuracy[list].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect::<Vec<_>>()
        })
    };
    let nothing = Vec::<u64>::new;

    let missing = with(|records| _ = records.drain(3..5));
    assert_eq!(lists(&missing), [vec![3, 4], nothing(), nothing(), nothing()]);
    // The reference divides by the samples that were answered; the rules want all of them.
    assert_eq!(
        (&missing["value"], &missing["line"]),
        (&0.8.into(), &"accuracy=100.000%, good=8, total=8".into())
    );
    let repeated = with(|records| records.extend([record(7, 0.0), record(2, 2.0), record(7, 7.0)]));
    assert_eq!(lists(&repeated), [nothing(), nothing(), vec![7, 2, 7], nothing()]);
    assert_eq!(repeated["value"], 1.0, "the first record counts");
    let foreign = with(|records| records.extend([record(10, 0.0), record(50_000, 0.0)]));
    assert_eq!(lists(&foreign), [nothing(), nothing(), nothing(), vec![10, 50_000]]);
    let empty = with(Vec::clear);
    assert_eq!(lists(&empty)[0], (0..10).collect::<Vec<_>>());
    assert_eq!((&empty["value"], empty.get("line")), (&0.0.into(), None));

    let damaged = with(|records| {
        records[1] = records[1].replace("3F\"", "3F00\"");
        records[4] = record(4, f32::NAN);
        records[6] = records[6].replace(&hex(6.0), "");
        records[8] = record(8, f32::INFINITY);
    });
    assert_eq!(lists(&damaged), [nothing(), vec![1, 4, 6, 8], nothing(), nothing()]);
    let defects: Vec<_> = damaged["response_defects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["kind"], &it["samples"]))
        .collect();
    let expected: [(Value, Value); 2] =
        [("not-finite".into(), vec![4, 8].into()), ("size".into(), vec![1, 6].into())];
    assert_eq!(defects, expected.each_ref().map(|(kind, samples)| (kind, samples)));
    assert_eq!(damaged["response_defects"][1]["first"], "5 bytes instead of 4 bytes");
    let reasons: Vec<_> =
        damaged["reasons"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(
        reasons[1..],
        [
            "samples with a damaged response: 4 (1, 4, 6, 8)",
            "response of sample 4: 1 record with a number that is not finite, from record 0; and 1 more like it",
            "response of sample 1: 5 bytes instead of 4 bytes; and 1 more like it",
        ]
    );
}

#[test]
fn what_is_no_whole_log_is_an_error_that_names_the_record() {
    let pictures = TenPictures::new();
    let text = log(&(0..10).map(|sample| record(sample, sample as f32)).collect::<Vec<_>>());
    let cut = &text[..text.find("\"qsl_idx\" : 6").unwrap()];
    for (text, expected) in [
        ("", "EOF while parsing"),
        ("[", "record 1: EOF while parsing"),
        ("[\r\n", "record 1: EOF while parsing"),
        (cut, "record 7: EOF while parsing"),
        (
            &text.replacen("\"data\" : \"000040", "\"data\" : \"00004", 1),
            "record 4: data must be pairs of hexadecimal digits",
        ),
        (
            &text.replacen("\"data\" : \"000040", "\"data\" : \"0x0040", 1),
            "record 4: data must be pairs of hexadecimal digits",
        ),
        (&text.replacen("qsl_idx", "index", 1), "record 1: unknown field `index`"),
        (&text.replacen("\"qsl_idx\" : 0", "\"qsl_idx\" : -1", 1), "record 1: invalid value"),
        ("{}", "expected an array of records"),
        (
            &format!("{}\n\n...\n\n{}", &text[..100], &text[text.len() - 100..]),
            "it was cut for a submission, and its middle is gone; score the original",
        ),
    ] {
        pictures
            .of(text)
            .assert_error(DATA, &["log/mlperf_log_accuracy.json is not a whole accuracy log: ", expected]);
    }
}

#[test]
fn a_log_of_a_million_records_is_scored() {
    let pictures = TenPictures::new();
    let scored = |record_count: u64| {
        let records: Vec<_> = (0..record_count).map(|number| record(number % 12, 9.0)).collect();
        json(&pictures.of(&log(&records)))["accuracy"].clone()
    };
    let (once, often) = (scored(12), scored(1_000_000));
    // The first record of each sample counts, and every other one is listed.
    assert_eq!((&often["value"], &often["line"]), (&0.1.into(), &once["line"]));
    let count = |list: &str| often[list].as_array().unwrap().len();
    assert_eq!(count("duplicate_samples") + count("unknown_samples"), 1_000_000 - 10);
}
