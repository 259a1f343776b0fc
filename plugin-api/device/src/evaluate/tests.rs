use proptest::prelude::*;

use super::*;
use crate::{
    evaluate::testing::{assert_close, f32s, i64s},
    graph::{Node, Value, ValueId},
    op::{Binary, Cell, Conv, Direction, Gemm, Pool, PoolKind, Recurrent, Reduce, ReduceKind, Unary},
    tensor::is_real,
};

fn value(graph: &mut Graph, shape: &[usize], constant: Option<Array>) -> ValueId {
    let constant = constant.map(|array| array.tensor());
    graph.add_value(Value { element: ElementType::F32, shape: shape.to_vec(), constant })
}

fn node(label: &str, op: Op, inputs: &[ValueId], outputs: &[Option<ValueId>]) -> Node {
    let inputs = inputs.iter().copied().map(Some).collect();
    Node { label: label.to_owned(), op, inputs, outputs: outputs.to_vec() }
}

/// The inputs `a` and `b`, the outputs `2 b`, 2, and `relu(2 b - a)`.
fn graph() -> Graph {
    let mut graph = Graph::default();
    let two = value(&mut graph, &[], Some(f32s(&[], &[2.0])));
    let [a, b, double, difference, positive] = [[2]; 5].map(|shape| value(&mut graph, &shape, None));
    graph.inputs = vec![a, b];
    graph.outputs = vec![double, two, positive];
    graph.nodes = vec![
        node("Mul 'double'", Op::Binary(Binary::Mul), &[two, b], &[Some(double)]),
        node("Sub", Op::Binary(Binary::Sub), &[double, a], &[Some(difference)]),
        node("Relu", Op::Unary(Unary::Relu), &[difference], &[Some(positive)]),
    ];
    graph
}

#[test]
fn a_graph_is_run_from_its_inputs_to_its_outputs() {
    let [a, b] = [f32s(&[2], &[7.0, 1.0]), f32s(&[2], &[3.0, 4.0])];
    let outputs = run(&graph(), &[a.clone(), b]).unwrap();
    let wanted = [f32s(&[2], &[6.0, 8.0]), f32s(&[], &[2.0]), f32s(&[2], &[0.0, 7.0])];
    assert_eq!(outputs, wanted);
    assert_eq!(run(&graph(), std::slice::from_ref(&a)).unwrap_err(), "1 inputs for a graph of 2");
    let error = run(&graph(), &[a.clone(), i64s(&[2], &[1, 2])]).unwrap_err();
    assert_eq!(error, "input 1: i64 of shape [2] where f32 of shape [2] is wanted");
    let mut wrong = graph();
    wrong.nodes[0].op = Op::Binary(Binary::And);
    assert_eq!(run(&wrong, &[a.clone(), a.clone()]).unwrap_err(), "Mul 'double': And of f32 and f32");
    wrong.nodes.remove(0);
    assert_eq!(run(&wrong, &[a.clone(), a]).unwrap_err(), "Sub: an operand is not known yet");
}

#[test]
fn a_result_that_is_not_wanted_is_left_out() {
    let mut graph = Graph::default();
    let [x, w, r] = [[1, 1, 1], [1, 4, 1], [1, 4, 1]].map(|shape| value(&mut graph, &shape, None));
    let [y, c] = [&[1; 4][..], &[1; 3]].map(|shape| value(&mut graph, shape, None));
    let direction = Direction::Forward;
    let lstm = Recurrent { cell: Cell::Lstm, hidden: 1, direction, clip: None };
    graph.nodes = vec![node("LSTM", Op::Recurrent(lstm), &[x, w, r], &[Some(y), None, Some(c)])];
    (graph.inputs, graph.outputs) = (vec![x, w, r], vec![c, y]);
    let w = f32s(&[1, 4, 1], &[0.0, 5.0, 0.0, 2.0_f64.ln()]);
    let outputs = run(&graph, &[f32s(&[1, 1, 1], &[1.0]), w, f32s(&[1, 4, 1], &[0.0; 4])]).unwrap();
    // c is half of tanh(ln 2), for any output gate; h is less.
    assert_close(outputs[0].reals().unwrap(), &[0.3]);
    assert_close(outputs[1].reals().unwrap(), &[0.3_f64.tanh() / (1.0 + (-5.0_f64).exp())]);
}

