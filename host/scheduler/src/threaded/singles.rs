//! Single samples to idle threads, without a lock: the path of batches of one that a policy never holds back.
//!
//! # Protocol
//!
//! Samples wait in one [`SampleRing`], and any free instance pops the oldest. So none waits behind a batch
//! that takes long or hangs while another instance is idle, and there is no second place to look for work.
//! The remaining question is which thread to wake. An instance that finds the ring empty
//!
//! - **spins**, if no other does: it says so in `spinner`, watches the ring, and takes the word back before
//!   it does anything else;
//! - otherwise **sleeps**: it sets its bit in `asleep`, *looks at the ring again*, and parks. Only the thread
//!   that clears the bit unparks it.
//!
//! After that, a push looks at `spinner` and, if no thread spins, at `asleep`, and wakes one sleeper. A pop
//! does the same if more samples wait: the spinner that it was, or the thread that it was woken as, looks no
//! longer.
//!
//! Each of these looks is behind a `SeqCst` fence, and so is each announcement: of a push and an announcement
//! that race, the later one finds the other. Hence a waiting sample has a thread on its way to it: either its
//! push woke one, or saw a spinner, which pops it or finds it after having taken its word back; or no thread
//! was asleep, and one that falls asleep later finds the sample when it looks again. A thread that pops
//! another sample than the one it was woken for leaves that one in the ring, and passes the wake-up on.
//!
//! **A spinner that has lost its processor** is not waited for. It gives the processor up by itself between
//! looks, and leaves the time in `spinner` before it does; a thread that sees that it was not heard of for
//! [`SILENT_NS`] wakes a sleeper as if no thread span. A processor that comes back late is wanted by others,
//! the model or the issuing thread, so the spin ends there.
//!
//! **At the end** `stop` sets `stopping`, and then empties the ring. A push looks at `stopping` after that,
//! and if it is set empties the ring, too: the later one finds the sample, so it is failed and not lost.
//!
//! # Cost
//!
//! Nothing here depends on the number of instances but the words of `asleep`, one for 64 of them, which are read in
//! turn to find a sleeper. A sample takes two compare-exchanges, on the two ends of the ring, and four at most around a
//! sleep; a thread that is woken and finds nothing left pays for that sleep once more.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::{Arc, OnceLock};

use proctor_loadgen::{Clock, RealClock};
use proctor_vocabulary::QuerySample;

use super::dispatch::{SILENT_NS, SPIN_NS};
use crate::ring::SampleRing;
use crate::sync::{Apart, AtomicBool, AtomicU64, Cost, fence, note, thread};

/// Value for no spinner.
const NOBODY: u64 = 0;

/// The queue of single samples, and the threads that wait for it.
pub(super) struct Singles<C = RealClock> {
    clock: Arc<C>,
    ring: SampleRing,
    /// Last sign of life of the spinning thread, in ns and at least 1; [`NOBODY`] if none spins.
    spinner: Apart<AtomicU64>,
    /// A bit for each instance that sleeps and was not woken.
    asleep: Box<[Apart<AtomicU64>]>,
    seats: Box<[Seat]>,
    stopping: AtomicBool,
    counts: Apart<Counts>,
}

/// Handle to wake an instance, and the word that it has to leave.
struct Seat {
    thread: OnceLock<thread::Thread>,
    retired: AtomicBool,
}

/// Counts kept by the pushing threads.
#[derive(Default)]
struct Counts {
    rejected: AtomicU64,
    /// Samples that were taken out of the ring at the end.
    unstarted: AtomicU64,
    /// Some number of samples that had been popped.
    popped_before: AtomicU64,
    depth_max: AtomicU64,
}

/// Counts since the start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SinglesCounts {
    pub(super) started: u64,
    pub(super) issued: u64,
    pub(super) rejected: u64,
    pub(super) depth_max: usize,
    pub(super) capacity: usize,
}

