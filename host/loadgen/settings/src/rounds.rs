//! Defines the rounds of MLPerf Inference as data: all differences between their load generators, one file each.
//!
//! To add a round, add a file here with a [`Round`], and its lines in this one. No other code asks which
//! round a run follows: it asks the round for the rule. Benchmarks, bounds and lengths of runs are not part
//! of it: they are settings of a test.

mod v0_5;
mod v0_7;
mod v5_0;
mod v5_1;
mod v6_0;
mod v6_1;

pub(super) const ROUNDS: &[&Round] = &[
    // The newest first.
    &v6_1::ROUND,
    &v6_0::ROUND,
    &v5_1::ROUND,
    &v5_0::ROUND,
    &v0_7::ROUND,
    &v0_5::ROUND,
];

/// Round of a run that names none: the last one whose text is followed here. The values of later rounds come
/// from their result checkers.
pub(super) const DEFAULT: &Round = &v5_0::ROUND;

/// The rules of one round for the load generator, as far as rounds differ.
#[derive(Debug, PartialEq)]
pub struct Round {
    /// Name of the round, which is the value of the setting `rules`.
    pub name: &'static str,
    /// True if MultiStream sends a query at each fixed interval, which is also its latency bound, and has the samples
    /// of a query for its metric. Otherwise a query follows when the last one is complete, and the metric is a
    /// latency.
    pub has_intervals: bool,
    /// True if early stopping judges if enough queries were seen.
    pub stops_early: bool,
    /// True if tokens are measured.
    pub has_tokens: bool,
    /// True if the logs name the round and its figures. LoadGen 6 does not name it.
    pub extends_logs: bool,
}
