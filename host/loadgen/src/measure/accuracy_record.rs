//! The logged responses.

use std::collections::HashMap;

use proctor_vocabulary::SampleIndex;

use crate::{
    measure::sample_indices::sample_indices, plan::query_generator::QueryGenerator, record::phase::Phase,
};

/// A logged response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccuracyRecord {
    /// Number of the sample in its test (`seq_id`).
    pub sample_id: u64,
    /// Index of the sample in the library (`qsl_idx`).
    pub index: SampleIndex,
    /// The response as received.
    pub data: Vec<u8>,
    /// The tokens, in a token run.
    pub tokens: Option<AccuracyTokens>,
}

/// The part of a record that only a token run logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccuracyTokens {
    /// Data of the first token, empty if there was none (`token_data`). `None` in Offline.
    pub first_token_data: Option<Vec<u8>>,
    /// Number of output tokens (`token_count`).
    pub token_count: u64,
}

/// Returns the logged responses of a phase that is over, by sample number. `queries` is the generator as it was before
/// the first query.
pub(crate) fn accuracy_records(phase: &Phase, queries: &QueryGenerator) -> Vec<AccuracyRecord> {
    let responses = phase.responses.take();
    let sequences = responses.iter().map(|response| response.sequence);
    let indices = sample_indices(phase, queries, sequences);
    let first_tokens = phase.tokens.iter().flat_map(|tokens| tokens.data.take());
    let mut first_tokens: HashMap<_, _> = first_tokens.map(|token| (token.sequence, token.data)).collect();
    let records = responses.into_iter().zip(indices).map(|(response, index)| AccuracyRecord {
        sample_id: phase.first_sample_id + response.sequence,
        index,
        data: response.data,
        tokens: phase.tokens.as_ref().map(|tokens| AccuracyTokens {
            first_token_data: tokens
                .has_first_tokens()
                .then(|| first_tokens.remove(&response.sequence).unwrap_or_default()),
            token_count: tokens.token_count(response.sequence),
        }),
    });
    records.collect()
}
