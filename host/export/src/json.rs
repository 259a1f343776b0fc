//! JSON: runs as a list of rows.

use std::io::{self, Write};

use proctor_results::RunSummary;

/// Writes a list with an object for each run.
///
/// # Errors
/// If writing fails.
pub fn json(runs: &[RunSummary], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, runs)?;
    writeln!(out)
}
