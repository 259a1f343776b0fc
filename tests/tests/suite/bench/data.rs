//! `host bench data`: results for samples and answers, compared with other packages. Speed is not checked here.

use std::fs;

use proctor_test_needs::skip;
use proctor_tests::Bench;
use serde_json::Value;

/// Runs parts for a moment, and reads the file of figures.
fn figures(bench: &Bench, flags: &str) -> (Value, String) {
    let finished = bench.host(&format!("bench data --quick --rounds 1 --json data.json {flags}"));
    assert_eq!(finished.code(), 0, "{finished}");
    let text = fs::read_to_string(bench.file("data.json")).expect("the file is written");
    (serde_json::from_str(&text).expect("it is JSON"), finished.stdout)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("there is a list")
}

/// Asserts that every side has a value, or was skipped with a reason, and that the other sides agree with ours.
fn assert_measured(row: &Value) {
    let (ours, others) = list(row, "entries").split_first().expect("ours comes first");
    assert_eq!(ours["side"], "proctor");
    assert!(ours["values"][0].as_f64() > Some(0.0), "{row}");
    for other in others {
        match other["skipped"].as_str() {
            Some(reason) => skip(format!("{}: {reason}", other["side"])),
            None => {
                assert!(other["ratio"]["median"].as_f64() > Some(0.0), "{row}");
                let [difference, most] = [0, 1].map(|at| other["difference"][at].as_f64());
                assert!(difference.is_some() && difference <= most, "{row}");
            }
        }
    }
}

#[test]
fn pictures_are_prepared_beside_opencv_with_the_same_tensors() {
    let bench = Bench::new();
    let (report, table) = figures(&bench, "--part pictures --markdown data.md");
    let names: Vec<_> = list(&report, "rows").iter().filter_map(|row| row["what"].as_str()).collect();
    let pipelines = [
        "imagenet-vgg, ",
        "imagenet-mobilenet, ",
        "imagenet-torchvision, ",
        "coco-ssd-resnet34, ",
        "open-images-retinanet, ",
    ];
    assert_eq!(names.len(), pipelines.len(), "{names:?}");
    for (name, pipeline) in names.iter().zip(pipelines) {
        assert!(name.starts_with(pipeline), "{name}");
    }
    list(&report, "rows").iter().for_each(assert_measured);
    assert!(table.contains("too short for figures to rely on"), "{table}");
    let page = fs::read_to_string(bench.file("data.md")).expect("the page is written");
    assert!(page.contains("### Pictures prepared\n\n| work | system |"), "{page}");
}

#[test]
fn average_precision_and_features_are_those_of_the_packages() {
    let (report, _) = figures(&Bench::new(), "--part boxes,mel");
    assert_eq!(list(&report, "rows").len(), 2, "{report}");
    list(&report, "rows").iter().for_each(assert_measured);
}

#[test]
fn logs_are_scored_elsewhere_with_their_time_and_memory() {
    let (report, table) = figures(&Bench::new(), "--part log");
    let units: Vec<_> = list(&report, "rows").iter().map(|row| &row["unit"]).collect();
    assert_eq!(units, ["s", "MB", "s", "MB"]);
    list(&report, "rows").iter().for_each(assert_measured);
    assert!(table.contains("1000 entries of a class, scored: most memory"), "{table}");
}

#[test]
fn prepared_samples_are_loaded_beside_the_bare_reading_of_their_file() {
    let (report, _) = figures(&Bench::new(), "--part cache");
    let [warm, cold] = list(&report, "rows") else { panic!("two rows in {report}") };
    for (row, how) in [(warm, ", in the system's cache"), (cold, ", from the disk")] {
        assert!(row["what"].as_str().is_some_and(|what| what.ends_with(how)), "{row}");
        match row["entries"][1]["skipped"].as_str() {
            Some(reason) => assert!(reason.contains("--folder names another place"), "{reason}"),
            None => assert!(row["entries"][1]["ratio"]["median"].as_f64() > Some(0.0), "{row}"),
        }
    }
    assert!(warm["entries"][1]["skipped"].is_null(), "{warm}");
}

#[test]
fn packages_that_are_not_there_are_skipped_with_what_to_do() {
    let finished = Bench::new().host("bench data --quick --part mel --python ./no-such-python");
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(
        finished.stderr.contains("skipped: librosa, one thread: ./no-such-python: No such file"),
        "{finished}"
    );
    assert!(finished.stdout.contains("pip install opencv-python-headless pillow"), "{finished}");
}

#[test]
fn pictures_that_are_none_are_named() {
    let bench = Bench::new();
    bench.write("a.jpg", "none");
    let finished = bench.host("bench data --quick --part pictures --pictures a.jpg");
    finished.assert_error(4, &["a.jpg", "no JPEG file"]);
}
