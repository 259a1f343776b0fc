//! Benchmarks whose samples differ in shape, on made data sets: rows of clicks and medical volumes.

use std::{fs, path::PathBuf};

use proctor_nifti_file::{Image, bundle};
use proctor_tests::{Bench, Run};
use proctor_volumes::{brats, kits};
use serde_json::{Value, json};

use crate::models::responses::answer_file;

/// A made data set of a benchmark, which is found whole.
struct Made<'a> {
    bench: &'a Bench,
    benchmark: &'static str,
    folder: PathBuf,
}

impl<'a> Made<'a> {
    fn new(bench: &'a Bench, benchmark: &'static str, sample_count: usize) -> Self {
        let folder = bench.file(benchmark);
        let made = format!("data generate {benchmark} --out {} --samples {sample_count}", folder.display());
        for command in [made, format!("data verify {benchmark} --folder {}", folder.display())] {
            let finished = bench.host(&command);
            assert_eq!(finished.code(), 0, "{finished}");
        }
        Self { bench, benchmark, folder }
    }

    /// Runs the mock with these responses.
    fn run(&self, responses: &[Vec<u8>], flags: &str) -> Run {
        let file = self.bench.write("responses.txt", answer_file(responses));
        self.bench.run(&format!(
            "--plugin mock --benchmark {} --dataset-folder {} --set cache_folder={} --set mock.answers=responses \
             --set mock.answer_file={} {flags}",
            self.benchmark,
            self.folder.display(),
            self.bench.file("cache").display(),
            file.display()
        ))
    }

    /// The accuracy of these responses, in the scenario that all suites have.
    fn accuracy(&self, responses: &[Vec<u8>]) -> Value {
        self.run(responses, "--scenario Offline --mode accuracy").result()["accuracy"].clone()
    }
}

fn value(accuracy: &Value) -> f64 {
    accuracy["value"].as_f64().unwrap()
}

/// Rows of the samples of DLRM: the first of 13 from the published trace.
const ROW_COUNTS: [usize; 10] = [200, 200, 200, 200, 500, 700, 200, 100, 100, 500];

/// Area under the curve in percent, by its meaning: the share of pairs that are in order, half for equal ones.
fn area(clicks: &[(f32, bool)]) -> f64 {
    let of = |is_click| clicks.iter().filter(move |(_, it)| *it == is_click).map(|(score, _)| *score);
    let (mut sum, mut count) = (0.0, 0_u64);
    for yes in of(true) {
        for no in of(false) {
            sum += if yes > no {
                1.0
            } else if yes == no {
                0.5
            } else {
                0.0
            };
            count += 1;
        }
    }
    100.0 * sum / count as f64
}

