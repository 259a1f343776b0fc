//! The options of the plugin.

use std::time::Duration;

use proctor_plugin_api::{Manifest, OptionSpec, Options, PluginError, Threads};
use proctor_rnn_layer::GruReset;

/// Longest possible calibration.
const CALIBRATION_S_MAX: f64 = 600.0;

/// The options, read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    /// Threads of each instance.
    pub threads: Threads,
    /// Whether schedules are chosen by the optimiser.
    pub optimise: bool,
    /// Longest time that calibration may take.
    pub calibration: Duration,
    /// Whether threads stay on their cores.
    pub pin: bool,
    /// Convention of a GRU in a file that does not say it.
    pub reset: GruReset,
}

/// Adds the options to a manifest.
pub(crate) fn declare(manifest: Manifest) -> Manifest {
    manifest
        .option(Threads::option())
        .option(OptionSpec::choice(
            "optimise",
            &["auto", "off"],
            "Whether the optimiser chooses how layers run, or everything runs on one thread, step by step.",
        ))
        .option(OptionSpec::float(
            "calibration_s",
            8.0,
            0.0..=CALIBRATION_S_MAX,
            "Longest time, in s, to measure schedules of a model that is not in the cache; 0 computes them.",
        ))
        .option(OptionSpec::choice("pin", &["auto", "off"], "Whether threads stay on their cores."))
        .option(OptionSpec::choice(
            "gru_reset",
            &["after", "before"],
            "Whether a GRU's reset gate acts after the hidden product (PyTorch) or on the state before it, in safetensors \
             files.",
        ))
}

impl Settings {
    /// Reads the options, which were checked against the manifest.
    ///
    /// # Errors
    /// [`Threads::read`]'s.
    pub(crate) fn read(options: &Options) -> Result<Self, PluginError> {
        let reset = match options.text("gru_reset") {
            Some("before") => GruReset::BeforeProduct,
            _ => GruReset::AfterProduct,
        };
        Ok(Self {
            threads: Threads::read(options)?,
            optimise: options.text("optimise") != Some("off"),
            calibration: Duration::from_secs_f64(options.float("calibration_s").unwrap_or(8.0)),
            pin: options.text("pin") != Some("off"),
            reset,
        })
    }
}
