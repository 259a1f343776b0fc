//! The samples of a phase as the engine that issues them knows them: its id and the library index of each.

use std::sync::atomic::Ordering::Relaxed;

use proctor_vocabulary::SampleIndex;

use crate::record::segments::{Pair, Segments};

/// Samples that an engine issued, by our sequence numbers.
///
/// The issuing thread writes an entry before it issues the sample's slot, which releases it; others read it only after
/// they have found the sample issued.
#[derive(Debug)]
pub(crate) struct EngineSamples(Segments<Pair>);

impl EngineSamples {
    pub(crate) fn new() -> Self {
        Self(Segments::new())
    }

    /// Prepares the entry of a sample. [issuing thread, before the issue]
    #[inline]
    pub(crate) fn make_ready(&self, sequence: u64) {
        self.0.make_ready(sequence, 1);
    }

    /// Notes a sample. [issuing thread, before it issues the sample's slot]
    #[inline]
    pub(crate) fn put(&self, sequence: u64, id: u64, index: SampleIndex) {
        let [ids, indices] = self.0.get_or_zero(sequence);
        ids.store(id, Relaxed);
        indices.store(index.0, Relaxed);
    }

    /// Returns the engine's id of an issued sample. [any thread]
    #[inline]
    pub(crate) fn id(&self, sequence: u64) -> Option<u64> {
        self.0.get(sequence).map(|[id, _]| id.load(Relaxed))
    }

    /// Returns the library index of an issued sample. [any thread]
    pub(crate) fn index(&self, sequence: u64) -> Option<SampleIndex> {
        self.0.get(sequence).map(|[_, index]| SampleIndex(index.load(Relaxed)))
    }
}
