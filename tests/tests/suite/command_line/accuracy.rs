//! `host accuracy`: accuracy logs by themselves, of this program and in the forms in which others write them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_nifti_file::{AxisOrder, Image, NewImage, Volume, encode};
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
        // LoadGen logs the responses of the performance phase, too.
        "--mode SubmissionRun --duration 50ms --set floor=false --set accuracy_log_probability=1",
        "--mode SubmissionRun --duration 50ms --set floor=false --set accuracy_log_probability=1 --scenario \
         MultiStream --set performance_sample_count_override=100",
        // Six sets of 100; the last query of each is filled up with four samples.
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
        assert!(passed || !flags.contains("SubmissionRun"), "{flags}: {accuracy}");
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
    assert!(!other.stderr.contains("set twice"), "{other}");
    let of_run = run.result()["accuracy"]["value"].as_f64();
    let other = json(&other);
    assert_eq!(
        (other["accuracy"]["value"].as_f64(), other["reference"].as_f64()),
        (of_run, Some(0.991_666_666_666_666_7))
    );

    // Elsewhere nothing names the benchmark.
    let copy = bench.file("elsewhere.json");
    fs::copy(run.folder().join("accuracy/mlperf_log_accuracy.json"), &copy).unwrap();
    let alone = format!("accuracy {}", copy.display());
    bench.host(&alone).assert_error(SETTINGS, &["elsewhere.json: ", "give --benchmark"]);
    assert_eq!(bench.host(&format!("{alone} --benchmark digits-lstm")).code(), GOOD);
    bench.host("accuracy nowhere").assert_error(DATA, &["nowhere: there is no mlperf_log_accuracy.json"]);
}

