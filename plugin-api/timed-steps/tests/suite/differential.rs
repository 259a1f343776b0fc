//! Compares windows and boxes with NumPy and SciPy, on random cases.
//!
//! `peer.py` makes the cases and their answers, in one process. NumPy and SciPy are found by `PYTHONPATH`, as `cargo
//! xtask test` sets it.

use std::{ffi::OsStr, fs, ops::Range, path::Path};

use proctor_test_needs::python;
use proctor_timed_steps::{
    boxes::{
        Coder, Overlap, Selection, retinanet_anchors, retinanet_levels, ssd_mobilenet_priors,
        ssd_resnet34_priors,
    },
    windows::{Accumulator, Windows, gaussian_patch},
};
use serde_json::Value;

const SEED: &str = "1";

/// One case in this many shows whether something is broken; all of them are compared by [`at_full_count`].
const FEW: usize = 20;

struct Cases {
    cases: Vec<Value>,
    data: Vec<u8>,
}

impl Cases {
    /// `None` if there is no Python with the packages; the test has then reported that it skips itself.
    fn make(divisor: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/peer.py");
        let arguments: [&dyn AsRef<OsStr>; 3] = [&folder.path(), &SEED, &divisor.to_string()];
        python(&script, &arguments, "NumPy and SciPy")?;
        let lines = fs::read_to_string(folder.path().join("cases.jsonl")).unwrap();
        let cases = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Some(Self { cases, data: fs::read(folder.path().join("data.bin")).unwrap() })
    }

    fn of_kind(&self, kind: &str, count: usize) -> impl Iterator<Item = &Value> {
        let found: Vec<_> = self.cases.iter().filter(|case| case["kind"] == kind).collect();
        assert_eq!(found.len(), count, "cases of {kind}");
        found.into_iter()
    }

    fn bytes(&self, part: &Value) -> &[u8] {
        let [start, length]: [usize; 2] = numbers(part);
        &self.data[start..start + length]
    }

    fn floats(&self, part: &Value) -> Vec<f32> {
        self.bytes(part).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn fours(&self, part: &Value) -> Vec<[f32; 4]> {
        self.floats(part).as_chunks::<4>().0.to_vec()
    }
}

fn numbers<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn windows_and_boxes_are_those_of_numpy() {
    compare_one_in(FEW);
}

mod at_full_count {
    #[test]
    fn windows_and_boxes_are_those_of_numpy() {
        super::compare_one_in(1);
    }
}

fn compare_one_in(divisor: usize) {
    let Some(cases) = Cases::make(divisor) else { return };
    patches(&cases);
    windows(&cases, 1000 / divisor);
    priors(&cases);
    decoding(&cases, 300 / divisor);
    selection(&cases, 3000 / divisor);
}

fn patches(cases: &Cases) {
    for case in cases.of_kind("patch", 6) {
        let ours = gaussian_patch(numbers(&case["extent"]));
        // A rounding of the cube root in f64 at most.
        assert_near(&ours, &cases.floats(&case["values"]), 6e-8, case);
    }
}

fn windows(cases: &Cases, count: usize) {
    for case in cases.of_kind("windows", count) {
        let shape: [usize; 3] = numbers(&case["shape"]);
        let windows = Windows::new(shape, numbers(&case["extent"]), numbers(&case["stride"])).unwrap();
        let class_count: usize = numbers(&case["class_count"]);
        let starts: Vec<_> = windows.starts().collect();
        assert_eq!(starts, numbers::<Vec<[usize; 3]>>(&case["starts"]));
        let mut accumulator = Accumulator::new(windows, class_count);
        let scores = cases.floats(&case["scores"]);
        for (start, scores) in starts.into_iter().zip(scores.chunks(class_count * windows.voxel_count())) {
            accumulator.add(start, scores);
        }
        let mut labels = vec![0; shape.iter().product()];
        accumulator.finish(&mut labels);
        assert_eq!(labels, cases.bytes(&case["labels"]), "{case}");
    }
}

fn priors(cases: &Cases) {
    for case in cases.of_kind("priors", 3) {
        let ours = match case["name"].as_str().unwrap() {
            "mobilenet_priors" => ssd_mobilenet_priors(),
            "resnet34_priors" => ssd_resnet34_priors(),
            _ => retinanet_anchors(),
        };
        assert_near(ours.as_flattened(), &cases.floats(&case["values"]), 6e-8, &case["name"]);
    }
    assert_eq!(retinanet_levels().last().map(|level| level.end), Some(retinanet_anchors().len()));
}

fn decoding(cases: &Cases, count: usize) {
    for case in cases.of_kind("decode", count) {
        let coder = match case["coder"].as_str().unwrap() {
            "SSD_MOBILENET" => Coder::SSD_MOBILENET,
            "SSD_RESNET34" => Coder::SSD_RESNET34,
            _ => Coder::RETINANET,
        };
        let ours = coder.decode(&cases.fours(&case["offsets"]), &cases.fours(&case["priors"]));
        assert_near(ours.as_flattened(), &cases.floats(&case["corners"]), 5e-6, case);
    }
}

fn selection(cases: &Cases, count: usize) {
    let mut kept_count = 0;
    for case in cases.of_kind("select", count) {
        let bound: f32 = numbers(&case["overlap"]);
        let selection = Selection {
            class_count: numbers(&case["class_count"]),
            first_class: numbers(&case["first_class"]),
            score_min: numbers(&case["score_min"]),
            per_class_max: numbers(&case["per_class_max"]),
            overlap: if numbers(&case["is_closed"]) {
                Overlap::AtLeast(bound)
            } else {
                Overlap::Above(bound)
            },
            detection_max: numbers(&case["detection_max"]),
        };
        let (boxes, scores) = (cases.fours(&case["boxes"]), cases.floats(&case["scores"]));
        let found = match numbers::<Option<usize>>(&case["per_level_max"]) {
            None => selection.select(&boxes, &scores),
            Some(per_level_max) => {
                let levels: Vec<(usize, usize)> = numbers(&case["levels"]);
                let levels: Vec<Range<usize>> = levels.into_iter().map(|(start, end)| start..end).collect();
                selection.select_levels(&boxes, &scores, &levels, per_level_max)
            }
        };
        let ours: Vec<_> = found.iter().map(|found| (found.corners, found.score, found.class)).collect();
        assert_eq!(ours, numbers::<Vec<([f32; 4], f32, usize)>>(&case["kept"]), "{case}");
        kept_count += ours.len();
    }
    assert!(kept_count > 3 * count, "{kept_count} boxes kept");
}

/// Equal but for a part of the greater of the value and 1.
fn assert_near(ours: &[f32], theirs: &[f32], part: f32, case: &Value) {
    assert_eq!(ours.len(), theirs.len(), "{case}");
    for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (ours - theirs).abs() <= part * theirs.abs().max(1.0),
            "{index}: {ours} and {theirs} in {case}"
        );
    }
}
