//! Time-independent phases concurrent with time-dependent ones: which thread computes which input product.
//!
//! The input products of later steps wait for nothing, so other threads can compute them while the first one runs the
//! steps of earlier ones. The sequence is cut into parts. A thread that has time claims the next part, computes its
//! input product and says so; the thread that runs the steps does the same whenever its next part is not there yet, so
//! that the work balances itself whatever the two phases cost.

use std::{ops::Range, sync::atomic::Ordering};

use crate::sync::{Apart, AtomicU64};

/// The parts of one call.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    parts: Vec<Part>,
    /// Number of parts that have been claimed, or more.
    next: Apart<AtomicU64>,
    /// For each part, whether its input products are finished; may be longer than the list of parts.
    done: Vec<AtomicU64>,
}

/// Some steps in which the same rows are active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) steps: Range<usize>,
    /// Number of rows that have these steps.
    pub(super) active: usize,
    /// Number of rows of gates before this part's.
    pub(super) first_row: usize,
}

impl Pipeline {
    /// Cuts a call into parts of `chunk` steps. `lengths` are the lengths of its sequences, the longest first. Returns
    /// the number of rows of gates.
    pub(super) fn plan(&mut self, lengths: &[usize], chunk: usize) -> usize {
        self.parts.clear();
        let (mut first, mut active, mut rows) = (0, lengths.len(), 0);
        while first < lengths.first().copied().unwrap_or(0) {
            while lengths[active - 1] <= first {
                active -= 1;
            }
            // A part ends where a sequence ends: its next rows would lie outside the tensor.
            let steps = first..lengths[active - 1].min(first + chunk);
            first = steps.end;
            self.parts.push(Part { steps: steps.clone(), active, first_row: rows });
            rows += steps.len() * active;
        }
        let more = self.parts.len().saturating_sub(self.done.len());
        self.done.extend((0..more).map(|_| AtomicU64::new(0)));
        // Relaxed: the start of the parallel region comes between this and its threads.
        self.next.0.store(0, Ordering::Relaxed);
        self.done.iter().for_each(|done| done.store(0, Ordering::Relaxed));
        rows
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the next part that no thread has claimed: the caller has to compute it and to [`finish`](Self::finish)
    /// it.
    pub(super) fn claim(&self) -> Option<usize> {
        // A waiting thread asks again and again: loading leaves the cache line where it is, adding would take it
        // away.
        if self.next.0.load(Ordering::Relaxed) as usize >= self.parts.len() {
            return None;
        }
        let claimed = self.next.0.fetch_add(1, Ordering::Relaxed) as usize;
        (claimed < self.parts.len()).then_some(claimed)
    }

    /// Marks a part's products as finished.
    pub(super) fn finish(&self, part: usize) {
        self.done[part].store(1, Ordering::Release);
    }

    /// Returns whether a part's products are finished; if so, they can be read.
    pub(super) fn is_done(&self, part: usize) -> bool {
        self.done[part].load(Ordering::Acquire) > 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_sequences_end() {
        let mut pipeline = Pipeline::default();
        assert_eq!(pipeline.plan(&[7, 5, 5, 0], 3), 17);
        let part = |steps, active, first_row| Part { steps, active, first_row };
        assert_eq!(pipeline.parts(), [part(0..3, 3, 0), part(3..5, 3, 9), part(5..7, 1, 15)]);
        assert_eq!([0; 4].map(|_| pipeline.claim()), [Some(0), Some(1), Some(2), None]);
        pipeline.finish(1);
        assert_eq!([0, 1, 2].map(|part| pipeline.is_done(part)), [false, true, false]);
        assert_eq!(pipeline.plan(&[4], 4), 4);
        assert_eq!((pipeline.claim(), pipeline.claim(), pipeline.is_done(0)), (Some(0), None, false));
        assert_eq!(pipeline.plan(&[], 4), 0);
        assert_eq!(pipeline.claim(), None);
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-rnn-engine --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;

    /// Two threads share two parts; the first uses each of them in turn.
    fn share(finish: fn(&Pipeline, usize)) {
        let mut pipeline = Pipeline::default();
        pipeline.plan(&[2], 1);
        let pipeline: &'static Pipeline = Box::leak(Box::new(pipeline));
        let products: &'static [AtomicU64; 2] = Box::leak(Box::new([0; 2].map(AtomicU64::new)));
        let compute = move |part: usize| {
            assert_eq!(products[part].fetch_add(1, Ordering::Relaxed), 0, "a part is computed twice");
            finish(pipeline, part);
        };
        let helper = thread::spawn(move || {
            while let Some(part) = pipeline.claim() {
                compute(part);
            }
        });
        for part in 0..2 {
            while !pipeline.is_done(part) {
                match pipeline.claim() {
                    Some(claimed) => compute(claimed),
                    None => crate::sync::spin(0),
                }
            }
            assert!(products[part].load(Ordering::Relaxed) == 1, "a product is not seen");
        }
        helper.join().unwrap();
    }

    #[test]
    fn loom_every_part_is_computed_once_and_seen_by_who_needs_it() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| share(|pipeline, part| pipeline.finish(part)));
    }

    /// The twin that does not release. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a product is not seen")]
    fn loom_finds_a_part_that_is_finished_without_releasing() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| share(|pipeline, part| pipeline.done[part].store(1, Ordering::Relaxed)));
    }
}
