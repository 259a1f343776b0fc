//! Recurrent layers. The runtime has no layers whose batch is the first dimension.

use proctor_onnx_file::Attribute;
use proctor_vocabulary::ElementType::{F32, I32};

use super::{Drawing, Operator};

/// Recurrent layers.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "LSTM", draw: |drawing| layer(drawing, true) },
    Operator { name: "GRU", draw: |drawing| layer(drawing, false) },
];

fn layer(drawing: &mut Drawing, is_lstm: bool) {
    let direction = drawing.pick(&["forward", "reverse", "bidirectional"]);
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let (steps, batch) = (drawing.between(1, 9), drawing.between(1, 5));
    let (width, hidden) = (drawing.between(1, 20), drawing.between(1, 40));
    let rows = hidden * if is_lstm { 4 } else { 3 };
    let x = drawing.input(&[steps, batch, width]);
    let w = drawing.weights(&[directions, rows, width]);
    let r = drawing.weights(&[directions, rows, hidden]);
    let mut operands = vec![x, w, r];
    operands.push(if drawing.coin() { drawing.weights(&[directions, 2 * rows]) } else { String::new() });
    operands.push(if drawing.coin() {
        let lengths = drawing.integer_values(batch, 1, steps as i64);
        drawing.constant(I32, &[batch], lengths)
    } else {
        String::new()
    });
    let state = [directions, batch, hidden];
    operands.push(if drawing.coin() { drawing.operand(&state) } else { String::new() });
    let mut attributes: Vec<(&str, Attribute)> =
        vec![("direction", direction.into()), ("hidden_size", (hidden as i64).into())];
    if is_lstm {
        operands.push(if drawing.coin() { drawing.operand(&state) } else { String::new() });
        operands.push(if drawing.coin() {
            drawing.weights(&[directions, 3 * hidden])
        } else {
            String::new()
        });
    } else {
        attributes.push(("linear_before_reset", i64::from(drawing.coin()).into()));
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let (operator, count) = if is_lstm { ("LSTM", 3) } else { ("GRU", 2) };
    let results = drawing.builder.node_of_many(operator, "layer", &operands, count, &attributes);
    for result in results {
        drawing.output(&result, F32);
    }
}
