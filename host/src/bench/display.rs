//! How far a benchmark is.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far it is, on stderr: a line that is rewritten on a terminal, a line for each step elsewhere.
pub(super) struct Display {
    bar: Option<ProgressBar>,
}

impl Display {
    pub(super) fn start(step_count: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("[{pos}/{len}] {msg}");
            let target = ProgressDrawTarget::stderr();
            ProgressBar::with_draw_target(Some(step_count as u64), target)
                .with_style(style.expect("the template is a constant"))
        });
        Self { bar }
    }

    /// The next step begins.
    pub(super) fn next(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(what.to_owned());
            }
            None => eprintln!("{what}"),
        }
    }

    /// Shows a line that stays.
    pub(super) fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    pub(super) fn stop(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
