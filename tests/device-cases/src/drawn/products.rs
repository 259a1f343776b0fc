//! Products of matrices, and convolutions.

use proctor_onnx_file::Attribute;

use super::{Drawing, Operator, sizes};

/// Products of matrices, and convolutions.
pub const OPERATORS: &[Operator] = &[
    Operator { name: "Conv", draw: conv },
    Operator { name: "Conv depthwise", draw: depthwise },
    Operator { name: "Gemm", draw: gemm },
    Operator { name: "MatMul", draw: mat_mul },
];

fn conv(drawing: &mut Drawing) {
    let groups = drawing.pick(&[1, 1, 2, 3]);
    let (depth, maps) = (drawing.between(1, 9), groups * drawing.between(1, 20));
    convolve(drawing, groups, depth, maps);
}

fn depthwise(drawing: &mut Drawing) {
    let channels = drawing.between(2, 20);
    let maps = channels * drawing.pick(&[1, 1, 2]);
    convolve(drawing, channels, 1, maps);
}

fn convolve(drawing: &mut Drawing, groups: usize, depth: usize, maps: usize) {
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
    let x = drawing.input(&[&[batch, groups * depth], &image[..]].concat());
    let filters = drawing.weights(&[&[maps, depth], &window[..]].concat());
    let bias = if drawing.coin() { drawing.weights(&[maps]) } else { String::new() };
    drawing.single("Conv", &[&x, &filters, &bias], &attributes);
}

fn gemm(drawing: &mut Drawing) {
    let (rows, inner, columns) = (drawing.between(1, 40), drawing.between(1, 50), drawing.between(1, 70));
    let is_turned = [drawing.coin(), drawing.coin()];
    let shape = |shape: [usize; 2], is_turned: bool| if is_turned { [shape[1], shape[0]] } else { shape };
    let a = drawing.input(&shape([rows, inner], is_turned[0]));
    let b = drawing.operand(&shape([inner, columns], is_turned[1]));
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
fn mat_mul(drawing: &mut Drawing) {
    let (rows, inner, columns) = (drawing.between(1, 30), drawing.between(1, 50), drawing.between(1, 70));
    let rank = drawing.between(0, 3);
    let stack = drawing.shape(rank, 3);
    let stacks = [drawing.part_of(&stack), drawing.part_of(&stack)];
    let a = if drawing.between(0, 5) == 0 { vec![inner] } else { [&stacks[0][..], &[rows, inner]].concat() };
    let b =
        if drawing.between(0, 5) == 0 { vec![inner] } else { [&stacks[1][..], &[inner, columns]].concat() };
    let a = drawing.input(&a);
    let b = drawing.operand(&b);
    drawing.single("MatMul", &[&a, &b], &[]);
}
