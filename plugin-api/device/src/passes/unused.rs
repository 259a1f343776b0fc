//! Removal of nodes and constants that no output depends on.

use crate::{
    graph::{Graph, Node},
    op::Op,
};

/// Removes nodes without a result that is read or wanted, and drops unused results, and constants that no node reads.
/// The results of a split stay, since their shapes say where each begins.
pub(crate) fn remove(graph: &mut Graph) {
    let mut is_read = vec![false; graph.values.len()];
    for output in &graph.outputs {
        is_read[output.0] = true;
    }
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if !node.outputs.iter().flatten().any(|output| is_read[output.0]) {
            continue;
        }
        node.inputs.iter().flatten().for_each(|input| is_read[input.0] = true);
        forget_unread(&mut node, &is_read);
        nodes.push(node);
    }
    nodes.reverse();
    graph.nodes = nodes;
    for (value, is_read) in graph.values.iter_mut().zip(is_read) {
        value.constant = value.constant.take().filter(|_| is_read);
    }
}

fn forget_unread(node: &mut Node, is_read: &[bool]) {
    if !matches!(node.op, Op::Split { .. }) {
        for output in &mut node.outputs {
            *output = output.filter(|output| is_read[output.0]);
        }
    }
}
