//! Trained networks of packages on real samples, through ONNX Runtime: accuracies that mean something.

use proctor_test_needs::{packages, skip};
use proctor_tests::{Bench, Run};
use serde_json::Value;

use crate::models::onnx_peer::needs_runtime;

/// Runs a benchmark whose files lie in these folders of the data root with packages; `None`, and said so, where
/// something is missing.
fn run(bench: &Bench, benchmark: &str, folders: &[&str], flags: &str) -> Option<Run> {
    let found = packages(folders).and_then(|root| needs_runtime(bench).map(|()| root));
    let root = found.map_err(skip).ok()?;
    let (root, cache) = (root.display().to_string(), bench.file("cache"));
    let run = bench.run(&format!(
        "--plugin onnx --benchmark {benchmark} --data-root {root} --set cache_folder={} {flags}",
        cache.display()
    ));
    Some(run)
}

#[test]
fn sentences_have_the_vectors_of_another_program_and_find_their_pair() {
    let bench = Bench::new();
    let flags = "--mode accuracy --scenario Offline";
    let Some(run) = run(&bench, "minilm-int8", &["minilm-int8"], flags) else { return };
    let accuracy: &Value = &run.assert_valid().result()["accuracy"];
    assert_eq!((&accuracy["value"], &accuracy["sample_count"]), (&1.0.into(), &200.into()), "{accuracy}");
    let details =
        ["nearest_is_partner", "nearest_is_references"].map(|name| accuracy["details"][name].as_f64());
    assert_eq!(details, [Some(0.985), Some(1.0)], "{accuracy}");
}

#[test]
fn recordings_become_the_words_that_another_program_hears() {
    let bench = Bench::new();
    let (folders, flags) = (["moonshine-tiny", "librivox"], "--mode accuracy --scenario SingleStream");
    let Some(run) = run(&bench, "moonshine-tiny", &folders, flags) else { return };
    let result = run.assert_valid().result();
    let accuracy = &result["accuracy"];
    assert_eq!(accuracy["sample_count"], 5, "{accuracy}");
    let rate = accuracy["details"]["word_error_rate"].as_f64().unwrap();
    assert!((rate - 200.0 / 71.0).abs() < 1e-9, "{accuracy}");
    assert_eq!(result["plugin"]["precision"], "int8");
}
