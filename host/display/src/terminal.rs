//! The user's terminal as the observer of a run.

use std::{os::fd::OwnedFd, path::Path, sync::Arc};

use parking_lot::Mutex;
use proctor_recipes::Progress as FileProgress;
use proctor_vocabulary::printable_lines;
use proctor_words::{HostError, Knobs, Observer, RenderedVerdict, ShownTest};

use crate::{
    file_line::FileLine,
    program::end_with_error,
    progress::{
        CurrentTest, OutputFormat, Shows,
        json::{begin_line, end_line},
    },
    stderr::tell,
    stdout::{self, print},
};

/// Shows a run: its answer on stdout, messages and progress on stderr.
#[derive(Default)]
pub struct Terminal {
    format: OutputFormat,
    test: CurrentTest,
    file: Mutex<FileLine>,
}

impl Terminal {
    /// Returns a terminal, as runs take it.
    #[must_use]
    pub fn observer() -> Arc<dyn Observer> {
        Self::with_format(OutputFormat::Text)
    }

    /// Returns the same in another format.
    #[must_use]
    pub fn with_format(format: OutputFormat) -> Arc<dyn Observer> {
        Arc::new(Self { format, ..Self::default() })
    }
}

impl Observer for Terminal {
    fn answer(&self, text: &str) {
        // Programs get the verdict alone.
        if self.format != OutputFormat::Json {
            print(text);
        }
    }

    fn verdict(&self, verdict: RenderedVerdict) -> String {
        let verdict = match self.format {
            OutputFormat::Text | OutputFormat::Quiet => verdict.text,
            OutputFormat::Json => verdict.line,
        };
        // The report of a crash writes it without a way through `print`.
        printable_lines(&verdict).into_owned()
    }

    fn conclude(&self, verdict: &str) {
        print(verdict);
    }

    fn answer_file(&self) -> Option<OwnedFd> {
        stdout::file()
    }

    fn message(&self, text: &str) {
        tell(text);
    }

    fn test_begins(&self, test: ShownTest) {
        if self.format == OutputFormat::Json {
            print(begin_line(&test.plan));
        }
        self.test.begin(test, Shows::of(self.format));
    }

    fn knobs_turned(&self, knobs: Knobs, is_settled: bool) {
        self.test.show_knobs(knobs, is_settled);
    }

    fn test_ends(&self) {
        self.test.end();
        if self.format == OutputFormat::Json {
            print(end_line());
        }
    }

    fn writes_model(&self, file: &Path, written: FileProgress) {
        if self.format == OutputFormat::Text {
            self.file.lock().show(file, written);
        }
    }

    fn end(&self, error: &HostError) -> ! {
        end_with_error(error)
    }
}
