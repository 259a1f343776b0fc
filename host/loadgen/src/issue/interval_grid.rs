//! MultiStream at fixed intervals: a query at each of them, unless the system still works at the last one.
//!
//! Interval k starts k times the interval after the start of the phase, so errors do not add up. A query that
//! is not complete at the start of the next interval makes that interval pass without a query, and delays all
//! later ones by one. The instant of its completion decides, not when the issuing thread looked. A thread
//! that wakes late issues late, which is an issue delay and part of the query's latency.
//!
//! Source: MLPerf Inference Benchmark, section 4.5; MLPerf Inference rules v0.7, table of scenarios and FAQ.

use std::ops::ControlFlow;

use crate::{
    issue::{
        end::IssueEnd,
        issued_query::IssuedQuery,
        stall::{StallGuard, Waited},
    },
    record::phase::{Phase, done_ns},
    time::clock::Clock,
};

/// The intervals of a phase, one after another.
#[derive(Debug)]
pub(crate) struct IntervalGrid {
    interval_ns: u64,
    /// Number of the first interval that has not had its chance, from 0.
    next: u64,
}

impl IntervalGrid {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self { interval_ns, next: 0 }
    }

    /// Waits for the start of the next interval by which the query issued last, if any, is complete. Returns that
    /// start, in ns from the start of the phase. [issuing thread]
    pub(crate) fn wait<C: Clock>(
        &mut self,
        stall_guard: &StallGuard<'_, C>,
        phase: &Phase,
        last: Option<IssuedQuery>,
    ) -> ControlFlow<IssueEnd, u64> {
        match stall_guard.wait_all(phase, 1) {
            Waited::Complete => {}
            Waited::Stopped => return ControlFlow::Break(IssueEnd::Stopped),
            Waited::Stalled => return ControlFlow::Break(IssueEnd::Stalled),
        }
        let start_ns = phase.start_ns();
        // Most queries complete in time, which the clock shows without a look at each sample.
        if let Some(last) = last
            && stall_guard.clock.now_ns() - start_ns > self.starts_ns(self.next)
        {
            self.next = self.next.max(done_ns(phase.samples(last.first_sequence)).div_ceil(self.interval_ns));
        }
        let scheduled_ns = self.starts_ns(self.next);
        stall_guard.clock.wait_until(start_ns.saturating_add(scheduled_ns), stall_guard.wake);
        self.next += 1;
        ControlFlow::Continue(scheduled_ns)
    }

    fn starts_ns(&self, interval: u64) -> u64 {
        interval.saturating_mul(self.interval_ns)
    }
}
