//! Several operators in sequence, so that they are fused and read through each other's views.

use proctor_onnx_file::Attribute;

use super::{Drawing, Operator};

/// Operators in sequence.
pub const OPERATORS: &[Operator] = &[Operator { name: "chain", draw: chain }];

fn chain(drawing: &mut Drawing) {
    let mut shape = drawing.any_shape(2);
    let first = drawing.input(&shape);
    let mut x = first;
    for _ in 0..drawing.between(3, 7) {
        x = step(drawing, &x, &mut shape);
        if drawing.between(0, 4) == 0 {
            drawing.output(&x, proctor_vocabulary::ElementType::F32);
            // The operators after an output make another value.
            x = drawing.node("Neg", &[&x], &[]);
        }
    }
    drawing.single("Tanh", &[&x], &[]);
}

/// Adds an operator on a value of this shape, and sets the shape to the result's.
fn step(drawing: &mut Drawing, x: &str, shape: &mut Vec<usize>) -> String {
    let rank = shape.len();
    let last = rank - 1;
    match drawing.between(0, 8) {
        0 => drawing.node("Sigmoid", &[x], &[]),
        1 => {
            let part = drawing.part_of(shape);
            let other = drawing.operand(&part);
            let operator = drawing.pick(&["Add", "Mul", "Sub"]);
            if drawing.coin() {
                drawing.node(operator, &[x, &other], &[])
            } else {
                drawing.node(operator, &[&other, x], &[])
            }
        }
        2 => {
            let order: Vec<usize> = (1..rank).chain([0]).collect();
            *shape = order.iter().map(|at| shape[*at]).collect();
            drawing.node("Transpose", &[x], &[("perm", super::sizes(&order))])
        }
        3 => {
            let (at, axis) = drawing.axis(rank);
            let start = drawing.between(0, shape[at] - 1);
            shape[at] -= start;
            let lists = [start as i64, i64::MAX, axis].map(|number| drawing.list(&[number]));
            drawing.node("Slice", &[x, &lists[0], &lists[1], &lists[2]], &[])
        }
        4 => {
            let width = drawing.between(1, 40);
            let weights = drawing.weights_of(&[shape[last], width], -0.3, 0.3);
            shape[last] = width;
            drawing.node("MatMul", &[x, &weights], &[])
        }
        5 => {
            let (_, axis) = drawing.axis(rank);
            drawing.node("Softmax", &[x], &[("axis", axis.into())])
        }
        6 => {
            let (at, axis) = drawing.axis(rank);
            let mut part = shape.clone();
            part[at] = drawing.between(1, 3);
            let other = drawing.operand(&part);
            shape[at] += part[at];
            drawing.node("Concat", &[x, &other], &[("axis", axis.into())])
        }
        7 => {
            let (at, axis) = drawing.axis(rank);
            shape[at] = 1;
            let attributes = [("axes", Attribute::Ints(vec![axis])), ("keepdims", 1.into())];
            drawing.node("ReduceMean", &[x], &attributes)
        }
        _ => {
            let at = drawing.between(0, last.saturating_sub(1));
            if rank < 3 {
                return drawing.node("Relu", &[x], &[]);
            }
            let joined = shape[at] * shape[at + 1];
            shape.splice(at..at + 2, [joined]);
            let wanted: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
            let wanted = drawing.list(&wanted);
            drawing.node("Reshape", &[x, &wanted], &[])
        }
    }
}
