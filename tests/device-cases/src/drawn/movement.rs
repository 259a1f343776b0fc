//! Operators that move elements without changing them.

use proctor_onnx_file::Attribute;
use proctor_vocabulary::ElementType::{self, F32, I32, I64};

use super::{Drawing, EXACT, Operator};

/// Operators that move elements.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Flatten", draw: flatten },
    Operator { name: "Reshape", draw: reshape },
    Operator { name: "Squeeze", draw: squeeze },
    Operator { name: "Unsqueeze", draw: unsqueeze },
    Operator { name: "Expand", draw: expand },
    Operator { name: "Identity", draw: |drawing| same(drawing, "Identity") },
    Operator { name: "Dropout", draw: |drawing| same(drawing, "Dropout") },
    Operator { name: "Transpose", draw: transpose },
    Operator { name: "Gather", draw: gather },
    Operator { name: "Concat", draw: concat },
    Operator { name: "Slice", draw: slice },
    Operator { name: "Split", draw: split },
];

/// Returns an input of any type, and its type.
fn any_input(drawing: &mut Drawing, shape: &[usize]) -> (String, ElementType) {
    drawing.tolerance = EXACT;
    let element = drawing.pick(&[F32, F32, I32, I64]);
    (drawing.input_like(element, shape), element)
}

/// Returns numbers in random order.
fn shuffled(drawing: &mut Drawing, count: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..count as i64).collect();
    for at in (1..count).rev() {
        let other = drawing.between(0, at);
        order.swap(at, other);
    }
    order
}

fn flatten(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let (x, element) = any_input(drawing, &shape);
    let axis = drawing.between(0, shape.len()) as i64;
    let result = drawing.node("Flatten", &[&x], &[("axis", axis.into())]);
    drawing.output(&result, element);
}

/// Draws a reshape: two dimensions become one, or one becomes two; one of them is left open.
fn reshape(drawing: &mut Drawing) {
    let shape = drawing.any_shape(2);
    let (x, element) = any_input(drawing, &shape);
    let at = drawing.between(0, shape.len() - 2);
    let mut wanted: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    wanted.splice(at..at + 2, [(shape[at] * shape[at + 1]) as i64]);
    if drawing.coin() {
        wanted.insert(at, 1);
    }
    let open = drawing.between(0, wanted.len() - 1);
    wanted[open] = -1;
    // A 0 takes the extent of the same place.
    if at > 0 && open > 0 {
        wanted[0] = 0;
    }
    let wanted = drawing.list(&wanted);
    let result = drawing.node("Reshape", &[&x, &wanted], &[]);
    drawing.output(&result, element);
}

fn squeeze(drawing: &mut Drawing) {
    let mut shape = drawing.any_shape(2);
    let at = drawing.between(0, shape.len() - 1);
    shape[at] = 1;
    let (x, element) = any_input(drawing, &shape);
    let axis = if drawing.coin() { at as i64 } else { at as i64 - shape.len() as i64 };
    let axes = drawing.list(&[axis]);
    let operands = [x.as_str(), &axes];
    let operands = if drawing.coin() { &operands[..] } else { &operands[..1] };
    let result = drawing.node("Squeeze", operands, &[]);
    drawing.output(&result, element);
}

fn unsqueeze(drawing: &mut Drawing) {
    let rank = drawing.between(0, 3);
    let shape = drawing.shape(rank, 7);
    let (x, element) = any_input(drawing, &shape);
    let count = drawing.between(1, 2);
    let mut axes = shuffled(drawing, rank + count);
    axes.truncate(count);
    let axes = drawing.list(&axes);
    let result = drawing.node("Unsqueeze", &[&x, &axes], &[]);
    drawing.output(&result, element);
}

fn expand(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let part = drawing.part_of(&shape);
    let (x, element) = any_input(drawing, &part);
    let wanted: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let wanted = drawing.list(&wanted);
    let result = drawing.node("Expand", &[&x, &wanted], &[]);
    drawing.output(&result, element);
}

fn same(drawing: &mut Drawing, operator: &str) {
    let shape = drawing.any_shape(0);
    drawing.tolerance = EXACT;
    let x = drawing.input(&shape);
    drawing.single(operator, &[&x], &[]);
}

