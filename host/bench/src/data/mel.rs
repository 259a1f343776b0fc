//! Compares features of 15 s of speech with librosa's: each on one thread, from a waveform in memory to features.

use std::{cell::Cell, fs, time::Instant};

use proctor_timed_steps::mel::{Dither, Mel, RATE_HZ};
use proctor_words::{HostError, output};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    bed::{Bench, folder},
    flags::Part,
    table::{Check, Row, Side, Unit},
};
use crate::{
    answers::{bytes, distance, floats},
    worker::read,
};

/// Script that computes them with librosa. It is passed to Python after the common part.
const SCRIPT: &str = include_str!("mel.py");
/// File to which Python writes features.
const FEATURES: &str = "features.f32";

/// Longest recording of the benchmark.
const SECONDS: u32 = 15;
/// Number of extractions in a turn, since one takes a moment.
const PER_TURN: u32 = 10;
/// Maximum allowed difference of a feature, in deviations of its band.
const OFF_MAX: f64 = 1e-2;
/// Required speed of features relative to librosa.
const TARGET: f64 = 3.0;

#[derive(Deserialize)]
struct Taken {
    seconds: f64,
}

/// Measures the extraction.
///
/// # Errors
/// If the waveform cannot be written.
pub(super) fn row(bench: &Bench<'_>) -> Result<Row, HostError> {
    let folder = folder(None)?;
    let path = folder.path().join("waveform.f32");
    let waveform = waveform();
    fs::write(&path, bytes(&waveform)).map_err(|source| output(&path, source))?;
    let mut mel = Mel::new(Dither::On);
    let mut features = vec![0.0; Mel::row_count(waveform.len()) * Mel::FEATURE_COUNT];
    mel.compute(&waveform, &mut features).map_err(HostError::data)?;

    let difference = Cell::new(0.0_f64);
    let worker = bench.python(SCRIPT, &json!({ "waveform": path }), &bench.cpus[..1], folder.path());
    let worker = worker.and_then(|mut worker| {
        worker.ask::<Value>(&json!({ "do": "check" }))?;
        let theirs = read(&folder.path().join(FEATURES))?;
        difference.set(distance(&features, &floats(&theirs)));
        Ok(worker)
    });
    let ours = || {
        let begin = Instant::now();
        for _ in 0..PER_TURN {
            mel.compute(&waveform, &mut features).map_err(|error| error.to_string())?;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e3 / f64::from(PER_TURN))
    };
    let theirs = worker.map(|mut worker| -> Box<dyn FnMut() -> _> {
        Box::new(move || {
            let mut sum = 0.0;
            for _ in 0..PER_TURN {
                sum += worker.ask::<Taken>(&json!({ "do": "compute" }))?.seconds;
            }
            Ok(sum * 1e3 / f64::from(PER_TURN))
        })
    });
    let check = Some(Check { difference: &difference, most: OFF_MAX });
    let librosa = Side { name: "librosa, one thread".to_owned(), turn: theirs, check, target: Some(TARGET) };
    let what = format!("RNN-T, {SECONDS} s");
    Ok(bench.row(Part::Mel, &what, Unit::Milliseconds, vec![Side::ours(ours), librosa]))
}

/// Returns a sweep over a floor of noise; the time does not depend on the signal.
fn waveform() -> Vec<f32> {
    let mut random = StdRng::seed_from_u64(1);
    let sample = |at| (at as f32 * at as f32 * 1e-6).sin() * 0.3 + random.random_range(-0.005..0.005);
    (0..SECONDS * RATE_HZ).map(sample).collect()
}
