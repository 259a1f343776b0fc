//! The integration tests of this crate, a module for each subject.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod refusals;
mod values;

use std::io::Read;

use flate2::read::GzDecoder;
use proctor_nifti_file::{NewImage, Volume, encode};

/// A small file as it is published.
fn packed() -> Vec<u8> {
    let values = (0..3 * 4 * 5).map(|value| value as i16 * 7 - 100).collect();
    encode(&NewImage { volume: &Volume::new([3, 4, 5], values), spacing_mm: [3.0, 0.8, 0.8] })
}

/// The same without gzip.
fn plain() -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed().as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The file with other bytes at a place.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = plain();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}