fn transpose(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let (x, element) = any_input(drawing, &shape);
    let order = shuffled(drawing, shape.len());
    // Without an order the dimensions are reversed.
    let attributes = drawing.coin().then_some(("perm", Attribute::Ints(order)));
    let result = drawing.node("Transpose", &[&x], attributes.as_slice());
    drawing.output(&result, element);
}

/// Draws a gather, whose indices are inputs or constants, counted from the front or the back.
fn gather(drawing: &mut Drawing) {
    let rank = drawing.between(1, 4);
    let shape = drawing.shape(rank, 8);
    let (x, element) = any_input(drawing, &shape);
    let (at, axis) = drawing.axis(rank);
    let rank = drawing.between(0, 2);
    let indices = drawing.shape(rank, 5);
    let (kind, extent) = (drawing.pick(&[I32, I64]), shape[at] as i64);
    let indices = if drawing.coin() {
        drawing.integers(kind, &indices, -extent, extent - 1)
    } else {
        let values = drawing.integer_values(indices.iter().product(), -extent, extent - 1);
        drawing.constant(kind, &indices, values)
    };
    let result = drawing.node("Gather", &[&x, &indices], &[("axis", axis.into())]);
    drawing.output(&result, element);
}

fn concat(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let (at, axis) = drawing.axis(shape.len());
    let (first, element) = any_input(drawing, &shape);
    let mut parts = vec![first];
    for _ in 0..drawing.between(0, 3) {
        let mut shape = shape.clone();
        shape[at] = drawing.between(1, 5);
        parts.push(drawing.input_like(element, &shape));
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let result = drawing.node("Concat", &parts, &[("axis", axis.into())]);
    drawing.output(&result, element);
}

/// Draws slices of some dimensions, forwards or backwards, from places that may be beyond the ends. At least one
/// element is left.
fn slice(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let (x, element) = any_input(drawing, &shape);
    let mut lists: [Vec<i64>; 4] = Default::default();
    for (at, extent) in shape.iter().enumerate() {
        if at > 0 && drawing.coin() {
            continue;
        }
        let (low, high) = {
            let low = drawing.between(0, extent - 1);
            (low as i64, drawing.between(low, extent - 1) as i64)
        };
        let (extent, stride) = (*extent as i64, drawing.between(1, 3) as i64);
        let (start, end, step) = if drawing.coin() {
            let end =
                if high + 1 == extent { drawing.pick(&[extent, i64::MAX, extent + 9]) } else { high + 1 };
            (if drawing.coin() { low } else { low - extent }, end, stride)
        } else {
            let end = if low == 0 { drawing.pick(&[-extent - 1, i64::MIN + 1]) } else { low - 1 };
            (if high + 1 == extent { drawing.pick(&[high, -1, extent + 9]) } else { high }, end, -stride)
        };
        let axis = if drawing.coin() { at as i64 } else { at as i64 - shape.len() as i64 };
        for (list, number) in lists.iter_mut().zip([start, end, axis, step]) {
            list.push(number);
        }
    }
    let lists = lists.map(|list| drawing.list(&list));
    let result = drawing.node("Slice", &[&x, &lists[0], &lists[1], &lists[2], &lists[3]], &[]);
    drawing.output(&result, element);
}

fn split(drawing: &mut Drawing) {
    let mut shape = drawing.any_shape(1);
    let (at, axis) = drawing.axis(shape.len());
    let count = drawing.between(1, 4);
    let is_equal = drawing.coin();
    let sizes: Vec<usize> = match is_equal {
        true => vec![drawing.between(1, 5); count],
        false => drawing.shape(count, 5),
    };
    shape[at] = sizes.iter().sum();
    let (x, element) = any_input(drawing, &shape);
    let listed: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
    let mut operands = vec![x];
    if !is_equal {
        operands.push(drawing.list(&listed));
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let attributes = [("axis", axis.into())];
    let parts = drawing.builder.node_of_many("Split", "parts", &operands, count, &attributes);
    for part in parts {
        drawing.output(&part, element);
    }
}
