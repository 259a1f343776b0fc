//! Cost of the noise guard: pairs of tests without and with it.

use proctor_bed::{Interrupt, NullRun};
use proctor_vocabulary::Scenario;
use proctor_words::HostError;

use super::{
    experiment::{Figure, Target, closed_loop, query_us},
    report::Row,
};

/// Length of each test: long enough for a reading in its midst.
const DURATION_MS: u64 = 1100;

/// Maximum share of one processor that the guard may take, in percent.
const PERCENT_MAX: f64 = 0.1;

/// Time that the guard adds to a query of SingleStream, and time of its own thread.
pub(super) struct GuardRows {
    duration_ms: u64,
    added: Row,
    share: Row,
}

impl GuardRows {
    /// Creates the rows without values.
    pub(super) fn new(is_quick: bool) -> Self {
        let row = |figure| Row { scenario: Some(Scenario::SingleStream), figure, values: Vec::new() };
        let added = Figure::new("noise_guard_query_ns", "added to a query by the noise guard", "ns");
        let share =
            Figure::new("noise_guard_processor_%", "the noise guard's own thread, of one processor", "%");
        Self {
            duration_ms: if is_quick { 30 } else { DURATION_MS },
            added: row(added),
            share: row(share.with(Target::AtMost(PERCENT_MAX))),
        }
    }

    /// Measures one pair; `is_first` says whether the test with the guard comes first, so that in turns neither has the
    /// better place.
    ///
    /// # Errors
    /// If one of the tests could not be made.
    pub(super) fn measure(&mut self, interrupt: &Interrupt, is_first: bool) -> Result<(), HostError> {
        let run = NullRun::inline(closed_loop(Scenario::SingleStream, self.duration_ms));
        let bare = || run.run(interrupt).map(|outcome| query_us(&outcome));
        let before = if is_first { None } else { Some(bare()?) };
        let (guarded, noise) = run.run_guarded(interrupt)?;
        let bare_us = before.map_or_else(bare, Ok)?;
        self.added.values.push((query_us(&guarded) - bare_us) * 1e3);
        let share = noise.map_or(f64::NAN, |noise| noise.cost.share_of_processor);
        self.share.values.push(share * 100.0);
        Ok(())
    }

    pub(super) fn into_rows(self) -> [Row; 2] {
        [self.added, self.share]
    }
}
