//! The parts of a result about energy.

use serde::Serialize;

use crate::{
    bed::test::Test,
    energy::{NoEnergy, PackageEnergy},
    text::four_digits,
};

/// Energy of a performance test.
#[derive(Debug, Serialize)]
pub(crate) struct EnergyPart {
    pub(crate) joules: f64,
    /// Null without an answered sample.
    pub(crate) joules_per_sample: Option<f64>,
    pub(crate) mean_watts: f64,
    /// Throughput per watt, the same as samples for each joule; null without a joule or an answered sample.
    pub(crate) samples_per_second_per_watt: Option<f64>,
    /// Counters: `plugin`, or `rapl` with the packages.
    pub(crate) source: String,
}

/// Energy of the processor.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ProcessorEnergyPart {
    Counted(EnergyPart),
    NotCounted { reason: String },
}

impl EnergyPart {
    /// The energy that the plugin has counted, from the start to the stop of the test.
    pub(super) fn of_plugin(test: &Test) -> Option<Self> {
        Some(Self::new(test.energy_joules?, "plugin".to_owned(), test))
    }

    fn new(joules: f64, source: String, test: &Test) -> Self {
        let phases = || test.outcome.reported_phases();
        // Energy that went into unanswered samples counts for the answered ones.
        let sample_count = test.outcome.figures().map_or(0, |figures| figures.sample_latencies.count);
        let duration_ns: u64 = phases().map(|phase| phase.duration_ns).sum();
        Self {
            joules,
            joules_per_sample: (sample_count > 0).then(|| joules / sample_count as f64),
            mean_watts: joules * 1e9 / duration_ns.max(1) as f64,
            samples_per_second_per_watt: (joules > 0.0 && sample_count > 0)
                .then(|| sample_count as f64 / joules)
                .filter(|per_watt| per_watt.is_finite()),
            source,
        }
    }

    /// The figures for people.
    pub(super) fn text(&self) -> String {
        let joules = format!("{} J, {} W", four_digits(self.joules), four_digits(self.mean_watts));
        let throughput = self
            .samples_per_second_per_watt
            .map_or(String::new(), |value| format!(", {} samples/s per W", four_digits(value)));
        format!("{joules}{throughput} ({})", self.source)
    }
}

impl ProcessorEnergyPart {
    pub(super) fn new(energy: &Result<PackageEnergy, NoEnergy>, test: &Test) -> Self {
        match energy {
            Ok(PackageEnergy { joules, packages }) => {
                Self::Counted(EnergyPart::new(*joules, format!("rapl {}", packages.join(", ")), test))
            }
            Err(error) => Self::NotCounted { reason: error.to_string() },
        }
    }

    /// The figures, or why there are none, for people.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Counted(energy) => energy.text(),
            Self::NotCounted { reason } => format!("of the processor not counted: {reason}"),
        }
    }
}
