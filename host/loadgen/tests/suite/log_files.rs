//! The logs of a test under LoadGen's usual names.

use std::{io, path::Path};

use proctor_loadgen::{LogOutputSettings, TestOutcome, log::LogIdentity};

/// Writes the logs into a folder, which must exist.
pub fn write_logs(outcome: &TestOutcome, folder: &Path, identity: &LogIdentity) -> io::Result<()> {
    let settings = LogOutputSettings { outdir: folder.to_owned(), ..LogOutputSettings::default() };
    outcome.write_logs(&settings, identity, &mut io::sink())
}