#[test]
fn a_performance_run_has_no_answers_and_the_way_to_them_is_said() {
    let bench = Bench::new();
    let flags =
        "--plugin mock --virtual-time --mode performance --set mock.service=fixed --set min_query_count=1";
    let run = bench.run(flags);
    let folder = run.folder().display();
    bench.host(&format!("accuracy {folder}")).assert_error(
        DATA,
        &["mlperf_log_accuracy.json has no answers, since it is of a performance run", "--mode accuracy"],
    );
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
    assert!(!pictures.0.file("cache/proctor/prepared").exists());

    // The definition's own responses are i64; and as f32 these numbers are nearly 0.
    let own = pictures.score(&golden, "--json");
    assert_eq!((own.code(), &json(&own)["accuracy"]["malformed_samples"]), (BAD, &(0..10).collect()));
    let floats = pictures.score(&golden, "--element-type f32");
    assert!(floats.stdout.starts_with("accuracy=10.000%, good=1, total=10\n"), "{floats}");
    assert!(floats.stdout.contains("- 9 answers name no whole class: another --element-type?\n"), "{floats}");
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

#[test]
fn answers_that_name_no_class_are_told_with_what_to_try() {
    let pictures = TenPictures::new();
    let records: Vec<_> = (0..10).map(|sample| record(sample, sample as f32)).collect();
    let log = pictures.0.write("log.json", log(&records));
    let scored = pictures.score(&log, "--element-type i32");
    assert_eq!(scored.code(), BAD, "{scored}");
    // The number 0 is the same in both types.
    let line = "accuracy=10.000%, good=1, total=10\n";
    let reason =
        "- response of sample 1: record 0 has class 1065353216, but the classes are 0 to 999; and 8 more";
    let hint = "- 9 answers name no class of 1000: another --element-type?\n";
    assert!(scored.stdout.starts_with(line), "{scored}");
    assert!(scored.stdout.contains(reason) && scored.stdout.contains(hint), "{scored}");
    let hints = json(&pictures.score(&log, "--element-type i32 --json"))["hints"].clone();
    assert_eq!(hints, serde_json::json!(["9 answers name no class of 1000: another --element-type?"]));
    assert!(json(&pictures.score(&log, "--element-type f32 --json")).get("hints").is_none());

    // The definition's own classes are i64.
    let narrow = pictures.score(&log, "");
    assert!(narrow.stdout.contains("- 10 answers have 4 bytes: --element-type f32, or i32?\n"), "{narrow}");
    // Another type would not help where the others are right.
    let records: Vec<_> = (0..10).map(|sample| record(sample, if sample == 3 { 5e6 } else { 1.0 })).collect();
    let log = pictures.0.write("log.json", self::log(&records));
    let scored = pictures.score(&log, "--element-type f32");
    assert!(scored.stdout.contains("- response of sample 3: record 0 has class 5000000, "), "{scored}");
    assert!(!scored.stdout.contains("--element-type"), "{scored}");
}

/// A made data set below a bench, by the name of its benchmark.
fn made(bench: &Bench, benchmark: &str, sample_count: usize) -> PathBuf {
    let folder = bench.file(benchmark);
    let out = folder.display();
    let made = bench.host(&format!("data generate {benchmark} --out {out} --samples {sample_count}"));
    assert_eq!(made.code(), GOOD, "{made}");
    folder
}

/// A log of responses to the samples 0, 1 and so on.
fn log_of(responses: &[Vec<u8>]) -> String {
    let lines = responses.iter().enumerate().map(|(sample, response)| {
        let hex: String = response.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("{{ \"seq_id\" : {sample}, \"qsl_idx\" : {sample}, \"data\" : \"{hex}\" }}")
    });
    log(&lines.collect::<Vec<_>>())
}

#[test]
fn boxes_may_count_the_categories() {
    let bench = Bench::new();
    let folder = made(&bench, "ssd-resnet34", 24);
    let list = fs::read(folder.join("annotations/instances_val2017.json")).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let items = |key: &str| list[key].as_array().unwrap();
    let responses = items("images").iter().enumerate().map(|(sample, image)| {
        let [width, height] = ["width", "height"].map(|side| image[side].as_f64().unwrap());
        let of_image = items("annotations").iter().filter(|it| it["image_id"] == image["id"]);
        let records = of_image.flat_map(|it| {
            let [x, y, w, h] = [0, 1, 2, 3].map(|side| it["bbox"][side].as_f64().unwrap());
            let place = items("categories").iter().position(|category| category["id"] == it["category_id"]);
            let class = place.unwrap() as f64 + 1.0;
            [sample as f64, y / height, x / width, (y + h) / height, (x + w) / width, 0.9, class]
        });
        records.flat_map(|number| (number as f32).to_le_bytes()).collect::<Vec<u8>>()
    });
    let log = bench.write("log.json", log_of(&responses.collect::<Vec<_>>()));
    let score = |flags: &str| {
        let (log, folder) = (log.display(), folder.display());
        bench.host(&format!("accuracy {log} --benchmark ssd-resnet34 --dataset-folder {folder} {flags}"))
    };
    let mapped = score("--use-inv-map");
    assert_eq!(mapped.code(), GOOD, "{mapped}");
    assert!(mapped.stdout.starts_with("mAP=100.000%\n"), "{mapped}");
    let plain = score("");
    assert_eq!(plain.code(), BAD, "{plain}");
    let hint = "name classes that there are not: --use-inv-map, if they count from 1?\n";
    assert!(plain.stdout.contains(hint), "{plain}");
    score("--output-transposed")
        .assert_error(SETTINGS, &["--output-transposed is for f1, and ssd-resnet34 is scored by map"]);
    // No round but v0.7 and v0.5 has it.
    assert!(!plain.stdout.contains("v5.0"), "{plain}");
    let older = score("--rules v0.7");
    assert!(older.stdout.contains("  rules     v0.7\n"), "{older}");
}

#[test]
fn the_scenario_is_that_of_the_log_beside_or_one_that_the_benchmark_has() {
    let bench = Bench::new();
    let folder = made(&bench, "dlrm", 3);
    let day = fs::read_to_string(folder.join("day_23")).unwrap();
    // The first samples have 200 rows each.
    let clicks = day.lines().take(3 * 200).map(|line| f32::from(u8::from(line.starts_with('1'))));
    let clicks: Vec<_> = clicks.flat_map(f32::to_le_bytes).collect();
    let responses: Vec<_> = clicks.chunks(4 * 200).map(<[u8]>::to_vec).collect();
    let path = bench.write("log/mlperf_log_accuracy.json", log_of(&responses));
    let score = |flags: &str| {
        let (log, folder) = (path.display(), folder.display());
        bench.host(&format!("accuracy {log} --benchmark dlrm --dataset-folder {folder} {flags}"))
    };
    let first = score("");
    assert!(first.stdout.starts_with("AUC=100.000%, accuracy=100.000%, "), "{first}");
    assert_eq!(first.code(), GOOD, "{first}");
    bench.write("log/mlperf_log_summary.txt", "SUT name : x\nScenario : Offline\nMode : AccuracyOnly\n");
    assert_eq!(score("").stdout, first.stdout);
    let entry = ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"MultiStream\"}\n";
    bench.write("log/mlperf_log_detail.txt", entry);
    score("").assert_error(
        DATA,
        &["has Scenario Offline in its summary log and effective_scenario MultiStream in its detail log"],
    );
    bench.write("log/mlperf_log_summary.txt", "");
    assert_eq!(score("").stdout, first.stdout);
    score("--scenario SingleStream").assert_error(SETTINGS, &["flag --scenario: ", "it has Server, Offline"]);

    // A scenario of its own, in which the log may have more records than samples.
    let pictures = TenPictures::new();
    let records: Vec<_> = (0..11).map(|number| record(number % 10, (number % 10) as f32)).collect();
    let path = pictures.0.write("log/mlperf_log_accuracy.json", log(&records));
    assert_eq!(pictures.score(&path, "--element-type f32").code(), BAD);
    pictures.0.write("log/mlperf_log_detail.txt", entry);
    let scored = pictures.score(&path, "--element-type f32");
    assert_eq!(scored.code(), GOOD, "{scored}");
}

#[test]
fn labels_are_enough_and_missing_pictures_shift_no_sample() {
    let pictures = TenPictures::new();
    let records: Vec<_> = (0..10).map(|sample| record(sample, sample as f32)).collect();
    let path = pictures.0.write("log/mlperf_log_accuracy.json", log(&records));
    let flags = "--element-type f32";
    let whole = pictures.score(&path, flags);
    assert_eq!(whole.code(), GOOD, "{whole}");
    let folder = pictures.0.file("imagenet");
    let list = fs::read_to_string(folder.join("val_map.txt")).unwrap();
    let names: Vec<_> = list.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    names[..4].iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    assert_eq!(pictures.score(&path, flags).stdout, whole.stdout);

    // A run had the other six alone, and numbered those.
    let count = ":::MLLOG {\"key\": \"qsl_reported_total_count\", \"value\": 6}\n";
    pictures.0.write("log/mlperf_log_detail.txt", count);
    let records: Vec<_> = (0..6).map(|sample| record(sample, sample as f32 + 4.0)).collect();
    pictures.0.write("log/mlperf_log_accuracy.json", log(&records));
    let part = pictures.score(&path, flags);
    assert!(part.stdout.starts_with("accuracy=100.000%, good=6, total=6\n"), "{part}");
    assert_eq!(part.code(), GOOD, "{part}");
    assert!(part.stderr.contains("4 samples that the lists in "), "{part}");

    names[4..].iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    let records: Vec<_> = (0..10).map(|sample| record(sample, sample as f32)).collect();
    let path = pictures.0.write("alone.json", log(&records));
    assert!(pictures.score(&path, flags).stdout.starts_with("accuracy=100.000%, good=10, total=10\n"));
}

#[test]
fn volumes_that_are_missing_are_named_instead_of_numbered_anew() {
    let bench = Bench::new();
    let folder = made(&bench, "3d-unet-kits19", 3);
    fs::remove_file(folder.join("case_00000/imaging.nii.gz")).unwrap();
    let log = bench.write("log.json", log_of(&[vec![0], vec![0], vec![0]]));
    let (log, folder) = (log.display(), folder.display());
    let flags = format!("accuracy {log} --benchmark 3d-unet-kits19 --dataset-folder {folder}");
    bench.host(&flags).assert_error(DATA, &["lacks files of samples", "mlperf_log_detail.txt"]);
    let count = ":::MLLOG {\"key\": \"qsl_reported_total_count\", \"value\": 2}\n";
    bench.write("mlperf_log_detail.txt", count);
    let scored = bench.host(&flags);
    assert!(scored.stdout.contains("samples that the data set does not have: 1 (2)"), "{scored}");
}

#[test]
fn a_wrong_label_is_no_fault_of_a_response() {
    let bench = Bench::new();
    let folder = made(&bench, "3d-unet-kits19", 3);
    let path = folder.join("case_00003/segmentation.nii.gz");
    let labels = Image::parse(&fs::read(&path).unwrap()).unwrap().to_labels(AxisOrder::FirstSlowest).unwrap();
    let (shape, mut values) = (labels.shape(), labels.into_values());
    values[shape[2] + 2] = 7;
    let volume = Volume::new(shape, values);
    fs::write(&path, encode(&NewImage { volume: &volume, spacing_mm: [1.6, 1.2, 1.2] })).unwrap();
    let log = bench.write("log.json", log_of(&[vec![0], vec![0], vec![0]]));
    let (log, folder) = (log.display(), folder.display());
    let scored = bench.host(&format!("accuracy {log} --benchmark 3d-unet-kits19 --dataset-folder {folder}"));
    let expected = [
        "case_00003/segmentation.nii.gz cannot be prepared",
        "voxel [0, 1, 2] of segmentation has the label 7",
    ];
    scored.assert_error(DATA, &expected);
}

#[test]
fn a_log_that_is_no_file_is_named() {
    let bench = Bench::new();
    bench.host("accuracy /dev/null").assert_error(DATA, &["/dev/null is a device, and no regular file"]);
}
