//! Operators that relate the elements of a row to each other.

use proctor_vocabulary::ElementType::{I32, I64};

use super::{Drawing, EXACT, Operator};

/// Operators on rows.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Softmax", draw: softmax },
    Operator { name: "LayerNormalization", draw: layer_normalization },
    Operator { name: "ReduceMean", draw: |drawing| reduce(drawing, "ReduceMean", 18) },
    Operator { name: "ReduceMax", draw: |drawing| reduce(drawing, "ReduceMax", 18) },
    Operator { name: "ReduceSum", draw: |drawing| reduce(drawing, "ReduceSum", 13) },
    Operator { name: "ArgMax", draw: arg_max },
];

fn softmax(drawing: &mut Drawing) {
    // Before version 13 all dimensions from the axis on are one.
    drawing.opset = drawing.pick(&[12, 17]);
    let shape = drawing.any_shape(1);
    let (_, axis) = drawing.axis(shape.len());
    let x = drawing.input_of(&shape, -9.0, 9.0);
    drawing.single("Softmax", &[&x], &[("axis", axis.into())]);
}

fn layer_normalization(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let (at, axis) = drawing.axis(shape.len());
    // A row of nearly equal numbers is nothing but rounding.
    let mut shape = shape;
    shape[at] += 7;
    let x = drawing.input_of(&shape, -2.0, 3.0);
    let scale = drawing.weights(&shape[at..]);
    let bias = drawing.weights(&shape[at..]);
    let operands = [x.as_str(), &scale, &bias];
    // The runtime ends the process where the bias is left out by an empty name.
    let operands = if drawing.coin() { &operands[..] } else { &operands[..2] };
    let attributes = [("axis", axis.into()), ("epsilon", drawing.pick(&[1e-5_f32, 0.01]).into())];
    drawing.single("LayerNormalization", operands, &attributes);
}

/// Draws a reduction, whose axes are an attribute before a version, and an input since.
fn reduce(drawing: &mut Drawing, operator: &str, axes_are_input_since: i64) {
    drawing.opset = drawing.pick(&[12, 18]);
    let shape = drawing.any_shape(1);
    // There are no kernels of it for integers. Sums near 0 would be nothing but rounding.
    let x = drawing.input_of(&shape, if operator == "ReduceMax" { -1.0 } else { 0.0 }, 1.0);
    let mut axes = Vec::new();
    for axis in 0..shape.len() as i64 {
        if drawing.coin() {
            axes.push(if drawing.coin() { axis } else { axis - shape.len() as i64 });
        }
    }
    let mut attributes = vec![("keepdims", i64::from(drawing.coin()).into())];
    let mut operands = vec![x];
    if axes.is_empty() {
        // All of them.
    } else if drawing.opset < axes_are_input_since {
        attributes.push(("axes", proctor_onnx_file::Attribute::Ints(axes)));
    } else {
        operands.push(drawing.list(&axes));
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    drawing.single(operator, &operands, &attributes);
}

/// Draws an index of the greatest element, also with several greatest ones.
fn arg_max(drawing: &mut Drawing) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(1);
    let (_, axis) = drawing.axis(shape.len());
    let x = if drawing.coin() {
        drawing.input(&shape)
    } else {
        let integers = drawing.integers(I32, &shape, -2, 2);
        drawing.node("Cast", &[&integers], &[("to", 1.into())])
    };
    let attributes = [
        ("axis", axis.into()),
        ("keepdims", i64::from(drawing.coin()).into()),
        ("select_last_index", i64::from(drawing.coin()).into()),
    ];
    let result = drawing.node("ArgMax", &[&x], &attributes);
    drawing.output(&result, I64);
}