impl<C: Clock> Singles<C> {
    pub(super) fn new(capacity: usize, instances: usize, clock: Arc<C>) -> Self {
        let seat = |_| Seat { thread: OnceLock::new(), retired: AtomicBool::new(false) };
        Self {
            clock,
            ring: SampleRing::new(capacity),
            spinner: Apart(AtomicU64::new(NOBODY)),
            asleep: (0..instances.div_ceil(64)).map(|_| Apart(AtomicU64::new(0))).collect(),
            seats: (0..instances).map(seat).collect(),
            stopping: AtomicBool::new(false),
            counts: Apart(Counts::default()),
        }
    }

    /// Puts samples into the queue. Returns the number of accepted ones; after a stop none is. [any thread]
    pub(super) fn arrive(&self, samples: &[QuerySample]) -> usize {
        if self.stopping.load(Acquire) {
            return 0;
        }
        for (taken, &sample) in samples.iter().enumerate() {
            if !self.ring.push(sample) {
                self.counts.0.rejected.fetch_add((samples.len() - taken) as u64, Relaxed);
                return taken;
            }
            self.note_depth();
            self.wake_one_if_needed();
        }
        samples.len()
    }

    /// Returns whether it was stopped: the pushing thread then has to [`drain`](Self::drain).
    pub(super) fn is_stopped(&self) -> bool {
        fence(SeqCst);
        self.stopping.load(Relaxed)
    }

    /// Takes a sample that waits and will not be started.
    pub(super) fn drain(&self) -> Option<QuerySample> {
        let sample = self.ring.pop()?;
        self.counts.0.unstarted.fetch_add(1, Relaxed);
        Some(sample)
    }

