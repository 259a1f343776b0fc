//! The clock of a run: real or virtual.

use std::sync::Arc;

use proctor_loadgen::{Clock, RealClock, VirtualClock, WaitPolicy};

/// The clock of a run. Clones show the same time.
#[derive(Clone)]
pub enum HostClock {
    /// Real time, which passes by itself.
    Real(Arc<RealClock>),
    /// Time continues as the simulation says.
    Virtual(Arc<VirtualClock>),
}

impl HostClock {
    /// Creates a clock at 0. Only real time waits by `policy`.
    pub(crate) fn new(is_virtual: bool, policy: WaitPolicy) -> Self {
        if is_virtual {
            Self::Virtual(Arc::default())
        } else {
            Self::Real(Arc::new(RealClock::with_policy(policy)))
        }
    }

    /// Returns the clock that plugins read.
    pub fn reader(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        match self.clone() {
            Self::Real(clock) => Arc::new(move || clock.now_ns()),
            Self::Virtual(clock) => Arc::new(move || clock.now_ns()),
        }
    }
}
