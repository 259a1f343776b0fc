//! The frame of a comparison of systems: case after case, with files that are whole after each.

use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
};

use chrono::{SecondsFormat, Utc};
use clap::Args;
use proctor_bed::Interrupt;
use proctor_display::{Origin, Page, Steps, print};
use proctor_words::{Conclusion, HostError, output, write_json, write_whole};
use serde::Serialize;
use tempfile::TempDir;

/// Version of the form of the JSON files.
const SCHEMA_VERSION: u32 = 1;

/// The files that a comparison writes.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputFlags {
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables to this file as Markdown, with machine, versions and command
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Returns the numbers of a flag, ascending, each once.
pub(crate) fn ascending(numbers: &[u32]) -> Vec<usize> {
    let numbers: BTreeSet<_> = numbers.iter().map(|number| *number as usize).collect();
    numbers.into_iter().collect()
}

/// Everything that a comparison has measured. It grows case by case, and is the JSON file as it stands.
pub(crate) trait Report: Serialize {
    /// Returns the tables with their notes.
    fn page(&self) -> Page<'_>;

    /// Returns whether all measurements ran, with the right answers.
    fn is_right(&self) -> bool;

    /// Notes that the user ended the comparison before its last case.
    fn set_interrupted(&mut self);
}

/// Origin and time of the figures of a report.
#[derive(Debug, Serialize)]
pub(crate) struct Begin {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) started_at_utc: String,
}

impl Begin {
    pub(crate) fn now(is_quick: bool) -> Self {
        Self {
            origin: Origin::here(SCHEMA_VERSION, "host bench", is_quick),
            started_at_utc: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }
}

/// The report of a comparison in rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Rounds<R> {
    #[serde(flatten)]
    pub(crate) begin: Begin,
    pub(crate) round_count: u32,
    pub(crate) is_interrupted: bool,
    pub(crate) rows: Vec<R>,
}

impl<R> Rounds<R> {
    pub(crate) fn new(is_quick: bool, round_count: u32) -> Self {
        Self { begin: Begin::now(is_quick), round_count, is_interrupted: false, rows: Vec::new() }
    }

    /// Creates a made-up report of three rounds.
    #[cfg(test)]
    pub(crate) fn sample(rows: Vec<R>) -> Self {
        let begin = Begin { origin: Origin::sample(), started_at_utc: "2026-01-31T12:00:00Z".to_owned() };
        Self { begin, round_count: 3, is_interrupted: false, rows }
    }
}

/// Returns a folder that is removed afterwards, below `parent` or where temporary files are.
///
/// # Errors
/// If it cannot be made.
pub(crate) fn folder(prefix: &str, parent: Option<&Path>) -> Result<TempDir, HostError> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    let made = tempfile::Builder::new().prefix(prefix).tempdir_in(&parent);
    made.map_err(|source| output(&parent, source))
}

/// Measures each case and adds it to the report until the user wants no more; then prints the tables. The conclusion
/// is bad if the report is not right.
///
/// # Errors
/// Returns the errors of `measure`, and if the files cannot be written.
pub(crate) fn compare<R: Report, C>(
    report: &mut R,
    cases: Vec<C>,
    output: &OutputFlags,
    display: &Steps,
    interrupt: &Interrupt,
    mut measure: impl FnMut(&mut R, C) -> Result<(), HostError>,
) -> Result<Conclusion, HostError> {
    for case in cases {
        if interrupt.has_come() {
            break;
        }
        measure(report, case)?;
        // The files on disk are always whole: a long run is worth keeping, however it ends.
        output.write(report)?;
    }
    display.stop();
    interrupt.writing();
    let is_interrupted = interrupt.has_come();
    if is_interrupted {
        report.set_interrupted();
    }
    output.write(report)?;
    print(report.page().text());
    Ok(match (is_interrupted, report.is_right()) {
        (true, _) => Conclusion::Interrupted,
        (false, false) => Conclusion::Bad,
        (false, true) => Conclusion::Good,
    })
}

impl OutputFlags {
    fn write(&self, report: &impl Report) -> Result<(), HostError> {
        if let Some(path) = &self.json {
            write_json(path, report)?;
        }
        match &self.markdown {
            Some(path) => write_whole(path, |out| out.write_all(report.page().markdown().as_bytes())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line<F: Args> {
        #[command(flatten)]
        flags: F,
    }

    /// Returns the flags of a command line, or its mistake.
    pub(crate) fn parsed<F: Args>(text: &str) -> Result<F, String> {
        let all = std::iter::once("bench").chain(text.split_whitespace());
        Line::try_parse_from(all).map(|line| line.flags).map_err(|error| error.to_string())
    }
}
