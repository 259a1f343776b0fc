//! Pools.

use super::{Drawing, EXACT, Operator, sizes};

/// Pools.
pub const OPERATORS: &[Operator] = &[
    Operator {
        name: "MaxPool",
        draw: |drawing| {
            drawing.tolerance = EXACT;
            pool(drawing, "MaxPool");
        },
    },
    Operator { name: "AveragePool", draw: |drawing| pool(drawing, "AveragePool") },
    Operator { name: "GlobalAveragePool", draw: global },
];

fn pool(drawing: &mut Drawing, operator: &str) {
    let rank = drawing.pick(&[1, 2, 2, 2, 3]);
    let window = drawing.shape(rank, 4);
    let mut strides = drawing.shape(rank, 3);
    let mut dilations = vec![1; rank];
    let mut attributes = vec![("kernel_shape", sizes(&window))];
    match drawing.between(0, 3) {
        0 => {}
        1 | 2 => {
            let pads: Vec<usize> =
                (0..2 * rank).map(|at| drawing.between(0, window[at % rank] - 1)).collect();
            attributes.push(("pads", sizes(&pads)));
            if operator == "MaxPool" {
                dilations = drawing.shape(rank, 2);
                attributes.push(("dilations", sizes(&dilations)));
            }
            attributes.push(("ceil_mode", i64::from(drawing.coin()).into()));
        }
        _ => {
            // The runtime takes no windows with gaps between them here.
            strides.iter_mut().zip(&window).for_each(|(stride, extent)| *stride = (*stride).min(*extent));
            attributes.push(("auto_pad", drawing.pick(&["SAME_UPPER", "SAME_LOWER"]).into()));
        }
    }
    attributes.push(("strides", sizes(&strides)));
    if operator == "AveragePool" {
        attributes.push(("count_include_pad", i64::from(drawing.coin()).into()));
    }
    let most = if rank == 3 { 9 } else { 20 };
    let image: Vec<usize> =
        (0..rank).map(|at| drawing.between((window[at] - 1) * dilations[at] + 1, most)).collect();
    let (batch, channels) = (drawing.between(1, 3), drawing.between(1, 9));
    let x = drawing.input(&[&[batch, channels], &image[..]].concat());
    drawing.single(operator, &[&x], &attributes);
}

fn global(drawing: &mut Drawing) {
    let shape = drawing.any_shape(3);
    let x = drawing.input(&shape);
    drawing.single("GlobalAveragePool", &[&x], &[]);
}
