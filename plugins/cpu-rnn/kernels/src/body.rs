//! The kernels themselves, generic over the vector and the format of weights.
//!
//! Every function is `#[inline(always)]` and becomes code only inside the functions of [`crate::table`], which have the
//! target features: the kernels, and the functions that they [share](shared). For the same reason there are no closures
//! here: a closure is its own function, without them.

#![allow(
    clippy::needless_range_loop,
    clippy::manual_map,
    reason = "tiles are arrays indexed by row and vector, several at once; a closure would be a function without features"
)]

pub(crate) mod exp;
pub(crate) mod gru_after;
pub(crate) mod gru_before;
pub(crate) mod lstm;
pub(crate) mod operands;
pub(crate) mod product;
pub(crate) mod quantise;
pub(crate) mod rnn;
pub(crate) mod shared;
pub(crate) mod slices;
pub(crate) mod sweep;
pub(crate) mod tile;
pub(crate) mod units;
pub(crate) mod weights;
