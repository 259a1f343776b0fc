//! Counts completions, and wakes the one thread that may wait for them.
//!
//! # Protocol
//! `state` holds the number of signals in its upper 63 bits and, in bit 0, whether the waiter sleeps. Both sides
//! change it by read-modify-write only, so one of the two comes first:
//! - the signal first: the waiter's announcement reads its count (acquire), sees the work done, and does not sleep;
//! - the announcement first: the signal reads bit 0 and, once the count reaches `wake_at`, unparks the waiter.
//!
//! `wake_at` is written before the announcement and read only after having seen it. A signal therefore costs one
//! atomic addition, and takes the lock around the waiter's handle only if that thread asked to be woken now.
//!
//! If several threads issue, signalling threads would wait for each other's addition. So there are several
//! counters then, each with a `state` as above, and each thread has one of them. The waiter announces its
//! sleep in all of them. A thread that finds the announcement adds all counters up by read-modify-write: of
//! the last signals on different counters, the one whose addition is the last of all finds the others.
//! Threads that found no announcement came before it, and the waiter sees them.
//!
//! Several threads may sleep until an instant. Each of them enlists before, so that a stop finds all of them.

use std::{sync::atomic::Ordering, time::Duration};

use crate::time::sync::{Apart, AtomicU64, Mutex, MutexGuard, Thread, current, park, thread_number};

const SLEEPING: u64 = 1;
const ONE_SIGNAL: u64 = 2;

/// An event counter with one waiting thread: many threads [`signal`](Wake::signal), one waits for that through its
/// [`Clock`](crate::Clock). Several may wait for instants.
#[derive(Debug)]
pub struct Wake {
    state: Apart<AtomicU64>,
    /// The states of further counters.
    others: Box<[Apart<AtomicU64>]>,
    wake_at: AtomicU64,
    stops: AtomicU64,
    waiter: Mutex<Option<Thread>>,
    /// Further threads that a stop has to wake.
    enlisted: Mutex<Vec<Thread>>,
}

/// Registers a thread to be woken by a stop, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Enlisted<'a>(&'a Wake);

impl Drop for Enlisted<'_> {
    fn drop(&mut self) {
        let this = current().id();
        self.0.lock_enlisted().retain(|thread| thread.id() != this);
    }
}

impl Wake {
    /// Creates an event counter at 0 that no thread waits for.
    #[must_use]
    pub fn new() -> Self {
        Self::with_counters(1)
    }

    /// Does the same as [`new`](Self::new), for events that `count` threads signal all the time.
    pub(crate) fn with_counters(count: u64) -> Self {
        Self {
            state: Apart(AtomicU64::new(0)),
            others: (1..count).map(|_| Apart(AtomicU64::new(0))).collect(),
            wake_at: AtomicU64::new(0),
            stops: AtomicU64::new(0),
            waiter: Mutex::new(None),
            enlisted: Mutex::new(Vec::new()),
        }
    }

    /// Adds `count` events. The caller's earlier writes are visible to a thread that then reads [`count`](Wake::count).
    /// [any thread; wait-free unless the waiter sleeps and is due]
    #[inline]
    pub fn signal(&self, count: u64) {
        if self.others.is_empty() {
            // AcqRel: releases the events' data to the waiter; acquires `wake_at` if the waiter announced itself.
            let before = self.state.0.fetch_add(count * ONE_SIGNAL, Ordering::AcqRel);
            let is_due = || before / ONE_SIGNAL + count >= self.wake_at.load(Ordering::Relaxed);
            if before & SLEEPING != 0 && is_due() {
                self.unpark();
            }
        } else {
            self.signal_on(thread_number(), count);
        }
    }

    /// Adds `count` events on the counter of the thread with this number.
    #[inline]
    fn signal_on(&self, thread_number: u64, count: u64) {
        let state = match (thread_number % (self.others.len() as u64 + 1)) as usize {
            0 => &self.state.0,
            other => &self.others[other - 1].0,
        };
        // AcqRel: as above.
        let before = state.fetch_add(count * ONE_SIGNAL, Ordering::AcqRel);
        if before & SLEEPING != 0 && self.count_last() >= self.wake_at.load(Ordering::Relaxed) {
            self.unpark();
        }
    }

    /// Returns the number of events, read so that the last of several adding readers finds all additions.
    #[cold]
    fn count_last(&self) -> u64 {
        self.states().map(|state| state.fetch_add(0, Ordering::AcqRel) / ONE_SIGNAL).sum()
    }

