//! Operators whose operands and results are views.

use std::path::Path;

use proctor_device::{read::Source, tensor::Array};
use proctor_onnx_file::{Attribute, Dim, GraphBuilder};
use proctor_vocabulary::ElementType::{F32, I8, I64, U8};

use crate::{Case, random::Random};

/// Returns a graph with inputs of these shapes, which `build` fills and names the outputs of.
fn case(
    name: String,
    shapes: &[&[usize]],
    build: impl Fn(&mut GraphBuilder, &mut Random) -> Vec<String>,
) -> Case {
    let mut random = Random(5);
    let mut builder = GraphBuilder::new("graph");
    let mut inputs = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        builder.input(&format!("x{number}"), F32, &Dim::fixed(shape));
        let numbers = random.numbers(shape.iter().product()).into_iter().map(f64::from).collect();
        inputs.push(Array::real(F32, shape, numbers));
    }
    for output in build(&mut builder, &mut random) {
        builder.output(&output, if output == "places" { I64 } else { F32 }, &[]);
    }
    let source = Source::from_bytes(Path::new("graph.onnx"), &builder.into_bytes()).unwrap();
    let shapes: Vec<_> = shapes.iter().map(|shape| shape.to_vec()).collect();
    Case { name, graph: source.graph(&shapes).unwrap(), inputs }
}

fn weights(builder: &mut GraphBuilder, random: &mut Random, name: &str, shape: &[usize]) -> String {
    builder.constant(name, shape, &random.numbers(shape.iter().product()))
}

fn ints(values: &[i64]) -> Attribute {
    Attribute::Ints(values.to_vec())
}

/// Returns convolutions of a part of the channels that go into a part of the result.
#[must_use]
pub fn convolutions_of_parts() -> Vec<Case> {
    let of = |(batch, groups): (usize, usize)| {
        case(format!("{groups} groups of batch {batch}"), &[&[batch, 8, 7, 6]], |builder, random| {
            let parts = builder.node_of_many("Split", "split", &["x0"], 2, &[("axis", 1.into())]);
            let filters = weights(builder, random, "w", &[4, 4 / groups, 3, 3]);
            let attributes =
                [("group", i64::try_from(groups).unwrap().into()), ("pads", ints(&[1, 1, 1, 1]))];
            let one = builder.node("Conv", "one", &[&parts[1], &filters], &attributes);
            let other = builder.node("Conv", "other", &[&parts[0], &filters], &attributes);
            let positive = builder.node("Relu", "positive", &[&other], &[]);
            vec![builder.node("Concat", "joined", &[&one, &positive, "x0"], &[("axis", 1.into())])]
        })
    };
    [(1, 4), (3, 4), (1, 1), (2, 2)].map(of).into()
}

/// Returns convolutions and pools with windows at any strides, dilations and pads.
#[must_use]
pub fn windows() -> Vec<Case> {
    let mut cases = Vec::new();
    for (strides, dilations, pads) in
        [([1, 1], [1, 1], [0, 0, 0, 0]), ([2, 3], [1, 2], [2, 1, 0, 3]), ([3, 1], [2, 1], [1, 4, 2, 0])]
    {
        for filters in [5, 33] {
            let name =
                format!("{filters} filters, strides {strides:?}, dilations {dilations:?}, pads {pads:?}");
            cases.push(case(name, &[&[2, 3, 11, 37]], |builder, random| {
                let filter = weights(builder, random, "w", &[filters, 3, 3, 2]);
                let bias = weights(builder, random, "b", &[filters]);
                let attributes =
                    [("strides", ints(&strides)), ("dilations", ints(&dilations)), ("pads", ints(&pads))];
                let result = builder.node("Conv", "conv", &["x0", &filter, &bias], &attributes);
                let window = [("kernel_shape", ints(&[2, 3])), ("strides", ints(&strides))];
                let pooled = builder.node("MaxPool", "pooled", &[&result], &window);
                vec![result, pooled, builder.node("AveragePool", "mean", &["x0"], &window)]
            }));
        }
    }
    cases
}

