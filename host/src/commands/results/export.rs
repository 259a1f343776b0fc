//! `host export`: runs in the forms that other programs read.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use proctor_display::print_data;
use proctor_export::{Timeline, csv, json, markdown, openmetrics, trace};
use proctor_results::{Run, RunSummary};
use proctor_words::{CommandError, HostError, write_whole};

use super::{open_runs, unreadable};

/// Forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line per sample of one run.
    Csv,
    /// One object per run.
    Json,
    /// A table with one row per run.
    Markdown,
    /// One gauge per figure, for Prometheus and similar tools.
    Openmetrics,
    /// Timeline of one run, for Perfetto and other Chrome trace viewers.
    Trace,
}

pub(crate) const EXPORT_HELP: &str = "\
Examples:
  host export runs/mine --format csv -o samples.csv       every sample
  host export runs/mine --format trace -o trace.json      open it in ui.perfetto.dev
  host export runs/* --format markdown                    a table of runs
  host export runs/* --format openmetrics                 for Prometheus and similar tools
  host export runs/* --format json | jq '.[].metric'

docs/run-folder.md shows how to read samples.bin in ten lines of Python or Rust.";

#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    /// Run folders; csv and trace take one
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Format of the export
    #[arg(long, short, value_enum)]
    format: Format,
    /// File to write; it appears only when complete [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes an export from the loaded data.
type WriteExport = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()>>;

impl ExportFlags {
    /// Writes the export.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let runs = open_runs(&self.folders)?;
        let write: WriteExport = match self.format {
            Format::Csv => {
                let samples = self.only(&runs)?.all_samples().map_err(unreadable)?;
                Box::new(move |out| csv(&samples, out))
            }
            Format::Trace => {
                let run = self.only(&runs)?.clone();
                let samples = run.all_samples().map_err(unreadable)?;
                let loadgen = run.trace().map_err(unreadable)?;
                let batches = run.batches(Some(&samples)).map_err(unreadable)?;
                Box::new(move |out| {
                    let timeline = Timeline {
                        name: &run.name(),
                        samples: &samples,
                        trace: loadgen.as_ref(),
                        batches: batches.as_ref(),
                        noise: run.json().map(|result| &result["performance_run"]["noise"]),
                    };
                    trace(&timeline, out)
                })
            }
            form => {
                let rows: Vec<_> = runs.iter().map(RunSummary::of).collect();
                Box::new(move |out| match form {
                    Format::Json => json(&rows, out),
                    Format::Markdown => markdown(&rows, out),
                    _ => openmetrics(&rows, out),
                })
            }
        };
        match &self.output {
            // Output that cannot be written to stdout is reported at the end of the program.
            None => drop(write(&mut BufWriter::new(Answer))),
            Some(path) => write_whole(path, |out| write(out))?,
        }
        Ok(())
    }

    /// Returns the only run.
    fn only<'a>(&self, runs: &'a [Run]) -> Result<&'a Run, HostError> {
        match runs {
            [run] => Ok(run),
            _ => {
                let form = self.format.to_possible_value();
                let form = form.as_ref().map_or("", |form| form.get_name()).to_owned();
                Err(CommandError::OneRun { form, count: runs.len() }.into())
            }
        }
    }
}

/// The answer of the program as a writer.
struct Answer;

impl Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print_data(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
