//! The parts of a result about energy.

use proctor_bed::{NoEnergy, PackageEnergy, Test};
use proctor_results::{EnergyPart, ProcessorEnergyPart};
use proctor_words::text::four_digits;

/// Returns the energy that the plugin has counted, from the start to the stop of the test.
pub(super) fn energy_of_plugin(test: &Test) -> Option<EnergyPart> {
    Some(energy_part(test.energy_joules?, "plugin".to_owned(), test))
}

/// Returns the energy of the processor, or why it was not counted.
pub(super) fn processor_energy(energy: &Result<PackageEnergy, NoEnergy>, test: &Test) -> ProcessorEnergyPart {
    match energy {
        Ok(PackageEnergy { joules, packages }) => {
            let source = format!("rapl {}", packages.join(", "));
            ProcessorEnergyPart::Counted(energy_part(*joules, source, test))
        }
        Err(error) => ProcessorEnergyPart::NotCounted { reason: error.to_string() },
    }
}

fn energy_part(joules: f64, source: String, test: &Test) -> EnergyPart {
    let phases = || test.outcome.reported_phases();
    // Energy that went into unanswered samples counts for the answered ones.
    let sample_count = test.outcome.figures().map_or(0, |figures| figures.sample_latencies.count);
    let duration_ns: u64 = phases().map(|phase| phase.duration_ns).sum();
    EnergyPart {
        joules,
        joules_per_sample: (sample_count > 0).then(|| joules / sample_count as f64),
        mean_watts: joules * 1e9 / duration_ns.max(1) as f64,
        samples_per_second_per_watt: (joules > 0.0 && sample_count > 0)
            .then(|| sample_count as f64 / joules)
            .filter(|per_watt| per_watt.is_finite()),
        source,
    }
}

/// Returns the figures for people.
pub(super) fn text(energy: &EnergyPart) -> String {
    let joules = format!("{} J, {} W", four_digits(energy.joules), four_digits(energy.mean_watts));
    let throughput = energy
        .samples_per_second_per_watt
        .map_or(String::new(), |value| format!(", {} samples/s per W", four_digits(value)));
    format!("{joules}{throughput} ({})", energy.source)
}

/// Formats the figures of the processor, or why there are none, for users.
pub(super) fn text_of_processor(energy: &ProcessorEnergyPart) -> String {
    match energy {
        ProcessorEnergyPart::Counted(energy) => text(energy),
        ProcessorEnergyPart::NotCounted { reason } => format!("of the processor not counted: {reason}"),
    }
}
