//! The options of the plugin.

use proctor_plugin_api::{Manifest, OptionSpec, Options};

use crate::models::BEAM_MAX;

/// More than any machine gains from, and few enough to make.
const THREADS_MAX: i64 = 256;

/// The options, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Threads of each instance; `None` for the allowed cores shared among the instances.
    pub threads: Option<usize>,
    /// Texts that a search of words keeps at a time; `None` for as many as the model id says.
    pub beam: Option<usize>,
}

/// Adds the options to a manifest.
pub(crate) fn declare(manifest: Manifest) -> Manifest {
    manifest
        .option(OptionSpec::integer(
            "threads",
            0,
            0..=THREADS_MAX,
            "Threads of one instance; 0 shares the cores that the process may use among the instances.",
        ))
        .option(OptionSpec::integer(
            "beam",
            0,
            0..=BEAM_MAX as i64,
            "Decoders: texts that the search keeps at a time, 1 is greedy; 0 is what the model id says.",
        ))
}

impl Settings {
    /// Reads the options, which were checked against the manifest.
    pub(crate) fn read(options: &Options) -> Self {
        let count =
            |name| options.integer(name).and_then(|count| usize::try_from(count).ok()).filter(|it| *it > 0);
        Self { threads: count("threads"), beam: count("beam") }
    }
}
