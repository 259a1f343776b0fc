//! Attention, in the forms that exporters write it in.

use proctor_device::tensor::Array;
use proctor_vocabulary::ElementType::{Bool, F32};

use super::{Drawing, Operator, sizes};

/// Attention.
pub const OPERATORS: &[Operator] = &[Operator { name: "attention", draw: attention }];

fn attention(drawing: &mut Drawing) {
    let (batch, heads) = (drawing.between(1, 2), drawing.between(1, 3));
    let (rows, keys) = (drawing.between(1, 70), drawing.between(1, 150));
    let (head, value) = (drawing.between(1, 40), drawing.between(1, 40));
    let q = operand(drawing, [batch, heads, rows, head], [0, 2, 1, 3]);
    let k = operand(drawing, [batch, heads, keys, head], [0, 2, 3, 1]);
    let v = operand(drawing, [batch, heads, keys, value], [0, 2, 1, 3]);
    let scale = 1.0 / (head as f32).sqrt();
    let scores = match drawing.between(0, 3) {
        0 => {
            let factor = constant(drawing, &[], scale);
            let q = drawing.node("Mul", &[&q, &factor], &[]);
            drawing.node("MatMul", &[&q, &k], &[])
        }
        1 => {
            let factor = constant(drawing, &[1], scale.sqrt());
            let [q, k] = [q, k].map(|x| drawing.node("Mul", &[&factor, &x], &[]));
            drawing.node("MatMul", &[&q, &k], &[])
        }
        2 => {
            let divisor = constant(drawing, &[], 1.0 / scale);
            let products = drawing.node("MatMul", &[&q, &k], &[]);
            drawing.node("Div", &[&products, &divisor], &[])
        }
        _ => drawing.node("MatMul", &[&q, &k], &[]),
    };
    let masked = match drawing.between(0, 3) {
        0 => scores,
        1 => {
            let part = drawing.part_of(&[batch, heads, rows, keys]);
            let mask = drawing.operand(&part);
            drawing.node("Add", &[&mask, &scores], &[])
        }
        2 => {
            let mask = places(drawing, rows, keys);
            let none = mask.iter().map(|is_there| if *is_there == 1 { 0.0 } else { f64::NEG_INFINITY });
            let mask = drawing.feed(Array::real(F32, &[rows, keys], none.collect()));
            drawing.node("Add", &[&scores, &mask], &[])
        }
        _ => {
            let mask = places(drawing, 1, keys);
            let mask = drawing.feed(Array::integer(Bool, &[1, 1, 1, keys], mask));
            let none = constant(drawing, &[], f32::NEG_INFINITY);
            drawing.node("Where", &[&mask, &scores, &none], &[])
        }
    };
    let shares = drawing.node("Softmax", &[&masked], &[("axis", (-1).into())]);
    let mut sums = drawing.node("MatMul", &[&shares, &v], &[]);
    if drawing.coin() {
        sums = drawing.node("Transpose", &[&sums], &[("perm", sizes(&[0, 2, 1, 3]))]);
        let joined = drawing.list(&[batch, rows, heads * value].map(|extent| extent as i64));
        sums = drawing.node("Reshape", &[&sums, &joined], &[]);
    }
    drawing.output(&sums, F32);
}

/// Draws heads of this shape side by side, or each in its own place, and their order by `turned`.
fn operand(drawing: &mut Drawing, [batch, heads, rows, width]: [usize; 4], turned: [usize; 4]) -> String {
    if drawing.coin() {
        let x = drawing.input(&[batch, rows, heads * width]);
        let apart = drawing.list(&[0, 0, heads as i64, -1]);
        let apart = drawing.node("Reshape", &[&x, &apart], &[]);
        return drawing.node("Transpose", &[&apart], &[("perm", sizes(&turned))]);
    }
    let x = drawing.input(&[batch, heads, rows, width]);
    if turned[3] == 3 {
        return x;
    }
    drawing.node("Transpose", &[&x], &[("perm", sizes(&[0, 1, 3, 2]))])
}

/// Draws truth values, at least one of them true in each row.
fn places(drawing: &mut Drawing, rows: usize, keys: usize) -> Vec<i64> {
    (0..rows * keys).map(|place| i64::from(place % keys == place / keys % keys || drawing.coin())).collect()
}

fn constant(drawing: &mut Drawing, shape: &[usize], number: f32) -> String {
    let name = drawing.name();
    drawing.builder.constant(&name, shape, &[number])
}