/// Returns convolutions with possible ends: a bias, a residual and activations, in groups and rows, too.
#[must_use]
pub fn convolutions_with_ends() -> Vec<Case> {
    let (image, result): (&[usize], &[usize]) = (&[2, 6, 9, 7], &[2, 8, 9, 7]);
    let of = |name: &str, has_bias: bool, ends: &'static [&'static str]| {
        case(name.to_owned(), &[image, result], move |builder, random| {
            let mut inputs = vec!["x0".to_owned(), weights(builder, random, "w", &[8, 3, 3, 3])];
            if has_bias {
                inputs.push(weights(builder, random, "b", &[8]));
            }
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let attributes = [("pads", ints(&[1, 1, 1, 1])), ("group", 2.into())];
            let mut value = builder.node("Conv", "conv", &inputs, &attributes);
            for end in ends {
                let operands: &[&str] = if *end == "Add" { &[&value, "x1"] } else { &[&value] };
                value = builder.node(end, &end.to_lowercase(), operands, &[]);
            }
            vec![value]
        })
    };
    let rows = case("rows of one line".to_owned(), &[&[3, 4, 31]], |builder, random| {
        let filters = weights(builder, random, "w", &[5, 4, 3]);
        let bias = weights(builder, random, "b", &[5]);
        let attributes = [("strides", ints(&[2])), ("dilations", ints(&[2])), ("pads", ints(&[1, 1]))];
        let result = builder.node("Conv", "conv", &["x0", &filters, &bias], &attributes);
        vec![builder.node("Relu", "relu", &[&result], &[])]
    });
    vec![
        of("nothing", false, &[]),
        of("bias", true, &[]),
        of("bias and Relu", true, &["Relu"]),
        of("bias and residual", true, &["Add"]),
        of("bias, residual and Relu", true, &["Add", "Relu"]),
        of("bias, Relu and then a residual", true, &["Relu", "Add"]),
        of("Relu alone", false, &["Relu"]),
        of("residual alone", false, &["Add"]),
        of("bias and an activation that no library has", true, &["Tanh"]),
        rows,
    ]
}

/// Returns convolutions of each channel: in a volume that is flat except for its pads, and with windows that reach far.
#[must_use]
pub fn depthwise() -> Vec<Case> {
    let of = |name: &str, image: &[usize], filter: &[usize], [strides, dilations, pads]: [&[i64]; 3]| {
        case(name.to_owned(), &[image], |builder, random| {
            let filters = weights(builder, random, "w", filter);
            let attributes = [
                ("group", i64::try_from(image[1]).unwrap().into()),
                ("strides", ints(strides)),
                ("dilations", ints(dilations)),
                ("pads", ints(pads)),
            ];
            vec![builder.node("Conv", "conv", &["x0", &filters], &attributes)]
        })
    };
    let (volume, cubes) = ([1, 4, 1, 5, 6], [4, 1, 1, 3, 3]);
    vec![
        of("a pad in depth", &volume, &cubes, [&[2, 1, 1], &[1, 1, 1], &[1, 1, 1, 0, 1, 1]]),
        of("a flat volume", &volume, &cubes, [&[1, 2, 1], &[1, 1, 1], &[0, 1, 1, 0, 1, 1]]),
        of("a far window", &[2, 3, 2100], &[6, 1, 3], [&[1], &[1024], &[1024, 1024]]),
        of("a wide window", &[1, 2, 700], &[2, 1, 401], [&[10], &[1], &[200, 200]]),
        of("several results", &[2, 3, 9, 21], &[6, 1, 3, 5], [&[2, 3], &[1, 2], &[1, 2, 0, 3]]),
    ]
}

/// Returns products of stacks, with broadcasting, and of transposed operands.
#[must_use]
pub fn products() -> Vec<Case> {
    let mut cases = Vec::new();
    for (a, b) in [
        (&[2, 3, 5, 7][..], &[2, 3, 7, 4][..]),
        (&[2, 3, 5, 7], &[7, 40]),
        (&[5, 7], &[3, 7, 33]),
        (&[2, 1, 5, 7], &[3, 7, 4]),
        (&[2, 2, 3, 5, 7], &[2, 1, 3, 7, 4]),
        (&[1, 7], &[7, 65]),
    ] {
        cases.push(case(format!("{a:?} by {b:?}"), &[a, b], |builder, random| {
            let product = builder.node("MatMul", "product", &["x0", "x1"], &[]);
            let scaled = weights(builder, random, "s", &[b[b.len() - 1]]);
            let moved = builder.node("Add", "moved", &[&product, &scaled], &[]);
            let both = builder.node("Mul", "both", &[&moved, &product], &[]);
            vec![both, moved]
        }));
        let rank = i64::try_from(a.len()).unwrap();
        let order: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        cases.push(case(format!("{a:?} by its like, transposed"), &[a, a], |builder, _| {
            let turned = builder.node("Transpose", "turned", &["x1"], &[("perm", ints(&order))]);
            let product = builder.node("MatMul", "product", &["x0", &turned], &[]);
            vec![builder.node("Softmax", "shares", &[&product], &[("axis", (-1).into())])]
        }));
    }
    cases
}

