//! Options that plugins for devices have in common.

use proctor_plugin_api::{OptionSpec, Options};

/// Precisions of the files that every device runs.
pub const PRECISIONS: [&str; 4] = ["f32", "f16", "bf16", "int8"];

/// Settings of models on devices.
#[derive(Debug, Clone, Copy)]
pub struct DeviceOptions {
    /// Number of batches that an instance has in flight.
    pub in_flight_max: usize,
    /// True if tiles of products are tried.
    pub calibrates: bool,
}

impl DeviceOptions {
    /// Returns the options that are read, for a manifest.
    #[must_use]
    pub fn specs() -> [OptionSpec; 2] {
        [
            OptionSpec::boolean(
                "calibrate",
                true,
                "Whether the tile of products is found by trying a few, for models of more than a GFLOP a batch; what is \
                 found is kept in the cache folder. Else, and where a library of the device computes products, it is the \
                 one that suits most devices of the kind.",
            ),
            OptionSpec::integer(
                "in_flight",
                1,
                1..=16,
                "Batches that an instance has in flight: with 2 the next one is copied to the device while it computes.",
            ),
        ]
    }

    /// Returns the settings of a run.
    #[must_use]
    pub fn read(options: &Options) -> Self {
        let in_flight_max = options.integer("in_flight").and_then(|count| usize::try_from(count).ok());
        Self { in_flight_max: in_flight_max.unwrap_or(1), calibrates: options.boolean("calibrate") }
    }
}
