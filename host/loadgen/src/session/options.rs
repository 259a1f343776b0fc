//! Limits of a load generator, and its caller's additions to the settings.

use proctor_loadgen_settings::config_file::LogError;

use crate::record::tokens::TokenCapacity;

/// Settings that LoadGen does not have: the limits of this load generator itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadGenOptions {
    /// Time without any completion after which a phase that waits for one is abandoned, in ms. A stall is noticed after
    /// one to two times this.
    pub watchdog_ms: u64,
    /// Memory for the responses that a performance phase logs, in bytes, allocated before its start if any are to be
    /// logged. Each response takes 16 bytes more than its data. A token run, except in Offline, allocates as much again
    /// for the data of first tokens.
    pub response_arena_bytes: u64,
    /// Phases of earlier tests of the same system, so that a response that belongs to one of them is recognised as
    /// late instead of completing a sample of this test.
    pub earlier_phase_count: u64,
    /// Content of an `audit.config`, which changes the settings at the start of the test. LoadGen looks for such a file
    /// in the current folder; here the caller does.
    pub audit_config: Option<String>,
    /// Errors of the configuration files that made the settings: they open the detail log and count as errors. The
    /// caller decides whether to run all the same, as LoadGen does.
    pub config_errors: Vec<LogError>,
    /// Keep data for the trace: times of issue calls, all of a short phase; of a long one at most 1,536 of each issuing
    /// thread, among them the latest and the longest of those that were timed. LoadGen's trace has everything, and
    /// costs several times what is measured.
    pub enable_trace: bool,
    /// The tokens that the data of a response have room for; `None` if the data do not tell. In token runs a sample
    /// that is completed with more of them is a violation.
    pub token_capacity: Option<TokenCapacity>,
}

impl Default for LoadGenOptions {
    fn default() -> Self {
        Self {
            watchdog_ms: 60_000,
            response_arena_bytes: 16 << 20,
            earlier_phase_count: 0,
            audit_config: None,
            config_errors: Vec::new(),
            enable_trace: true,
            token_capacity: None,
        }
    }
}
