//! The samples of a phase as the engine that issues them knows them: its id and the library index of each.

use std::sync::atomic::Ordering::Relaxed;

use proctor_vocabulary::SampleIndex;

use crate::record::{
    segments::{Pair, Segments},
    turn::Turn,
};

/// Samples that an engine issued, by our sequence numbers.
///
/// The issuing thread writes an entry before it issues the sample's slot, which releases it; others read it only after
/// they have found the sample issued.
#[derive(Debug)]
pub(crate) struct EngineSamples {
    /// Id and index of each sample.
    samples: Segments<Pair>,
    /// Turns of two samples each, where first tokens are passed on.
    turns: Option<Segments<Pair>>,
}

impl EngineSamples {
    pub(crate) fn new(has_first_tokens: bool) -> Self {
        Self { samples: Segments::new(), turns: has_first_tokens.then(Segments::new) }
    }

    /// Prepares the entry of a sample. [issuing thread, before the issue]
    #[inline]
    pub(crate) fn make_ready(&self, sequence: u64) {
        self.samples.make_ready(sequence, 1);
        if let Some(turns) = &self.turns {
            turns.make_ready(sequence / 2, 1);
        }
    }

    /// Notes a sample. [issuing thread, before it issues the sample's slot]
    #[inline]
    pub(crate) fn put(&self, sequence: u64, id: u64, index: SampleIndex) {
        let [ids, indices] = self.samples.get_or_zero(sequence);
        ids.store(id, Relaxed);
        indices.store(index.0, Relaxed);
        if let Some(turns) = &self.turns {
            turns.get_or_zero(sequence / 2);
        }
    }

    /// Returns the engine's id of an issued sample. [any thread]
    #[inline]
    pub(crate) fn id(&self, sequence: u64) -> Option<u64> {
        self.samples.get(sequence).map(|[id, _]| id.load(Relaxed))
    }

    /// Returns the library index of an issued sample. [any thread]
    pub(crate) fn index(&self, sequence: u64) -> Option<SampleIndex> {
        self.samples.get(sequence).map(|[_, index]| SampleIndex(index.load(Relaxed)))
    }

    /// Returns the turn of an issued sample; `None` where no first tokens are passed on. [any thread]
    pub(crate) fn turn(&self, sequence: u64) -> Option<Turn<'_>> {
        let [even, odd] = self.turns.as_ref()?.get(sequence / 2)?;
        Some(Turn(if sequence.is_multiple_of(2) { even } else { odd }))
    }
}
