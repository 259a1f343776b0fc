//! The list of a data set's samples, kept beside those that are prepared.

use serde::{Deserialize, Serialize};

/// The samples of a data set, prepared or not: known from here, so that the data set, of which that may take a whole
/// reading, need not be opened again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Number of samples.
    pub sample_count: u64,
    /// Number of samples that the data set names but does not have; they are not among the samples.
    pub missing_count: u64,
    /// Names of the samples by their indices, or none if the data set gives them none.
    pub names: Vec<String>,
}
