//! Operators between real numbers and small integers.

use proctor_vocabulary::ElementType::{I8, U8};

use super::{Drawing, EXACT, Operator};

/// Operators between real numbers and small integers.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "QuantizeLinear", draw: quantize },
    Operator { name: "DequantizeLinear", draw: dequantize },
];

/// Scales for a tensor or for a dimension of it, and zero points: their names and the dimension.
fn scales(drawing: &mut Drawing, shape: &[usize], is_signed: bool) -> (String, String, i64) {
    let (at, axis) = drawing.axis(shape.len());
    let of = if drawing.coin() { vec![] } else { vec![shape[at]] };
    let count = of.iter().product();
    // Powers of two, by which some quotients are halves, or any numbers.
    let scale = if drawing.coin() {
        let exponents = drawing.integer_values(count, -7, -3);
        let scales: Vec<f32> = exponents.into_iter().map(|exponent| (exponent as f32).exp2()).collect();
        let name = drawing.name();
        drawing.builder.constant(&name, &of, &scales)
    } else {
        drawing.weights_of(&of, 0.01, 0.1)
    };
    let zeros =
        drawing.integer_values(count, if is_signed { -20 } else { 100 }, if is_signed { 20 } else { 140 });
    let zero = drawing.constant(if is_signed { I8 } else { U8 }, &of, zeros);
    (scale, zero, axis)
}

/// Draws dequantised integers of 8 bits: an input or a constant with a single scale and zero point, or in half of the
/// cases, if there is an axis, with one for each place along it.
pub(super) fn dequantized(
    drawing: &mut Drawing,
    shape: &[usize],
    axis: Option<usize>,
    is_constant: bool,
) -> String {
    let is_signed = drawing.coin();
    let (element, least, greatest) = if is_signed { (I8, -128, 127) } else { (U8, 0, 255) };
    let x = match is_constant {
        true => {
            let values = drawing.integer_values(shape.iter().product(), least, greatest);
            drawing.constant(element, shape, values)
        }
        false => drawing.integers(element, shape, least, greatest),
    };
    let axis = axis.filter(|_| drawing.coin());
    let of: Vec<usize> = axis.iter().map(|axis| shape[*axis]).collect();
    // Small ones: the runtime rounds each product, and sums are to be about 1.
    let scale = drawing.weights_of(&of, 0.001, 0.01);
    // Products of factors with one zero point per row or column are products of real numbers.
    let zeros = match drawing.coin() {
        true => vec![0; of.iter().product()],
        false => drawing.integer_values(of.iter().product(), least, greatest),
    };
    let zero = drawing.constant(element, &of, zeros);
    let attributes = [("axis", (axis.unwrap_or(0) as i64).into())];
    drawing.node("DequantizeLinear", &[&x, &scale, &zero], &attributes)
}

/// Numbers, many of them halves of a step.
fn quantize(drawing: &mut Drawing) {
    drawing.tolerance = EXACT;
    let shape = drawing.any_shape(1);
    let is_signed = drawing.coin();
    let x = if drawing.coin() {
        drawing.input_of(&shape, -6.0, 6.0)
    } else {
        let steps = drawing.integer_values(shape.iter().product(), -999, 999);
        let numbers = steps.into_iter().map(|step| step as f64 / 256.0).collect();
        drawing.feed(proctor_device::tensor::Array::real(
            proctor_vocabulary::ElementType::F32,
            &shape,
            numbers,
        ))
    };
    let (scale, zero, axis) = scales(drawing, &shape, is_signed);
    let result = drawing.node("QuantizeLinear", &[&x, &scale, &zero], &[("axis", axis.into())]);
    drawing.output(&result, if is_signed { I8 } else { U8 });
}

fn dequantize(drawing: &mut Drawing) {
    let shape = drawing.any_shape(1);
    let is_signed = drawing.coin();
    let x = match is_signed {
        true => drawing.integers(I8, &shape, -128, 127),
        false => drawing.integers(U8, &shape, 0, 255),
    };
    let (scale, zero, axis) = scales(drawing, &shape, is_signed);
    drawing.single("DequantizeLinear", &[&x, &scale, &zero], &[("axis", axis.into())]);
}
