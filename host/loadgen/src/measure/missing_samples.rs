//! Samples that were never completed.

use proctor_vocabulary::SampleIndex;

use crate::{
    measure::sample_indices::sample_indices,
    plan::query_generator::QueryGenerator,
    record::{phase::Phase, violations::list_first},
};

/// Maximum number of missing samples that are kept by name.
const KEPT: usize = 8;

/// Samples that were issued and not completed before the phase was abandoned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSamples {
    /// Number of missing samples.
    pub count: u64,
    /// The first few: number in the logs (`seq_id`), and library index.
    pub first: Vec<(u64, SampleIndex)>,
}

impl MissingSamples {
    /// Returns the samples with these sequence numbers, if there are any. `queries` is the generator as it was before
    /// the first query of the phase.
    pub(crate) fn of(phase: &Phase, queries: &QueryGenerator, sequences: &[u64]) -> Option<Self> {
        let named = || sequences.iter().copied().take(KEPT);
        let ids = named().map(|sequence| phase.first_sample_id + sequence);
        let first = ids.zip(sample_indices(phase, queries, named())).collect();
        (!sequences.is_empty()).then_some(Self { count: sequences.len() as u64, first })
    }
}

impl std::fmt::Display for MissingSamples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.first.iter().map(|(id, index)| format!("sample {id} (library index {index})"));
        let noun = if self.count == 1 { "sample was" } else { "samples were" };
        write!(f, "{} {noun} never completed: {}", self.count, list_first(names, self.count))
    }
}
