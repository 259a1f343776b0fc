//! Samples of WAV and FLAC files beside those of soundfile, on random recordings.
//!
//! `peer.py` makes the cases, in one process. It needs soundfile and NumPy by `PYTHONPATH`, as `cargo xtask test` sets
//! it.

use std::{collections::HashMap, fs, path::Path, process::Command};

use proctor_sound_file::{Format, Header, SoundError, decode};
use proctor_test_needs::skip;
use serde::Deserialize;

const SEED: &str = "1";

#[derive(Debug, Deserialize)]
struct Case {
    kind: String,
    subtype: String,
    rate_hz: u32,
    channel_count: u16,
    /// Start and length of the file in the data, and of its samples.
    file: (usize, usize),
    samples: (usize, usize),
}

/// Has the Python process make its files, or says why there are none.
fn make_cases(folder: &Path) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/peer.py");
    let Ok(output) = Command::new("python3").arg(script).arg(folder).arg(SEED).output() else {
        skip("python3 cannot be started");
        return false;
    };
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.code() == Some(3) {
        skip(format!("{}; `cargo xtask setup` gets soundfile", said.trim()));
        return false;
    }
    assert!(output.status.success(), "peer.py: {said}");
    true
}

#[test]
fn samples_are_those_of_soundfile() {
    let folder = tempfile::tempdir().unwrap();
    if !make_cases(folder.path()) {
        return;
    }
    let data = fs::read(folder.path().join("data.bin")).unwrap();
    let part = |(start, length): (usize, usize)| &data[start..start + length];
    let mut counts = HashMap::new();
    for line in fs::read_to_string(folder.path().join("cases.jsonl")).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let format = Format { rate_hz: case.rate_hz, channel_count: case.channel_count, bits: 16 };
        let (file, samples) = (part(case.file), part(case.samples));
        let outcome = match case.subtype.as_str() {
            "PCM_16" => {
                let header = Header::read(file).unwrap();
                let frames = samples.len() as u64 / 2 / u64::from(case.channel_count);
                assert_eq!((header.format, header.sample_count), (format, Some(frames)), "{line}");
                let samples = samples.as_chunks().0.iter().map(|bytes| i16::from_le_bytes(*bytes));
                assert!(decode(file, format).unwrap().into_iter().eq(samples), "{line}");
                case.kind
            }
            "FLOAT" => {
                assert_eq!(decode(file, format).unwrap_err(), SoundError::Encoding(3), "{line}");
                "refused".to_owned()
            }
            _ => {
                assert!(matches!(decode(file, format), Err(SoundError::Format { .. })), "{line}");
                "refused".to_owned()
            }
        };
        *counts.entry(outcome).or_insert(0) += 1;
    }
    for (outcome, least) in [("FLAC", 500), ("WAV", 150), ("WAVEX", 150), ("refused", 50)] {
        assert!(counts.get(outcome).is_some_and(|count| *count >= least), "{outcome} in {counts:?}");
    }
}
