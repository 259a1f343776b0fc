//! The user's terminal as the observer of a run.

use std::{
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use proctor_loadgen::Progress;
use proctor_recipes::Progress as FileProgress;
use proctor_run::{HostError, Knobs, Observer};
use proctor_vocabulary::Scenario;

use crate::{
    file_line::FileLine,
    program::end_with_error,
    progress_line::ProgressLine,
    stderr::tell,
    stdout::{self, print},
};

/// Shows a run: its answer on stdout, messages and progress on stderr.
#[derive(Default)]
pub struct Terminal {
    test: Mutex<Option<ProgressLine>>,
    file: Mutex<FileLine>,
}

impl Terminal {
    /// A terminal, as runs take it.
    #[must_use]
    pub fn observer() -> Arc<dyn Observer> {
        Arc::new(Self::default())
    }

    fn test(&self) -> MutexGuard<'_, Option<ProgressLine>> {
        self.test.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Terminal {
    fn answer(&self, text: &str) {
        print(text);
    }

    fn answer_file(&self) -> Option<OwnedFd> {
        stdout::file()
    }

    fn message(&self, text: &str) {
        tell(text);
    }

    fn test_begins(&self, progress: &Progress, scenario: Scenario) {
        *self.test() = Some(ProgressLine::start(progress.clone(), scenario));
    }

    fn knobs_turned(&self, knobs: Knobs, is_settled: bool) {
        if let Some(line) = &*self.test() {
            line.show_knobs(knobs, is_settled);
        }
    }

    fn test_ends(&self) {
        if let Some(line) = self.test().take() {
            line.stop();
        }
    }

    fn writes_model(&self, file: &Path, written: FileProgress) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).show(file, written);
    }

    fn end(&self, error: &HostError) -> ! {
        end_with_error(error)
    }
}
