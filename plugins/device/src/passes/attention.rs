//! Scaled dot-product attention as one operator.

use std::collections::HashMap;

use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::{Binary, Op},
    tensor::Array,
};

/// Replaces `MatMul(Softmax(MatMul(Q, K') scale + mask), V)` by [`Op::Attention`], where nothing else reads what is in
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

/// Mask of an attention.
enum Mask {
    /// Is added.
    Summand(ValueId),
    /// Says by its truth values which scores stay: those where it is as `stays`.
    Condition { condition: ValueId, stays: bool },
}

/// Scores before the softmax.
struct Scores<'a> {
    product: &'a Node,
    scale: f64,
}

/// The nodes of a graph by what they compute.
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

    /// The node that computes a value for one reader alone.
    fn maker(&self, id: ValueId) -> Option<&'a Node> {
        self.makers.get(&id).copied().filter(|_| self.reader_counts[id.0] == 1)
    }

    /// The attention that ends with this product.
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

    /// A product of matrices of this shape, times a constant.
    fn scores(&self, id: ValueId, shape: &[usize]) -> Option<Scores<'a>> {
        let node = self.maker(id).filter(|_| self.shape(id) == shape)?;
        let (product, scale) = match self.scaled(node) {
            Some((id, scale)) => (self.maker(id)?, scale),
            None => (node, 1.0),
        };
        (product.op == Op::MatMul).then_some(Scores { product, scale })
    }

    /// A value and the constant that a node multiplies it by.
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

    /// The one element of a constant.
    fn number(&self, id: ValueId) -> Option<f64> {
        let constant = self.graph.value(id).constant.as_ref()?;
        let is_one = constant.shape.iter().all(|extent| *extent == 1);
        constant.array().ok().filter(|_| is_one)?.reals().ok()?.first().copied()
    }
}

/// Both operands of a node of this operator.
fn operands(node: &Node, op: &Op) -> Option<(ValueId, ValueId)> {
    match node.inputs[..] {
        [Some(one), Some(other)] if node.op == *op => Some((one, other)),
        _ => None,
    }
}

/// The one result of a node.
fn result(node: &Node) -> Option<ValueId> {
    match node.outputs[..] {
        [Some(result)] => Some(result),
        _ => None,
    }
}