/// Returns attention with heads of the usual width and of others, with keys and a mask for all heads or for each, or
/// without.
#[must_use]
pub fn attention() -> Vec<Case> {
    let of = |[q, k, v, mask]: [&[usize]; 4], scale: f32| {
        let name = format!("attention of {q:?}, {k:?}, {v:?} and {mask:?}");
        let shapes = [q, k, v, mask];
        case(name, &shapes[..if mask.is_empty() { 3 } else { 4 }], |builder, _| {
            let rank = k.len() as i64;
            let order: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            let turned = builder.node("Transpose", "turned", &["x1"], &[("perm", ints(&order))]);
            let products = builder.node("MatMul", "products", &["x0", &turned], &[]);
            let factor = builder.constant("factor", &[], &[scale]);
            let mut scores = builder.node("Mul", "scores", &[&products, &factor], &[]);
            if !mask.is_empty() {
                scores = builder.node("Add", "masked", &[&scores, "x3"], &[]);
            }
            let shares = builder.node("Softmax", "shares", &[&scores], &[("axis", (-1).into())]);
            vec![builder.node("MatMul", "sums", &[&shares, "x2"], &[])]
        })
    };
    vec![
        of([&[2, 3, 40, 64], &[2, 3, 70, 64], &[2, 3, 70, 64], &[2, 1, 1, 70]], 0.125),
        of([&[2, 33, 20], &[2, 130, 20], &[2, 130, 9], &[33, 130]], 0.5),
        of([&[16, 128], &[64, 128], &[64, 128], &[]], 0.1),
        of([&[2, 3, 20, 16], &[2, 1, 31, 16], &[1, 3, 31, 17], &[2, 3, 20, 31]], 1.0),
        of([&[2, 1, 3, 8], &[2, 1, 5, 8], &[2, 1, 5, 8], &[]], 1.0),
        of([&[4, 1, 8], &[4, 9, 8], &[4, 9, 8], &[9]], 1.0),
        of([&[2, 1, 2, 17, 8], &[1, 2, 2, 9, 8], &[2, 2, 2, 9, 8], &[2, 1, 2, 1, 9]], 0.5),
        of([&[2, 1, 2, 17, 8], &[2, 3, 1, 9, 8], &[3, 2, 9, 8], &[2, 1, 2, 17, 9]], 0.5),
    ]
}

/// Returns products and convolutions of factors of 8 bits, both with zero points. Of the product's inner elements there
/// are more than a float adds up exactly.
#[must_use]
pub fn integers() -> Vec<Case> {
    const INNER: usize = 300;
    // A power of two, by which quotients are exact.
    const STEP: f32 = 1.0 / 128.0;
    vec![case("integers".to_owned(), &[&[5, INNER], &[2, 3, 9, 8]], |builder, random| {
        let step = builder.constant("step", &[], &[STEP]);
        let middle = builder.constant_of("middle", U8, &[], vec![120]);
        let low = builder.constant_of("low", I8, &[], vec![0xf6]);
        let narrow = |builder: &mut GraphBuilder, x: &str| {
            let quantized =
                builder.node("QuantizeLinear", &format!("{x} in 8 bits"), &[x, &step, &middle], &[]);
            let name = format!("{x} again");
            builder.node("DequantizeLinear", &name, &[&quantized, &step, &middle], &[])
        };
        let mut weights = |builder: &mut GraphBuilder, name: &str, shape: &[usize]| {
            let count = shape.iter().product();
            let bytes = (0..count).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
            let constant = builder.constant_of(&format!("{name} in 8 bits"), I8, shape, bytes);
            builder.node("DequantizeLinear", name, &[&constant, &step, &low], &[])
        };
        let (rows, image) = (narrow(builder, "x0"), narrow(builder, "x1"));
        let matrix = weights(builder, "matrix", &[INNER, 7]);
        let filters = weights(builder, "filters", &[4, 3, 3, 3]);
        let single = weights(builder, "single", &[3, 1, 3, 3]);
        let pads = ("pads", ints(&[1, 0, 2, 1]));
        vec![
            builder.node("MatMul", "product", &[&rows, &matrix], &[]),
            builder.node("Conv", "conv", &[&image, &filters], std::slice::from_ref(&pads)),
            builder.node("Conv", "each", &[&image, &single], &[pads, ("group", 3.into())]),
        ]
    })]
}

