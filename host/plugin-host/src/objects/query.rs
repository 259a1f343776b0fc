//! Queries in the form of the ABI.

use std::{mem::offset_of, slice};

use proctor_plugin_api::{
    abi::{ProctorQuery, ProctorQuerySample},
    vocabulary::{QueryPart, QuerySample},
};

/// Returns a query in the form of the ABI, which borrows the samples.
pub(super) fn raw_query(part: QueryPart<'_>) -> ProctorQuery {
    let samples = as_query(part.samples);
    ProctorQuery {
        size: size_of::<ProctorQuery>(),
        samples: samples.as_ptr(),
        sample_count: samples.len(),
        sample_stride: size_of::<ProctorQuerySample>(),
        sample_offset: part.offset,
        total_sample_count: part.total,
    }
}

/// Returns the samples in the form of the ABI, without a copy.
fn as_query(samples: &[QuerySample]) -> &[ProctorQuerySample] {
    const {
        assert!(size_of::<QuerySample>() == size_of::<ProctorQuerySample>());
        assert!(align_of::<QuerySample>() == align_of::<ProctorQuerySample>());
        assert!(offset_of!(QuerySample, id) == offset_of!(ProctorQuerySample, id));
        assert!(offset_of!(QuerySample, index) == offset_of!(ProctorQuerySample, index));
    }
    // SAFETY: both are `repr(C)` and two u64 at the same offsets, as was just asserted, the ids being transparent.
    // Every bit pattern is valid, and the result borrows what `samples` borrows.
    unsafe { slice::from_raw_parts(samples.as_ptr().cast(), samples.len()) }
}
