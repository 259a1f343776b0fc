//! Samples that were never completed.

use proctor_vocabulary::SampleIndex;

use crate::record::violations::list_first;

/// Samples that were issued and not completed before the phase was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSamples {
    /// How many.
    pub count: u64,
    /// The first few: number in the logs (`seq_id`), and library index.
    pub first: Vec<(u64, SampleIndex)>,
}

impl std::fmt::Display for MissingSamples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.first.iter().map(|(id, index)| format!("sample {id} (library index {index})"));
        let noun = if self.count == 1 { "sample was" } else { "samples were" };
        write!(f, "{} {noun} never completed: {}", self.count, list_first(names, self.count))
    }
}
