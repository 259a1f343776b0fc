//! The options of the plugin.

use proctor_plugin_api::{Manifest, OptionSpec, Options};

/// More than any machine gains from, and few enough to make.
const THREADS_MAX: i64 = 256;

/// The options, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Threads of each instance; `None` for the allowed cores shared among the instances.
    pub threads: Option<usize>,
}

/// Adds the options to a manifest.
pub(crate) fn declare(manifest: Manifest) -> Manifest {
    manifest.option(OptionSpec::integer(
        "threads",
        0,
        0..=THREADS_MAX,
        "Threads of one instance; 0 shares the cores that the process may use among the instances.",
    ))
}

impl Settings {
    /// Reads the options, which were checked against the manifest.
    pub(crate) fn read(options: &Options) -> Self {
        let threads = options.integer("threads").and_then(|count| usize::try_from(count).ok());
        Self { threads: threads.filter(|count| *count > 0) }
    }
}
