//! `host describe PLUGIN --plan BENCHMARK`: how a plugin will run the model of a benchmark, in its own words.

use proctor_display::Terminal;
use proctor_run::{HostError, Interrupt, explain_model};

use crate::cli::run::RunFlags;

/// The explanation of the plugin for a run with these flags.
///
/// # Errors
/// The errors of the settings and of [`explain_model`].
pub(crate) fn plan(flags: &RunFlags) -> Result<String, HostError> {
    explain_model(&flags.load()?, &Interrupt::never(Terminal::observer()))
}
