//! A whole query, for a plugin that takes them.

use std::mem::offset_of;

use proctor_vocabulary::{QuerySample, ResponseId, SampleIndex};

use super::error::PluginError;
use crate::{
    abi,
    versioned::{Elements, Versioned, with},
};

/// A query, or a part of a large one, for one call of [`Model::issue`](crate::Model::issue).
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    samples: Elements<'a, abi::ProctorQuerySample>,
    offset: u64,
    total: u64,
}

impl<'a> From<&'a [QuerySample]> for Query<'a> {
    /// Creates a query of these samples, for unit tests of a plugin.
    fn from(samples: &'a [QuerySample]) -> Self {
        const {
            assert!(size_of::<QuerySample>() == abi::ProctorQuerySample::SIZE_FIRST);
            assert!(align_of::<QuerySample>() == align_of::<abi::ProctorQuerySample>());
            assert!(offset_of!(QuerySample, id) == offset_of!(abi::ProctorQuerySample, id));
            assert!(offset_of!(QuerySample, index) == offset_of!(abi::ProctorQuerySample, index));
        }
        // Both are `repr(C)` and two u64 at the same offsets, the ids being transparent.
        let total = samples.len() as u64;
        let samples = Elements::new(samples.as_ptr().cast(), samples.len(), size_of::<QuerySample>());
        Self { samples: samples.expect("a slice is an array"), offset: 0, total }
    }
}

impl<'a> Query<'a> {
    /// # Safety
    /// `raw` is null or points to a query that is valid for `'a`.
    #[inline]
    pub(super) unsafe fn read(raw: *const abi::ProctorQuery) -> Result<Self, PluginError> {
        let query = |raw: &abi::ProctorQuery| {
            let samples = Elements::new(raw.samples, raw.sample_count, raw.sample_stride)?;
            Ok(Self { samples, offset: raw.sample_offset, total: raw.total_sample_count })
        };
        // SAFETY: `raw` is null or a query that the host keeps for `'a`.
        unsafe { with(raw, query) }.flatten().map_err(PluginError::invalid_argument)
    }

    /// Returns the samples of the query that were passed before, if it comes in parts; else 0.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Returns the samples of the whole query: as many as there are here, unless it comes in parts.
    #[must_use]
    pub fn total(self) -> u64 {
        self.total
    }

    /// Returns the number of samples; at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a query has samples")]
    pub fn len(self) -> usize {
        self.samples.len()
    }

    /// Returns the samples in their order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = QuerySample> + use<'a> {
        // SAFETY: the host keeps the array for `'a`, as `read` was told, and the iterator does not outlive it.
        let samples = unsafe { self.samples.iter() };
        samples.map(|sample| QuerySample { id: ResponseId(sample.id), index: SampleIndex(sample.index) })
    }
}
