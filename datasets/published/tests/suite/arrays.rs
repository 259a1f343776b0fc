//! Compares with NumPy: it reads arrays generated here, writes some to be read, and draws the same sample sizes.
//!
//! NumPy is found by `PYTHONPATH`, as `cargo xtask test` sets it.

use std::path::Path;

use proctor_datasets::{Dataset, sha256_hex};
use proctor_published::{
    Generate,
    criteo::{Aggregation, multi_hot},
};
use proctor_test_needs::python;
use proctor_vocabulary::SampleIndex;
use serde_json::Value;

fn numbers<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn arrays_and_draws_are_those_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    multi_hot::generate(&made, &Generate { seed: 2, sample_count: 4 }).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/arrays.py");
    let Some(printed) = python(&script, &[&folder.path()], "NumPy") else { return };
    let theirs: Value = serde_json::from_str(&printed).unwrap();
    sums(&made, &theirs);
    digests(&folder.path().join("numpy"), &theirs);
    draws(&theirs);
}

fn sums(made: &Path, theirs: &Value) {
    let set = multi_hot::open(made).unwrap();
    assert_eq!(set.samples().row_count(), numbers::<u64>(&theirs["rows"]));
    let widths: Vec<usize> =
        std::iter::once(13).chain(multi_hot::HOT_SIZES.map(|width| width as usize)).collect();
    let mut ours = vec![0.0; widths.len()];
    for index in 0..set.sample_count() {
        let rows = set.samples().rows(index).unwrap();
        let sample = set.read(SampleIndex(index)).unwrap();
        let mut elements = sample.bytes.as_chunks::<4>().0.iter();
        for (array, width) in widths.iter().enumerate() {
            for element in elements.by_ref().take(width * (rows.end - rows.start) as usize) {
                let is_dense = array == 0;
                let integer = f64::from(i32::from_ne_bytes(*element));
                ours[array] += if is_dense { f64::from(f32::from_ne_bytes(*element)) } else { integer };
            }
        }
        assert_eq!(elements.len(), 0);
    }
    for (ours, theirs) in ours.iter().zip(numbers::<Vec<f64>>(&theirs["sums"])) {
        assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{ours} and {theirs}");
    }
}

fn digests(folder: &Path, theirs: &Value) {
    let set = multi_hot::open_aggregated(folder, Aggregation::Fixed(100)).unwrap();
    let digest = |index| sha256_hex(&set.read(SampleIndex(index)).unwrap().bytes);
    let ours: Vec<_> = (0..set.sample_count()).map(digest).collect();
    assert_eq!(ours, numbers::<Vec<String>>(&theirs["digests"]));
    assert_eq!(multi_hot::verify(folder, &mut |_, _| ()).unwrap(), []);
}

fn draws(theirs: &Value) {
    for draws in theirs["draws"].as_array().unwrap() {
        let (least, most, sizes): (u32, u32, Vec<u64>) = numbers(draws);
        assert_sizes(Aggregation::Uniform { least, most }, &sizes);
    }
    assert_sizes(Aggregation::Quantiles, &numbers::<Vec<u64>>(&theirs["drawn"]));
}

fn assert_sizes(aggregation: Aggregation, sizes: &[u64]) {
    let samples = aggregation.samples(sizes.iter().sum());
    let rows = (0..samples.count()).map(|index| samples.rows(index).unwrap());
    assert!(rows.map(|rows| rows.end - rows.start).eq(sizes.iter().copied()), "{aggregation:?}");
}
