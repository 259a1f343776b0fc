//! Adds marks to the logs of a run whose arrivals differ from the rules: no reader may mistake it for a run
//! by the rules.

use std::io::{self, Write};

use proctor_loadgen_settings::TestSettings;

use super::detail::DetailLog;

/// Ends the block "Test Parameters Used" of the summary.
pub(super) fn summary(request: &TestSettings, out: &mut impl Write) -> io::Result<()> {
    match request.other_arrivals() {
        Some(process) => writeln!(out, "arrivals : {process}, outside the rules"),
        None => Ok(()),
    }
}

impl DetailLog {
    pub(super) fn arrivals(&mut self, time_ns: u64, prefix: &str, request: &TestSettings) {
        if let Some(process) = request.other_arrivals() {
            self.entry(time_ns, format!("{prefix}_arrivals"), process.to_string());
        }
    }
}
