//! The oracle: a plugin that is given the classes answers right throughout, or wrong by exactly the share it is asked
//! for. So the accuracy that the host reports is the accuracy that there is.

use std::collections::BTreeSet;

use proctor_accuracy::{Answers, LabelsEntry, LabelsRequest, read_log};
use proctor_datasets::DataRoot;
use proctor_tests::{Bench, Run, datasets};

/// The data set of the default benchmark.
const DATASET: &str = "digits";

/// The right classes, by the only crate that may know them.
fn classes() -> Vec<u64> {
    let entry = inventory::iter::<LabelsEntry>().find(|entry| entry.dataset == DATASET).unwrap();
    let root = DataRoot::new(Some(&datasets()));
    let answers = (entry.read)(&LabelsRequest { root: &root, published: None }).unwrap();
    let Answers::Classes { labels, .. } = answers else { panic!("digits have classes") };
    labels
}

/// An accuracy run of the mock with the right classes in a file.
fn run(flags: &str) -> Run {
    let bench = Bench::new();
    let lines: String = classes().iter().map(|class| format!("{class}\n")).collect();
    let path = bench.write("answers.txt", lines);
    let answers = format!("--set mock.answers=file --set mock.answer_file={}", path.display());
    bench.run(&format!("--plugin mock --mode accuracy {answers} {flags}"))
}

fn correct_count(run: &Run) -> u64 {
    assert_eq!(run.result()["verdict"]["valid"], true, "{}", run.finished);
    let accuracy = &run.result()["accuracy"];
    assert_eq!(accuracy["sample_count"], 600);
    accuracy["correct_count"].as_u64().unwrap()
}

/// The samples that a run answered wrongly, by its own log.
fn mistakes(run: &Run) -> BTreeSet<u64> {
    let classes = classes();
    let log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    let answer = |data: &[u8]| {
        let logits = data.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        (0..).zip(logits).max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(class, _)| class)
    };
    let is_wrong = |index: u64, data: &[u8]| answer(data) != Some(classes[usize::try_from(index).unwrap()]);
    log.iter().filter(|record| is_wrong(record.qsl_idx, &record.data)).map(|record| record.qsl_idx).collect()
}

#[test]
fn who_knows_all_answers_is_right_throughout() {
    for flags in [
        "",
        "--set issue=false",
        "--scenario MultiStream",
        "--scenario Offline --batch-size 16",
        "--virtual-time",
    ] {
        let run = run(flags);
        assert_eq!(correct_count(run.assert_valid()), 600, "{flags}");
        assert_eq!(run.result()["accuracy"]["value"], 1.0);
        assert_eq!(run.result()["accuracy"]["passed"], true);
    }
}

#[test]
fn a_known_share_of_mistakes_is_found_exactly() {
    let run = run("--set mock.accuracy=0.7");
    assert_eq!(run.finished.code(), 1, "{}", run.finished);
    assert_eq!(correct_count(&run), 420);
    assert_eq!(run.result()["accuracy"]["passed"], false);
    assert_eq!(mistakes(&run).len(), 180);
    assert!(run.finished.stdout.contains("FAIL: top1 0.7"), "{}", run.finished);
}

#[test]
fn the_seed_chooses_the_mistakes_and_nothing_else_does() {
    let first = mistakes(&run("--set mock.accuracy=0.7"));
    assert_eq!(first, mistakes(&run("--set mock.accuracy=0.7 --scenario Offline --instances 3")));
    let other = mistakes(&run("--set mock.accuracy=0.7 --set mock.seed=1"));
    assert_eq!(other.len(), first.len());
    assert_ne!(other, first);
}

#[test]
fn the_target_is_the_line_between_pass_and_fail() {
    // The target is 0.975 * 0.99, that is, 579.15 of 600.
    for (accuracy, passed) in [("0.97", true), ("0.9666666", true), ("0.965", false)] {
        let run = run(&format!("--set mock.accuracy={accuracy}"));
        assert_eq!(run.result()["accuracy"]["passed"], passed, "{}", run.finished);
        assert_eq!(run.finished.code(), if passed { 0 } else { 1 });
    }
}

#[test]
fn a_run_that_knows_the_answers_is_valid_as_a_whole() {
    let bench = Bench::new();
    let lines: String = classes().iter().map(|class| format!("{class}\n")).collect();
    let path = bench.write("answers.txt", lines);
    let answers = format!("--set mock.answers=file --set mock.answer_file={}", path.display());
    let run = bench.run(&format!("--plugin mock {answers} --duration 100ms"));
    assert_eq!(correct_count(run.assert_valid()), 600);
    assert!(run.finished.stdout.contains("PASS: top1 1.0"), "{}", run.finished);
}

#[test]
fn an_answer_file_that_does_not_fit_is_refused() {
    let bench = Bench::new();
    let short = bench.write("short.txt", "1\n2\n3\n");
    let wrong = bench.write("wrong.txt", "1\nten\n");
    let missing = bench.file("missing.txt");
    for (path, text) in [(&short, "short.txt"), (&wrong, "wrong.txt"), (&missing, "missing.txt")] {
        let answers = format!("--set mock.answers=file --set mock.answer_file={}", path.display());
        let run = bench.run(&format!("--plugin mock --mode accuracy {answers}"));
        if path == &short {
            run.finished.assert_error(3, &["sample"]);
        } else {
            run.finished.assert_error(3, &[text]);
        }
    }
}
