//! Compares samples of WAV and FLAC files with soundfile's, on random recordings.
//!
//! `peer.py` makes the cases, in one process. It needs soundfile and NumPy by `PYTHONPATH`, as `cargo xtask test` sets
//! it.

use std::{collections::HashMap, ffi::OsStr, fs, path::Path};

use proctor_sound_file::{Format, Header, SoundError, decode};
use proctor_test_needs::python;
use serde::Deserialize;

const SEED: &str = "1";
const CASES: usize = 1200;

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

/// One case in this many shows whether something is broken; all of them are compared by [`at_full_count`].
const FEW: usize = 8;

#[test]
fn samples_are_those_of_soundfile() {
    compare_one_in(FEW);
}

mod at_full_count {
    #[test]
    fn samples_are_those_of_soundfile() {
        super::compare_one_in(1);
    }
}

fn compare_one_in(divisor: usize) {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/peer.py");
    let count = (CASES / divisor).to_string();
    let arguments: [&dyn AsRef<OsStr>; 3] = [&folder.path(), &SEED, &count];
    if python(&script, &arguments, "soundfile").is_none() {
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
        assert!(
            counts.get(outcome).is_some_and(|count| *count >= least / divisor),
            "{outcome} in {counts:?}"
        );
    }
}
