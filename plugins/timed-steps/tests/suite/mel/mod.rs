//! Mel features beside those of librosa, on random waveforms.
//!
//! `peer.py` makes the cases, in one process. It needs the packages of `requirements.txt`, by `PYTHONPATH`, as
//! `cargo xtask test` sets it.

use std::{fs, path::Path, process::Command};

use proctor_test_needs::skip;
use proctor_timed_steps::mel::{Dither, Mel};
use serde::Deserialize;

const SEED: &str = "1";
/// Most that a feature may differ by, and all of them on average; their deviation is 1. librosa computes in f64 here:
/// in f32 a loud tone leaves little accuracy to the quietest bands.
const MOST: f32 = 2e-2;
const MEAN: f32 = 2e-5;

#[derive(Debug, Deserialize)]
struct Case {
    dither: bool,
    /// Start and length in the data.
    waveform: (usize, usize),
    features: (usize, usize),
}

/// Has the Python process make its files, or says why there are none.
fn make_cases(folder: &Path) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mel/peer.py");
    let Ok(output) = Command::new("python3").arg(script).arg(folder).arg(SEED).output() else {
        skip("python3 cannot be started");
        return false;
    };
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.code() == Some(3) {
        skip(format!("{}; `cargo xtask setup` gets librosa", said.trim()));
        return false;
    }
    assert!(output.status.success(), "peer.py: {said}");
    true
}

#[test]
fn features_are_those_of_librosa() {
    let folder = tempfile::tempdir().unwrap();
    if !make_cases(folder.path()) {
        return;
    }
    let data = fs::read(folder.path().join("data.bin")).unwrap();
    let data: Vec<f32> = data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let part = |(start, length): (usize, usize)| &data[start..start + length];
    let mut extraction = [Mel::new(Dither::Off), Mel::new(Dither::On)];
    let (mut sum, mut count, mut case_count) = (0.0_f64, 0, 0);
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
        count += features.len();
        case_count += 1;
    }
    assert!(case_count >= 300, "{case_count} cases");
    assert!(sum / count as f64 <= f64::from(MEAN), "{} on average", sum / count as f64);
}
