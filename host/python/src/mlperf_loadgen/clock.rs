//! Real time, in which the interpreter's main thread still sees signals.

use std::sync::Arc;

use proctor_loadgen::{Clock, RealClock, Wake};
use pyo3::prelude::*;

use super::session::Failure;

/// Longest wait without a look for signals.
const LOOK_NS: u64 = 100_000_000;

/// The real clock; its waits on the main thread run handlers of signals, and an exception of one, such as that of
/// Ctrl-C, ends the test.
pub(super) struct InterruptibleClock {
    real: RealClock,
    /// None on another thread, which runs no handlers.
    failure: Option<Arc<Failure>>,
}

impl InterruptibleClock {
    pub(super) fn new(failure: Option<Arc<Failure>>) -> Self {
        Self { real: RealClock::new(), failure }
    }
}

fn look(failure: &Failure) {
    if let Err(error) = Python::attach(|py| py.check_signals()) {
        failure.note("the handler of a signal", error);
    }
}

impl Clock for InterruptibleClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.real.now_ns()
    }

    fn wait_until(&self, deadline_ns: u64, wake: &Wake) -> u64 {
        let Some(failure) = &self.failure else { return self.real.wait_until(deadline_ns, wake) };
        loop {
            let look_ns = self.now_ns().saturating_add(LOOK_NS);
            let now_ns = self.real.wait_until(deadline_ns.min(look_ns), wake);
            if now_ns >= deadline_ns || now_ns < look_ns {
                return now_ns;
            }
            look(failure);
        }
    }

    fn wait_for(&self, wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        let Some(failure) = &self.failure else { return self.real.wait_for(wake, deadline_ns, ready) };
        let deadline_ns = deadline_ns.unwrap_or(u64::MAX);
        if ready() {
            return true;
        }
        loop {
            let look_ns = self.now_ns().saturating_add(LOOK_NS);
            if self.real.wait_for(wake, Some(deadline_ns.min(look_ns)), ready) {
                return true;
            }
            if self.now_ns() >= deadline_ns {
                return false;
            }
            look(failure);
        }
    }

    fn is_virtual(&self) -> bool {
        false
    }

    fn unix_ns(&self) -> Option<u64> {
        self.real.unix_ns()
    }
}
