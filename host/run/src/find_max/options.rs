//! The options of a search.

use std::path::PathBuf;

/// The options of a search; what is searched, and where it begins, is in the settings.
#[derive(Debug, Clone)]
pub struct FindMaxOptions {
    /// Server: how near to the limit, as a fraction of the rate.
    pub resolution: f64,
    /// Lowest rate, or fewest samples of a query, to look at.
    pub from: Option<f64>,
    /// Highest rate, or most samples of a query, to look at.
    pub to: Option<f64>,
    /// Full runs that have to be VALID at the result; those of the rules if it is `None`.
    pub confirm_runs: Option<u32>,
    /// MultiStream: the latency that a query may take, in ns.
    pub latency_bound_ns: Option<u64>,
    /// Share of samples that may fail, from 0 to below 1.
    pub max_error_share: f64,
    /// Folder of an interrupted search to go on with.
    pub resume: Option<PathBuf>,
}

impl FindMaxOptions {
    /// How near to the limit a search goes if the user does not say.
    pub const RESOLUTION: f64 = 0.01;
}

impl Default for FindMaxOptions {
    fn default() -> Self {
        Self {
            resolution: Self::RESOLUTION,
            from: None,
            to: None,
            confirm_runs: None,
            latency_bound_ns: None,
            max_error_share: 0.0,
            resume: None,
        }
    }
}
