//! Draws the issued samples of the library once more.

use proctor_vocabulary::SampleIndex;

use crate::plan::query_generator::QueryGenerator;

/// Returns the library indices of some samples, given by ascending sequence numbers. They are drawn once more, so that
/// they need not be stored.
pub(crate) fn library_indices(
    mut queries: QueryGenerator,
    sequences: impl Iterator<Item = u64>,
) -> Vec<SampleIndex> {
    let mut indices = Vec::new();
    let mut next_sequence = 0;
    for sequence in sequences {
        let found = loop {
            let skip = usize::try_from(sequence - next_sequence).expect("bounded by what is in memory");
            let mut passed = 0;
            let found = queries.samples().inspect(|_| passed += 1).nth(skip);
            next_sequence += passed;
            match found {
                Some(index) => break index,
                None => queries.next_query().expect("only what was generated was issued"),
            };
        };
        indices.push(found);
    }
    indices
}

#[cfg(test)]
mod tests {
    use proctor_loadgen_settings::{EffectiveSettings, TestSettings};
    use proctor_vocabulary::Scenario;

    use super::*;
    use crate::plan::phases::phases;

    #[test]
    fn library_indices_are_those_of_the_queries() {
        let request = TestSettings {
            scenario: Scenario::MultiStream,
            multi_stream_samples_per_query: 3,
            min_query_count: 50,
            min_duration_ms: 0,
            sample_index_rng_seed: 7,
            ..TestSettings::default()
        };
        let settings = EffectiveSettings::new(&request, 20, 20).unwrap().0;
        let queries = QueryGenerator::new(&settings, &phases(&settings)[0]);
        let mut all = Vec::new();
        let mut walk = queries.clone();
        while walk.next_query().is_some() {
            all.extend(walk.samples());
        }
        assert_eq!(all.len(), 150);
        assert_eq!(library_indices(queries.clone(), 0..150), all);
        let some = [0, 2, 3, 77, 148];
        let expected: Vec<_> = some.iter().map(|sequence| all[*sequence as usize]).collect();
        assert_eq!(library_indices(queries, some.into_iter()), expected);
    }
}
