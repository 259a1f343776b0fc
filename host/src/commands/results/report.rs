//! `host report`: the page of a run, for people to read.

use std::{io::Write, path::PathBuf};

use clap::Args;
use proctor_display::print;
use proctor_report::{Subject, page};
use proctor_words::{Conclusion, HostError, UsageError, write_whole};

use super::unreadable;

/// Name of a page, if no other is requested.
const FILE: &str = "report.html";

pub(crate) const REPORT_HELP: &str = "\
Examples:
  host report runs/2026-11-21T18-43-00-digits-lstm-SingleStream
  host report runs/mine -o mine.html
  host report runs/a runs/b -o both.html       several runs on one page
  host report results/resnet50/Server          logs of the official LoadGen
  host report runs/2026-11-21T18-43-00-digits-lstm-SingleStream.partial

The report is a single file that needs no network and no scripts. It fits any screen
width, light and dark themes, and print. docs/reading-a-result.md explains each picture.

Folders of host find-max and host scale work too, and so does an unfinished run: the
report shows what exists and says what is missing. The path of the report goes to
stdout.";

/// Flags of a page.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// Folders of runs, searches, or logs of the official LoadGen
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// File to write, or a folder for it [default: report.html in the run folder]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ReportFlags {
    /// Writes the page, and prints its path.
    pub(crate) fn run(&self) -> Result<Conclusion, HostError> {
        print(format!("{}\n", self.write()?.display()));
        Ok(Conclusion::Good)
    }

    /// Writes the page, and returns its path.
    pub(crate) fn write(&self) -> Result<PathBuf, HostError> {
        let subjects = self.folders.iter().map(|folder| Subject::open(folder).map_err(unreadable));
        let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
        let path = self.place(&subjects)?;
        write_whole(&path, |out| out.write_all(page(&subjects).as_bytes()))?;
        Ok(path)
    }

    fn place(&self, subjects: &[Subject]) -> Result<PathBuf, HostError> {
        match (&self.output, subjects) {
            (Some(output), _) if output.is_dir() => Ok(output.join(FILE)),
            (Some(output), _) => Ok(output.clone()),
            (None, [one]) => Ok(one.folder().join(FILE)),
            (None, _) => Err(UsageError::Stated("give the file of the page of several runs with -o").into()),
        }
    }
}