    fn states(&self) -> impl Iterator<Item = &AtomicU64> {
        std::iter::once(&self.state.0).chain(self.others.iter().map(|other| &other.0))
    }

    /// Returns the number of events so far. [any thread]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.states().map(|state| state.load(Ordering::Acquire) / ONE_SIGNAL).sum()
    }

    /// Lets a waiter sleep until the count has reached `count`, regardless of its condition; 0 is every event.
    /// [waiting thread, before it waits]
    pub fn wake_at(&self, count: u64) {
        self.wake_at.store(count, Ordering::Relaxed);
    }

    /// Makes a stop wake this thread, too: one of several that wait for instants. [the thread, before it waits]
    pub(crate) fn enlist(&self) -> Enlisted<'_> {
        self.lock_enlisted().push(current());
        Enlisted(self)
    }

    /// Wakes the waiters and makes each further [`wait_until`](crate::Clock::wait_until) return at once. [any thread]
    pub fn stop(&self) {
        self.stops.fetch_add(1, Ordering::AcqRel);
        self.unpark();
        self.lock_enlisted().iter().for_each(Thread::unpark);
    }

    /// Returns whether [`stop`](Wake::stop) was called. [any thread]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop_count() > 0
    }

    /// Returns the number of calls of [`stop`](Wake::stop). [any thread]
    #[must_use]
    pub fn stop_count(&self) -> u64 {
        self.stops.load(Ordering::Acquire)
    }

    /// Sleeps once unless `ready()` holds, and returns whether it holds then. May return early.
    pub(crate) fn park_unless(&self, ready: &dyn Fn() -> bool, timeout: Duration) -> bool {
        self.register();
        self.states().for_each(|state| _ = state.fetch_or(SLEEPING, Ordering::AcqRel));
        if !ready() {
            park(timeout);
        }
        self.states().for_each(|state| _ = state.fetch_and(!SLEEPING, Ordering::AcqRel));
        ready()
    }

    /// Sleeps once unless stopped. Signals do not end the sleep: it is not announced to them.
    pub(crate) fn park_unless_stopped(&self, timeout: Duration) {
        self.register();
        if !self.is_stopped() {
            park(timeout);
        }
    }

    /// Leaves the handle to unpark this thread by. A stop that took the lock earlier is visible afterwards, a later
    /// one finds the handle.
    fn register(&self) {
        *self.waiter.lock().expect("no holder of this lock can panic") = Some(current());
    }

    fn lock_enlisted(&self) -> MutexGuard<'_, Vec<Thread>> {
        self.enlisted.lock().expect("no holder of this lock can panic")
    }

    fn unpark(&self) {
        if let Some(thread) = &*self.waiter.lock().expect("no holder of this lock can panic") {
            thread.unpark();
        }
    }
}

