//! Hands what a run shows to a program that embeds the host, in place of a terminal.

use std::{path::Path, sync::Arc, thread};

use parking_lot::Mutex;
use proctor_recipes::Progress as FileProgress;
use proctor_words::{HostError, Knobs, Observer, RenderedVerdict, RunFolder, ShownTest};

use crate::{
    file_line::FileLine,
    progress::{
        CurrentTest, Shows,
        json::{begin_line, end_line},
    },
    stderr::clear_view,
};

/// Part of what a run shows.
#[derive(Debug)]
pub enum Shown {
    /// The folder of the results.
    Folder(RunFolder),
    /// A warning, or the next action.
    Message(String),
    /// A part of the answer, such as the line of a probe; the last one is a verdict's text.
    Answer(String),
    /// An event of a test as a line of JSON.
    Event(String),
    /// A line of progress.
    Progress(String),
    /// The verdict as a line of JSON.
    Verdict(String),
    /// The end of the work, which does not come back: a plugin hangs.
    Stuck(HostError),
}

/// Form in which a [`Relay`] shows progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayedProgress {
    /// None.
    Nothing,
    /// A view on the terminal that stderr is.
    View,
    /// A line a second.
    Lines,
    /// Events.
    Events,
}

type Take = Arc<dyn Fn(Shown) + Send + Sync>;

/// Observes a run for another program: everything goes to a function. [any thread]
pub struct Relay {
    progress: RelayedProgress,
    take: Take,
    test: CurrentTest,
    file: Mutex<FileLine>,
}

impl Relay {
    /// Creates a relay to this function, which must not wait for the run.
    pub fn new(progress: RelayedProgress, take: impl Fn(Shown) + Send + Sync + 'static) -> Self {
        Self { progress, take: Arc::new(take), test: CurrentTest::default(), file: Mutex::default() }
    }

    fn shows(&self) -> Shows {
        let take = Arc::clone(&self.take);
        match self.progress {
            RelayedProgress::Nothing => Shows::Nothing,
            RelayedProgress::View => Shows::View,
            RelayedProgress::Lines => {
                Shows::Lines(Arc::new(move |line| take(Shown::Progress(line.to_owned()))))
            }
            RelayedProgress::Events => {
                Shows::Events(Arc::new(move |line| take(Shown::Event(line.to_owned()))))
            }
        }
    }

    fn event(&self, line: impl FnOnce() -> String) {
        if self.progress == RelayedProgress::Events {
            (self.take)(Shown::Event(line()));
        }
    }
}

impl Observer for Relay {
    fn folder_is_made(&self, folder: &RunFolder) {
        (self.take)(Shown::Folder(folder.clone()));
    }

    fn answer(&self, text: &str) {
        (self.take)(Shown::Answer(text.to_owned()));
    }

    fn verdict(&self, verdict: RenderedVerdict) -> String {
        (self.take)(Shown::Verdict(verdict.line));
        verdict.text
    }

    fn message(&self, text: &str) {
        (self.take)(Shown::Message(text.to_owned()));
    }

    fn test_begins(&self, test: ShownTest) {
        self.event(|| begin_line(&test.plan));
        self.test.begin(test, self.shows());
    }

    fn knobs_turned(&self, knobs: Knobs, is_settled: bool) {
        self.test.show_knobs(knobs, is_settled);
    }

    fn test_ends(&self) {
        self.test.end();
        self.event(end_line);
    }

    fn writes_model(&self, file: &Path, written: FileProgress) {
        if self.progress == RelayedProgress::View {
            self.file.lock().show(file, written);
        }
    }

    /// Leaves this thread where it is: the other program goes on.
    fn end(&self, error: &HostError) -> ! {
        clear_view();
        // Errors are not cloned; the message is all of it.
        (self.take)(Shown::Stuck(HostError::plugin(error.messages().join(": "))));
        loop {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_reaches_the_function() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&taken);
        let relay = Relay::new(RelayedProgress::Events, move |shown| keeps.lock().push(format!("{shown:?}")));
        relay.message("a warning");
        relay.answer("a line\n");
        relay.test_ends();
        let verdict = RenderedVerdict { text: "VALID".to_owned(), line: "{}\n".to_owned() };
        relay.conclude(&relay.verdict(verdict));
        let expected = [
            r#"Message("a warning")"#,
            r#"Answer("a line\n")"#,
            r#"Event("{\"event\":\"test_ends\"}\n")"#,
            r#"Verdict("{}\n")"#,
            r#"Answer("VALID")"#,
        ];
        assert_eq!(*taken.lock(), expected);
    }
}
