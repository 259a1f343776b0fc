//! Products of quantised factors in integers.
//!
//! A product of `(x - x_zero) x_scale` and `(w - w_zero) w_scale` equals the product of the integers, which
//! is exact, times both scales. So factors stay as narrow in memory as in the file.

use std::collections::BTreeMap;

use proctor_vocabulary::ElementType;

use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::{Binary, Gemm, Op},
};

/// Maximum number of products of two numbers of -255..255 in a sum of 32 bits.
const SUMMANDS_MAX: usize = i32::MAX as usize / (255 * 255);

/// Replaces products of dequantised 8-bit integers by products of the integers. It has to come before
/// constants are computed: after that weights are no longer integers.
pub(crate) fn rewrite(graph: &mut Graph) {
    let mut dequantized = BTreeMap::new();
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        if let (Some(factor), [Some(result)]) = (Factor::of(graph, &node), node.outputs.as_slice()) {
            dequantized.insert(*result, factor);
        }
        match product(graph, &dequantized, &node) {
            Some(rewritten) => nodes.extend(rewritten),
            None => nodes.push(node),
        }
    }
    graph.nodes = nodes;
}

/// A dequantised tensor of 8-bit integers.
#[derive(Debug, Clone, Copy)]
struct Factor {
    x: ValueId,
    scale: ValueId,
    /// A single element that is known, and not 0.
    zero_point: Option<ValueId>,
    /// Dimension with a scale for each place; `None` for a single scale.
    axis: Option<usize>,
}

impl Factor {
    /// Returns the factor that a node makes; `None` if it is no such node, or has zero points that no product takes.
    fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let Op::DequantizeLinear { axis } = node.op else { return None };
        let input = |at: usize| node.inputs.get(at).copied().flatten();
        let (x, scale) = (input(0)?, input(1)?);
        let is_narrow = matches!(graph.value(x).element, ElementType::I8 | ElementType::U8);
        if !is_narrow || graph.value(scale).element != ElementType::F32 {
            return None;
        }
        let axis = (!graph.value(scale).shape.is_empty()).then_some(axis);
        let zero_point = match input(2) {
            None => None,
            Some(value) => {
                let zero_points = graph.value(value).constant.as_ref()?.array().ok()?;
                let is_zero = zero_points.integers().ok()?.iter().all(|zero_point| *zero_point == 0);
                match (is_zero, axis) {
                    (true, _) => None,
                    (false, None) => Some(value),
                    (false, Some(_)) => return None,
                }
            }
        };
        Some(Self { x, scale, zero_point, axis })
    }
}

/// Returns the nodes that replace a product of two such factors; `None` for any other product.
fn product(graph: &mut Graph, factors: &BTreeMap<ValueId, Factor>, node: &Node) -> Option<Vec<Node>> {
    let input = |at: usize| node.inputs.get(at).copied().flatten();
    let factor = |at: usize| factors.get(&input(at)?).copied();
    let [Some(result)] = node.outputs[..] else { return None };
    let (a, b) = (factor(0)?, factor(1)?);
    let shape = graph.value(result).shape.clone();
    let (of_a, of_b) = (graph.value(a.x).shape.clone(), graph.value(b.x).shape.clone());
    let rank = of_b.len();
    // The dimension of the second factor that the last one, or the channels, of the result come from.
    let (op, b_axis, result_axis, summand_count) = match &node.op {
        Op::MatMul => (Op::MatMulInteger, rank - 1, shape.len() - 1, of_b[rank - 2]),
        Op::Gemm(Gemm { alpha: 1.0, beta, transpose_a: false, transpose_b })
            if *beta == 1.0 || input(2).is_none() =>
        {
            (Op::MatMulInteger, usize::from(!transpose_b), 1, of_a[1])
        }
        Op::Conv(conv) => (Op::ConvInteger(conv.clone()), 0, 1, of_b[1..].iter().product()),
        _ => return None,
    };
    let has_scales_as_result = b.axis.is_none_or(|axis| axis == b_axis);
    if a.axis.is_some() || !has_scales_as_result || summand_count > SUMMANDS_MAX {
        return None;
    }

    let mut rewritten = Rewritten { graph, label: &node.label, nodes: Vec::new() };
    let mut second = b.x;
    if let Op::Gemm(Gemm { transpose_b: true, .. }) = node.op {
        let transposed = [of_b[1], of_b[0]];
        let element = rewritten.graph.value(second).element;
        second = rewritten.add(Op::Transpose { order: vec![1, 0] }, [Some(second)], element, &transposed);
    }
    let inputs = [Some(a.x), Some(second), a.zero_point, b.zero_point];
    let sums = rewritten.add(op, inputs, ElementType::I32, &shape);
    let dequantize = Op::DequantizeLinear { axis: result_axis };
    let scaled = rewritten.add(dequantize, [Some(sums), Some(b.scale)], ElementType::F32, &shape);
    let scales = [Some(scaled), Some(a.scale)];
    let mut last = rewritten.add(Op::Binary(Binary::Mul), scales, ElementType::F32, &shape);
    if let Some(mut bias) = input(2) {
        if let Op::Conv(_) = node.op {
            let mut by_channel = vec![1; shape.len() - 1];
            by_channel[0] = shape[1];
            bias = rewritten.add(Op::Reshape, [Some(bias)], ElementType::F32, &by_channel);
        }
        last = rewritten.add(Op::Binary(Binary::Add), [Some(last), Some(bias)], ElementType::F32, &shape);
    }
    let mut nodes = rewritten.nodes;
    if let Some(node) = nodes.last_mut() {
        debug_assert_eq!(node.outputs, [Some(last)]);
        node.outputs = vec![Some(result)];
    }
    Some(nodes)
}

