//! Progress of a benchmark, step by step.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proctor_vocabulary::printable;

use crate::stderr::tell;

/// Progress in steps, on stderr: a line that is rewritten on a terminal, a line for each step elsewhere.
pub struct Steps {
    bar: Option<ProgressBar>,
}

impl Steps {
    /// Marks all steps as not begun.
    #[must_use]
    pub fn start(step_count: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("[{pos}/{len}] {msg}");
            let target = ProgressDrawTarget::stderr();
            ProgressBar::with_draw_target(Some(step_count as u64), target)
                .with_style(style.expect("the template is a constant"))
        });
        Self { bar }
    }

    /// Shows that the next step begins.
    pub fn next(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(printable(what));
            }
            None => tell(what),
        }
    }

    /// Shows a line that stays.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    /// Removes the line from a terminal.
    pub fn stop(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
