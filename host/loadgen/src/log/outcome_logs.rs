//! The outcome of a test as LoadGen's log files.

use crate::verdict::outcome::TestOutcome;
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
};

use proctor_loadgen_settings::config_file::LogError;
use proctor_vocabulary::Scenario;

use crate::{
    issue::end::IssueEnd,
    log::{
        accuracy::AccuracyLogWriter,
        detail::{DetailLog, DetailValue, LogIdentity},
        files::LogFile,
        log_output::LogOutputSettings,
        summary::Summary,
    },
    measure::{clock_check::ClockFinding, phase_outcome::PhaseOutcome},
    plan::phases::PhaseMode,
    verdict::{
        findings::finding::Finding,
        peak_search::{PeakEnd, PeakSearch, PeakStep},
    },
};

/// The official revision number, which describes the behaviour here, not the program.
const VERSION: &str = concat!("6.0.17-compatible, Proctor ", env!("CARGO_PKG_VERSION"));
/// LoadGen's text for an unknown revision.
const NOT_AVAILABLE: &str = "NA";

impl TestOutcome {
    /// Writes `mlperf_log_accuracy.json`, `mlperf_log_detail.txt`, `mlperf_log_summary.txt` and
    /// `mlperf_log_trace.json`, in this order, with the folder and the names from the settings. The trace is the
    /// largest, and missed least. Logs that the settings copy to stdout go to `stdout`, whose errors are not errors of
    /// the logs.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn write_logs(
        &self,
        settings: &LogOutputSettings,
        identity: &LogIdentity,
        stdout: &mut impl Write,
    ) -> io::Result<()> {
        self.write_accuracy_log(settings, identity)?;
        self.write_verdict_logs(settings, identity, stdout)?;
        self.write_trace_log(settings, identity)
    }

    /// Writes `mlperf_log_accuracy.json`, as [`write_logs`](Self::write_logs) does.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn write_accuracy_log(&self, settings: &LogOutputSettings, identity: &LogIdentity) -> io::Result<()> {
        write_whole(settings, LogFile::Accuracy, identity, |out| {
            let mut accuracy = AccuracyLogWriter::new(out)?;
            self.accuracy.iter().try_for_each(|record| accuracy.record(record))?;
            accuracy.finish().map(|_| ())
        })
    }

    /// Writes `mlperf_log_detail.txt` and `mlperf_log_summary.txt`, as [`write_logs`](Self::write_logs) does: the files
    /// that say whether the test is VALID. Those of an earlier call are replaced.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn write_verdict_logs(
        &self,
        settings: &LogOutputSettings,
        identity: &LogIdentity,
        stdout: &mut impl Write,
    ) -> io::Result<()> {
        let detail = self.detail_log(identity);
        let mut detail_text = Vec::new();
        detail.write(identity, &mut detail_text)?;
        write_whole(settings, LogFile::Detail, identity, |out| out.write_all(&detail_text))?;

        let summary = Summary {
            sut_name: &self.sut_name,
            settings: &self.reported_settings(),
            result: self.performance.as_ref(),
            broken: &self.against_result(),
            warning_count: detail.warning_count(),
            error_count: detail.error_count(),
        };
        let mut summary_text = Vec::new();
        summary.write(&mut summary_text)?;
        write_whole(settings, LogFile::Summary, identity, |out| out.write_all(&summary_text))?;

        let copies =
            [(settings.copy_detail_to_stdout, detail_text), (settings.copy_summary_to_stdout, summary_text)];
        for (_, text) in copies.iter().filter(|(is_wanted, _)| *is_wanted) {
            // A reader that closes the pipe has seen enough.
            let _ = stdout.write_all(text).and_then(|()| stdout.flush());
        }
        Ok(())
    }

    /// Writes `mlperf_log_trace.json`, as [`write_logs`](Self::write_logs) does. Without a trace the file is empty, as
    /// LoadGen leaves it.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn write_trace_log(&self, settings: &LogOutputSettings, identity: &LogIdentity) -> io::Result<()> {
        write_whole(settings, LogFile::Trace, identity, |out| self.write_trace(identity, out))
    }

    /// Returns the detail log, in LoadGen's order.
    #[must_use]
    pub fn detail_log(&self, identity: &LogIdentity) -> DetailLog {
        let mut log = DetailLog::default();
        for error in &self.config_errors {
            log.error(0, "error_invalid_config", error.to_string());
        }
        self.log_issuers(&mut log);
        self.log_start(&mut log, identity);
        if let Some(audit) = &self.audit {
            log.warning(0, AUDIT_WARNING);
            for error in LogError::of(audit) {
                log.error(0, "error_invalid_config", error.to_string());
            }
        }
        if self.effective.request.test05 {
            log.warning(0, "Test05 flag detected Overriding random seeds");
        }
        for error in &self.setting_errors {
            log.error(0, "error_invalid_test_settings", error.to_string());
        }
        log.requested(0, &self.effective.request);
        log.effective(0, &self.effective);
        match &self.peak_search {
            Some(search) => self.log_search(&mut log, search, identity),
            None => self.log_phases(&mut log, identity),
        }
        if let (Some(result), Some(last)) = (&self.performance, self.phases.last()) {
            log.result(last.start_ns + last.duration_ns, result, &self.against_result());
        }
        log
    }
}

