//! Gives batches to idle threads: the batcher behind a lock, and the wake-ups.
//!
//! # Protocol
//!
//! Everything that changes is in [`State`], under one lock. A thread without a batch takes one if the batcher gives
//! one; otherwise it waits in one of three ways, and looks again whenever a wait ends for any reason:
//!
//! - **It spins**, if it has just become idle or a deadline is very near, and no other thread spins. It gives the lock
//!   back and watches `signal`, which every event changes under the lock. So an event need not wake any thread while
//!   `spinning` is set: the spinner takes the lock after its spin, however that ended, and finds the event.
//! - **It sleeps until the deadline** of the batcher, if no other thread sleeps until that or an earlier one
//!   (`armed_ns`).
//! - **It sleeps** until it is woken.
//!
//! A spinner that was not heard of for [`SILENT_NS`] no longer counts: it has lost its processor, and does
//! not delay the others.
//!
//! A thread that changes the batcher so that another could act (a batch can start, or there is a deadline before
//! `armed_ns`) wakes one sleeper, unless a thread spins. A thread that takes a batch is such a changer, too: it is busy
//! now and no longer looks, so it passes the baton. A thread that ends its spin without a batch continues to sleep
//! under the same lock, having looked first. Hence at every instant at which work could start, some thread is awake and
//! about to look.
//!
//! An added instance counts from the moment at which its own thread first comes for a batch. A retired one
//! finds out when it comes for the next batch, and all sleepers are woken so that it does. It may be the one
//! that was woken for work, so it passes the baton before it leaves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use proctor_loadgen::{Clock, RealClock};
use proctor_vocabulary::QuerySample;

use crate::batcher::{Batch, Batcher, Busy};
use crate::knobs::KnobError;
use crate::roster::Roster;
use crate::sync::{Apart, AtomicU64, Condvar, Mutex, MutexGuard, lock};

/// Time that an idle thread spins before it sleeps, and before a deadline: about the cost of a sleep and a
/// wake-up, so that spinning costs at most twice as much as the better of the two.
pub(super) const SPIN_NS: u64 = 50_000;

/// Time of silence after which a spinner counts as having lost its processor to others.
pub(super) const SILENT_NS: u64 = 20_000;

/// The batcher, and the threads that wait for it.
pub(super) struct Dispatcher<C = RealClock> {
    clock: Arc<C>,
    state: Mutex<State>,
    work: Condvar,
    left: Condvar,
    /// Changes with every event. Only a hint to the spinner to look: the lock orders the data.
    signal: Apart<AtomicU64>,
    /// Last sign of life of the spinner, in ns.
    heard_ns: Apart<AtomicU64>,
}

struct State {
    batcher: Batcher,
    roster: Roster,
    stopping: bool,
    /// Number of threads that have not left.
    threads: usize,
    sleepers: usize,
    spinning: bool,
    /// Instant at which the earliest sleeper wakes by itself; `u64::MAX` if none does.
    armed_ns: u64,
}

impl State {
    /// Returns whether a sleeper should check the batcher now.
    fn needs_waking(&self, now_ns: u64, heard_ns: u64) -> bool {
        let acts_before_armed = |deadline_ns| deadline_ns <= now_ns || deadline_ns < self.armed_ns;
        self.sleepers > 0
            && (!self.spinning || now_ns.saturating_sub(heard_ns) > SILENT_NS)
            && self.batcher.next_deadline_ns(now_ns).is_some_and(acts_before_armed)
    }
}

impl<C: Clock> Dispatcher<C> {
    /// Creates a dispatcher for the instances that the batcher counts, and for at most `instances_max`.
    pub(super) fn new(batcher: Batcher, instances_max: usize, clock: Arc<C>) -> Self {
        let state = State {
            roster: Roster::new(batcher.instances(), instances_max),
            batcher,
            stopping: false,
            threads: 0,
            sleepers: 0,
            spinning: false,
            armed_ns: u64::MAX,
        };
        Self {
            clock,
            state: Mutex::new(state),
            work: Condvar::new(),
            left: Condvar::new(),
            signal: Apart(AtomicU64::new(0)),
            heard_ns: Apart(AtomicU64::new(0)),
        }
    }

