//! The logged responses.

use proctor_vocabulary::SampleIndex;

/// A logged response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccuracyRecord {
    /// Number of the sample in its test (`seq_id`).
    pub sample_id: u64,
    /// Which sample of the library it was (`qsl_idx`).
    pub index: SampleIndex,
    /// The response as it came.
    pub data: Vec<u8>,
    /// The tokens, in a token run.
    pub tokens: Option<AccuracyTokens>,
}

/// The part of a record that only a token run logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccuracyTokens {
    /// The data of the first token, empty if there was none (`token_data`). `None` in Offline.
    pub first_token_data: Option<Vec<u8>>,
    /// Number of output tokens (`token_count`).
    pub token_count: u64,
}