impl TestOutcome {
    /// Identifies the program and the test.
    ///
    /// The keys of LoadGen's build and revision are kept, for readers that ask for them; their values say that this is
    /// not LoadGen.
    fn log_start(&self, log: &mut DetailLog, identity: &LogIdentity) {
        log.entry(0, "loadgen_version", VERSION);
        for key in [
            "loadgen_build_date_local",
            "loadgen_build_date_utc",
            "loadgen_git_commit_date",
            "loadgen_git_log_message",
            "loadgen_git_status_message",
        ] {
            log.entry(0, key, NOT_AVAILABLE);
        }
        log.entry(0, "loadgen_file_sha1", DetailValue::Dictionary(Vec::new()));
        log.entry(0, "test_datetime", identity.test_datetime.as_str());
        log.entry(0, "sut_name", self.sut_name.as_str());
        log.entry(0, "get_sut_name_duration_ns", self.sut_name_duration_ns);
        log.entry(0, "qsl_name", self.qsl_name.as_str());
        log.entry(0, "qsl_reported_total_count", self.effective.qsl_total_count);
        log.entry(0, "qsl_reported_performance_count", self.qsl_performance_count);
    }

    /// Returns the issuing threads of a test that requested some: its first phase's, as each phase has its own.
    fn log_issuers(&self, log: &mut DetailLog) {
        let is_asked_for = self.effective.request.server_num_issue_query_threads > 0;
        if let Some(first) = self
            .phases
            .first()
            .filter(|_| is_asked_for && self.effective.request.scenario == Scenario::Server)
        {
            for (index, issuer) in first.issuers.iter().enumerate() {
                let thread_id = issuer.thread_id;
                log.message(0, format!("Registered IssueQueryThread[{index}]. thread ID : {thread_id}"));
            }
        }
    }

    fn log_phases(&self, log: &mut DetailLog, identity: &LogIdentity) {
        let mut mode = None;
        for (number, phase) in self.phases.iter().enumerate() {
            if mode.replace(phase.record.mode) != Some(phase.record.mode) {
                log.message(phase.start_ns, starting(phase.record.mode));
            }
            log.loaded_set(phase.start_ns, &phase.record);
            self.log_issue(log, number, phase, identity);
        }
    }

    /// Writes the runs of a search for the peak. The narrowing runs share one load.
    fn log_search(&self, log: &mut DetailLog, search: &PeakSearch, identity: &LogIdentity) {
        let is_wide = |step: &PeakStep| !matches!(step, PeakStep::Middle { .. });
        let wide_count = search.steps.iter().take_while(|step| is_wide(step)).count();
        let mut runs = search.steps.iter().zip(self.phases.iter().enumerate());
        log.message(
            self.phases.first().map_or(0, |phase| phase.start_ns),
            "Starting FindPeakPerformance mode",
        );
        let mut end_ns = 0;
        for (step, (number, phase)) in runs.by_ref().take(wide_count) {
            log.message(phase.start_ns, step.to_string());
            log.loaded_set(phase.start_ns, &phase.record);
            end_ns = self.log_issue(log, number, phase, identity);
        }
        if let (Some((lower_qps, upper_qps)), Some(phase)) = (search.boundaries_qps, self.phases.first()) {
            let found = format!("FindPeakPerformance: Found boundaries: [{lower_qps:.6}, {upper_qps:.6})");
            log.message(end_ns, found);
            log.loaded_set(end_ns, &phase.record);
        }
        for (step, (number, phase)) in runs {
            log.message(phase.start_ns, step.to_string());
            end_ns = self.log_issue(log, number, phase, identity);
        }
        match &search.end {
            end @ PeakEnd::Found { .. } => log.message(end_ns, end.to_string()),
            end => log.error(end_ns, "error_runtime", end.to_string()),
        }
    }

