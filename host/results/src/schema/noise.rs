//! The noise of the machine during a performance run. What each key means is in docs/run-folder.md.

use serde::{Deserialize, Serialize};

use super::or_default;

/// Noise of the machine. Instants are in ns from the start of issuing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct NoisePart {
    /// Summary in one word.
    pub state: NoiseState,
    /// Reason why the noise is unknown, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_reason: Option<String>,
    /// Time that was examined, in ns.
    pub observed_ns: u64,
    /// Number of intervals.
    pub interval_count: u64,
    /// Number of intervals that were noisy.
    pub noisy_interval_count: u64,
    /// Time that was noisy, in ns.
    pub noisy_ns: u64,
    /// Processors that the process may use.
    pub processor_count: u64,
    /// Issuing threads whose switches were counted.
    pub issuing_thread_count: u64,
    /// Maximum delay of the issuing thread's timers by the system; `None` if the system does not report it.
    pub timer_slack_ns: Option<u64>,
    /// Each quantity over the whole time.
    #[serde(deserialize_with = "or_default")]
    pub totals: QuantitiesPart<Option<u64>>,
    /// The noisy intervals, ascending.
    pub noisy_intervals: Vec<NoisyInterval>,
    /// The share of the guard that looked.
    #[serde(deserialize_with = "or_default")]
    pub cost: NoiseCostPart,
    /// Each quantity by interval.
    #[serde(deserialize_with = "or_default")]
    pub series: NoiseSeriesPart,
}

/// Noise of the machine, in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseState {
    /// Hardly anything else ran on the machine.
    Quiet,
    /// The run was disturbed.
    Noisy,
    /// The machine does not tell.
    #[default]
    Unknown,
}

/// An interval that was noisy.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NoisyInterval {
    /// Begin of the interval, in ns from the start of issuing.
    pub begin_ns: u64,
    /// End, in ns from the start of issuing.
    pub end_ns: u64,
    /// Causes of the noise.
    pub causes: Vec<NoiseCause>,
}

/// A cause of noise.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NoiseCause {
    /// Kind, such as `steal`. Readers show those of later versions by this name.
    pub kind: String,
    /// Measured value, in `unit`.
    pub value: u64,
    /// The value from which on, or for frequencies below which, it is noise.
    pub threshold: u64,
    /// Unit of both: `ns`, `count` or `kHz`.
    pub unit: String,
}

/// Processor time of the guard's own thread.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub struct NoiseCostPart {
    /// Total time of the thread, in ns.
    pub thread_ns: u64,
    /// Same time as a share of one processor over the observed time.
    pub share_of_processor: f64,
    /// Number of readings.
    pub reading_count: u64,
}

/// Quantities by interval, in columns; `None` in place of one that has no value at all.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub struct NoiseSeriesPart {
    /// Nominal length of an interval, in ns.
    pub interval_ns: u64,
    /// End of each interval, where the next one begins.
    pub end_ns: Vec<u64>,
    /// True for those that were noisy.
    pub is_noisy: Vec<bool>,
    /// Values of each.
    #[serde(flatten)]
    pub columns: QuantitiesPart<Option<Vec<Option<u64>>>>,
}

/// Quantities that are measured. docs/noise.md explains each.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct QuantitiesPart<T> {
    pub steal_ns: T,
    pub foreign_ns: T,
    pub own_ns: T,
    pub involuntary_switches: T,
    pub minor_faults: T,
    pub major_faults: T,
    pub frequency_least_khz: T,
    pub frequency_greatest_khz: T,
    pub thermal_throttle_events: T,
    pub quota_throttled_ns: T,
}
