//! The settings of the log files.

use std::path::PathBuf;

/// Destination of the logs.
///
/// Source: LoadGen 6.0.17, `LogOutputSettings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOutputSettings {
    /// Folder of the log files; it must exist.
    pub outdir: PathBuf,
    /// Start of each file name.
    pub prefix: String,
    /// End of each file name, before its extension.
    pub suffix: String,
    /// Put the local date and time after the prefix.
    pub prefix_with_datetime: bool,
    /// Print the detail log too.
    pub copy_detail_to_stdout: bool,
    /// Print the summary too.
    pub copy_summary_to_stdout: bool,
}

impl Default for LogOutputSettings {
    fn default() -> Self {
        Self {
            outdir: PathBuf::from("."),
            prefix: "mlperf_log_".to_owned(),
            suffix: String::new(),
            prefix_with_datetime: false,
            copy_detail_to_stdout: false,
            copy_summary_to_stdout: false,
        }
    }
}