impl Default for Wake {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    /// Far longer than it takes: it turns a hang into a failure.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_signal_takes_no_lock_unless_a_thread_sleeps_for_it() {
        let wake = Arc::new(Wake::new());
        let _locks = (wake.waiter.lock().unwrap(), wake.lock_enlisted());
        wake.wake_at(3);
        let (tell, told) = mpsc::channel();
        let signalling = Arc::clone(&wake);
        std::thread::spawn(move || {
            signalling.signal(1);
            // Somebody sleeps, but for a later one.
            signalling.state.0.fetch_or(SLEEPING, Ordering::AcqRel);
            signalling.signal(1);
            tell.send(())
        });
        told.recv_timeout(PATIENCE).expect("a signal waits for a lock");
        assert_eq!(wake.count(), 2);
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// Leaked, because a deadlock unwinds through threads that still hold it, where loom's own `Arc` panics again.
    fn wake() -> &'static Wake {
        Box::leak(Box::new(Wake::new()))
    }

    /// Two threads signal, the main thread sleeps until both have, in the given way.
    fn wait_for_two(sleep: fn(&Wake, &dyn Fn() -> bool)) {
        let wake = wake();
        let threads = [(); 2].map(|()| thread::spawn(move || wake.signal(1)));
        wake.wake_at(2);
        while wake.count() < 2 {
            sleep(wake, &|| wake.count() >= 2);
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }

    /// A lost wake-up would be a deadlock, which loom reports.
    #[test]
    fn loom_the_last_of_two_signals_wakes_the_waiter() {
        loom::model(|| {
            wait_for_two(|wake, ready| {
                wake.park_unless(ready, LONG);
            });
        });
    }

    /// Two threads signal on a counter each, by `signal`, and the main thread sleeps until both have.
    fn wait_for_two_counters(signal: fn(&Wake, u64)) {
        let wake: &'static Wake = Box::leak(Box::new(Wake::with_counters(2)));
        // Not joined: loom takes an unpark for the end of the thread that is waited for, and both may
        // unpark the waiter, the second when it waits no more.
        for number in [0, 1] {
            thread::spawn(move || signal(wake, number));
        }
        wake.wake_at(2);
        while wake.count() < 2 {
            wake.park_unless(&|| wake.count() >= 2, LONG);
        }
    }

    #[test]
    fn loom_the_last_signal_on_any_counter_wakes_the_waiter() {
        // More switches between threads than this take minutes; the twin fails with fewer.
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| wait_for_two_counters(|wake, number| wake.signal_on(number, 1)));
    }

    /// The twin that adds the counters up by loads: each of two signals may miss the other. It must fail, or the model
    /// above proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_the_wake_up_lost_between_two_counters() {
        loom::model(|| {
            wait_for_two_counters(|wake, number| {
                let state = [&wake.state.0, &wake.others[0].0][number as usize];
                let before = state.fetch_add(ONE_SIGNAL, Ordering::AcqRel);
                if before & SLEEPING != 0 && wake.count() >= wake.wake_at.load(Ordering::Relaxed) {
                    wake.unpark();
                }
            });
        });
    }

    /// The twin that announces its sleep only after having looked. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_the_wake_up_lost_by_a_late_announcement() {
        loom::model(|| {
            wait_for_two(|wake, ready| {
                wake.register();
                if !ready() {
                    wake.state.0.fetch_or(SLEEPING, Ordering::AcqRel);
                    park(LONG);
                    wake.state.0.fetch_and(!SLEEPING, Ordering::AcqRel);
                }
            });
        });
    }

    /// Two threads write and signal in the given way. Returns what a waiter that has counted both sees of the writes;
    /// 3 is all of it.
    fn seen_behind_two_signals(signal: fn(&Wake)) -> u64 {
        let wake = wake();
        let written: &'static [AtomicU64; 2] = Box::leak(Box::new([0; 2].map(AtomicU64::new)));
        let threads = [(0, 1), (1, 2)].map(|(place, value)| {
            thread::spawn(move || {
                written[place].store(value, Ordering::Relaxed);
                signal(wake);
            })
        });
        let is_complete = wake.count() >= 2;
        let seen = written.iter().map(|place| place.load(Ordering::Relaxed)).sum();
        for thread in threads {
            thread.join().unwrap();
        }
        if is_complete { seen } else { 3 }
    }

    #[test]
    fn loom_whoever_counts_the_signals_sees_what_was_written_before() {
        loom::model(|| assert_eq!(seen_behind_two_signals(|wake| wake.signal(1)), 3));
    }

    /// The twin that signals without releasing. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_a_signal_that_does_not_release() {
        loom::model(|| {
            let seen = seen_behind_two_signals(|wake| {
                wake.state.0.fetch_add(ONE_SIGNAL, Ordering::Relaxed);
            });
            assert!(seen == 3, "a write is not seen");
        });
    }

    #[test]
    fn loom_a_stop_wakes_a_timed_wait() {
        loom::model(|| {
            let wake = wake();
            // Not joined: loom takes an unpark for the end of the thread that is waited for.
            thread::spawn(move || wake.stop());
            while !wake.is_stopped() {
                wake.park_unless_stopped(LONG);
            }
        });
    }

    /// Two threads sleep until an instant that does not come.
    #[test]
    fn loom_a_stop_wakes_all_that_are_enlisted() {
        loom::model(|| {
            let wake = wake();
            thread::spawn(move || wake.stop());
            thread::spawn(move || sleep_until_stopped(wake));
            sleep_until_stopped(wake);
        });
    }

    fn sleep_until_stopped(wake: &Wake) {
        let _enlisted = wake.enlist();
        while !wake.is_stopped() {
            wake.park_unless_stopped(LONG);
        }
    }

    /// The twin whose threads are not enlisted: the stop finds one of them only. It must fail, or the model above
    /// proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_sleeper_that_a_stop_does_not_find() {
        loom::model(|| {
            let wake = wake();
            thread::spawn(move || wake.stop());
            let sleep = move || {
                while !wake.is_stopped() {
                    wake.park_unless_stopped(LONG);
                }
            };
            thread::spawn(sleep);
            sleep();
        });
    }
}
