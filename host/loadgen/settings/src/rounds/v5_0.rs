//! v5.0: the rules that LoadGen 6 follows.
//!
//! Source: MLPerf Inference rules v5.0, section 3 and appendix on early stopping; LoadGen 6.0.17.

use super::Round;

pub(super) const ROUND: Round =
    Round { name: "v5.0", has_intervals: false, stops_early: true, has_tokens: true, extends_logs: false };