impl Attention {
    /// Adds the operator in the place of the last product.
    fn add_to(self, graph: &mut Graph, nodes: &mut Vec<Node>, last: Node) {
        let Self { q, turned_k, v, scale, mask, first } = self;
        let label = format!("{first} to {}", last.label);
        let mut shape = graph.value(turned_k).shape.clone();
        let rank = shape.len();
        shape.swap(rank - 2, rank - 1);
        let order = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
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

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType::{Bool, F32};

    use super::*;
    use crate::{evaluate, passes::unused};

    /// A graph that is being written.
    #[derive(Default)]
    struct Writer(Graph);

    impl Writer {
        fn value(&mut self, shape: &[usize]) -> ValueId {
            self.0.add_value(Value { element: F32, shape: shape.to_vec(), constant: None })
        }

        fn input(&mut self, shape: &[usize]) -> ValueId {
            let id = self.value(shape);
            self.0.inputs.push(id);
            id
        }

        fn number(&mut self, number: f64) -> ValueId {
            let constant = Some(Array::real(F32, &[1], vec![number]).tensor());
            self.0.add_value(Value { element: F32, shape: vec![1], constant })
        }

        fn node(&mut self, op: Op, inputs: &[ValueId], shape: &[usize]) -> ValueId {
            let result = self.value(shape);
            let inputs = inputs.iter().copied().map(Some).collect();
            let label = format!("node {}", self.0.nodes.len());
            self.0.nodes.push(Node { label, op, inputs, outputs: vec![Some(result)] });
            result
        }
    }

    const HEADS: [usize; 3] = [2, 3, 4];
    const TURNED: [usize; 3] = [2, 4, 5];
    const SCORES: [usize; 3] = [2, 3, 5];

    /// `softmax` of what becomes of the product of inputs, times an input.
    fn graph(scores: impl Fn(&mut Writer, ValueId, ValueId) -> ValueId) -> Writer {
        let mut writer = Writer::default();
        let (q, k) = (writer.input(&HEADS), writer.input(&TURNED));
        let scores = scores(&mut writer, q, k);
        let shares = writer.node(Op::Softmax { axis: 2 }, &[scores], &SCORES);
        let v = writer.input(&[2, 5, 7]);
        let sums = writer.node(Op::MatMul, &[shares, v], &[2, 3, 7]);
        writer.0.outputs.push(sums);
        writer
    }

    /// The operators after the pass; outputs have to be those before it.
    fn fused(Writer(mut graph): Writer) -> Vec<Op> {
        let inputs: Vec<Array> = graph.inputs.iter().map(|id| numbers(graph.value(*id))).collect();
        let before = evaluate::run(&graph, &inputs).unwrap();
        fuse(&mut graph);
        unused::remove(&mut graph);
        let after = evaluate::run(&graph, &inputs).unwrap();
        for (before, after) in before.iter().zip(&after) {
            for (before, after) in before.reals().unwrap().iter().zip(after.reals().unwrap()) {
                assert!((before - after).abs() < 1e-12, "{before} and {after}");
            }
        }
        graph.nodes.into_iter().map(|node| node.op).collect()
    }

    /// Numbers that differ from those beside them; of truth values every other one is true.
    fn numbers(value: &Value) -> Array {
        let places = 0..value.shape.iter().product::<usize>() as i64;
        if value.element == Bool {
            return Array::integer(Bool, &value.shape, places.map(|at| at % 2).collect());
        }
        Array::real(F32, &value.shape, places.map(|at| (at % 17) as f64 / 17.0 - 0.4).collect())
    }

    fn is_whole(ops: &[Op], scale: f64) -> bool {
        let turned = Op::Transpose { order: vec![0, 2, 1] };
        ops.iter().all(|op| matches!(op, Op::Where) || *op == turned || *op == Op::Attention { scale })
            && ops.last() == Some(&Op::Attention { scale })
    }

    #[test]
    fn a_scale_is_where_it_may_be() {
        let (mul, div) = (Op::Binary(Binary::Mul), Op::Binary(Binary::Div));
        let plain = graph(|writer, q, k| writer.node(Op::MatMul, &[q, k], &SCORES));
        assert!(is_whole(&fused(plain), 1.0));
        let after = graph(|writer, q, k| {
            let (products, four) = (writer.node(Op::MatMul, &[q, k], &SCORES), writer.number(4.0));
            writer.node(div.clone(), &[products, four], &SCORES)
        });
        assert!(is_whole(&fused(after), 0.25));
        let before = graph(|writer, q, k| {
            let (half, four) = (writer.number(0.5), writer.number(4.0));
            let q = writer.node(mul.clone(), &[half, q], &HEADS);
            let k = writer.node(div.clone(), &[k, four], &TURNED);
            writer.node(Op::MatMul, &[q, k], &SCORES)
        });
        assert!(is_whole(&fused(before), 0.125));
        // A number by the scores is no scale, nor is one for each key.
        let inverse = graph(|writer, q, k| {
            let (products, four) = (writer.node(Op::MatMul, &[q, k], &SCORES), writer.number(4.0));
            writer.node(div.clone(), &[four, products], &SCORES)
        });
        assert!(fused(inverse).contains(&Op::MatMul));
        let by_key = graph(|writer, q, k| {
            let (products, factors) = (writer.node(Op::MatMul, &[q, k], &SCORES), writer.input(&[5]));
            writer.node(mul.clone(), &[products, factors], &SCORES)
        });
        assert!(fused(by_key).contains(&Op::MatMul));
    }

    #[test]
    fn a_mask_is_added_or_takes_the_place_of_scores() {
        for is_first in [false, true] {
            let sum = graph(|writer, q, k| {
                let (products, mask) = (writer.node(Op::MatMul, &[q, k], &SCORES), writer.input(&[2, 1, 5]));
                let both = if is_first { [mask, products] } else { [products, mask] };
                writer.node(Op::Binary(Binary::Add), &both, &SCORES)
            });
            assert!(is_whole(&fused(sum), 1.0));
            for (number, fits) in [(f64::NEG_INFINITY, true), (-1e4, false)] {
                let choice = graph(|writer, q, k| {
                    let (products, none) = (writer.node(Op::MatMul, &[q, k], &SCORES), writer.number(number));
                    let condition = writer.input(&[3, 5]);
                    writer.0.values[condition.0].element = Bool;
                    let both =
                        if is_first { [condition, none, products] } else { [condition, products, none] };
                    writer.node(Op::Where, &both, &SCORES)
                });
                assert_eq!(is_whole(&fused(choice), 1.0), fits);
            }
        }
        // Scores that are broadcast to a mask are fewer than those of the softmax.
        let wide = graph(|writer, q, k| {
            let q = writer.node(Op::Slice { starts: vec![0; 3], steps: vec![1; 3] }, &[q], &[2, 1, 4]);
            let (products, mask) = (writer.node(Op::MatMul, &[q, k], &[2, 1, 5]), writer.input(&[3, 5]));
            writer.node(Op::Binary(Binary::Add), &[products, mask], &SCORES)
        });
        assert!(fused(wide).contains(&Op::MatMul));
    }

    #[test]
    fn what_others_read_stays() {
        let product = |writer: &mut Writer, q, k| writer.node(Op::MatMul, &[q, k], &SCORES);
        let mut wanted = graph(product);
        let scores = wanted.0.nodes[0].outputs[0].unwrap();
        wanted.0.outputs.push(scores);
        assert!(fused(wanted).contains(&Op::Softmax { axis: 2 }));
        let mut read = graph(product);
        let shares = read.0.nodes[1].outputs[0].unwrap();
        let sum = read.node(Op::Binary(Binary::Add), &[shares, shares], &SCORES);
        read.0.outputs.push(sum);
        assert!(fused(read).contains(&Op::Softmax { axis: 2 }));
        // A scaled Q that is read twice is an operand as it is.
        let mut twice = graph(|writer, q, k| {
            let half = writer.number(0.5);
            let q = writer.node(Op::Binary(Binary::Mul), &[q, half], &HEADS);
            writer.0.outputs.push(q);
            writer.node(Op::MatMul, &[q, k], &SCORES)
        });
        twice.0.outputs.reverse();
        let ops = fused(twice);
        assert!(ops.contains(&Op::Attention { scale: 1.0 }), "{ops:?}");
    }

    #[test]
    fn a_softmax_over_other_rows_stays() {
        let mut columns = graph(|writer, q, k| writer.node(Op::MatMul, &[q, k], &SCORES));
        columns.0.nodes[1].op = Op::Softmax { axis: 1 };
        assert!(fused(columns).contains(&Op::Softmax { axis: 1 }));
        // Each share would be computed for each of the values.
        let mut writer = graph(|writer, q, k| writer.node(Op::MatMul, &[q, k], &SCORES));
        let shares = writer.0.nodes[1].outputs[0].unwrap();
        let v = writer.input(&[4, 2, 5, 7]);
        writer.0.nodes.pop();
        let sums = writer.node(Op::MatMul, &[shares, v], &[4, 2, 3, 7]);
        writer.0.outputs = vec![sums];
        assert!(fused(writer).contains(&Op::MatMul));
    }
}
