//! Operators that work element by element.

use proctor_vocabulary::ElementType::{Bool, F32, I8, I32, I64, U8};

use super::{Drawing, EXACT, Operator};

/// Operators that work element by element.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Relu", draw: |drawing| unary(drawing, "Relu", -1.0, 1.0) },
    Operator { name: "Sigmoid", draw: |drawing| unary(drawing, "Sigmoid", -9.0, 9.0) },
    Operator { name: "Tanh", draw: |drawing| unary(drawing, "Tanh", -5.0, 5.0) },
    Operator { name: "Erf", draw: |drawing| unary(drawing, "Erf", -4.0, 4.0) },
    Operator { name: "Sqrt", draw: |drawing| unary(drawing, "Sqrt", 0.0, 9.0) },
    Operator { name: "Exp", draw: |drawing| unary(drawing, "Exp", -8.0, 3.0) },
    Operator { name: "Neg", draw: |drawing| unary(drawing, "Neg", -1.0, 1.0) },
    Operator { name: "Reciprocal", draw: |drawing| unary(drawing, "Reciprocal", 0.1, 3.0) },
    Operator { name: "Gelu", draw: gelu },
    Operator { name: "Clip", draw: clip },
    Operator { name: "Add", draw: |drawing| arithmetic(drawing, "Add") },
    Operator { name: "Sub", draw: |drawing| arithmetic(drawing, "Sub") },
    Operator { name: "Mul", draw: |drawing| arithmetic(drawing, "Mul") },
    Operator { name: "Div", draw: divide },
    Operator { name: "Pow", draw: power },
    Operator { name: "Equal", draw: |drawing| compare(drawing, "Equal") },
    Operator { name: "Less", draw: |drawing| compare(drawing, "Less") },
    Operator { name: "Greater", draw: |drawing| compare(drawing, "Greater") },
    Operator { name: "And", draw: both },
    Operator { name: "Max", draw: |drawing| extreme(drawing, "Max") },
    Operator { name: "Min", draw: |drawing| extreme(drawing, "Min") },
    Operator { name: "Where", draw: choose },
    Operator { name: "Cast", draw: cast },
];

fn unary(drawing: &mut Drawing, operator: &str, least: f32, most: f32) {
    let shape = drawing.any_shape(0);
    let x = drawing.input_of(&shape, least, most);
    drawing.single(operator, &[&x], &[]);
}

fn gelu(drawing: &mut Drawing) {
    drawing.opset = 20;
    let shape = drawing.any_shape(0);
    let x = drawing.input_of(&shape, -4.0, 4.0);
    let approximation = drawing.pick(&["none", "tanh"]);
    drawing.single("Gelu", &[&x], &[("approximate", approximation.into())]);
}

fn clip(drawing: &mut Drawing) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(0);
    let element = drawing.pick(&[F32, F32, I8, I32, I64]);
    let x = drawing.input_like(element, &shape);
    let mut bound = |number: i64| match drawing.between(0, 2) {
        0 => String::new(),
        _ if element == F32 => drawing.weights_of(&[], number as f32 / 20.0, number as f32 / 19.0),
        _ => drawing.constant(element, &[], vec![number]),
    };
    let bounds = [bound(-7), bound(8)];
    let result = drawing.node("Clip", &[&x, &bounds[0], &bounds[1]], &[]);
    drawing.output(&result, element);
}

/// Draws two operands that are broadcast to each other, of numbers or integers.
fn arithmetic(drawing: &mut Drawing, operator: &str) {
    let shape = drawing.any_shape(0);
    let element = drawing.pick(&[F32, F32, F32, I32, I64]);
    let (a, b) = (drawing.part_of(&shape), drawing.part_of(&shape));
    let (a, b) = if drawing.coin() { (shape, b) } else { (a, shape) };
    let (a, b) = (drawing.input_like(element, &a), drawing.input_like(element, &b));
    let result = drawing.node(operator, &[&a, &b], &[]);
    drawing.output(&result, element);
}

