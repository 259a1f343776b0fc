//! The library indices of issued samples.

use proctor_vocabulary::SampleIndex;

use crate::{
    plan::{library_indices::library_indices, query_generator::QueryGenerator},
    record::phase::Phase,
};

/// Returns the library indices of some issued samples, given by ascending sequence numbers: those that an engine
/// issued, or else those that `queries` draws, the generator as it was before the first query of the phase.
pub(crate) fn sample_indices(
    phase: &Phase,
    queries: &QueryGenerator,
    sequences: impl Iterator<Item = u64>,
) -> Vec<SampleIndex> {
    match &phase.engine_samples {
        Some(samples) => sequences.filter_map(|sequence| samples.index(sequence)).collect(),
        None => library_indices(queries.clone(), sequences),
    }
}
