//! Products of matrices, and convolutions.

use proctor_onnx_file::Attribute;

use super::{Drawing, Operator, quantize::dequantized, sizes};

/// Products of matrices, and convolutions.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Conv", draw: |drawing| conv(drawing, REAL) },
    Operator { name: "Conv depthwise", draw: |drawing| depthwise(drawing, REAL) },
    Operator { name: "Gemm", draw: |drawing| gemm(drawing, REAL) },
    Operator { name: "MatMul", draw: |drawing| mat_mul(drawing, REAL) },
    Operator { name: "Conv of dequantized", draw: |drawing| conv(drawing, DEQUANTIZED) },
    Operator { name: "Conv depthwise of dequantized", draw: |drawing| depthwise(drawing, DEQUANTIZED) },
    Operator { name: "Gemm of dequantized", draw: |drawing| gemm(drawing, DEQUANTIZED) },
    Operator { name: "MatMul of dequantized", draw: |drawing| mat_mul(drawing, DEQUANTIZED) },
];

/// Draws both factors of a product.
struct Factors {
    /// The first, an input.
    first: fn(&mut Drawing, &[usize]) -> String,
    /// The second, an input or a constant, with results along this dimension.
    second: fn(&mut Drawing, &[usize], usize) -> String,
    /// A constant, with results along this dimension.
    weights: fn(&mut Drawing, &[usize], usize) -> String,
}

const REAL: Factors = Factors {
    first: Drawing::input,
    second: |drawing, shape, _| drawing.operand(shape),
    weights: |drawing, shape, _| drawing.weights(shape),
};

const DEQUANTIZED: Factors = Factors {
    first: |drawing, shape| dequantized(drawing, shape, None, false),
    second: |drawing, shape, axis| {
        let is_constant = drawing.coin();
        // The runtime takes scales by place of single matrices alone.
        dequantized(drawing, shape, Some(axis).filter(|_| shape.len() == 2), is_constant)
    },
    weights: |drawing, shape, axis| dequantized(drawing, shape, Some(axis), true),
};

fn conv(drawing: &mut Drawing, factors: Factors) {
    let groups = drawing.pick(&[1, 1, 2, 3]);
    let (depth, maps) = (drawing.between(1, 9), groups * drawing.between(1, 20));
    convolve(drawing, groups, depth, maps, factors);
}

fn depthwise(drawing: &mut Drawing, factors: Factors) {
    let channels = drawing.between(2, 20);
    let maps = channels * drawing.pick(&[1, 1, 2]);
    convolve(drawing, channels, 1, maps, factors);
}

fn convolve(drawing: &mut Drawing, groups: usize, depth: usize, maps: usize, factors: Factors) {
    let rank = drawing.pick(&[1, 2, 2, 2, 3]);
    let window = drawing.shape(rank, 4);
    let strides = drawing.shape(rank, 3);
    let mut dilations = drawing.shape(rank, 2);
    let mut attributes = vec![("strides", sizes(&strides)), ("group", Attribute::Int(groups as i64))];
    match drawing.between(0, 4) {
        0 => {}
        1 | 2 => {
            // Pads at the beginning and at the end of each dimension.
            let pads: Vec<usize> = (0..2 * rank).map(|at| drawing.between(0, window[at % rank])).collect();
            attributes.push(("pads", sizes(&pads)));
        }
        3 => attributes.push(("auto_pad", "VALID".into())),
        _ => {
            // The runtime takes no dilations with these.
            dilations = vec![1; rank];
            attributes.push(("auto_pad", drawing.pick(&["SAME_UPPER", "SAME_LOWER"]).into()));
        }
    }
    attributes.push(("dilations", sizes(&dilations)));
    if drawing.coin() {
        attributes.push(("kernel_shape", sizes(&window)));
    }
    let most = if rank == 3 { 8 } else { 20 };
    let image: Vec<usize> =
        (0..rank).map(|at| drawing.between((window[at] - 1) * dilations[at] + 1, most)).collect();
    let batch = drawing.between(1, 3);
    let x = (factors.first)(drawing, &[&[batch, groups * depth], &image[..]].concat());
    let filters = (factors.weights)(drawing, &[&[maps, depth], &window[..]].concat(), 0);
    let bias = if drawing.coin() { drawing.weights(&[maps]) } else { String::new() };
    drawing.single("Conv", &[&x, &filters, &bias], &attributes);
}

fn gemm(drawing: &mut Drawing, factors: Factors) {
    let (rows, inner, columns) = (drawing.between(1, 40), drawing.between(1, 50), drawing.between(1, 70));
    let is_turned = [drawing.coin(), drawing.coin()];
    let shape = |shape: [usize; 2], is_turned: bool| if is_turned { [shape[1], shape[0]] } else { shape };
    let a = (factors.first)(drawing, &shape([rows, inner], is_turned[0]));
    let b = (factors.second)(drawing, &shape([inner, columns], is_turned[1]), usize::from(!is_turned[1]));
    let part = drawing.part_of(&[rows, columns]);
    let c = if drawing.coin() { drawing.operand(&part) } else { String::new() };
    let attributes = [
        ("transA", i64::from(is_turned[0]).into()),
        ("transB", i64::from(is_turned[1]).into()),
        ("alpha", drawing.pick(&[1.0_f32, 0.5]).into()),
        ("beta", drawing.pick(&[1.0_f32, -0.25]).into()),
    ];
    drawing.single("Gemm", &[&a, &b, &c], &attributes);
}

/// Stacks that are broadcast to each other, or vectors.
fn mat_mul(drawing: &mut Drawing, factors: Factors) {
    let (rows, inner, columns) = (drawing.between(1, 30), drawing.between(1, 50), drawing.between(1, 70));
    let rank = drawing.between(0, 3);
    let stack = drawing.shape(rank, 3);
    let stacks = [drawing.part_of(&stack), drawing.part_of(&stack)];
    let a = if drawing.between(0, 5) == 0 { vec![inner] } else { [&stacks[0][..], &[rows, inner]].concat() };
    let b =
        if drawing.between(0, 5) == 0 { vec![inner] } else { [&stacks[1][..], &[inner, columns]].concat() };
    let axis = b.len() - 1;
    let a = (factors.first)(drawing, &a);
    let b = (factors.second)(drawing, &b, axis);
    drawing.single("MatMul", &[&a, &b], &[]);
}
