//! Changes of a graph that keep its results, and make it cheaper on any device.

mod batch_normalization;
pub(crate) mod unused;

use crate::graph::Graph;

/// Does all of them.
///
/// # Errors
/// The fault in a node, in words, that the reader of the file should have found.
pub fn simplify(graph: &mut Graph) -> Result<(), String> {
    batch_normalization::fold(graph)?;
    unused::remove(graph);
    Ok(())
}
