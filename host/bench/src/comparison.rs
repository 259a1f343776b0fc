//! The frame of a comparison of systems: case after case, with files that are whole after each.

use std::{collections::BTreeSet, io::Write, path::PathBuf};

use clap::Args;
use proctor_bed::Interrupt;
use proctor_display::{Page, Steps, print};
use proctor_words::{Conclusion, HostError, write_json, write_whole};
use serde::Serialize;

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

/// Numbers of a flag, ascending, each once.
pub(crate) fn ascending(numbers: &[u32]) -> Vec<usize> {
    let numbers: BTreeSet<_> = numbers.iter().map(|number| *number as usize).collect();
    numbers.into_iter().collect()
}

/// Everything that a comparison has measured. It grows case by case, and is the JSON file as it stands.
pub(crate) trait Report: Serialize {
    /// The tables with their notes.
    fn page(&self) -> Page<'_>;

    /// Tells if what is measured here ran everywhere, and came to the right answers.
    fn is_right(&self) -> bool;

    /// Notes that the user ended the comparison before its last case.
    fn set_interrupted(&mut self);
}

/// Has each case measured and added to the report, until the user wants no more; then prints the tables. The conclusion
/// is bad if the report is not right.
///
/// # Errors
/// The errors of `measure`, and if the files cannot be written.
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
