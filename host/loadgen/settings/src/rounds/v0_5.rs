//! v0.5, the first round.
//!
//! Source: *MLPerf Inference Benchmark*, the paper of that round: sections 4.5 and 4.6.

use super::Round;

pub(super) const ROUND: Round =
    Round { name: "v0.5", has_intervals: true, stops_early: false, has_tokens: false, extends_logs: true };