    /// Tells all threads to leave after their sample. Waiting samples have to be drained.
    pub(super) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        fence(SeqCst);
        self.seats.iter().filter_map(|seat| seat.thread.get()).for_each(thread::Thread::unpark);
    }

    /// Tells the instance of this number to leave after its sample.
    pub(super) fn retire(&self, instance: usize) {
        self.seats[instance].retired.store(true, SeqCst);
        fence(SeqCst);
        if let Some(thread) = self.seats[instance].thread.get() {
            thread.unpark();
        }
    }

    /// Makes the calling thread the instance's from now on.
    pub(super) fn enter(&self, instance: usize) {
        let _ = self.seats[instance].thread.set(thread::current());
    }

    /// Returns the next sample for an instance; `None` if its thread is to leave.
    ///
    /// [instance thread] Waits for a sample. Does not allocate.
    pub(super) fn next(&self, instance: usize) -> Option<QuerySample> {
        loop {
            if self.must_leave(instance) {
                // It may have been woken, or looked at as the spinner, for a sample.
                self.pass_on();
                return None;
            }
            if let Some(sample) = self.ring.pop() {
                self.pass_on();
                return Some(sample);
            }
            if !self.spin(instance) {
                self.sleep(instance);
            }
        }
    }

    fn must_leave(&self, instance: usize) -> bool {
        self.stopping.load(Acquire) || self.seats[instance].retired.load(Acquire)
    }

    /// Wakes a sleeper for a sample that still waits.
    fn pass_on(&self) {
        fence(SeqCst);
        if self.ring.has_some() {
            self.wake_unless_watched();
        }
    }

    /// Watches the ring for a while. Returns whether there is reason to check it.
    fn spin(&self, instance: usize) -> bool {
        let start_ns = self.clock.now_ns().max(1);
        // The word is read first: a compare-exchange would take the line from the spinner.
        let spinner = &self.spinner.0;
        if spinner.load(Relaxed) != NOBODY
            || spinner.compare_exchange(NOBODY, start_ns, AcqRel, Relaxed).is_err()
        {
            return false;
        }
        self.look_out(instance, start_ns);
        spinner.store(NOBODY, SeqCst);
        fence(SeqCst);
        self.ring.has_some() || self.must_leave(instance)
    }

    #[cfg(not(loom))]
    fn look_out(&self, instance: usize, start_ns: u64) {
        const LOOKS_PER_YIELD: u32 = 64;
        let nothing = || {
            std::hint::spin_loop();
            !self.ring.has_some() && !self.must_leave(instance)
        };
        let mut now_ns = start_ns;
        while (0..LOOKS_PER_YIELD).all(|_| nothing()) {
            let before_ns = self.clock.now_ns();
            if before_ns - start_ns >= SPIN_NS || before_ns - now_ns >= SILENT_NS {
                return;
            }
            now_ns = before_ns;
            self.spinner.0.store(now_ns, Relaxed);
            thread::yield_now();
        }
    }

    /// Returns at any moment: no time passes in a model, and a spin may end before its sample comes.
    #[cfg(loom)]
    fn look_out(&self, _instance: usize, _start_ns: u64) {
        thread::yield_now();
    }

    /// Sleeps until woken.
    fn sleep(&self, instance: usize) {
        let (word, bit) = self.place(instance);
        Self::announce_sleep(word, bit);
        if !self.ring.has_some() {
            while word.load(Acquire) & bit != 0 && !self.must_leave(instance) {
                thread::park();
            }
        }
        if word.load(Relaxed) & bit != 0 {
            word.fetch_and(!bit, SeqCst);
        }
    }

    fn announce_sleep(word: &AtomicU64, bit: u64) {
        note(Cost::Exchange);
        word.fetch_or(bit, SeqCst);
        fence(SeqCst);
    }

    fn place(&self, instance: usize) -> (&AtomicU64, u64) {
        (&self.asleep[instance / 64].0, 1 << (instance % 64))
    }

    /// Wakes one sleeper after a push if needed.
    fn wake_one_if_needed(&self) {
        fence(SeqCst);
        self.wake_unless_watched();
    }

    /// Wakes a sleeper, unless there is a spinner that will check the ring. After a fence.
    fn wake_unless_watched(&self) {
        let heard_ns = self.spinner.0.load(Relaxed);
        if heard_ns != NOBODY && !self.is_silent(heard_ns) {
            return;
        }
        for (number, word) in self.asleep.iter().enumerate() {
            let mut bits = word.0.load(Relaxed);
            while bits != 0 {
                let place = bits.trailing_zeros();
                note(Cost::Exchange);
                let before = word.0.fetch_and(!(1 << place), SeqCst);
                if before & (1 << place) != 0 {
                    if let Some(thread) = self.seats[number * 64 + place as usize].thread.get() {
                        note(Cost::Wake);
                        thread.unpark();
                    }
                    return;
                }
                bits = before;
            }
        }
    }

    /// Returns whether the spinner may have lost its processor. Looked at only if somebody could be woken instead.
    fn is_silent(&self, heard_ns: u64) -> bool {
        let anybody_sleeps = self.asleep.iter().any(|word| word.0.load(Relaxed) != 0);
        anybody_sleeps && self.clock.now_ns().saturating_sub(heard_ns) > SILENT_NS
    }

    /// Records the maximum number of waiting samples. Reads the end of the ring where the instances write
    /// only if there could be more than ever before.
    fn note_depth(&self) {
        let Counts { popped_before, depth_max, .. } = &self.counts.0;
        let (pushed, greatest) = (self.ring.pushed(), depth_max.load(Relaxed));
        if pushed.saturating_sub(popped_before.load(Relaxed)) > greatest {
            let popped = self.ring.popped();
            popped_before.store(popped, Relaxed);
            let depth = pushed.saturating_sub(popped);
            if depth > greatest {
                depth_max.fetch_max(depth, Relaxed);
            }
        }
    }

    /// Counts since the start.
    pub(super) fn counts(&self) -> SinglesCounts {
        let Counts { rejected, unstarted, depth_max, .. } = &self.counts.0;
        let (rejected, capacity) = (rejected.load(Relaxed), self.ring.capacity());
        SinglesCounts {
            started: self.ring.popped() - unstarted.load(Relaxed),
            issued: self.ring.pushed() + rejected,
            rejected,
            depth_max: (depth_max.load(Relaxed) as usize).min(capacity),
            capacity,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

/// Run by `cargo xtask test`, or with `RUSTFLAGS="--cfg loom"`.
#[cfg(all(test, loom))]
mod loom_tests;