    /// Puts samples into the queue, which have arrived now, or at `arrived_ns` if they were due earlier.
    /// After a stop nothing fits.
    pub(super) fn arrive(
        &self,
        samples: &[QuerySample],
        more_coming: bool,
        arrived_ns: Option<u64>,
    ) -> Result<(), Busy> {
        let now_ns = self.clock.now_ns();
        let mut state = lock(&self.state);
        if state.stopping {
            return Err(Busy { rejected: samples.len() });
        }
        let arrived_ns = arrived_ns.map_or(now_ns, |at_ns| at_ns.min(now_ns));
        let taken = state.batcher.arrive(arrived_ns, samples, more_coming);
        self.announce(state, now_ns);
        taken
    }

    pub(super) fn flush(&self) {
        let mut state = lock(&self.state);
        state.batcher.flush();
        self.announce(state, self.clock.now_ns());
    }

    /// Tells all threads to leave after their batch, and returns the samples that still waited.
    pub(super) fn stop(&self) -> Vec<QuerySample> {
        let mut state = lock(&self.state);
        state.stopping = true;
        self.signal.0.fetch_add(1, Ordering::Relaxed);
        self.work.notify_all();
        state.batcher.abandon_queue()
    }

    /// Returns whether it is to stop.
    pub(super) fn is_stopping(&self) -> bool {
        lock(&self.state).stopping
    }

    /// Returns the size of the batches that are formed from now on. Returns it as far as the bounds allow.
    pub(super) fn set_batch_size(&self, batch_size: usize) -> usize {
        let mut state = lock(&self.state);
        let batch_size = state.batcher.set_batch_size(batch_size);
        // What waits may be a full batch now.
        self.announce(state, self.clock.now_ns());
        batch_size
    }

    /// Gives a number to an instance that starts, and counts its thread.
    pub(super) fn add_instance(&self) -> Result<usize, KnobError> {
        let mut state = lock(&self.state);
        if state.stopping {
            return Err(KnobError::Ended);
        }
        let number = state.roster.add()?;
        state.threads += 1;
        Ok(number)
    }

    /// Tells the instance of this number, or the newest, to leave after its batch.
    pub(super) fn retire(&self, instance: Option<usize>) -> Result<usize, KnobError> {
        let mut state = lock(&self.state);
        let number = state.roster.retire(instance)?;
        self.signal.0.fetch_add(1, Ordering::Relaxed);
        self.work.notify_all();
        Ok(number)
    }

    pub(super) fn with_roster<T>(&self, read: impl FnOnce(&Roster) -> T) -> T {
        read(&lock(&self.state).roster)
    }

    /// Notes that an instance has entered its thread, and counts from now on. [instance thread]
    pub(super) fn count_in(&self, instance: usize) {
        let mut state = lock(&self.state);
        if state.roster.enter(instance) {
            state.batcher.add_instance();
        }
    }

    /// Puts the next batch for an instance into `batch`; false if there is no batch and its thread is to
    /// leave. `was_busy` says that it has finished one.
    ///
    /// [instance thread] Waits for a batch. Does not allocate.
    pub(super) fn next_batch(&self, instance: usize, was_busy: bool, batch: &mut Batch) -> bool {
        let mut state = lock(&self.state);
        if was_busy {
            state.batcher.instance_free();
        }
        let mut fresh = true;
        while !state.stopping {
            let now_ns = self.clock.now_ns();
            if state.roster.is_retired(instance) {
                state.batcher.remove_instance();
                self.wake_one_if_needed(state, now_ns);
                return false;
            }
            if state.batcher.take_batch(now_ns, batch).is_some() {
                self.wake_one_if_needed(state, now_ns);
                return true;
            }
            let deadline_ns = state.batcher.next_deadline_ns(now_ns).unwrap_or(u64::MAX);
            let spin_until_ns = now_ns + SPIN_NS;
            state = if !state.spinning && (fresh || deadline_ns <= spin_until_ns) {
                self.spin(state, deadline_ns.min(spin_until_ns))
            } else {
                self.sleep(state, now_ns, deadline_ns)
            };
            fresh = false;
        }
        false
    }

    /// Counts a started thread.
    pub(super) fn enter(&self) {
        lock(&self.state).threads += 1;
    }

    /// Notes that the thread of an instance ends, or did not start.
    pub(super) fn leave(&self, instance: usize) {
        let mut state = lock(&self.state);
        state.threads -= 1;
        state.roster.leave(instance);
        self.left.notify_all();
    }

