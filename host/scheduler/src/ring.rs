//! A bounded queue of samples without a lock.
//!
//! # Protocol
//!
//! A position counts the samples that were ever pushed, or popped. The cell of a position is
//! `position % capacity`, and `turn` says whose it is: `2 * lap` for the push of this lap, `2 * lap + 1` for
//! its pop. A push takes a position by a compare-exchange of `tail`, writes the sample, and hands the cell on
//! by a store of `turn` (release), which the pop reads before the sample (acquire). The pop takes its
//! position by a compare-exchange of `head` and hands the cell on in the same way, to the push of the next
//! lap. So a sample is popped once, and in order of the positions.
//!
//! A thread that stops between its compare-exchange and its store holds up only the threads behind it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use proctor_vocabulary::{QuerySample, ResponseId, SampleIndex};

use crate::sync::{Apart, AtomicU64, Cost, note};

/// A bounded queue of samples, first in, first out, that any number of threads push to and pop from. No call waits for
/// another, and none allocates.
#[derive(Debug)]
pub struct SampleRing {
    cells: Box<[Cell]>,
    tail: Apart<AtomicU64>,
    head: Apart<AtomicU64>,
}

#[derive(Debug)]
struct Cell {
    turn: AtomicU64,
    id: AtomicU64,
    index: AtomicU64,
}

impl SampleRing {
    /// Creates an empty queue with room for `capacity` samples, all of it written once, so that no page fault comes
    /// later.
    ///
    /// # Panics
    /// If the capacity is 0.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue without room");
        let cell = |_| Cell { turn: AtomicU64::new(0), id: AtomicU64::new(0), index: AtomicU64::new(0) };
        Self {
            cells: (0..capacity).map(cell).collect(),
            tail: Apart(AtomicU64::new(0)),
            head: Apart(AtomicU64::new(0)),
        }
    }

    /// Adds a sample, or returns false if it does not fit. [any thread]
    #[inline]
    pub fn push(&self, sample: QuerySample) -> bool {
        let mut position = self.tail.0.load(Relaxed);
        loop {
            let (cell, free) = self.cell(position);
            let turn = cell.turn.load(Acquire);
            if turn == free {
                note(Cost::Exchange);
                match self.tail.0.compare_exchange_weak(position, position + 1, AcqRel, Relaxed) {
                    Ok(_) => {
                        cell.id.store(sample.id.0, Relaxed);
                        cell.index.store(sample.index.0, Relaxed);
                        cell.turn.store(free + 1, Release);
                        note(Cost::Write);
                        return true;
                    }
                    Err(now) => position = now,
                }
            } else if turn < free {
                // The sample of the lap before is still there, or its pop is not over.
                return false;
            } else {
                position = self.tail.0.load(Relaxed);
            }
        }
    }

    /// Takes the oldest sample, if there is one. [any thread]
    #[inline]
    pub fn pop(&self) -> Option<QuerySample> {
        let mut position = self.head.0.load(Relaxed);
        loop {
            let (cell, free) = self.cell(position);
            let turn = cell.turn.load(Acquire);
            if turn == free + 1 {
                note(Cost::Exchange);
                match self.head.0.compare_exchange_weak(position, position + 1, AcqRel, Relaxed) {
                    Ok(_) => {
                        let id = ResponseId(cell.id.load(Relaxed));
                        let index = SampleIndex(cell.index.load(Relaxed));
                        cell.turn.store(free + 2, Release);
                        note(Cost::Write);
                        return Some(QuerySample { id, index });
                    }
                    Err(now) => position = now,
                }
            } else if turn <= free {
                return None;
            } else {
                position = self.head.0.load(Relaxed);
            }
        }
    }

    /// Returns whether there is a sample to pop. A hint: another thread may be faster.
    #[inline]
    #[must_use]
    pub fn has_some(&self) -> bool {
        let (cell, free) = self.cell(self.head.0.load(Relaxed));
        cell.turn.load(Acquire) > free
    }

    /// Returns the number of samples that were ever pushed.
    #[must_use]
    pub fn pushed(&self) -> u64 {
        self.tail.0.load(Acquire)
    }

    /// Returns the number of samples that were ever popped.
    #[must_use]
    pub fn popped(&self) -> u64 {
        self.head.0.load(Acquire)
    }

    /// Returns the capacity, in samples.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Returns the cell of a position, and its `turn` while it waits for the push of that position.
    #[inline]
    fn cell(&self, position: u64) -> (&Cell, u64) {
        let capacity = self.cells.len() as u64;
        let (lap, place) = (position / capacity, position % capacity);
        (&self.cells[place as usize], 2 * lap)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sample(id: u64) -> QuerySample {
        QuerySample { id: ResponseId(id), index: SampleIndex(id + 1) }
    }

    #[test]
    fn samples_leave_in_order_lap_after_lap_and_none_above_the_capacity_gets_in() {
        for capacity in 1..5 {
            let ring = SampleRing::new(capacity);
            let (mut pushed, mut popped) = (0, 0);
            for count in [capacity, 1, capacity, 0, 3, capacity] {
                for _ in 0..count {
                    let fits = (pushed - popped) < capacity as u64;
                    assert_eq!(ring.push(sample(pushed)), fits);
                    pushed += u64::from(fits);
                }
                for _ in 0..count.div_ceil(2) {
                    let is_there = popped < pushed;
                    assert_eq!(ring.pop(), is_there.then(|| sample(popped)));
                    popped += u64::from(is_there);
                }
            }
            assert_eq!((ring.pushed(), ring.popped()), (pushed, popped));
            assert_eq!(ring.has_some(), pushed > popped);
        }
    }
}

/// Run by `cargo xtask test`, or with `RUSTFLAGS="--cfg loom"`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;

    type Push = fn(&SampleRing, QuerySample) -> bool;

    /// Two threads push one sample each in the given way, and two pop until both are taken.
    fn two_push_and_two_pop(push: Push) {
        let ring: &'static SampleRing = Box::leak(Box::new(SampleRing::new(2)));
        let pushing = [1, 2].map(|id| {
            thread::spawn(move || {
                assert!(push(ring, QuerySample { id: ResponseId(id), index: SampleIndex(id) }))
            })
        });
        let popping = thread::spawn(move || ring.pop());
        let mut taken: Vec<_> = ring.pop().into_iter().collect();
        for thread in pushing {
            thread.join().unwrap();
        }
        taken.extend(popping.join().unwrap());
        taken.extend(std::iter::from_fn(|| ring.pop()));
        let mut ids: Vec<_> = taken.iter().map(|sample| (sample.id.0, sample.index.0)).collect();
        ids.sort_unstable();
        assert!(ids == [(1, 1), (2, 2)], "not each sample once");
    }

    fn model(test: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(test);
    }

    #[test]
    fn loom_each_sample_leaves_the_ring_once() {
        model(|| two_push_and_two_pop(SampleRing::push));
    }

    /// Twin that hands the cell on before the sample is in it. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "not each sample once")]
    fn loom_finds_a_cell_that_is_handed_on_too_early() {
        model(|| {
            two_push_and_two_pop(|ring, sample| {
                let position = ring.tail.0.fetch_add(1, AcqRel);
                let (cell, free) = ring.cell(position);
                cell.turn.store(free + 1, Release);
                cell.id.store(sample.id.0, Relaxed);
                cell.index.store(sample.index.0, Relaxed);
                true
            });
        });
    }
}