    /// Logs a phase from its generated queries to its end, which is returned.
    fn log_issue(
        &self,
        log: &mut DetailLog,
        number: usize,
        phase: &PhaseOutcome,
        identity: &LogIdentity,
    ) -> u64 {
        log.generated(phase.start_ns, &phase.record);
        let end_ns = phase.start_ns + phase.duration_ns;
        if phase.end == IssueEnd::Naturally {
            log.message(phase.start_ns + phase.record.final_query_issued_ns, phase.end.to_string());
        }
        let errors = phase.errors.iter().map(ToString::to_string);
        for error in errors.chain(self.objections_of(number).map(Finding::what)) {
            log.error(end_ns, "error_runtime", error);
        }
        // Power meters are read by the wall clock, which may have been set since the start of the test.
        let begin_unix_ns = match phase.clock_check {
            Some(check) => check.start_unix_ns,
            None => identity.start_unix_ms * 1_000_000 + phase.start_ns,
        };
        let end_unix_ns = begin_unix_ns + phase.duration_ns;
        log.phase_end(end_ns, &utc(begin_unix_ns / 1_000_000), &utc(end_unix_ns / 1_000_000));
        if let Some(ClockFinding { is_error, text }) = phase.clock_check.and_then(|check| check.finding()) {
            if is_error {
                log.error(end_ns, "error_runtime", text);
            } else {
                log.warning(end_ns, text);
            }
        }
        end_ns
    }
}

/// Writes a log whole or not at all: under a temporary name first.
fn write_whole(
    settings: &LogOutputSettings,
    file: LogFile,
    identity: &LogIdentity,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let path = settings.path(file, &identity.test_datetime);
    let temporary = path.with_added_extension("tmp");
    let written = || {
        let mut out = BufWriter::new(File::create(&temporary)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&temporary, &path)
    };
    written().map_err(|error| {
        // The rest of the file is of no use, and does no harm if it cannot be removed.
        let _ = fs::remove_file(&temporary);
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    })
}

/// LoadGen's words, with its name of the file.
const AUDIT_WARNING: &str =
    "Found Audit Config file (audit.config). Overriding TestSettings from audit.config file.";

fn starting(mode: PhaseMode) -> &'static str {
    match mode {
        PhaseMode::Accuracy => "Starting accuracy mode",
        PhaseMode::Performance => "Starting performance mode",
    }
}

/// `MM-DD-YYYY hh:mm:ss.mmm` in UTC. The calendar repeats every 400 years of 146,097 days; years are counted from March
/// here, so that a leap day is the last of its year.
fn utc(unix_ms: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const DAYS_BEFORE_1970_SINCE_MARCH_OF_YEAR_0: u64 = 719_468;
    let (seconds, ms) = (unix_ms / 1000, unix_ms % 1000);
    let days = seconds / 86_400 + DAYS_BEFORE_1970_SINCE_MARCH_OF_YEAR_0;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    // Take out the leap days passed so far: one in 4 years, none in 100, one in 400.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, months have 31, 30, 31, 30, 31 days, again and again: 153 days in five months.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next_year;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{month:02}-{day:02}-{year:04} {hour:02}:{minute:02}:{second:02}.{ms:03}")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_kinds_of_years() {
        // From `date -u -d @SECONDS`.
        for (seconds, expected) in [
            (0, "01-01-1970 00:00:00"),
            (951_782_400, "02-29-2000 00:00:00"),
            (951_868_799, "02-29-2000 23:59:59"),
            (951_868_800, "03-01-2000 00:00:00"),
            (1_709_164_800, "02-29-2024 00:00:00"),
            (1_735_689_599, "12-31-2024 23:59:59"),
            (4_107_542_400, "03-01-2100 00:00:00"),
            (1_795_253_839, "11-21-2026 09:37:19"),
        ] {
            assert_eq!(utc(seconds * 1000 + 431), format!("{expected}.431"), "{seconds}");
        }
    }
}
