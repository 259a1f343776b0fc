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

/// Returns the operators after the pass; outputs have to match the ones before it.
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

/// Returns numbers that differ from their neighbours; of truth values every other one is true.
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
                let both = if is_first { [condition, none, products] } else { [condition, products, none] };
                writer.node(Op::Where, &both, &SCORES)
            });
            assert_eq!(is_whole(&fused(choice), 1.0), fits);
        }
    }
    // Scores that are broadcast to a mask are fewer than the softmax's.
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
