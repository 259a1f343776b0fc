//! Benchmarks on data sets in the layouts that they are published in, made here: what an answer is worth is known.

use std::{collections::BTreeSet, fs};

use proctor_tests::{Bench, Run};
use serde_json::Value;

use crate::models::responses::answer_file;

/// A made ImageNet, and the class of each sample.
fn imagenet(bench: &Bench, sample_count: usize) -> Vec<String> {
    let folder = bench.file("imagenet");
    let made =
        bench.host(&format!("data generate resnet50 --out {} --samples {sample_count}", folder.display()));
    assert_eq!(made.code(), 0, "{made}");
    let list = fs::read_to_string(folder.join("val_map.txt")).unwrap();
    list.lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect()
}

/// Runs the mock on the made ImageNet, with these classes for answers.
fn run(bench: &Bench, classes: &[String], flags: &str) -> Run {
    bench.run(&arguments(bench, classes, flags))
}

fn arguments(bench: &Bench, classes: &[String], flags: &str) -> String {
    let answers = bench.write("answers.txt", classes.join("\n"));
    let (folder, cache) = (bench.file("imagenet"), bench.file("cache"));
    format!(
        "--plugin mock --benchmark resnet50 --dataset-folder {} --set cache_folder={} --set mock.answers=file \
         --set mock.answer_file={} {flags}",
        folder.display(),
        cache.display(),
        answers.display(),
    )
}

#[test]
fn right_and_wrong_classes_of_imagenet_are_counted() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 60);
    let right = run(&bench, &classes, "--mode accuracy");
    right.assert_valid();
    let accuracy = &right.result()["accuracy"];
    assert_eq!((&accuracy["value"], &accuracy["correct_count"]), (&1.0.into(), &60.into()));
    let warning = "60 of the benchmark's 50000 samples: for comparing runs of your own only";
    assert!(right.finished.stderr.contains(warning), "{}", right.finished);
    let deviations = right.result()["deviations"].as_array().unwrap();
    let of_data_set = deviations.iter().find(|it| it["kind"] == "data-set").unwrap();
    assert_eq!(of_data_set["text"], "the data set has 60 samples, and the round wants 50000");
    assert_eq!(right.result()["benchmark"]["total_sample_count"], 60);

    let wrong = run(&bench, &classes, "--mode accuracy --set mock.accuracy=0.9");
    assert_eq!(wrong.result()["accuracy"]["value"], 0.9);
}

#[test]
fn samples_that_are_damaged_are_prepared_again() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 30);
    run(&bench, &classes, "--mode accuracy").assert_valid();
    let folder = fs::read_dir(bench.file("cache/prepared")).unwrap().next().unwrap().unwrap().path();
    let samples = fs::File::options().write(true).open(folder.join("samples")).unwrap();
    samples.set_len(samples.metadata().unwrap().len() / 2).unwrap();
    let again = run(&bench, &classes, "--mode accuracy");
    again.assert_valid();
    assert!(again.finished.stderr.contains("preparing 15 samples again"), "{}", again.finished);
}

#[test]
fn samples_are_prepared_once_for_each_form() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 30);
    let prepared = || {
        let folders = fs::read_dir(bench.file("cache/prepared")).unwrap();
        let mut sizes: Vec<_> =
            folders.map(|it| fs::metadata(it.unwrap().path().join("samples")).unwrap().len()).collect();
        sizes.sort_unstable();
        sizes
    };
    run(&bench, &classes, "--mode accuracy").assert_valid();
    let (record, head) = (3 * 224 * 224 * 4, 6 * 8);
    assert_eq!(prepared(), [30 * (record + head)]);
    run(&bench, &classes, "--mode accuracy --scenario Offline").assert_valid();
    assert_eq!(prepared(), [30 * (record + head)]);

    // Another file makes another data set, with nothing prepared.
    let folder = bench.file("imagenet");
    fs::remove_file(folder.join("ILSVRC2012_val_00000030.JPEG")).unwrap();
    let fewer = run(&bench, &classes[..29], "--mode accuracy");
    fewer.assert_valid();
    assert_eq!(fewer.result()["accuracy"]["sample_count"], 29);
    assert!(fewer.finished.stderr.contains("1 samples that the lists in "), "{}", fewer.finished);
    assert_eq!(prepared(), [29 * (record + head), 30 * (record + head)]);
}

#[test]
fn a_picture_that_is_none_is_named() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 5);
    let picture = bench.file("imagenet").join("ILSVRC2012_val_00000004.JPEG");
    let bytes = fs::read(&picture).unwrap();
    fs::write(&picture, &bytes[..bytes.len() / 2]).unwrap();
    let cut = run(&bench, &classes, "--mode accuracy");
    cut.finished.assert_error(4, &["sample 3 (ILSVRC2012_val_00000004.JPEG) cannot be prepared"]);
    // And no other sample.
    for other in ["sample 0 ", "sample 1 ", "sample 2 ", "sample 4 "] {
        assert!(!cut.finished.stderr.contains(other), "{other}: {}", cut.finished);
    }
}

#[test]
fn every_scenario_is_run_on_imagenet() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 20);
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let flags = format!(
            "--scenario {scenario} --virtual-time --set mock.service=fixed --set mock.service_us=500"
        );
        let run = run(&bench, &classes, &flags);
        run.assert_valid();
        assert_eq!(run.result()["accuracy"]["value"], 1.0, "{scenario}");
    }
}

