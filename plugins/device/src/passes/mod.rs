//! Changes of a graph that make it cheaper on any device.
//!
//! [`simplify`] keeps its results, [`narrow`] rounds them.

mod batch_normalization;
mod narrow;
mod powers;
pub(crate) mod unused;

pub use narrow::narrow;

use crate::graph::Graph;

/// Does all of them.
///
/// # Errors
/// The fault in a node, in words, that the reader of the file should have found.
pub fn simplify(graph: &mut Graph) -> Result<(), String> {
    batch_normalization::fold(graph)?;
    powers::multiply(graph);
    unused::remove(graph);
    Ok(())
}
