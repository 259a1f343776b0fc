//! The primitives of the concurrent parts: the standard library's, or loom's in a build with `--cfg loom`.

#[cfg(not(loom))]
mod primitives {
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::thread::park;

    /// Makes one turn of a loop that waits for another core: later with one, for the other thread of this core; at last
    /// giving the core away, so that a team on fewer cores than it has threads makes progress.
    #[inline]
    pub(crate) fn spin(turn: u32) {
        const WITHOUT_PAUSE: u32 = 256;
        const WITH_PAUSE: u32 = 1024;
        if turn < WITHOUT_PAUSE {
        } else if turn < WITHOUT_PAUSE + WITH_PAUSE {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

#[cfg(loom)]
mod primitives {
    pub(crate) use loom::sync::atomic::AtomicU64;
    pub(crate) use loom::thread::park;

    /// Lets another thread run. Two threads that both wait could alternate forever, and a fruitless turn changes
    /// nothing, so after a second one in a row loom no longer distinguishes the execution from others.
    pub(crate) fn spin(turn: u32) {
        if turn > 0 {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }
}

use std::sync::atomic::Ordering;

pub(crate) use primitives::*;

/// Waits for a word of another thread. Acquire: reads from the store that releases it, so what the other wrote before
/// is visible.
#[inline]
pub(crate) fn until(word: &AtomicU64, is_due: impl Fn(u64) -> bool) -> u64 {
    let mut turn = 0;
    loop {
        let value = word.load(Ordering::Acquire);
        if is_due(value) {
            return value;
        }
        spin(turn);
        turn = turn.saturating_add(1);
    }
}

/// A value that one thread writes often, kept apart from data that others read: alone on its cache lines, and on the
/// neighbour that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);

/// Returns a value that stays: a deadlock unwinds through threads that still hold it, where loom's own `Arc` panics
/// again.
#[cfg(all(test, loom))]
pub(crate) fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Runs a model through all executions with up to three preemptions.
#[cfg(all(test, loom))]
pub(crate) fn model(test: impl Fn() + Sync + Send + 'static) {
    bounded_model(3, test);
}

/// Runs a model with more threads, which have so many executions that fewer preemptions have to do.
#[cfg(all(test, loom))]
pub(crate) fn bounded_model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}
