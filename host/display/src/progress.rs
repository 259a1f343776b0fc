//! Progress of a test: a view of a few lines on a terminal, a plain line every second elsewhere, or a line of JSON for
//! programs.

pub(crate) mod json;
mod plain;
mod snapshot;
mod tally;
mod view;

use std::{
    env,
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use proctor_words::{Knobs, ShownTest, Ticker};

use self::snapshot::Viewer;
use crate::{
    stderr::{clear_view, show_view, tell},
    stdout::print,
};

/// Time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two looks of the view on a terminal.
const VIEW_INTERVAL: Duration = Duration::from_millis(250);

/// Format of the output of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// The answer on stdout and progress on stderr, for people.
    #[default]
    Text,
    /// The answer, and messages, but no progress.
    Quiet,
    /// Progress and answer as lines of JSON on stdout, for programs.
    Json,
}

/// The knobs as a policy has turned them, and whether it means to stay there; `None` if no policy turns them.
type Turned = Arc<Mutex<Option<(Knobs, bool)>>>;

/// Function that takes a line.
pub(crate) type TakeLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Way in which progress is shown.
pub(crate) enum Shows {
    Nothing,
    /// Lines at the bottom of the terminal.
    View,
    /// A plain line a second, without its end.
    Lines(TakeLine),
    /// A line of JSON a second.
    Events(TakeLine),
}

impl Shows {
    /// Returns the way of a program with this format.
    pub(crate) fn of(format: OutputFormat) -> Self {
        let is_live = io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb");
        match format {
            OutputFormat::Quiet => Self::Nothing,
            OutputFormat::Json => Self::Events(Arc::new(|line| print(line))),
            OutputFormat::Text if is_live => Self::View,
            OutputFormat::Text => Self::Lines(Arc::new(|line| tell(line))),
        }
    }
}

/// Progress of the test that runs, if one does. [any thread]
#[derive(Default)]
pub(crate) struct CurrentTest(Mutex<Option<Progress>>);

impl CurrentTest {
    /// Starts to show the progress of a test.
    pub(crate) fn begin(&self, test: ShownTest, shows: Shows) {
        *self.0.lock() = Some(Progress::start(test, shows));
    }

    /// Shows the knobs from now on, as a policy has turned them.
    pub(crate) fn show_knobs(&self, knobs: Knobs, is_settled: bool) {
        if let Some(progress) = &*self.0.lock() {
            *progress.turned.lock() = Some((knobs, is_settled));
        }
    }

    /// Stops showing the progress.
    pub(crate) fn end(&self) {
        if let Some(progress) = self.0.lock().take() {
            progress.stop();
        }
    }
}

/// Shows the progress of a test until it is stopped.
struct Progress {
    ticker: Option<Ticker>,
    turned: Turned,
}

impl Progress {
    /// Starts to show it.
    fn start(test: ShownTest, shows: Shows) -> Self {
        let turned = Turned::default();
        let knobs = Arc::clone(&turned);
        let mut viewer = Viewer::new(test);
        let mut look = move || viewer.look(*knobs.lock());
        let started = match shows {
            Shows::Nothing => return Self { ticker: None, turned },
            Shows::Events(take) => Ticker::start("progress", LINE_INTERVAL, move |is_last| {
                if let Some(snapshot) = look().filter(|_| !is_last) {
                    take(&json::progress_line(&snapshot));
                }
                LINE_INTERVAL
            }),
            Shows::View => Ticker::start("progress", VIEW_INTERVAL, move |is_last| {
                match look().filter(|_| !is_last) {
                    Some(snapshot) => show_view(|columns| view::lines(&snapshot, columns)),
                    None => clear_view(),
                }
                VIEW_INTERVAL
            }),
            Shows::Lines(take) => Ticker::start("progress", LINE_INTERVAL, move |is_last| {
                if let Some(snapshot) = look().filter(|_| !is_last) {
                    take(&plain::line(&snapshot));
                }
                LINE_INTERVAL
            }),
        };
        let ticker = started.inspect_err(|error| tracing::warn!(%error, "cannot show the progress")).ok();
        Self { ticker, turned }
    }

    fn stop(self) {
        if let Some(ticker) = self.ticker {
            ticker.stop();
        }
    }
}
