//! The logs of a test, in its folder.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::{Duration, SystemTime},
};

use chrono::{DateTime, Local};
use proctor_config::RunSettings;
use proctor_loadgen::{LogOutputSettings, TestOutcome, log::LogIdentity};
use proctor_results::file_names::SAMPLES;
use proctor_words::{HostError, Observer, enter, output, write_whole};

/// The logs of one test: their place, and information about their writer.
#[derive(Debug, Clone)]
pub struct Logs {
    settings: LogOutputSettings,
    identity: LogIdentity,
    /// True if an engine writes the logs, except for the samples.
    are_of_engine: bool,
}

impl Logs {
    /// Returns the logs of a test that begins now; with `are_of_engine` an engine writes LoadGen's.
    pub(crate) fn new(folder: &Path, run: &RunSettings, is_virtual: bool, are_of_engine: bool) -> Self {
        // Names and place are fixed: readers of a run folder look for them.
        let settings = LogOutputSettings {
            outdir: folder.to_owned(),
            copy_summary_to_stdout: run.copy_summary_to_stdout,
            copy_detail_to_stdout: run.copy_detail_to_stdout,
            ..LogOutputSettings::default()
        };
        Self { settings, identity: identity(is_virtual), are_of_engine }
    }

    /// Returns the folder of the logs.
    pub fn folder(&self) -> &Path {
        &self.settings.outdir
    }

    /// Writes the measurements, and the logs behind the verdict. Writes as much as possible: the samples even if there
    /// is no room for the logs.
    pub(crate) fn write(&self, outcome: &TestOutcome) -> Result<(), HostError> {
        let _span = enter!("write logs");
        // Somebody may have removed it during the test, and the results are still to be had.
        fs::create_dir_all(self.folder()).map_err(|source| output(self.folder(), source))?;
        let samples = write_whole(&self.folder().join(SAMPLES), |out| outcome.write_samples(out));
        if self.are_of_engine {
            return samples;
        }
        let logs = outcome
            .write_verdict_logs(&self.without_copies(), &self.identity, &mut io::sink())
            .and_then(|()| outcome.write_accuracy_log(&self.settings, &self.identity));
        self.named(logs).and(samples)
    }

    /// Rewrites the logs with the verdict, with the copies that the user wants.
    pub(crate) fn write_verdict(
        &self,
        outcome: &TestOutcome,
        observer: &dyn Observer,
    ) -> Result<(), HostError> {
        if self.are_of_engine {
            return Ok(());
        }
        let _span = enter!("write logs");
        self.named(outcome.write_verdict_logs(&self.settings, &self.identity, &mut Answer(observer)))
    }

    /// Writes the trace, which is the largest of the logs and the one that is missed least.
    pub(crate) fn write_trace(&self, outcome: &TestOutcome) -> Result<(), HostError> {
        if self.are_of_engine {
            return Ok(());
        }
        let _span = enter!("write logs");
        self.named(outcome.write_trace_log(&self.settings, &self.identity))
    }

    fn without_copies(&self) -> LogOutputSettings {
        LogOutputSettings {
            copy_summary_to_stdout: false,
            copy_detail_to_stdout: false,
            ..self.settings.clone()
        }
    }

    fn named(&self, written: io::Result<()>) -> Result<(), HostError> {
        written.map_err(|source| output(self.folder(), source))
    }
}

/// Copies of logs become part of the answer.
struct Answer<'a>(&'a dyn Observer);

impl Write for Answer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.answer(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the process and time of the logs; zeros in virtual time, so that the bytes are the same again.
fn identity(is_virtual: bool) -> LogIdentity {
    let (pid, now) = match is_virtual {
        true => (0, DateTime::UNIX_EPOCH.naive_utc()),
        false => (std::process::id(), Local::now().naive_local()),
    };
    let since_1970 = if is_virtual { Duration::ZERO } else { since_1970() };
    LogIdentity {
        pid,
        // The load generator runs on the main thread, whose id equals the process id.
        tid: pid.into(),
        test_datetime: now.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        start_unix_ms: u64::try_from(since_1970.as_millis()).unwrap_or(0),
    }
}

/// Returns the time since 1970; zero on a machine whose clock stands before 1970.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
