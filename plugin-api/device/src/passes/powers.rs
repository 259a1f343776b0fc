//! Small powers as products.

use crate::{
    graph::{Graph, Node, Value},
    op::{Binary, Op},
};

/// Replaces x to the power of a constant 2 or 3 by products of x, which differ only in rounding: the function for any
/// power takes a hundred times as long, and models have few others.
pub(super) fn multiply(graph: &mut Graph) {
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        let (Op::Binary(Binary::Pow), [x @ Some(base), Some(exponent)]) = (&node.op, node.inputs.as_slice())
        else {
            nodes.push(node);
            continue;
        };
        let (x, is_same_shape) = (*x, graph.value(*base).shape == result_shape(graph, &node));
        let power = graph.value(*exponent).constant.as_ref().and_then(|constant| constant.array().ok());
        let power = power.filter(|power| power.shape.iter().all(|extent| *extent == 1));
        let power = power.and_then(|power| power.reals().ok()?.first().copied());
        let Some(power) = power.filter(|power| is_same_shape && [2.0, 3.0].contains(power)) else {
            nodes.push(node);
            continue;
        };
        let mut factor = x;
        if power == 3.0 {
            let Value { element, shape, .. } = graph.value(*base).clone();
            let square = Some(graph.add_value(Value { element, shape, constant: None }));
            let (label, op) = (node.label.clone(), Op::Binary(Binary::Mul));
            nodes.push(Node { label, op, inputs: vec![x, x], outputs: vec![square] });
            factor = square;
        }
        node.op = Op::Binary(Binary::Mul);
        node.inputs = vec![x, factor];
        nodes.push(node);
    }
    graph.nodes = nodes;
}

/// Returns the shape of a node's only result.
fn result_shape(graph: &Graph, node: &Node) -> Vec<usize> {
    node.outputs.first().copied().flatten().map_or_else(Vec::new, |result| graph.value(result).shape.clone())
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType::F32;

    use super::*;
    use crate::{evaluate, tensor::Array};

    #[test]
    fn squares_and_cubes_alone_become_products() {
        let x = Array::real(F32, &[2, 2], vec![-1.5, 0.0, 2.0, 3.0]);
        for (power, node_count) in [(2.0, 1), (3.0, 2), (0.5, 1)] {
            let mut graph = Graph::default();
            let mut value = |constant, shape: &[usize]| {
                graph.add_value(Value { element: F32, shape: shape.to_vec(), constant })
            };
            let base = value(None, &[2, 2]);
            let exponent = value(Some(Array::real(F32, &[1], vec![power]).tensor()), &[1]);
            let result = value(None, &[2, 2]);
            graph.inputs = vec![base];
            graph.outputs = vec![result];
            graph.nodes = vec![Node {
                label: "Pow".to_owned(),
                op: Op::Binary(Binary::Pow),
                inputs: vec![Some(base), Some(exponent)],
                outputs: vec![Some(result)],
            }];
            let before = evaluate::run(&graph, std::slice::from_ref(&x)).unwrap();
            multiply(&mut graph);
            assert_eq!(graph.nodes.len(), node_count, "{power}");
            let is_power = graph.nodes[0].op == Op::Binary(Binary::Pow);
            assert_eq!(is_power, power == 0.5);
            let after = evaluate::run(&graph, std::slice::from_ref(&x)).unwrap();
            if !is_power {
                assert_eq!(after, before, "{power}");
            }
        }
    }
}
