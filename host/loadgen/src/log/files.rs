//! The files of the logs and their names.

use std::path::PathBuf;

use crate::log::log_output::LogOutputSettings;

/// One of the log files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFile {
    /// The verdict and the figures for people.
    Summary,
    /// Every setting, event and figure, one JSON object per line.
    Detail,
    /// Responses, for the accuracy script.
    Accuracy,
    /// Timeline for a viewer of Chrome's traces.
    Trace,
}

impl LogOutputSettings {
    /// Returns the path of a log. `datetime` is `YYYY-MM-DDThh:mm:ssZ`; it is used only if the settings ask for it.
    #[must_use]
    pub fn path(&self, file: LogFile, datetime: &str) -> PathBuf {
        let (name, extension) = match file {
            LogFile::Summary => ("summary", "txt"),
            LogFile::Detail => ("detail", "txt"),
            LogFile::Accuracy => ("accuracy", "json"),
            LogFile::Trace => ("trace", "json"),
        };
        let datetime = if self.prefix_with_datetime { format!("{datetime}_") } else { String::new() };
        self.outdir.join(format!("{}{datetime}{name}{}.{extension}", self.prefix, self.suffix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_those_of_loadgen() {
        let mut settings = LogOutputSettings { outdir: "out".into(), ..LogOutputSettings::default() };
        assert_eq!(settings.path(LogFile::Summary, "now"), PathBuf::from("out/mlperf_log_summary.txt"));
        settings.prefix_with_datetime = true;
        settings.suffix = "_2".to_owned();
        let path = settings.path(LogFile::Accuracy, "2026-01-02T03:04:05Z");
        assert_eq!(path, PathBuf::from("out/mlperf_log_2026-01-02T03:04:05Z_accuracy_2.json"));
    }
}
