//! The options of the plugin.

use proctor_plugin_api::{Manifest, OptionSpec, Options, PluginError, Threads};

use crate::models::llama::config::BEAM_MAX;

/// The options, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Threads of each instance.
    pub threads: Threads,
    /// Number of texts that a search of words keeps at a time; `None` for as many as the model id says.
    pub beam: Option<usize>,
}

pub(crate) fn declare(manifest: Manifest) -> Manifest {
    manifest.option(Threads::option()).option(OptionSpec::integer(
        "beam",
        0,
        0..=BEAM_MAX as i64,
        "Decoders: texts that the search keeps at a time, 1 is greedy; 0 is what the model id says.",
    ))
}

impl Settings {
    /// Reads the options, which were checked against the manifest.
    ///
    /// # Errors
    /// [`Threads::read`]'s.
    pub(crate) fn read(options: &Options) -> Result<Self, PluginError> {
        let beam = options.integer("beam").and_then(|count| usize::try_from(count).ok());
        Ok(Self { threads: Threads::read(options)?, beam: beam.filter(|count| *count > 0) })
    }
}
