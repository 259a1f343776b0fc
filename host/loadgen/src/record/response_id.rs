//! Response ids: which phase, and which of its samples.
//!
//! A response id is the generation of the phase (from 1) in the upper 16 bits and the sequence number of the sample
//! within the phase in the lower 48. So an id is never 0, an id of an earlier phase is recognised, and none is an
//! address.

use proctor_vocabulary::ResponseId;

const SEQUENCE_BITS: u32 = 48;

/// Maximum number of phases of a test and before it: their generations have 16 bits.
pub(crate) const MAX_PHASE_COUNT: u64 = (1 << 16) - 1;

/// Returns the id of the sample with this sequence number in the phase of this generation.
pub(crate) fn response_id(generation: u64, sequence: u64) -> ResponseId {
    debug_assert!((1..=MAX_PHASE_COUNT).contains(&generation), "generation {generation} has no ids");
    debug_assert!(sequence < 1 << SEQUENCE_BITS, "sample {sequence} has no id");
    ResponseId(generation << SEQUENCE_BITS | sequence)
}

/// Returns the generation of an id's phase, and the sequence number of its sample.
pub(crate) fn split(id: ResponseId) -> (u64, u64) {
    (id.0 >> SEQUENCE_BITS, id.0 & ((1 << SEQUENCE_BITS) - 1))
}
