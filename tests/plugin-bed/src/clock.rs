//! The clock that the plugins see.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The latest instant that any thread has seen.
static LATEST_NS: AtomicU64 = AtomicU64::new(0);

/// Returns the time since the first reading in ns; more than at every reading before, by any thread, and so never 0.
pub(crate) fn now_ns() -> u64 {
    let elapsed_ns = u64::try_from(BEGIN.elapsed().as_nanos()).expect("a test takes less than 500 years");
    let next = |latest_ns: u64| elapsed_ns.max(latest_ns + 1);
    // Relaxed: the instants are of one variable, and nothing else is published with them.
    let mut latest_ns = LATEST_NS.load(Ordering::Relaxed);
    while let Err(newer_ns) =
        LATEST_NS.compare_exchange_weak(latest_ns, next(latest_ns), Ordering::Relaxed, Ordering::Relaxed)
    {
        latest_ns = newer_ns;
    }
    next(latest_ns)
}

#[cfg(test)]
mod tests {
    use super::now_ns;

    #[test]
    fn every_look_shows_a_later_instant() {
        let looks: Vec<u64> = (0..1000).map(|_| now_ns()).collect();
        assert!(looks[0] > 0 && looks.is_sorted_by(|a, b| a < b));
    }
}
