//! Photographs: those that come along, and those of a user, by a definition with steps of its own.

use std::fs;

use proctor_tests::{Bench, Run, datasets};

/// Runs the mock on a folder of photographs in place of EfficientNet-Lite0, with these classes for answers. It reads no
/// model, so that any file may stand in for the network's.
fn run(bench: &Bench, folder: &str, classes: &[u64]) -> Run {
    let lines: String = classes.iter().map(|class| format!("{class}\n")).collect();
    let (answers, cache) = (bench.write("answers.txt", lines), bench.file("cache"));
    let model = datasets().join("digits/digits-mlp.onnx");
    bench.run(&format!(
        "--plugin mock --benchmark efficientnet-lite0 --dataset-folder {folder} --set cache_folder={} \
         --set mock.answers=file --set mock.answer_file={} --mode accuracy --model-file {}",
        cache.display(),
        answers.display(),
        model.display(),
    ))
}

#[test]
fn those_that_come_along_are_scored_and_told_by_name() {
    let bench = Bench::new();
    let folder = datasets().join("photographs").display().to_string();
    let right = run(&bench, &folder, &[872, 282, 698, 967, 657]);
    let accuracy = &right.assert_valid().result()["accuracy"];
    assert_eq!((&accuracy["value"], &accuracy["correct_count"]), (&1.0.into(), &5.into()));
    let told = &right.finished.stderr;
    for (picture, name) in [("camera.jpg", "tripod"), ("chelsea.jpg", "tiger cat"), ("rocket.jpg", "missile")]
    {
        let line = told.lines().find(|line| line.trim_start().starts_with(picture));
        assert!(line.is_some_and(|line| line.contains(name)), "{picture}: {}", right.finished);
    }
    let wrong = run(&bench, &folder, &[872, 281, 698, 967, 657]);
    assert_eq!(wrong.result()["accuracy"]["value"], 0.8);
}

#[test]
fn a_picture_whose_class_is_not_known_is_answered_and_not_scored() {
    let bench = Bench::new();
    let own = bench.file("own");
    fs::create_dir(&own).unwrap();
    fs::copy(datasets().join("photographs/coffee.jpg"), own.join("mine.jpg")).unwrap();
    let run = run(&bench, &own.display().to_string(), &[967]);
    let said = "the right answer of no sample is known, so nothing is scored";
    assert!(run.finished.stdout.contains(said), "{}", run.finished);
    let line = run.finished.stderr.lines().find(|line| line.trim_start().starts_with("mine.jpg"));
    assert!(line.is_some_and(|line| line.contains("espresso")), "{}", run.finished);
}
