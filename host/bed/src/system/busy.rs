//! Waiting for a plugin that was BUSY when it was handed a query.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use proctor_loadgen::{Progress, StopHandle};

/// Time during which the waiting thread retries without a pause: a queue moves within microseconds.
const SPINNING: Duration = Duration::from_micros(20);
/// Time during which it yields its processor between two looks; after that it sleeps.
const YIELDING: Duration = Duration::from_micros(200);
/// Time asleep between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// Number of clock readings of a spin.
const SPINS: u32 = 64;

/// Number of queries refused with BUSY, including ones never taken; each part of a split query counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyCounts {
    /// Number of queries that were refused once or more.
    pub query_count: u64,
    /// Number of calls that refused one.
    pub refusal_count: u64,
    /// Time that the issuing threads waited, all together.
    pub waited: Duration,
}

/// The wait of one query for a plugin that is BUSY.
pub(super) struct BusyWait<'a> {
    progress: &'a Progress,
    stop: &'a StopHandle,
    limit: Duration,
    begin: Instant,
    /// Number of samples complete at the latest look, and the instant at which it last grew.
    completed_count: u64,
    moved: Instant,
}

/// Result of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The query may be issued again.
    Over,
    /// The test must end at once.
    Stopped,
    /// No sample completed for the whole limit.
    Stuck,
}

impl<'a> BusyWait<'a> {
    /// Creates the state. `limit` is how long the plugin may be BUSY while no sample completes.
    pub(super) fn begin(progress: &'a Progress, stop: &'a StopHandle, limit: Duration) -> Self {
        let now = Instant::now();
        let completed_count = completed_count(progress);
        Self { progress, stop, limit, begin: now, completed_count, moved: now }
    }

    /// Waits a little before the next try.
    pub(super) fn pause(&mut self) -> Pause {
        match self.begin.elapsed() {
            elapsed if elapsed < SPINNING => (0..SPINS).for_each(|_| hint::spin_loop()),
            elapsed if elapsed < YIELDING => thread::yield_now(),
            _ => thread::sleep(PAUSE),
        }
        let completed_count = completed_count(self.progress);
        let now = Instant::now();
        if completed_count != self.completed_count {
            (self.completed_count, self.moved) = (completed_count, now);
        }
        match () {
            () if self.stop.is_given_up() => Pause::Stopped,
            () if now - self.moved >= self.limit => Pause::Stuck,
            () => Pause::Over,
        }
    }

    /// Returns the time since the first refusal.
    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

fn completed_count(progress: &Progress) -> u64 {
    progress.current().map_or(0, |phase| phase.completed_count)
}
