//! Compares mel features with librosa's, on random waveforms.
//!
//! `peer.py` makes the cases, in one process. It needs the packages of `requirements.txt`, by `PYTHONPATH`, as
//! `cargo xtask test` sets it.

use std::{ffi::OsStr, fs, path::Path};

use proctor_test_needs::python;
use proctor_timed_steps::mel::{Dither, Mel};
use serde::Deserialize;

const SEED: &str = "1";
const ALL: usize = 300;
/// Waveforms that show whether something is broken.
const FEW: usize = 20;
/// Maximum difference of a feature, and of all of them on average; their deviation is 1. librosa computes in
/// f64 here: in f32 a loud tone leaves little accuracy to the quietest bands.
const MOST: f32 = 2e-2;
const MEAN: f32 = 2e-5;

#[derive(Debug, Deserialize)]
struct Case {
    dither: bool,
    /// Start and length in the data.
    waveform: (usize, usize),
    features: (usize, usize),
}

#[test]
fn features_are_those_of_librosa() {
    compare(FEW);
}

mod at_full_count {
    #[test]
    fn features_are_those_of_librosa() {
        super::compare(super::ALL);
    }
}

/// Compares the features of so many waveforms.
fn compare(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mel/peer.py");
    let arguments: [&dyn AsRef<OsStr>; 3] = [&folder.path(), &SEED, &count.to_string()];
    if python(&script, &arguments, "librosa").is_none() {
        return;
    }
    let data = fs::read(folder.path().join("data.bin")).unwrap();
    let data: Vec<f32> = data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let part = |(start, length): (usize, usize)| &data[start..start + length];
    let mut extraction = [Mel::new(Dither::Off), Mel::new(Dither::On)];
    let (mut sum, mut feature_count, mut case_count) = (0.0_f64, 0, 0);
    for line in fs::read_to_string(folder.path().join("cases.jsonl")).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let (waveform, expected) = (part(case.waveform), part(case.features));
        let mut features = vec![f32::NAN; Mel::row_count(waveform.len()) * Mel::FEATURE_COUNT];
        extraction[usize::from(case.dither)].compute(waveform, &mut features).unwrap();
        assert_eq!(features.len(), expected.len(), "{line}");
        for (at, (got, expected)) in features.iter().zip(expected).enumerate() {
            let distance = (got - expected).abs();
            assert!(distance <= MOST, "{got} for {expected} at {at} of {line}");
            sum += f64::from(distance);
        }
        feature_count += features.len();
        case_count += 1;
    }
    assert_eq!(case_count, count);
    let mean = sum / feature_count as f64;
    assert!(mean <= f64::from(MEAN), "{mean} on average");
}