fn divide(drawing: &mut Drawing) {
    let shape = drawing.any_shape(0);
    let part = drawing.part_of(&shape);
    let element = drawing.pick(&[F32, F32, I32, I64]);
    let x = drawing.input_like(element, &shape);
    let divisor = match element {
        F32 => drawing.input_of(&part, 0.1, 3.0),
        _ => drawing.integers(element, &part, 1, 7),
    };
    let result = drawing.node("Div", &[&x, &divisor], &[]);
    drawing.output(&result, element);
}

fn power(drawing: &mut Drawing) {
    let shape = drawing.any_shape(0);
    let part = drawing.part_of(&shape);
    let x = drawing.input_of(&shape, 0.1, 3.0);
    let exponent = match drawing.between(0, 3) {
        0 => drawing.input_of(&part, -2.0, 3.0),
        1 => drawing.builder.float(2.0),
        2 => drawing.builder.float(0.5),
        _ => drawing.integers(I64, &part, 0, 3),
    };
    drawing.single("Pow", &[&x, &exponent], &[]);
}

/// Compares operands, some of which are equal.
fn compare(drawing: &mut Drawing, operator: &str) {
    let shape = drawing.any_shape(0);
    let part = drawing.part_of(&shape);
    let element = drawing.pick(&[F32, I32, I64]);
    let mut operand = |shape: &[usize]| {
        let integers = drawing.integers(if element == F32 { I32 } else { element }, shape, -2, 2);
        if element == F32 { drawing.node("Cast", &[&integers], &[("to", 1.into())]) } else { integers }
    };
    let (a, b) = (operand(&part), operand(&shape));
    let result = drawing.node(operator, &[&a, &b], &[]);
    drawing.output(&result, Bool);
}

fn both(drawing: &mut Drawing) {
    let shape = drawing.any_shape(0);
    let part = drawing.part_of(&shape);
    let (a, b) = (drawing.input_like(Bool, &shape), drawing.input_like(Bool, &part));
    let result = drawing.node("And", &[&a, &b], &[]);
    drawing.output(&result, Bool);
}

/// Draws the greatest or least of one or more operands.
fn extreme(drawing: &mut Drawing, operator: &str) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(0);
    let element = drawing.pick(&[F32, F32, I32, I64]);
    let mut operands = vec![drawing.input_like(element, &shape)];
    for _ in 0..drawing.between(0, 3) {
        let part = drawing.part_of(&shape);
        operands.push(drawing.input_like(element, &part));
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let result = drawing.node(operator, &operands, &[]);
    drawing.output(&result, element);
}

fn choose(drawing: &mut Drawing) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(0);
    let parts = [drawing.part_of(&shape), drawing.part_of(&shape)];
    let element = drawing.pick(&[F32, I32, I64]);
    let condition = drawing.input_like(Bool, &shape);
    let (a, b) = (drawing.input_like(element, &parts[0]), drawing.input_like(element, &parts[1]));
    let result = drawing.node("Where", &[&condition, &a, &b], &[]);
    drawing.output(&result, element);
}

/// Casts between types whose numbers fit into both.
fn cast(drawing: &mut Drawing) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(0);
    let (to, number) = drawing.pick(&[(F32, 1_i64), (U8, 2), (I8, 3), (I32, 6), (I64, 7), (Bool, 9)]);
    let x = match drawing.between(0, 3) {
        0 if to == U8 => drawing.input_of(&shape, 0.0, 250.0),
        0 => drawing.input_of(&shape, -100.0, 100.0),
        1 => drawing.integers(U8, &shape, 0, 100),
        2 => drawing.integers(Bool, &shape, 0, 1),
        _ => drawing.integers(I64, &shape, 0, 100),
    };
    let result = drawing.node("Cast", &[&x], &[("to", number.into())]);
    drawing.output(&result, to);
}
