//! The logs in LoadGen's form, from plain data: `mlperf_log_summary.txt`, `mlperf_log_detail.txt`,
//! `mlperf_log_accuracy.json`, `mlperf_log_trace.json`.
//!
//! The writers take everything from the caller, wall-clock texts and process ids too, so that a run in virtual time
//! gives the same bytes twice. Tools for MLPerf submissions read these files: keys, order and number formats are kept
//! letter for letter. Strings are escaped where LoadGen does not, and numbers that JSON does not have are quoted.

mod accuracy;
mod arrivals;
mod detail;
mod detail_result;
mod detail_settings;
mod files;
pub(crate) mod log_output;
mod outcome_logs;
mod outcome_trace;
mod round;
mod summary;
mod trace;

pub use accuracy::AccuracyLogWriter;
pub use detail::{DetailEntry, DetailLog, DetailValue, LogIdentity};
pub use files::LogFile;
