//! v0.7, the second round.
//!
//! Source: MLPerf Inference rules v0.7: the table of scenarios, and the FAQ on the metric of Server.

use super::{Round, v0_5};

/// Only another name for the load generator.
pub(super) const ROUND: Round = Round { name: "v0.7", ..v0_5::ROUND };
