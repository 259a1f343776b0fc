//! Progress of a test on stderr: one line that is rewritten on a terminal, a plain line every second elsewhere.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proctor_loadgen::{PhaseMode, PhaseProgress, Progress, percentile};
use proctor_vocabulary::Scenario;

use proctor_run::{Knobs, Ticker, text};

use crate::stderr::tell;

/// How often a plain line is written.
const PLAIN_INTERVAL: Duration = Duration::from_secs(1);
/// How often the line on a terminal is rewritten.
const LIVE_INTERVAL: Duration = Duration::from_millis(250);
/// Number of latest samples that the live percentile is taken from.
const WINDOW: u64 = 4096;

/// Shows the progress of a test until it is stopped.
pub(crate) struct ProgressLine {
    ticker: Option<Ticker>,
    turned: Turned,
}

/// The knobs as a policy has turned them, and whether it means to stay there; `None` if no policy turns them.
type Turned = Arc<Mutex<Option<(Knobs, bool)>>>;

impl ProgressLine {
    /// Starts to show it.
    pub(crate) fn start(progress: Progress, scenario: Scenario) -> Self {
        let is_live = io::stderr().is_terminal();
        let interval = if is_live { LIVE_INTERVAL } else { PLAIN_INTERVAL };
        let bar = is_live.then(|| {
            let style = ProgressStyle::with_template("{msg}").expect("the template is a constant");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
        });
        let turned = Turned::default();
        let mut view = View {
            progress,
            unit: unit(scenario),
            before: None,
            latencies_ns: Vec::new(),
            turned: Arc::clone(&turned),
        };
        let look = move |is_last: bool| {
            match (&bar, view.line()) {
                (Some(bar), _) if is_last => bar.finish_and_clear(),
                (Some(bar), Some(line)) => bar.set_message(line),
                (None, Some(line)) if !is_last => tell(line),
                _ => {}
            }
            interval
        };
        let observer = Ticker::start("progress", interval, look);
        let ticker = observer.inspect_err(|error| tracing::warn!(%error, "cannot show the progress")).ok();
        Self { ticker, turned }
    }

    /// Shows the knobs from now on, as a policy has turned them.
    pub(crate) fn show_knobs(&self, knobs: Knobs, is_settled: bool) {
        *lock(&self.turned) = Some((knobs, is_settled));
    }

    /// Shows no more.
    pub(crate) fn stop(self) {
        if let Some(observer) = self.ticker {
            observer.stop();
        }
    }
}

/// Unit that is counted: samples where a query has many of them, else queries.
fn unit(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::SingleStream | Scenario::Server => "queries",
        Scenario::MultiStream | Scenario::Offline => "samples",
    }
}

struct View {
    progress: Progress,
    unit: &'static str,
    before: Option<PhaseProgress>,
    latencies_ns: Vec<u64>,
    turned: Turned,
}

fn lock(turned: &Turned) -> MutexGuard<'_, Option<(Knobs, bool)>> {
    turned.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    fn line(&mut self) -> Option<String> {
        let now = self.progress.current()?;
        self.latencies_ns.clear();
        self.progress.recent_latencies(WINDOW, &mut self.latencies_ns);
        self.latencies_ns.sort_unstable();
        let p99_ns = (!self.latencies_ns.is_empty()).then(|| percentile(&self.latencies_ns, 0.99));
        let before = self.before.replace(now).filter(|before| before.phase_number == now.phase_number);
        Some(line(now, before, p99_ns, self.unit, *lock(&self.turned)))
    }
}

/// One line. The rate is taken since the last look, or since the start.
fn line(
    now: PhaseProgress,
    before: Option<PhaseProgress>,
    p99_ns: Option<u64>,
    unit: &str,
    turned: Option<(Knobs, bool)>,
) -> String {
    let mode = match now.mode {
        PhaseMode::Accuracy => "accuracy",
        PhaseMode::Performance => "performance",
    };
    let (before_count, before_ns) =
        before.map_or((0, 0), |before| (before.completed_count, before.elapsed_ns));
    let span_ns = now.elapsed_ns.saturating_sub(before_ns);
    let qps = match span_ns {
        0 => 0.0,
        _ => now.completed_count.saturating_sub(before_count) as f64 * 1e9 / span_ns as f64,
    };
    let p99 = p99_ns.map_or("-".to_owned(), text::duration);
    let elapsed_s = now.elapsed_ns as f64 / 1e9;
    let knobs = match turned {
        None => String::new(),
        Some((knobs, false)) => format!("  {knobs}"),
        Some((knobs, true)) => format!("  {knobs}, settled"),
    };
    let (done, outstanding) = (now.completed_count, now.issued_count - now.completed_count);
    format!(
        "{mode:<11} {elapsed_s:>7.1} s  {done:>9} {unit}  {outstanding:>6} outstanding  {qps:>9.1} QPS  p99 {p99}{knobs}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(issued_count: u64, completed_count: u64, elapsed_ns: u64) -> PhaseProgress {
        PhaseProgress {
            phase_number: 1,
            mode: PhaseMode::Performance,
            issued_count,
            completed_count,
            elapsed_ns,
        }
    }

    #[test]
    fn the_rate_is_that_since_the_last_look() {
        let before = progress(100, 100, 1_000_000_000);
        let now = progress(351, 350, 1_500_000_000);
        assert_eq!(
            line(now, Some(before), Some(1_234_567), "queries", None),
            "performance     1.5 s        350 queries       1 outstanding      500.0 QPS  p99 1.235 ms"
        );
        assert!(line(progress(1, 0, 0), None, None, "samples", None).ends_with("0.0 QPS  p99 -"));
        let knobs = Knobs { batch_size: 8, instances: 2 };
        for (is_settled, end) in
            [(false, "p99 -  batch 8 x 2 instances"), (true, "  batch 8 x 2 instances, settled")]
        {
            let scaled = line(progress(1, 0, 0), None, None, "samples", Some((knobs, is_settled)));
            assert!(scaled.ends_with(end), "{scaled}");
        }
    }
}
