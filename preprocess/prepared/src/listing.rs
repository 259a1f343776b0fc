//! The list of a data set's samples, stored next to the prepared ones.

use serde::{Deserialize, Serialize};

/// The samples of a data set, prepared or not. With the list, the data set need not be opened again, which may mean
/// reading all of it.
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