/// Returns the elements in slices, backwards, transposed and broadcast.
#[must_use]
pub fn elements() -> Vec<Case> {
    vec![case("elements".to_owned(), &[&[3, 4, 5], &[4, 1]], |builder, _| {
        let (starts, ends) = (builder.ints(&[-1, 1]), builder.ints(&[-9, 4]));
        let (axes, steps) = (builder.ints(&[2, 1]), builder.ints(&[-2, 1]));
        let part = builder.node("Slice", "part", &["x0", &starts, &ends, &axes, &steps], &[]);
        let turned = builder.node("Transpose", "turned", &[&part], &[("perm", ints(&[2, 0, 1]))]);
        let shape = builder.ints(&[3, -1]);
        let flat = builder.node("Reshape", "flat", &[&turned, &shape], &[]);
        let all = builder.node("Add", "all", &["x0", "x1"], &[]);
        let grown = builder.node("Erf", "grown", &[&all], &[]);
        vec![turned, flat, builder.node("Div", "divided", &[&grown, "x0"], &[]), all]
    })]
}

/// Returns every function of elements in one sum, each with a different factor: one kernel has all of them, and none
/// can pass for another.
#[must_use]
pub fn functions() -> Vec<Case> {
    vec![case("functions".to_owned(), &[&[6, 50], &[50]], |builder, _| {
        // Above 0, so that roots, powers and quotients are numbers.
        let above = builder.node("Exp", "above", &["x0"], &[]);
        let bounds = [builder.constant("least", &[], &[-0.4]), builder.constant("most", &[], &[0.6])];
        let mut terms = vec![
            above.clone(),
            builder.node("Sqrt", "root", &[&above], &[]),
            builder.node("Reciprocal", "inverse", &[&above], &[]),
            builder.node("Div", "quotient", &["x1", &above], &[]),
            builder.node("Pow", "power", &[&above, "x1"], &[]),
            builder.node("Clip", "within", &["x0", &bounds[0], &bounds[1]], &[]),
        ];
        for operator in ["Relu", "Sigmoid", "Tanh", "Erf", "Neg"] {
            terms.push(builder.node(operator, operator, &["x0"], &[]));
        }
        for operator in ["Add", "Sub", "Mul", "Max", "Min"] {
            terms.push(builder.node(operator, operator, &["x0", "x1"], &[]));
        }
        for operator in ["Equal", "Less", "Greater"] {
            let relation = builder.node(operator, operator, &["x0", "x1"], &[]);
            terms.push(builder.node("Where", &format!("{operator} chosen"), &[&relation, "x0", "x1"], &[]));
        }
        let hundred = builder.constant("hundred", &[], &[100.0]);
        let scaled = builder.node("Mul", "scaled", &["x0", &hundred], &[]);
        for to in [7, 6, 3] {
            let integers = builder.node("Cast", &format!("to {to}"), &[&scaled], &[("to", to.into())]);
            let real = builder.node("Cast", &format!("from {to}"), &[&integers], &[("to", 1.into())]);
            terms.push(builder.node("Div", &format!("of {to}"), &[&real, &hundred], &[]));
        }
        let mut sum = builder.constant("nothing", &[], &[0.0]);
        for (number, term) in (0_u8..).zip(terms) {
            let factor =
                builder.constant(&format!("factor {number}"), &[], &[0.1 + 0.03 * f32::from(number)]);
            let counted = builder.node("Mul", &format!("counted {number}"), &[&term, &factor], &[]);
            sum = builder.node("Add", &format!("sum {number}"), &[&sum, &counted], &[]);
        }
        vec![sum]
    })]
}

/// Returns slices by their indices; some count from the end or come twice.
#[must_use]
pub fn gathers() -> Vec<Case> {
    vec![case("gathers".to_owned(), &[&[4, 5, 3]], |builder, _| {
        let bytes = [2_i64, -1, 0, 4, -5, 2].iter().flat_map(|index| index.to_le_bytes()).collect();
        let indices = builder.constant_of("indices", I64, &[2, 3], bytes);
        vec![builder.node("Gather", "gathered", &["x0", &indices], &[("axis", 1.into())])]
    })]
}

