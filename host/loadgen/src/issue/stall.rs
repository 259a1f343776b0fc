//! Waits for completions, but not for a system that has died.

use crate::{
    record::phase::Phase,
    time::{clock::Clock, wake::Wake},
};

/// Outcome of a wait for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Complete,
    Stopped,
    Stalled,
}

/// Waits for everything outstanding, but not for a system that has died.
#[derive(Debug)]
pub(crate) struct StallGuard<'a, C> {
    pub clock: &'a C,
    pub wake: &'a Wake,
    pub timeout_ns: u64,
}

impl<C: Clock> StallGuard<'_, C> {
    /// Waits until every issued sample of the phase is complete, or until the `stop_count`th stop of the test.
    ///
    /// It is a stall if nothing completes during one whole timeout, or if, in virtual time, nothing more can
    /// complete.
    pub(crate) fn wait_all(&self, phase: &Phase, stop_count: u64) -> Waited {
        let target = phase.signals_after(phase.issued_count());
        let is_complete = || self.wake.count() >= target;
        if is_complete() {
            return Waited::Complete;
        }
        self.wake.wake_at(target);
        loop {
            if is_complete() {
                return Waited::Complete;
            }
            if self.wake.stop_count() >= stop_count {
                return Waited::Stopped;
            }
            let seen = self.wake.count();
            let deadline_ns = self.clock.now_ns().saturating_add(self.timeout_ns);
            let over = || is_complete() || self.wake.stop_count() >= stop_count;
            if !self.clock.wait_for(self.wake, Some(deadline_ns), &over) {
                let no_event_left = self.clock.is_virtual() && self.clock.now_ns() < deadline_ns;
                if no_event_left || self.wake.count() == seen {
                    return Waited::Stalled;
                }
            }
        }
    }
}