/// Checks a benchmark of clicks, whose labels of all rows are these.
fn clicks_are_ranked(made: &Made<'_>, labels: &[bool]) {
    assert_eq!(labels.len(), ROW_COUNTS.iter().sum::<usize>());
    // Scores in the right order, many of them equal; one sample in ten has them reversed.
    let score = |row: usize, is_wrong: bool| {
        let score = (f32::from(u8::from(labels[row])) + (row % 3) as f32) / 4.0;
        if is_wrong { 1.0 - score } else { score }
    };
    let answers = |wrong: usize| {
        let mut row = 0;
        let (mut responses, mut clicks) = (Vec::new(), Vec::new());
        for (sample, count) in ROW_COUNTS.into_iter().enumerate() {
            let scores: Vec<_> = (row..row + count).map(|row| score(row, sample == wrong)).collect();
            clicks.extend(scores.iter().copied().zip(labels[row..].iter().copied()));
            responses.push(scores.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>());
            row += count;
        }
        (responses, area(&clicks))
    };
    let perfect: Vec<_> = {
        let mut rest = labels;
        let of_sample = |count: usize| {
            let (sample, behind) = rest.split_at(count);
            rest = behind;
            sample.iter().flat_map(|label| f32::from(u8::from(*label)).to_le_bytes()).collect()
        };
        ROW_COUNTS.into_iter().map(of_sample).collect()
    };
    let all = made.accuracy(&perfect);
    assert_eq!((&all["value"], &all["passed"]), (&100.0.into(), &true.into()), "{all}");
    assert!(all["line"].as_str().unwrap().starts_with("AUC=100.000%, accuracy=100.000%"), "{all}");
    let areas = [usize::MAX, 4].map(|wrong| {
        let (responses, expected) = answers(wrong);
        let scored = made.accuracy(&responses);
        assert!((value(&scored) - expected).abs() < 1e-9, "{scored} instead of {expected}");
        expected
    });
    assert!(areas[1] < areas[0] && areas[0] < 100.0, "{areas:?}");

    let short = made.accuracy(&vec![vec![0; 4]; ROW_COUNTS.len()]);
    assert_eq!((&short["value"], &short["passed"]), (&0.0.into(), &false.into()), "{short}");
    assert_eq!(short["malformed_samples"].as_array().unwrap().len(), ROW_COUNTS.len(), "{short}");

    let mut damaged = perfect;
    damaged[0].truncate(4);
    damaged[1][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let scored = made.accuracy(&damaged);
    assert_eq!((&scored["malformed_samples"], &scored["passed"]), (&json!([0, 1]), &false.into()));
}

#[test]
fn clicks_of_a_day_are_ranked() {
    let bench = Bench::new();
    let made = Made::new(&bench, "dlrm", ROW_COUNTS.len());
    let text = fs::read_to_string(made.folder.join("day_23")).unwrap();
    let labels: Vec<_> = text.lines().map(|line| line.starts_with('1')).collect();
    // The first half of the day is the set.
    clicks_are_ranked(&made, &labels[..labels.len() / 2]);
}

#[test]
fn clicks_with_several_categories_are_ranked() {
    let bench = Bench::new();
    let made = Made::new(&bench, "dlrm-v2", ROW_COUNTS.len());
    let bytes = fs::read(made.folder.join("day_23_labels_sample.npy")).unwrap();
    let rows = ROW_COUNTS.iter().sum::<usize>();
    let labels: Vec<_> =
        bytes[bytes.len() - 4 * rows..].as_chunks().0.iter().map(|label: &[u8; 4]| label[0] == 1).collect();
    clicks_are_ranked(&made, &labels);
}

#[test]
fn rows_are_run_in_every_scenario_of_the_suites() {
    let bench = Bench::new();
    for benchmark in ["dlrm", "dlrm-v2"] {
        let made = Made::new(&bench, benchmark, ROW_COUNTS.len());
        let responses: Vec<_> = ROW_COUNTS.into_iter().map(|count| vec![0; 4 * count]).collect();
        for scenario in ["Server", "Offline"] {
            let flags =
                format!("--scenario {scenario} --mode performance --virtual-time --set mock.service=fixed");
            made.run(&responses, &flags).assert_valid();
        }
        let refused = made.run(&responses, "--scenario SingleStream");
        refused.finished.assert_error(2, &["in Server and Offline only"]);
    }
}

#[test]
fn labels_that_are_missing_are_named_before_a_run() {
    let bench = Bench::new();
    for (benchmark, file) in
        [("dlrm-v2", "day_23_labels_sample.npy"), ("3d-unet-kits19", "case_00003/segmentation.nii.gz")]
    {
        let made = Made::new(&bench, benchmark, 3);
        fs::remove_file(made.folder.join(file)).unwrap();
        let refused = made.run(&[vec![0; 4]], "--scenario Offline --mode accuracy");
        refused.finished.assert_error(4, &["the labels cannot be read", file]);
        let measured = "--scenario Offline --mode performance --virtual-time --set mock.service=fixed";
        made.run(&vec![vec![0; 4]; 3], measured).assert_valid();
    }
}

#[test]
fn a_run_of_fixed_rows_is_scored_again_by_its_own_rows() {
    let bench = Bench::new();
    let made = Made::new(&bench, "dlrm", ROW_COUNTS.len());
    let sample_count = ROW_COUNTS.iter().sum::<usize>() / 100;
    // Each row has a score of its own.
    let scores =
        |sample: usize| (0..100).flat_map(move |row| ((sample * row % 97) as f32).to_le_bytes()).collect();
    let responses: Vec<_> = (0..sample_count).map(scores).collect();
    let run = made.run(&responses, "--scenario Offline --mode accuracy --set row_aggregation=fixed:100");
    let accuracy = &run.result()["accuracy"];
    assert_eq!(
        (&accuracy["sample_count"], &accuracy["malformed_samples"]),
        (&sample_count.into(), &json!([]))
    );
    let scored = bench.host(&format!("accuracy {} --json", run.folder().display()));
    let scored: Value = serde_json::from_str(&scored.stdout).unwrap();
    assert_eq!(scored["accuracy"], *accuracy);
}

/// The prepared labels of a case of KiTS19.
fn labels_of_kits(made: &Made<'_>, case: &str) -> Vec<u8> {
    let read = |name: &str| fs::read(made.folder.join(case).join(name)).unwrap();
    let header = Image::parse_header(&read("imaging.nii.gz")).unwrap();
    kits::prepare_labels(&read("segmentation.nii.gz"), &header).unwrap().into_values()
}

#[test]
fn kidneys_of_any_size_are_found() {
    let bench = Bench::new();
    let made = Made::new(&bench, "3d-unet-kits19", 10);
    let mut cases: Vec<_> = fs::read_dir(&made.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("case_"))
        .collect();
    cases.sort_unstable();
    let mut answers: Vec<_> = cases.iter().map(|case| labels_of_kits(&made, case)).collect();
    let sizes: std::collections::BTreeSet<_> = answers.iter().map(Vec::len).collect();
    assert!(sizes.len() > 1, "all volumes have the size {sizes:?}");
    let all = made.accuracy(&answers);
    assert_eq!((&all["value"], &all["passed"]), (&1.0.into(), &true.into()), "{all}");

    // In one case in ten the tumour is taken for kidney: its Dice is 0, and the kidney's follows from its definition.
    let (kidney, tumor) = (1, 2);
    let of = |class| answers[3].iter().filter(|it| **it == class).count() as f64;
    let both = of(kidney) + of(tumor);
    let dice = 2.0 * of(kidney) / (both + of(kidney));
    answers[3].iter_mut().filter(|class| **class == tumor).for_each(|class| *class = kidney);
    let scored = made.accuracy(&answers);
    let expected = (9.0 + dice / 2.0) / 10.0;
    assert!((value(&scored) - expected).abs() < 1e-6, "{scored} instead of {expected}");

    answers[0].pop();
    answers[1][0] = 3;
    let damaged = made.accuracy(&answers);
    assert_eq!(damaged["malformed_samples"], json!([0, 1]), "{damaged}");

    for scenario in ["SingleStream", "Offline"] {
        let flags = format!(
            "--scenario {scenario} --mode performance --duration 1ms --virtual-time --set mock.service=fixed"
        );
        made.run(&answers, &flags).assert_valid();
    }
}

/// Scores of a case of BraTS by which its right classes win, and the classes.
fn scores_of_brats(made: &Made<'_>, name: &str) -> (Vec<u8>, Vec<u8>) {
    let (group, case) = name.split_once("__").unwrap();
    let read = |part: &str| {
        fs::read(made.folder.join(group).join(case).join(format!("{case}_{part}.nii.gz"))).unwrap()
    };
    let labels = brats::prepare_labels(&bundle::join(&brats::MODALITIES.map(read)), &read("seg")).unwrap();
    let (size, room) = (labels.shape(), brats::ROOM);
    let before = [0, 1, 2].map(|axis: usize| (room[axis] - size[axis]) / 2);
    let voxel_count = room.iter().product::<usize>();
    let mut scores = vec![0; 4 * voxel_count * 2];
    for (index, class) in labels.values().iter().enumerate() {
        let at = [index / (size[1] * size[2]), index / size[2] % size[1], index % size[2]];
        let voxel = (0..3).fold(0, |voxel, axis| voxel * room[axis] + before[axis] + at[axis]);
        let place = 2 * (usize::from(*class) * voxel_count + voxel);
        // 1 in f16.
        scores[place..place + 2].copy_from_slice(&0x3c00_u16.to_le_bytes());
    }
    (scores, labels.into_values())
}

#[test]
fn regions_of_a_tumour_are_found() {
    let bench = Bench::new();
    let made = Made::new(&bench, "3d-unet-brats", 2);
    let list = fs::read_to_string(made.folder.join("fold1_validation.txt")).unwrap();
    let (mut scores, classes): (Vec<_>, Vec<_>) =
        list.lines().map(|name| scores_of_brats(&made, name)).unzip();
    let all = made.accuracy(&scores);
    assert_eq!((&all["value"], &all["passed"]), (&1.0.into(), &true.into()), "{all}");

    // In the second case the enhancing part is taken for core: of the three regions that one is missed.
    let voxel_count = brats::ROOM.iter().product::<usize>();
    let (core, enhancing) = (2 * 2 * voxel_count, 3 * 2 * voxel_count);
    for place in 0..2 * voxel_count {
        scores[1][core + place] |= scores[1][enhancing + place];
        scores[1][enhancing + place] = 0;
    }
    assert!(classes[1].contains(&3));
    let some = made.accuracy(&scores);
    let expected = (1.0 + 1.0 + 0.5) / 3.0;
    assert!((value(&some) - expected).abs() < 1e-9, "{some} instead of {expected}");
}
