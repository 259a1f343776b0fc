//! Changes of a graph that make it cheaper on any device.
//!
//! Nodes that a pass leaves without a reader are removed after all passes. Rounding to a narrower type comes
//! last, so that folded values are rounded once.

mod attention;
mod batch_normalization;
pub(crate) mod integers;
mod narrow;
mod powers;
pub(crate) mod unused;

use proctor_vocabulary::ElementType;

use crate::graph::Graph;

/// Runs all of them; with `narrowed`, f16 or bf16, also makes values and weights of f32 ones of that type.
///
/// # Errors
/// Returns the fault in a node, in words, that the reader of the file should have found.
pub fn apply(graph: &mut Graph, narrowed: Option<ElementType>) -> Result<(), String> {
    batch_normalization::fold(graph)?;
    powers::multiply(graph);
    attention::fuse(graph);
    unused::remove(graph);
    narrowed.map_or(Ok(()), |element| narrow::narrow(graph, element))
}