#[test]
fn the_runs_of_a_search_tell_how_many_samples_there_are() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 20);
    let folder = bench.file("search");
    let flags = format!(
        "--scenario Server --virtual-time --set mock.service=fixed --set mock.service_us=500 --output {}",
        folder.display()
    );
    let search = bench.host(&format!("find-max {}", arguments(&bench, &classes, &flags)));
    assert_eq!(search.code(), 0, "{search}");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let result: Value = serde_json::from_str(&text("full-run-1/result.json")).unwrap();
    let counts = ["total_sample_count", "performance_sample_count"].map(|key| &result["benchmark"][key]);
    assert_eq!(counts, [20, 20]);
    let found: Value = serde_json::from_str(&text("find_max.json")).unwrap();
    for deviations in [&result["deviations"], &found["deviations"]] {
        let texts: Vec<_> = deviations.as_array().unwrap().iter().map(|it| &it["text"]).collect();
        let wanted = "the data set has 20 samples, and the round wants 50000";
        assert!(texts.iter().any(|text| **text == wanted), "{texts:?}");
    }
}

#[test]
fn a_run_on_fewer_samples_is_replayed() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 20);
    let (recording, cache) = (bench.file("recording"), bench.file("cache"));
    let flags =
        "--scenario Offline --virtual-time --set mock.service=fixed --set min_query_count=20 --record";
    let recorded = run(&bench, &classes, &format!("{flags} {}", recording.display()));
    assert_eq!(recorded.result()["benchmark"]["total_sample_count"], 20);
    let flags = format!("--plugin mock --set cache_folder={}", cache.display());
    let same = bench.host(&format!("replay {} {flags}", recording.display()));
    assert_eq!(same.code(), 0, "{same}");
}

/// A list of boxes as COCO has it.
struct Boxes(Value);

impl Boxes {
    /// The list of a data set that was made.
    fn made(bench: &Bench, benchmark: &str, list: &str) -> Self {
        let folder = bench.file(benchmark);
        let made = bench.host(&format!("data generate {benchmark} --out {} --samples 12", folder.display()));
        assert_eq!(made.code(), 0, "{made}");
        Self(serde_json::from_slice(&fs::read(folder.join(list)).unwrap()).unwrap())
    }

    /// Annotations that are to be found.
    fn wanted(&self) -> impl Iterator<Item = &Value> {
        self.0["annotations"].as_array().unwrap().iter().filter(|it| it["iscrowd"] != 1)
    }

    /// Categories of the annotations that are to be found.
    fn categories(&self) -> BTreeSet<u64> {
        self.wanted().map(|it| it["category_id"].as_u64().unwrap()).collect()
    }

    /// Responses of all boxes of an image except one category's, for each image.
    fn responses(&self, left_out: Option<u64>) -> Vec<Vec<u8>> {
        let responses = (0..).zip(self.0["images"].as_array().unwrap()).map(|(sample, image)| {
            let [width, height] = ["width", "height"].map(|side| image[side].as_f64().unwrap());
            let of_image = self.wanted().filter(|it| it["image_id"] == image["id"]);
            let kept = of_image.filter(|it| it["category_id"].as_u64() != left_out);
            let records = kept.flat_map(|it| {
                let [x, y, w, h] = [0, 1, 2, 3].map(|side| it["bbox"][side].as_f64().unwrap());
                let class = it["category_id"].as_f64().unwrap();
                [sample as f64, y / height, x / width, (y + h) / height, (x + w) / width, 0.9, class]
            });
            records.flat_map(|number| (number as f32).to_le_bytes()).collect()
        });
        responses.collect()
    }
}

#[test]
fn boxes_that_are_found_and_a_category_that_is_not_are_scored() {
    for (benchmark, list) in [
        ("ssd-mobilenet", "annotations/instances_val2017.json"),
        ("retinanet", "annotations/openimages-mlperf.json"),
    ] {
        let bench = Bench::new();
        let boxes = Boxes::made(&bench, benchmark, list);
        let score = |left_out| {
            let responses = bench.write("responses.txt", answer_file(&boxes.responses(left_out)));
            let (folder, cache) = (bench.file(benchmark), bench.file("cache"));
            let run = bench.run(&format!(
                "--plugin mock --benchmark {benchmark} --mode accuracy --dataset-folder {} --set cache_folder={} \
                 --set mock.answers=responses --set mock.answer_file={}",
                folder.display(),
                cache.display(),
                responses.display()
            ));
            let accuracy = run.result()["accuracy"].clone();
            // The log by itself has the same worth.
            let scored = bench.host(&format!("accuracy {} --json", run.folder().display()));
            let scored: Value = serde_json::from_str(&scored.stdout).unwrap();
            assert_eq!(scored["accuracy"], accuracy);
            accuracy
        };
        let all = score(None);
        assert_eq!((&all["value"], &all["passed"]), (&1.0.into(), &true.into()), "{all}");

        let categories = boxes.categories();
        let some = score(categories.first().copied());
        let expected = (categories.len() - 1) as f64 / categories.len() as f64;
        let value = some["value"].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-12, "{benchmark}: {value} instead of {expected}");
    }
}
