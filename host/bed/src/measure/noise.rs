//! Runs the noise guard during a performance test: it takes readings right before the first query, once a
//! second on its own thread, and after the last completion.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use proctor_loadgen::{OTHER_ISSUERS, TestOutcome};
use proctor_noise::{Guard, Issuers, Noise, SoFar};
use proctor_words::Ticker;

use crate::placement::allowed_cores;

/// Time until the guard's thread first looks whether the test has begun.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Observes the machine while a test runs.
pub(crate) struct NoiseWatch {
    guard: Arc<Mutex<Guard>>,
    now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// `None` once the test is over, or if the system had no thread for it: then there is one long interval.
    ticker: Option<Ticker>,
}

impl NoiseWatch {
    /// Starts the thread, which observes between [`begin`](Self::begin) and [`end`](Self::end); `now_ns` reads the
    /// clock of the test, which `issuer_count` threads issue.
    pub(crate) fn start(issuer_count: usize, now_ns: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        let mut processors = allowed_cores().concat();
        processors.sort_unstable();
        let issuers = Issuers { count: issuer_count, name: OTHER_ISSUERS };
        let guard = Arc::new(Mutex::new(Guard::new(processors, issuers)));
        let (looking, clock) = (Arc::clone(&guard), Arc::clone(&now_ns));
        let ticker = Ticker::start("noise", FIRST_PAUSE, move |_| looking.lock().look(clock()));
        let ticker = ticker.inspect_err(|error| tracing::warn!(%error, "the noise guard has no thread")).ok();
        Self { guard, now_ns, ticker }
    }

    /// Begins to observe. [the thread that runs the test, before the timed part]
    pub(crate) fn begin(&self) {
        self.guard.lock().begin((self.now_ns)());
    }

    /// Stops observing. [the thread that runs the test, after the timed part]
    pub(crate) fn end(&self) {
        self.guard.lock().end((self.now_ns)());
    }

    /// Returns a function that reports the noise from here until its call.
    pub(crate) fn so_far(&self) -> Arc<dyn Fn() -> SoFar + Send + Sync> {
        let guard = Arc::clone(&self.guard);
        Arc::new(move || guard.lock().so_far())
    }

    /// Stops the thread, and returns how quiet the machine was in a test that began at `origin_ns`. `None` if it has
    /// several phases.
    pub(crate) fn finish_test(mut self, origin_ns: u64, outcome: &TestOutcome) -> Option<Noise> {
        self.stop();
        let phase = outcome.only_phase()?;
        Some(self.guard.lock().noise(origin_ns + phase.start_ns))
    }

    fn stop(&mut self) {
        if let Some(ticker) = self.ticker.take() {
            ticker.stop();
        }
    }
}

impl Drop for NoiseWatch {
    /// Ends the thread of a test that could not begin.
    fn drop(&mut self) {
        self.stop();
    }
}