#[test]
fn operands_are_as_they_say() {
    let mut x = f32s(&[2], &[1.0, 2.0]);
    let relu = |x: &Array, form: (ElementType, Vec<usize>)| {
        evaluate(&Op::Unary(Unary::Relu), &[Some(x.clone())], &[form]).unwrap_err()
    };
    let form = (ElementType::F32, vec![2]);
    x.shape = vec![3];
    assert_eq!(relu(&x, form.clone()), "2 elements in an operand of shape [3]");
    x.shape = vec![0, usize::MAX, 2];
    assert!(relu(&x, form.clone()).contains("does not fit into memory"));
    (x.shape, x.element) = (vec![2], ElementType::I8);
    assert_eq!(relu(&x, form.clone()), "an operand of i8 holds other elements");
    x.element = ElementType::F32;
    assert_eq!(relu(&x, (ElementType::U64, vec![2])), "elements of u64 are not supported");
    assert!(relu(&x, (ElementType::F32, vec![usize::MAX, 2])).contains("does not fit into memory"));
    let relu = |inputs: &[Option<Array>], count| {
        evaluate(&Op::Unary(Unary::Relu), inputs, &vec![form.clone(); count]).unwrap_err()
    };
    assert_eq!(relu(&[], 1), "one of the first 1 operands is missing");
    assert_eq!(relu(&[None], 1), "one of the first 1 operands is missing");
    assert_eq!(relu(&[Some(x.clone()), None], 1), "2 operands where there are 1 at most");
    assert_eq!(relu(&[Some(x)], 2), "2 results where there is one");
}

