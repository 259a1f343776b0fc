//! Scaled dot-product attention as one operator.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::{Binary, Op},
    tensor::{Array, transposed_order},
};

/// Replaces `MatMul(Softmax(MatMul(Q, K') scale + mask), V)` by [`Op::Attention`], if nothing else reads the values in
/// between. The scale is a constant that multiplies or divides Q, K' or their product, and may be left out, as may the
/// mask. A mask may also be a `Where` that takes minus infinity for some scores, which means the same for finite ones.
pub(super) fn fuse(graph: &mut Graph) {
    let mut found = HashMap::new();
    {
        let pattern = Pattern::new(graph);
        for (at, node) in graph.nodes.iter().enumerate() {
            if let Some(attention) = pattern.attention(node) {
                found.insert(at, attention);
            }
        }
    }
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for (at, node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
        match found.remove(&at) {
            Some(attention) => attention.add_to(graph, &mut nodes, node),
            None => nodes.push(node),
        }
    }
    graph.nodes = nodes;
}

/// Operands of an attention.
struct Attention {
    q: ValueId,
    turned_k: ValueId,
    v: ValueId,
    scale: f64,
    mask: Option<Mask>,
    /// Label of the first product.
    first: String,
}

enum Mask {
    /// Mask that is added.
    Summand(ValueId),
    /// Selects the remaining scores by its truth values: scores with `stays` stay.
    Condition { condition: ValueId, stays: bool },
}

/// Scores before the softmax.
struct Scores<'a> {
    product: &'a Node,
    scale: f64,
}

/// Nodes of a graph by their function.
struct Pattern<'a> {
    graph: &'a Graph,
    reader_counts: Vec<usize>,
    makers: HashMap<ValueId, &'a Node>,
}

impl<'a> Pattern<'a> {
    fn new(graph: &'a Graph) -> Self {
        let makers = graph.nodes.iter().flat_map(|node| {
            let outputs = node.outputs.iter().flatten();
            outputs.map(move |output| (*output, node))
        });
        Self { graph, reader_counts: graph.reader_counts(), makers: makers.collect() }
    }

    fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.graph.value(id).shape
    }

    /// Returns the node that computes a value for one reader alone.
    fn maker(&self, id: ValueId) -> Option<&'a Node> {
        self.makers.get(&id).copied().filter(|_| self.reader_counts[id.0] == 1)
    }

    /// Returns the attention that ends with this product.
    fn attention(&self, node: &Node) -> Option<Attention> {
        let (shares, v) = operands(node, &Op::MatMul)?;
        let softmax = self.maker(shares)?;
        let (Op::Softmax { axis }, [Some(masked)]) = (&softmax.op, softmax.inputs.as_slice()) else {
            return None;
        };
        let shape = self.shape(*masked);
        if shape.len() < 2 || axis + 1 != shape.len() || self.shape(v).len() < 2 {
            return None;
        }
        let result = self.shape(result(node)?);
        let stack = shape.len() - 2;
        // Else the scores would be computed again and again.
        if result.len() != shape.len() || result[..stack] != shape[..stack] {
            return None;
        }
        let (Scores { product, scale }, mask) = self.masked(*masked)?;
        let (q, turned_k) = operands(product, &Op::MatMul)?;
        if self.shape(q).len() < 2 || self.shape(turned_k).len() < 2 {
            return None;
        }
        let [(q, of_q), (turned_k, of_k)] = [q, turned_k].map(|id| match self.maker(id) {
            Some(node) => self.scaled(node).unwrap_or((id, 1.0)),
            None => (id, 1.0),
        });
        let scale = scale * of_q * of_k;
        let first = product.label.clone();
        Some(Attention { q, turned_k, v, scale, mask, first })
    }

    /// Scores with their mask.
    fn masked(&self, id: ValueId) -> Option<(Scores<'a>, Option<Mask>)> {
        if let Some(scores) = self.scores(id, self.shape(id)) {
            return Some((scores, None));
        }
        let node = self.maker(id)?;
        let shape = self.shape(id);
        match (&node.op, node.inputs.as_slice()) {
            (Op::Binary(Binary::Add), [Some(one), Some(other)]) => {
                let either = [(*one, *other), (*other, *one)].into_iter();
                let mut found = either.filter_map(|(scores, mask)| Some((self.scores(scores, shape)?, mask)));
                found.next().map(|(scores, mask)| (scores, Some(Mask::Summand(mask))))
            }
            (Op::Where, [Some(condition), Some(one), Some(other)]) => {
                let either = [(*one, *other, true), (*other, *one, false)].into_iter();
                let mut found = either.filter_map(|(scores, none, stays)| {
                    let is_none = self.number(none)? == f64::NEG_INFINITY;
                    let scores = self.scores(scores, shape).filter(|_| is_none)?;
                    Some((scores, Some(Mask::Condition { condition: *condition, stays })))
                });
                found.next()
            }
            _ => None,
        }
    }

    /// Returns a product of matrices of this shape, times a constant.
    fn scores(&self, id: ValueId, shape: &[usize]) -> Option<Scores<'a>> {
        let node = self.maker(id).filter(|_| self.shape(id) == shape)?;
        let (product, scale) = match self.scaled(node) {
            Some((id, scale)) => (self.maker(id)?, scale),
            None => (node, 1.0),
        };
        (product.op == Op::MatMul).then_some(Scores { product, scale })
    }

    /// Returns a value and the constant that a node multiplies it by.
    fn scaled(&self, node: &Node) -> Option<(ValueId, f64)> {
        let (Op::Binary(function @ (Binary::Mul | Binary::Div)), [Some(one), Some(other)]) =
            (&node.op, node.inputs.as_slice())
        else {
            return None;
        };
        let (x, factor) = match (function, self.number(*one), self.number(*other)) {
            (Binary::Div, _, Some(divisor)) => (*one, 1.0 / divisor),
            (Binary::Mul, _, Some(factor)) => (*one, factor),
            (Binary::Mul, Some(factor), _) => (*other, factor),
            _ => return None,
        };
        (factor.is_finite() && self.shape(x) == self.shape(result(node)?)).then_some((x, factor))
    }

    /// Returns the only element of a constant.
    fn number(&self, id: ValueId) -> Option<f64> {
        let constant = self.graph.value(id).constant.as_ref()?;
        let is_one = constant.shape.iter().all(|extent| *extent == 1);
        constant.array().ok().filter(|_| is_one)?.reals().ok()?.first().copied()
    }
}

