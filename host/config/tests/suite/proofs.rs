//! The proofs that are kept: a `proof.json` of `host prove` for each benchmark, by its name in `host/config/proofs`.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_config::{Benchmark, ModelFile, benchmarks};
use serde_json::Value;

/// A benchmark, proven on real data.
pub struct KeptProof {
    /// Day on which it was proven, such as `2026-11-29`.
    pub date: String,
    /// True if the definition is the same today.
    pub is_of_this_definition: bool,
    /// The accuracy that was measured, in words.
    pub measured: String,
    /// Plugin and precision that it was measured with.
    pub by: String,
}

impl KeptProof {
    /// Returns the day as the pages say it.
    pub fn standing(&self) -> String {
        let remark = if self.is_of_this_definition { "" } else { ", by an earlier definition" };
        format!("proven on {}{remark}", self.date)
    }

    /// Reads a record.
    ///
    /// # Panics
    /// If it is no record that proves this benchmark.
    fn of(json: &Value, benchmark: &Benchmark) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, accuracy) = (&benchmark.id, &json["accuracy"]);
        assert_eq!(
            json["schema_version"], 1,
            "host/config/proofs/{id}.json is no proof.json of this version"
        );
        assert_eq!(
            text(&json["benchmark"]["id"]),
            *id,
            "host/config/proofs/{id}.json is of another benchmark"
        );
        assert_eq!(json["passed"], true, "host/config/proofs/{id}.json does not prove {id}");
        let finished = text(&json["finished_at_utc"]);
        let date = finished.split_once('T').expect("a proof has the instant of its run").0.to_owned();
        let number = |value: &Value| value.as_f64().expect("an accuracy is a number");
        let interval = accuracy["interval_95"]
            .as_array()
            .map(|ends| format!(", 95 % interval {:.4} to {:.4}", number(&ends[0]), number(&ends[1])));
        Self {
            date,
            is_of_this_definition: text(&json["benchmark"]["definition_sha256"]) == benchmark.sha256,
            measured: format!(
                "{} {:.4}{} over {} samples",
                text(&accuracy["metric"]),
                number(&accuracy["measured"]),
                interval.unwrap_or_default(),
                accuracy["judged_count"],
            ),
            by: format!("{} in {}", text(&json["plugin"]["name"]), text(&json["plugin"]["precision"])),
        }
    }
}

/// Returns the proofs that are kept, by the ids of their benchmarks.
///
/// # Panics
/// If a file is no record that proves a built-in benchmark of its name.
pub fn kept_proofs() -> BTreeMap<&'static str, KeptProof> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proofs");
    // Without any there is no folder.
    let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let proof = |path: std::path::PathBuf| {
        let id = path.file_stem().unwrap().to_str().unwrap();
        let benchmark = benchmarks().find(|benchmark| benchmark.id == id);
        let benchmark = benchmark.unwrap_or_else(|| panic!("{} is of no benchmark", path.display()));
        let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (benchmark.id.as_str(), KeptProof::of(&json, benchmark))
    };
    files.map(proof).collect()
}

/// Returns the benchmarks that can be proven: their models have trained weights.
pub fn provable() -> impl Iterator<Item = &'static Benchmark> {
    benchmarks().filter(|benchmark| {
        let model = &benchmark.model;
        let mut files = model.files.values().chain(model.precisions.values().flat_map(BTreeMap::values));
        !files.any(|file| matches!(file, ModelFile::Generated { .. }))
    })
}

/// Returns a value with at most four decimals.
pub fn four_decimals(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[test]
fn values_have_no_zeros_at_their_end() {
    assert_eq!([0.9131, 1.0, 97.183_098].map(four_decimals), ["0.9131", "1", "97.1831"]);
}

#[test]
fn a_proof_says_when_by_what_and_how_well() {
    let benchmark = benchmarks().find(|benchmark| benchmark.id == "digits-cnn").unwrap();
    let mut json = serde_json::json!({
        "schema_version": 1, "passed": true, "finished_at_utc": "2026-11-29T21:30:00Z",
        "benchmark": {"id": "digits-cnn", "definition_sha256": benchmark.sha256},
        "accuracy": {"metric": "top1", "measured": 0.991_666, "judged_count": 600, "interval_95": [0.98, 0.996_4]},
        "plugin": {"name": "onnx", "precision": "f32"},
    });
    let proof = KeptProof::of(&json, benchmark);
    assert_eq!(proof.standing(), "proven on 2026-11-29");
    assert_eq!(proof.measured, "top1 0.9917, 95 % interval 0.9800 to 0.9964 over 600 samples");
    assert_eq!(proof.by, "onnx in f32");
    json["benchmark"]["definition_sha256"] = "0".into();
    assert_eq!(KeptProof::of(&json, benchmark).standing(), "proven on 2026-11-29, by an earlier definition");
}

#[test]
fn models_with_random_weights_cannot_be_proven() {
    let ids: Vec<_> = provable().map(|benchmark| benchmark.id.as_str()).collect();
    for (id, is_provable) in [("digits-cnn", true), ("resnet50", true), ("gnmt", true), ("bidaf", false)] {
        assert_eq!(ids.contains(&id), is_provable, "{id}: {ids:?}");
    }
    assert!(!ids.iter().any(|id| id.ends_with("-generated")), "{ids:?}");
}
