//! Energy of a performance test.

use serde::{Deserialize, Serialize};

/// Energy of a performance test.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct EnergyPart {
    /// Total energy.
    pub joules: f64,
    /// `None` without an answered sample.
    pub joules_per_sample: Option<f64>,
    /// Mean power over the length of the test, in W.
    pub mean_watts: f64,
    /// Throughput per watt, the same as samples for each joule; `None` without a joule or an answered sample.
    pub samples_per_second_per_watt: Option<f64>,
    /// Counters: `plugin`, or `rapl` with the packages.
    pub source: String,
}

/// Energy of the processor.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ProcessorEnergyPart {
    /// The energy was counted.
    Counted(EnergyPart),
    /// The energy was not counted.
    NotCounted {
        /// Reason why not.
        reason: String,
    },
}
