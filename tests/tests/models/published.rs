//! Benchmarks on data sets in the layouts that they are published in, made here: what an answer is worth is known.

use std::fs;

use proctor_tests::{Bench, Run};

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
    let answers = bench.write("answers.txt", classes.join("\n"));
    let (folder, cache) = (bench.file("imagenet"), bench.file("cache"));
    bench.run(&format!(
        "--plugin mock --benchmark resnet50 --dataset-folder {} --set cache_folder={} --set mock.answers=file \
         --set mock.answer_file={} {flags}",
        folder.display(),
        cache.display(),
        answers.display(),
    ))
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

    let wrong = run(&bench, &classes, "--mode accuracy --set mock.accuracy=0.9");
    assert_eq!(wrong.result()["accuracy"]["value"], 0.9);
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

    // Another file is another data set, of which nothing was prepared.
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
}

#[test]
fn every_scenario_is_run_on_imagenet() {
    let bench = Bench::new();
    let classes = imagenet(&bench, 20);
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        let flags = format!("--scenario {scenario} --set mock.service=fixed --set mock.service_us=500");
        let run = run(&bench, &classes, &flags);
        run.assert_valid();
        assert_eq!(run.result()["accuracy"]["value"], 1.0, "{scenario}");
    }
}