/// Arbitrary numbers, one after the other; zeros at the end.
struct Choices(std::vec::IntoIter<u16>);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % bound
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// An extent or a parameter: mostly small, at times absurd.
    fn number(&mut self) -> usize {
        *[0, 2, 2, 2, 3, 4, 1 << 40, usize::MAX].get(self.below(24)).unwrap_or(&1)
    }

    /// A number for each dimension, or at times for some other count of them.
    fn list(&mut self, rank: usize) -> Vec<usize> {
        let count = if self.below(16) == 0 { self.below(4) } else { rank };
        (0..count).map(|_| self.number()).collect()
    }

    fn element(&mut self) -> ElementType {
        ElementType::ALL[self.below(ElementType::ALL.len())]
    }

    fn array(&mut self, (element, shape): Form) -> Array {
        let count = shape.iter().product();
        let numbers: Vec<i64> = (0..count).map(|_| self.below(5) as i64 - 2).collect();
        match is_real(element) {
            Ok(false) => Array::integer(element, &shape, numbers),
            _ => Array::real(element, &shape, numbers.into_iter().map(|number| number as f64).collect()),
        }
    }

    /// The form, or at times another one that differs a little.
    fn or_another(&mut self, (mut element, mut shape): Form) -> Form {
        match self.below(24) {
            0 => element = self.element(),
            1 => shape.push(1),
            2 => drop(shape.pop()),
            3 if !shape.is_empty() => {
                let at = self.below(shape.len());
                shape[at] = self.below(4);
            }
            _ => {}
        }
        (element, shape)
    }

    fn op(&mut self) -> Op {
        let axis = self.below(4);
        let [one, two] = [self.flag(), self.flag()];
        let epsilon = 1e-5;
        match self.below(23) {
            0 => Op::Unary([Unary::Relu, Unary::Neg, Unary::Gelu][self.below(3)]),
            1 => Op::Unary(Unary::Clip { least: 3.0, greatest: f64::NAN }),
            2 => Op::Binary(
                [Binary::Div, Binary::Pow, Binary::Mul, Binary::Less, Binary::And, Binary::Max]
                    [self.below(6)],
            ),
            3 => Op::Where,
            4 => Op::Cast(self.element()),
            5 => {
                let (strides, dilations, pads_begin) = (self.list(2), self.list(2), self.list(2));
                let conv = Conv { strides, dilations, pads_begin, groups: self.number() };
                if one { Op::Conv(conv) } else { Op::ConvInteger(conv) }
            }
            6 => Op::Gemm(Gemm { alpha: 1.0, beta: 1.0, transpose_a: one, transpose_b: two }),
            7 => [Op::MatMul, Op::MatMulInteger][self.below(2)].clone(),
            8 => Op::BatchNormalization { epsilon },
            9 => Op::LayerNormalization { axis, epsilon },
            10 => Op::Pool(Pool {
                kind: if one { PoolKind::Max } else { PoolKind::Average { counts_pads: two } },
                window: self.list(2),
                strides: self.list(2),
                dilations: self.list(2),
                pads_begin: self.list(2),
                pads_end: self.list(2),
            }),
            11 => {
                let kind = [ReduceKind::Mean, ReduceKind::Sum, ReduceKind::Max][self.below(3)];
                Op::Reduce(Reduce { kind, axes: self.list(1), keep: one })
            }
            12 => Op::ArgMax { axis, keep: one, is_last: two },
            13 => Op::Softmax { axis },
            14 => Op::Gather { axis },
            15 => Op::Concat { axis },
            16 => Op::Split { axis },
            17 => Op::Slice {
                starts: self.list(4),
                steps: self.list(4).into_iter().map(|step| step.cast_signed().wrapping_sub(2)).collect(),
            },
            18 => Op::Transpose { order: if one { vec![1, 0, 2, 3] } else { self.list(4) } },
            19 => [Op::Reshape, Op::Expand][self.below(2)].clone(),
            20 => Op::Recurrent(Recurrent {
                cell: if one { Cell::Lstm } else { Cell::Gru { resets_after: two } },
                hidden: if self.below(4) > 0 { 2 } else { self.number() },
                direction: [Direction::Forward, Direction::Bidirectional][self.below(2)],
                clip: None,
            }),
            21 => Op::Attention { scale: [0.5, f64::INFINITY][self.below(2)] },
            _ if one => Op::QuantizeLinear { axis },
            _ => Op::DequantizeLinear { axis },
        }
    }
}

type Form = (ElementType, Vec<usize>);