/// Returns both operands of a node of this operator.
fn operands(node: &Node, op: &Op) -> Option<(ValueId, ValueId)> {
    match node.inputs[..] {
        [Some(one), Some(other)] if node.op == *op => Some((one, other)),
        _ => None,
    }
}

/// Returns the only result of a node.
fn result(node: &Node) -> Option<ValueId> {
    match node.outputs[..] {
        [Some(result)] => Some(result),
        _ => None,
    }
}

impl Attention {
    /// Adds the operator in place of the last product.
    fn add_to(self, graph: &mut Graph, nodes: &mut Vec<Node>, last: Node) {
        let Self { q, turned_k, v, scale, mask, first } = self;
        let label = format!("{first} to {}", last.label);
        let mut shape = graph.value(turned_k).shape.clone();
        let rank = shape.len();
        shape.swap(rank - 2, rank - 1);
        let order = transposed_order(rank);
        let element = graph.value(q).element;
        let mut add = |graph: &mut Graph, op: Op, inputs: &[ValueId], shape: Vec<usize>| {
            let result = graph.add_value(Value { element, shape, constant: None });
            let inputs = inputs.iter().copied().map(Some).collect();
            nodes.push(Node { label: label.clone(), op, inputs, outputs: vec![Some(result)] });
            result
        };
        let k = add(graph, Op::Transpose { order }, &[turned_k], shape);
        let mask = mask.map(|mask| match mask {
            Mask::Summand(mask) => mask,
            Mask::Condition { condition, stays } => {
                let mut number = |number: f64| {
                    let constant = Some(Array::real(element, &[], vec![number]).tensor());
                    graph.add_value(Value { element, shape: Vec::new(), constant })
                };
                let (zero, none) = (number(0.0), number(f64::NEG_INFINITY));
                let (one, other) = if stays { (zero, none) } else { (none, zero) };
                let shape = graph.value(condition).shape.clone();
                add(graph, Op::Where, &[condition, one, other], shape)
            }
        });
        let inputs = [Some(q), Some(k), Some(v), mask];
        let inputs = inputs[..if mask.is_some() { 4 } else { 3 }].to_vec();
        nodes.push(Node { label, op: Op::Attention { scale }, inputs, ..last });
    }
}
