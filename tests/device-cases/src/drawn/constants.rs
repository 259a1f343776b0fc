//! Operators that are computed when a model is loaded, plus an input that keeps the graph from being all constant.

use proctor_onnx_file::Attribute;
use proctor_vocabulary::ElementType::{F32, I64};

use super::{Drawing, Operator};

/// Operators that are computed when a model is loaded.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Shape", draw: shape },
    Operator { name: "Constant", draw: constant },
    Operator { name: "ConstantOfShape", draw: constant_of_shape },
    Operator { name: "Range", draw: range },
    Operator { name: "BatchNormalization", draw: batch_normalization },
];

fn shape(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let x = drawing.input(&shape);
    let rank = shape.len() as i64;
    let start = drawing.between(0, shape.len() - 1) as i64;
    let start = if drawing.coin() { start } else { start - rank };
    let extents = drawing.node("Shape", &[&x], &[("start", start.into())]);
    let real = drawing.node("Cast", &[&extents], &[("to", 1.into())]);
    let sum = drawing.node("ReduceSum", &[&real], &[("keepdims", 0.into())]);
    drawing.output(&extents, I64);
    drawing.single("Mul", &[&x, &sum], &[]);
}

fn constant(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let x = drawing.input(&shape);
    let number = drawing.numbers(1, -1.0, 1.0)[0];
    let real = drawing.node("Constant", &[], &[("value_float", number.into())]);
    let sum = drawing.node("Add", &[&x, &real], &[]);
    let listed: Vec<i64> = drawing.integer_values(shape[shape.len() - 1], -9, 9);
    let integers = drawing.node("Constant", &[], &[("value_ints", Attribute::Ints(listed))]);
    let factor = drawing.node("Cast", &[&integers], &[("to", 1.into())]);
    drawing.single("Mul", &[&sum, &factor], &[]);
}

fn constant_of_shape(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let part = drawing.part_of(&shape);
    let x = drawing.input(&part);
    let wanted: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let wanted = drawing.list(&wanted);
    let zeros = drawing.node("ConstantOfShape", &[&wanted], &[]);
    drawing.single("Add", &[&zeros, &x], &[]);
}

fn range(drawing: &mut Drawing) {
    let bounds = [drawing.between(0, 9) as i64, drawing.between(10, 30) as i64, drawing.between(1, 4) as i64];
    let bounds = if drawing.coin() { bounds } else { [bounds[1], bounds[0], -bounds[2]] };
    let [start, limit, step] = bounds.map(|number| drawing.constant(I64, &[], vec![number]));
    let numbers = drawing.node("Range", &[&start, &limit, &step], &[]);
    let real = drawing.node("Cast", &[&numbers], &[("to", 1.into())]);
    let rows = drawing.between(1, 5);
    let x = drawing.input(&[rows, 1]);
    let result = drawing.node("Mul", &[&x, &real], &[]);
    drawing.output(&result, F32);
}

/// Draws a batch norm alone, or after a convolution, which then absorbs it.
fn batch_normalization(drawing: &mut Drawing) {
    let channels = drawing.between(1, 9);
    let image = drawing.shape(2, 9);
    let mut x = drawing.input(&[&[2, channels], &image[..]].concat());
    if drawing.coin() {
        let filters = drawing.weights(&[channels, channels, 1, 1]);
        x = drawing.node("Conv", &[&x, &filters], &[]);
    }
    let (scale, bias) = (drawing.weights(&[channels]), drawing.weights(&[channels]));
    let (mean, variance) = (drawing.weights(&[channels]), drawing.weights_of(&[channels], 0.1, 2.0));
    drawing.single(
        "BatchNormalization",
        &[&x, &scale, &bias, &mean, &variance],
        &[("epsilon", 0.001.into())],
    );
}