/// Types and shapes that fit an operator with the most common parameters: the operands and the results.
fn fitting(op: &Op) -> (Vec<Form>, Vec<Form>) {
    use ElementType::{Bool, F32, I8, I32, I64};
    let of = |element, shapes: &[&[usize]]| -> Vec<Form> {
        shapes.iter().map(|shape| (element, shape.to_vec())).collect()
    };
    let (image, square): (&[usize], &[usize]) = (&[1, 2, 2, 3], &[2, 2]);
    match op {
        Op::Unary(_) | Op::Softmax { .. } | Op::Reshape | Op::Expand => {
            (of(F32, &[image]), of(F32, &[image]))
        }
        Op::Slice { .. } => (of(F32, &[&[3, 2, 3, 4]]), of(F32, &[&[2, 1, 2, 2]])),
        Op::Cast(element) => (of(F32, &[square]), of(*element, &[square])),
        Op::Binary(Binary::Less) => (of(I8, &[square, &[2]]), of(Bool, &[square])),
        Op::Binary(Binary::And) => (of(Bool, &[square, &[1]]), of(Bool, &[square])),
        Op::Binary(_) => (of(I8, &[square, &[2]]), of(I8, &[square])),
        Op::Where => ([of(Bool, &[&[2]]), of(F32, &[&[], square])].concat(), of(F32, &[square])),
        Op::Conv(_) => (of(F32, &[image, &[3, 2, 1, 2], &[3]]), of(F32, &[&[1, 3, 2, 3]])),
        Op::Pool(_) => (of(F32, &[image]), of(F32, &[image])),
        Op::Gemm(_) => (of(F32, &[square, square, &[2]]), of(F32, &[square])),
        Op::MatMul => (of(F32, &[&[3, 1, 2, 2], &[2, 2, 1]]), of(F32, &[&[3, 2, 2, 1]])),
        Op::MatMulInteger => (of(I8, &[square, square, &[], &[]]), of(I32, &[square])),
        Op::ConvInteger(_) => (of(I8, &[image, &[3, 2, 1, 2], &[]]), of(I32, &[&[1, 3, 2, 3]])),
        Op::Attention { .. } => {
            let operands = of(F32, &[&[3, 1, 2, 2], &[2, 3, 2], &[3, 1], &[2, 1, 3]]);
            (operands, of(F32, &[&[3, 2, 2, 1]]))
        }
        Op::BatchNormalization { .. } => (of(F32, &[square, &[2], &[2], &[2], &[2]]), of(F32, &[square])),
        Op::LayerNormalization { .. } => (of(F32, &[square, &[2], &[2]]), of(F32, &[square])),
        Op::Reduce(Reduce { keep: true, .. }) => (of(F32, &[square]), of(F32, &[&[2, 1]])),
        Op::Reduce(_) => (of(I8, &[square]), of(I8, &[&[2]])),
        Op::ArgMax { keep: true, .. } => (of(F32, &[square]), of(I64, &[&[1, 2]])),
        Op::ArgMax { .. } => (of(I8, &[square]), of(I64, &[&[2]])),
        Op::Gather { .. } => ([of(F32, &[square]), of(I64, &[square])].concat(), of(F32, &[&[2, 2, 2]])),
        Op::Concat { .. } => (of(F32, &[square, square]), of(F32, &[&[4, 2]])),
        Op::Split { .. } => (of(F32, &[square]), of(F32, &[&[1, 2], &[1, 2]])),
        Op::Transpose { .. } => (of(F32, &[&[2, 1, 2, 3]]), of(F32, &[image])),
        Op::Recurrent(Recurrent { cell, .. }) => {
            let rows = if *cell == Cell::Lstm { 8 } else { 6 };
            let weights = of(F32, &[&[3, 2, 1], &[1, rows, 1], &[1, rows, 2], &[1, 2 * rows]]);
            let rest = [of(I32, &[&[2]]), of(F32, &[&[1, 2, 2]])].concat();
            ([weights, rest].concat(), of(F32, &[&[3, 1, 2, 2], &[1, 2, 2]]))
        }
        Op::QuantizeLinear { .. } => {
            ([of(F32, &[square, &[2]]), of(I8, &[&[2]])].concat(), of(I8, &[square]))
        }
        Op::DequantizeLinear { .. } => ([of(I8, &[square]), of(F32, &[&[]])].concat(), of(F32, &[square])),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Results have the requested forms; anything that does not fit is an error.
    #[test]
    fn nothing_that_does_not_fit_panics(choices in prop::collection::vec(any::<u16>(), 120)) {
        let mut choices = Choices(choices.into_iter());
        let op = choices.op();
        let (operands, results) = fitting(&op);
        let mut inputs = Vec::new();
        for form in operands {
            let form = choices.or_another(form);
            let array = choices.array(form);
            inputs.push((choices.below(16) > 0).then_some(array));
        }
        let forms: Vec<_> = results.into_iter().map(|form| choices.or_another(form)).collect();
        if let Ok(results) = evaluate(&op, &inputs, &forms) {
            let are: Vec<_> = results.into_iter().map(|result| (result.element, result.shape)).collect();
            prop_assert_eq!(are, forms);
        }
    }
}