    /// Waits until all threads have left, at most for `limit`.
    pub(super) fn wait_until_all_left(&self, limit: Duration) {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = self.clock.now_ns().saturating_add(limit_ns);
        let mut state = lock(&self.state);
        while state.threads > 0 {
            let left_ns = deadline_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 {
                return;
            }
            let waited = self.left.wait_timeout(state, Duration::from_nanos(left_ns));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn with_batcher<T>(&self, read: impl FnOnce(&Batcher) -> T) -> T {
        read(&lock(&self.state).batcher)
    }

    /// Lets the spinner look after an event, or wakes a sleeper.
    fn announce(&self, state: MutexGuard<'_, State>, now_ns: u64) {
        self.signal.0.fetch_add(1, Ordering::Relaxed);
        self.wake_one_if_needed(state, now_ns);
    }

    fn wake_one_if_needed(&self, state: MutexGuard<'_, State>, now_ns: u64) {
        let needed = state.needs_waking(now_ns, self.heard_ns.0.load(Ordering::Relaxed));
        drop(state);
        if needed {
            self.work.notify_one();
        }
    }

    /// Releases the lock until an event or `until_ns`.
    fn spin<'a>(&'a self, mut state: MutexGuard<'a, State>, until_ns: u64) -> MutexGuard<'a, State> {
        state.spinning = true;
        self.heard_ns.0.store(self.clock.now_ns(), Ordering::Relaxed);
        let seen = self.signal.0.load(Ordering::Relaxed);
        drop(state);
        self.look_out(seen, until_ns);
        let mut state = lock(&self.state);
        state.spinning = false;
        state
    }

    /// Waits until `signal` differs from `seen`, or until `until_ns`.
    ///
    /// Between looks it offers the processor to others: if the issuing thread happens to sit on the same one,
    /// the awaited event could not come before the spin ends. With no other thread to run this costs less
    /// than a microsecond; if it takes long, others want the processor, and the spin ends.
    #[cfg(not(loom))]
    fn look_out(&self, seen: u64, until_ns: u64) {
        const LOOKS_PER_YIELD: u32 = 64;
        let unchanged = || {
            std::hint::spin_loop();
            self.signal.0.load(Ordering::Relaxed) == seen
        };
        let mut heard_ns = self.heard_ns.0.load(Ordering::Relaxed);
        while (0..LOOKS_PER_YIELD).all(|_| unchanged()) {
            let now_ns = self.clock.now_ns();
            if now_ns >= until_ns || now_ns - heard_ns >= SILENT_NS {
                return;
            }
            heard_ns = now_ns;
            self.heard_ns.0.store(now_ns, Ordering::Relaxed);
            std::thread::yield_now();
        }
    }

    /// Returns at any moment: no time passes in a model, and a spin may end before its event comes.
    #[cfg(loom)]
    fn look_out(&self, _seen: u64, _until_ns: u64) {
        loom::thread::yield_now();
    }

    /// Gives the lock back until woken or shortly before `deadline_ns`.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        now_ns: u64,
        deadline_ns: u64,
    ) -> MutexGuard<'a, State> {
        state.sleepers += 1;
        let armed = deadline_ns < state.armed_ns;
        if armed {
            state.armed_ns = deadline_ns;
            // Not if a spin would not follow, because somebody else spins: then it is better to sleep to the end.
            let early_ns = if state.spinning { 0 } else { SPIN_NS };
            let sleep_ns = deadline_ns.saturating_sub(now_ns.saturating_add(early_ns)).max(1);
            let waited = self.work.wait_timeout(state, Duration::from_nanos(sleep_ns));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            // An earlier deadline may have been armed meanwhile; that one is not ours.
            if state.armed_ns == deadline_ns {
                state.armed_ns = u64::MAX;
            }
        } else {
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.sleepers -= 1;
        state
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-scheduler --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;
    use proctor_loadgen::VirtualClock;
    use proctor_vocabulary::{ResponseId, SampleIndex};

    use super::*;
    use crate::config::SchedulerConfig;

    type Timeless = Dispatcher<VirtualClock>;

    /// Two samples arrive, and two instances take them in the given way, one at a time, and leave when both are taken.
    /// A lost wake-up would be a deadlock, which loom reports.
    fn two_instances_take_two_samples(next_batch: fn(&Timeless, usize, bool, &mut Batch) -> bool) {
        let config = SchedulerConfig {
            policy: "fixed".to_owned(),
            batch_size: 1,
            instances: 2,
            queue_capacity: 2,
            ..SchedulerConfig::default()
        };
        // Leaked, because a deadlock unwinds through threads that still hold it.
        let dispatcher: &'static Timeless =
            Box::leak(Box::new(Dispatcher::new(Batcher::new(&config).unwrap(), 2, Arc::default())));
        let taken_count: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let instance = move |number| {
            let (mut batch, mut was_busy) = (Batch::with_capacity(1, false), false);
            while next_batch(dispatcher, number, was_busy, &mut batch) {
                if taken_count.fetch_add(1, Ordering::Relaxed) == 1 {
                    assert!(dispatcher.stop().is_empty());
                }
                was_busy = true;
            }
        };
        let instances = [0, 1].map(|number| thread::spawn(move || instance(number)));
        for id in 1..=2 {
            let sample = QuerySample { id: ResponseId(id), index: SampleIndex(id) };
            dispatcher.arrive(&[sample], false, None).unwrap();
        }
        for instance in instances {
            instance.join().unwrap();
        }
        assert_eq!(taken_count.load(Ordering::Relaxed), 2);
    }

    fn model(test: fn()) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(test);
    }

    #[test]
    fn loom_no_sample_waits_while_an_instance_sleeps() {
        model(|| two_instances_take_two_samples(Dispatcher::next_batch));
    }

    /// The twin that goes to sleep after its spin without another look at the queue. It must fail, or the model above
    /// proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_the_sample_that_arrived_at_the_end_of_a_spin() {
        model(|| {
            two_instances_take_two_samples(|dispatcher, _, was_busy, batch| {
                let mut state = lock(&dispatcher.state);
                if was_busy {
                    state.batcher.instance_free();
                }
                while !state.stopping {
                    if state.batcher.take_batch(0, batch).is_some() {
                        dispatcher.wake_one_if_needed(state, 0);
                        return true;
                    }
                    if !state.spinning {
                        state = dispatcher.spin(state, SPIN_NS);
                    }
                    if !state.stopping {
                        state = dispatcher.sleep(state, 0, u64::MAX);
                    }
                }
                false
            });
        });
    }

