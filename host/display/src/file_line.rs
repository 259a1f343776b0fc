//! The progress of a model file that is made.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    time::{Duration, Instant},
};

use proctor_recipes::Progress;
use proctor_vocabulary::printable;
use proctor_words::text::megabytes;

use crate::stderr::Stderr;

/// Time between two lines about a file, at least.
const INTERVAL: Duration = Duration::from_secs(1);

/// Shows on stderr how much of a file is written: one line that is rewritten on a terminal, a line every second
/// elsewhere.
#[derive(Debug, Default)]
pub struct FileLine {
    shown: Option<Instant>,
}

impl FileLine {
    /// Shows the progress, unless the last line is younger than a second.
    pub fn show(&mut self, path: &Path, progress: Progress) {
        let Progress { written_bytes, total_bytes } = progress;
        let is_last = written_bytes >= total_bytes;
        if !is_last && self.shown.is_some_and(|shown| shown.elapsed() < INTERVAL) {
            return;
        }
        self.shown = Some(Instant::now());
        let (path, written, total) =
            (printable(path.display()), megabytes(written_bytes), megabytes(total_bytes));
        let line = format!("making {path}: {written} of {total}");
        // It never fails.
        drop(match (io::stderr().is_terminal(), is_last) {
            (true, false) => write!(Stderr, "\r{line}"),
            (true, true) => writeln!(Stderr, "\r{line}"),
            (false, _) => writeln!(Stderr, "{line}"),
        });
    }
}
