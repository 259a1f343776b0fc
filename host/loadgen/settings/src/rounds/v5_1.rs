//! v5.1.
//!
//! Source: the result checker of v5.1, which checks a log exactly as the checker of v5.0 does; LoadGen 6.0.17.

use super::{Round, v5_0};

/// For the load generator nothing but another name. Its scenario Interactive is Server with other bounds of tokens.
pub(super) const ROUND: Round = Round { name: "v5.1", ..v5_0::ROUND };