/// Nodes that replace another.
struct Rewritten<'a> {
    graph: &'a mut Graph,
    label: &'a str,
    nodes: Vec<Node>,
}

impl Rewritten<'_> {
    fn add<const COUNT: usize>(
        &mut self,
        op: Op,
        inputs: [Option<ValueId>; COUNT],
        element: ElementType,
        shape: &[usize],
    ) -> ValueId {
        let result = self.graph.add_value(Value { element, shape: shape.to_vec(), constant: None });
        let (label, inputs) = (self.label.to_owned(), inputs.to_vec());
        self.nodes.push(Node { label, op, inputs, outputs: vec![Some(result)] });
        result
    }
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType::{F32, I8, I32, U8};

    use super::*;
    use crate::{evaluate, op::Conv, tensor::Array};

    /// A tensor to be dequantised.
    struct Quantized {
        element: ElementType,
        shape: Vec<usize>,
        /// One, or one for each place along the axis.
        zero_points: Vec<i64>,
        axis: usize,
    }

    impl Quantized {
        fn value(&self, at: i64) -> i64 {
            if self.element == I8 { at * 37 % 255 - 127 } else { at * 37 % 256 }
        }

        fn array(&self) -> Array {
            let count = self.shape.iter().product::<usize>() as i64;
            Array::integer(self.element, &self.shape, (0..count).map(|at| self.value(at)).collect())
        }
    }

    /// The graph of an operator of two dequantised inputs, and perhaps a bias.
    fn graph(op: Op, factors: &[Quantized; 2], bias: Option<usize>, shape: &[usize]) -> Graph {
        let mut graph = Graph::default();
        let value = |graph: &mut Graph, element, shape: &[usize], constant: Option<Array>| {
            let constant = constant.map(|array| array.tensor());
            graph.add_value(Value { element, shape: shape.to_vec(), constant })
        };
        let mut inputs = Vec::new();
        for Quantized { element, shape, zero_points, axis } in factors {
            let x = value(&mut graph, *element, shape, None);
            graph.inputs.push(x);
            let of = if zero_points.len() == 1 { vec![] } else { vec![zero_points.len()] };
            let scales = (1..=zero_points.len()).map(|at| at as f64 / 64.0).collect();
            let scale = value(&mut graph, F32, &of, Some(Array::real(F32, &of, scales)));
            let zeros = Array::integer(*element, &of, zero_points.clone());
            let zero_point = value(&mut graph, *element, &of, Some(zeros));
            let result = Some(value(&mut graph, F32, shape, None));
            let operands = [x, scale, zero_point].map(Some).to_vec();
            let (op, label) = (Op::DequantizeLinear { axis: *axis }, "DequantizeLinear".to_owned());
            graph.nodes.push(Node { label, op, inputs: operands, outputs: vec![result] });
            inputs.push(result);
        }
        inputs.extend(bias.map(|count| {
            let biases = (0..count).map(|at| at as f64).collect();
            Some(value(&mut graph, F32, &[count], Some(Array::real(F32, &[count], biases))))
        }));
        let result = value(&mut graph, F32, shape, None);
        graph.outputs = vec![result];
        graph.nodes.push(Node { label: "product".to_owned(), op, inputs, outputs: vec![Some(result)] });
        graph
    }

    fn of(element: ElementType, shape: &[usize], zero_points: &[i64], axis: usize) -> Quantized {
        Quantized { element, shape: shape.to_vec(), zero_points: zero_points.to_vec(), axis }
    }

    fn gemm(alpha: f64, transpose_b: bool) -> Op {
        Op::Gemm(Gemm { alpha, beta: 1.0, transpose_a: false, transpose_b })
    }

    fn conv() -> Op {
        Op::Conv(Conv { strides: vec![1], dilations: vec![1], pads_begin: vec![1], groups: 1 })
    }

    #[test]
    fn products_in_integers_are_the_same() {
        for (op, factors, bias, shape) in [
            (Op::MatMul, [of(U8, &[2, 3], &[7], 0), of(U8, &[3, 2], &[200], 0)], None, &[2, 2][..]),
            (Op::MatMul, [of(I8, &[2, 3], &[0], 0), of(I8, &[3, 2], &[0, 0], 1)], None, &[2, 2]),
            (gemm(1.0, true), [of(U8, &[2, 3], &[7], 0), of(I8, &[4, 3], &[0; 4], 0)], Some(4), &[2, 4]),
            (gemm(1.0, false), [of(I8, &[2, 3], &[-3], 0), of(I8, &[3, 4], &[0; 4], 1)], None, &[2, 4]),
            (conv(), [of(U8, &[1, 2, 3], &[128], 0), of(I8, &[2, 2, 2], &[0; 2], 0)], Some(2), &[1, 2, 3]),
        ] {
            let mut graph = graph(op, &factors, bias, shape);
            let inputs = factors.map(|factor| factor.array());
            let before = evaluate::run(&graph, &inputs).unwrap();
            rewrite(&mut graph);
            assert!(graph.nodes.iter().any(|node| graph.value(node.outputs[0].unwrap()).element == I32));
            let after = evaluate::run(&graph, &inputs).unwrap();
            let pairs = before[0].reals().unwrap().iter().zip(after[0].reals().unwrap());
            assert!(pairs.clone().all(|(before, after)| (before - after).abs() < 1e-9), "{pairs:?}");
        }
    }

    #[test]
    fn what_no_scale_of_a_result_undoes_stays() {
        let wide = SUMMANDS_MAX + 1;
        let plain = || of(U8, &[2, 3], &[7], 0);
        for (op, factors) in [
            // Scales of a first factor by row, of a second one by row, and zero points by column.
            (Op::MatMul, [of(U8, &[2, 3], &[0, 0], 0), of(I8, &[3, 2], &[0], 0)]),
            (Op::MatMul, [plain(), of(I8, &[3, 2], &[0; 3], 0)]),
            (Op::MatMul, [plain(), of(I8, &[3, 2], &[0, 1], 1)]),
            (gemm(1.0, true), [plain(), of(I8, &[2, 3], &[0; 3], 1)]),
            (gemm(0.5, false), [plain(), of(I8, &[3, 2], &[0], 0)]),
            // 16-bit integers, and more of them than a sum holds.
            (Op::MatMul, [of(ElementType::I16, &[2, 3], &[0], 0), of(I8, &[3, 2], &[0], 0)]),
            (Op::MatMul, [of(I8, &[2, wide], &[0], 0), of(I8, &[wide, 2], &[0], 0)]),
        ] {
            let mut graph = graph(op, &factors, None, &[2, 2]);
            let before = graph.nodes.clone();
            rewrite(&mut graph);
            assert_eq!(graph.nodes, before);
        }
    }
}