    /// One of two instances is retired just before a sample arrives, and each comes for batches in the given way. One
    /// of them takes it.
    fn one_is_retired_before_a_sample_arrives(next_batch: fn(&Timeless, usize, bool, &mut Batch) -> bool) {
        let config = SchedulerConfig { instances: 2, queue_capacity: 1, ..SchedulerConfig::default() };
        let dispatcher: &'static Timeless =
            Box::leak(Box::new(Dispatcher::new(Batcher::new(&config).unwrap(), 2, Arc::default())));
        let instance = move |number| {
            let (mut batch, mut was_busy) = (Batch::with_capacity(1, false), false);
            while next_batch(dispatcher, number, was_busy, &mut batch) {
                assert!(dispatcher.stop().is_empty());
                was_busy = true;
            }
        };
        let instances = [0, 1].map(|number| thread::spawn(move || instance(number)));
        assert_eq!(dispatcher.retire(None).unwrap(), 1);
        let sample = QuerySample { id: ResponseId(1), index: SampleIndex(1) };
        dispatcher.arrive(&[sample], false, None).unwrap();
        for instance in instances {
            instance.join().unwrap();
        }
        assert_eq!(dispatcher.with_batcher(|batcher| (batcher.batches(), batcher.waiting())), (1, 0));
    }

    #[test]
    fn loom_an_instance_that_is_retired_leaves_its_sample_to_the_other() {
        model(|| one_is_retired_before_a_sample_arrives(Dispatcher::next_batch));
    }

    /// The twin that leaves without passing the baton. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_the_sample_that_a_retired_instance_was_to_look_for() {
        model(|| {
            one_is_retired_before_a_sample_arrives(|dispatcher, instance, was_busy, batch| {
                let mut state = lock(&dispatcher.state);
                if was_busy {
                    state.batcher.instance_free();
                }
                while !state.stopping && !state.roster.is_retired(instance) {
                    if state.batcher.take_batch(0, batch).is_some() {
                        dispatcher.wake_one_if_needed(state, 0);
                        return true;
                    }
                    state = if state.spinning {
                        dispatcher.sleep(state, 0, u64::MAX)
                    } else {
                        dispatcher.spin(state, SPIN_NS)
                    };
                }
                false
            });
        });
    }
}
