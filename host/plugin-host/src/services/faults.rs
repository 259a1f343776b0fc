//! The misbehaviour of a plugin that does not end a run.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// How many faults are kept in words; the others are counted.
const FAULTS_KEPT: usize = 32;

/// Misbehaviour noticed at the boundary: the first ones in words, all of them counted.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Faults {
    /// Records a fault; the text is made only if it is kept.
    pub(crate) fn record(&self, text: impl FnOnce() -> String) {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before < FAULTS_KEPT as u64 {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(text());
        }
    }

    pub(crate) fn kept(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
