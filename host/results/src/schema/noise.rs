//! The noise of the machine during a performance run. What each key means is in docs/run-folder.md.

use serde::Deserialize;

/// How quiet the machine was.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NoisePart {
    /// In one word.
    pub state: NoiseState,
    /// Why it is not known, where it is not.
    pub unknown_reason: Option<String>,
    /// Time that was looked at, in ns.
    #[serde(default)]
    pub observed_ns: u64,
    /// Time of it that was noisy, in ns.
    #[serde(default)]
    pub noisy_ns: u64,
    /// The noisy intervals, ascending.
    #[serde(default)]
    pub noisy_intervals: Vec<NoisyInterval>,
}

/// How quiet the machine was, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseState {
    /// Hardly anything else ran.
    Quiet,
    /// Something did.
    Noisy,
    /// The machine does not tell.
    Unknown,
}

/// An interval that was noisy.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NoisyInterval {
    /// Its begin, in ns from the start of issuing.
    pub begin_ns: u64,
    /// Its end, likewise.
    pub end_ns: u64,
    /// Why it was noisy.
    pub causes: Vec<NoiseCause>,
}

/// A cause of noise.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NoiseCause {
    /// Its kind, such as `steal`.
    pub kind: String,
    /// Measured value, in `unit`.
    pub value: f64,
    /// The value from which on, or for frequencies below which, it is noise.
    pub threshold: f64,
    /// Unit of both: `ns`, `count` or `kHz`.
    pub unit: String,
}