/// Returns reductions, softmax and normalisation of rows in any dimensions.
#[must_use]
pub fn rows() -> Vec<Case> {
    vec![case("rows".to_owned(), &[&[2, 3, 4, 5]], |builder, random| {
        let scale = weights(builder, random, "scale", &[4, 5]);
        let bias = weights(builder, random, "bias", &[4, 5]);
        let axes = builder.ints(&[1, 3]);
        let mean = builder.node("ReduceMean", "mean", &["x0", &axes], &[("keepdims", 0.into())]);
        let first = builder.ints(&[0, 1]);
        let most = builder.node("ReduceMax", "most", &["x0", &first], &[("keepdims", 1.into())]);
        let shares = builder.node("Softmax", "shares", &["x0"], &[("axis", 1.into())]);
        let normal = builder.node(
            "LayerNormalization",
            "normal",
            &["x0", &scale, &bias],
            &[("axis", 2.into()), ("epsilon", 0.01.into())],
        );
        let places = builder.node("ArgMax", "places", &["x0"], &[("axis", 1.into()), ("keepdims", 0.into())]);
        vec![mean, most, shares, normal, places]
    })]
}

/// Returns integers that are clipped.
#[must_use]
pub fn clipped_integers() -> Vec<Case> {
    vec![case("clipped integers".to_owned(), &[&[4, 25]], |builder, _| {
        let hundred = builder.constant("hundred", &[], &[100.0]);
        let scaled = builder.node("Mul", "scaled", &["x0", &hundred], &[]);
        let bound = |builder: &mut GraphBuilder, name: &str, bytes: &[u8]| {
            builder.constant_of(name, if bytes.len() == 1 { I8 } else { I64 }, &[], bytes.to_vec())
        };
        let (least, most) = (bound(builder, "least", &[0xec]), bound(builder, "most", &[30]));
        let small = builder.node("Cast", "small", &[&scaled], &[("to", 3.into())]);
        let small = builder.node("Clip", "of_i8", &[&small, &least, &most], &[]);
        // Also if a bound is missing and another is beyond 32 bits.
        let none = bound(builder, "none", &i64::MIN.to_le_bytes());
        let far = bound(builder, "far", &(1_i64 << 40).to_le_bytes());
        let large = builder.node("Cast", "large", &[&scaled], &[("to", 7.into())]);
        let large = builder.node("Mul", "larger", &[&large, &far], &[]);
        let large = builder.node("Clip", "of_i64", &[&large, &none, &far], &[]);
        let real = |clipped: &String| {
            builder.node("Cast", &format!("{clipped} as f32"), &[clipped], &[("to", 1.into())])
        };
        [small, large].iter().map(real).collect()
    })]
}

/// Returns the functions of numbers at the ends of their range, and of values that are not numbers.
#[must_use]
pub fn not_numbers() -> Vec<Case> {
    const NUMBERS: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e4, -1e4, 0.5];
    let mut case = case("not numbers".to_owned(), &[&[8, 1], &[1, 8]], |builder, _| {
        let mut outputs = Vec::new();
        for operator in ["Relu", "Sigmoid", "Tanh", "Erf", "Sqrt", "Exp", "Neg", "Reciprocal"] {
            outputs.push(builder.node(operator, operator, &["x0"], &[]));
        }
        let bounds = [builder.constant("least", &[], &[-1.0]), builder.constant("most", &[], &[6.0])];
        outputs.push(builder.node("Clip", "Clip", &["x0", &bounds[0], &bounds[1]], &[]));
        for operator in ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"] {
            outputs.push(builder.node(operator, operator, &["x0", "x1"], &[]));
        }
        for operator in ["Equal", "Less", "Greater"] {
            let relation = builder.node(operator, operator, &["x0", "x1"], &[]);
            let chosen = format!("{operator} chosen");
            outputs.push(builder.node("Where", &chosen, &[&relation, "x0", "x1"], &[]));
        }
        // Of one element each, so that every number is seen, and of all.
        for operator in ["ReduceMax", "ReduceMean"] {
            let axes = builder.ints(&[1]);
            outputs.push(builder.node(operator, &format!("{operator} of one"), &["x0", &axes], &[]));
            outputs.push(builder.node(operator, &format!("{operator} of all"), &["x1", &axes], &[]));
        }
        for to in [7, 6, 3] {
            let integers = builder.node("Cast", &format!("to {to}"), &["x0"], &[("to", to.into())]);
            outputs.push(builder.node("Cast", &format!("from {to}"), &[&integers], &[("to", 1.into())]));
        }
        outputs
    });
    for input in &mut case.inputs {
        *input = Array::real(F32, &input.shape, NUMBERS.to_vec());
    }
    vec![case]
}
