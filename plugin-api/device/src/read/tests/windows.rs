//! Convolutions and pools.

use proctor_onnx_file::Attribute;
use proctor_vocabulary::ElementType::{F16, F32, I8};

use super::*;
use crate::op::{Conv, Pool, PoolKind};

fn conv(x: &[usize], w: &[usize], attributes: &[(&str, Attribute)]) -> Result<Graph, String> {
    read_node(11, "Conv", &[real(x), Zeros(F32, w)], 1, attributes)
}

fn pool(operator: &str, opset: i64, x: &[usize], attributes: &[(&str, Attribute)]) -> Result<Graph, String> {
    read_node(opset, operator, &[real(x)], 1, attributes)
}

#[test]
fn a_convolution_is_placed_as_its_attributes_say() {
    let graph = conv(
        &[2, 4, 9, 8],
        &[6, 2, 3, 2],
        &[
            ("group", 2.into()),
            ("strides", [2, 3].into()),
            ("dilations", [2, 1].into()),
            ("pads", [1, 0, 2, 1].into()),
            ("kernel_shape", [3, 2].into()),
        ],
    );
    let graph = graph.unwrap();
    assert_eq!(shape(&graph), [2, 6, 4, 3]);
    let expected = Conv { strides: vec![2, 3], dilations: vec![2, 1], pads_begin: vec![1, 0], groups: 2 };
    assert_eq!(op(&graph), &Op::Conv(expected));
    for rank in [1, 3] {
        let (x, w) = ([&[1, 2], &[7, 7, 7][..rank]].concat(), [&[3, 2], &[3, 3, 3][..rank]].concat());
        assert_eq!(shape(&conv(&x, &w, &[]).unwrap()), [&[1, 3], &[5, 5, 5][..rank]].concat());
    }
    let with_bias = [real(&[1, 1, 5]), Zeros(F32, &[2, 1, 5]), Zeros(F32, &[2])];
    assert_eq!(read_node(11, "Conv", &with_bias, 1, &[]).unwrap().nodes()[0].inputs.len(), 3);
}

#[test]
fn automatic_pads_keep_the_image_as_long_as_its_strides() {
    let pads = |mode: &str, stride: i64, extent: usize| {
        let attributes = [("auto_pad", mode.into()), ("strides", [stride].into())];
        let graph = conv(&[1, 1, extent], &[1, 1, 4], &attributes).unwrap();
        let Op::Conv(conv) = op(&graph) else { panic!("{graph:?}") };
        (conv.pads_begin[0], shape(&graph)[2])
    };
    assert_eq!(pads("SAME_UPPER", 1, 9), (1, 9));
    assert_eq!(pads("SAME_LOWER", 1, 9), (2, 9));
    assert_eq!(pads("SAME_UPPER", 2, 9), (1, 5));
    assert_eq!(pads("SAME_LOWER", 2, 9), (2, 5));
    assert_eq!(pads("VALID", 2, 9), (0, 3));
    assert_eq!(pads("NOTSET", 2, 10), (0, 4));
    // Windows that leave gaps need no pads.
    assert_eq!(pads("SAME_UPPER", 8, 16), (0, 2));
}

#[test]
fn convolutions_that_do_not_fit_are_refused() {
    for (x, w, attributes, expected) in [
        (
            &[1, 3, 5][..],
            &[2, 2, 3][..],
            vec![],
            "weights [2, 2, 3] in 1 groups do not fit an image [1, 3, 5]",
        ),
        (&[1, 4, 5], &[3, 2, 3], vec![("group", 2.into())], "weights [3, 2, 3] in 2 groups do not fit"),
        (&[1, 3, 5], &[2, 3, 3, 3], vec![], "do not fit an image [1, 3, 5]"),
        (&[1, 3], &[2, 3], vec![], "do not fit an image [1, 3]"),
        (&[1, 1, 2], &[1, 1, 3], vec![], "windows [3] do not fit into an image [2]"),
        (&[1, 1, 9], &[1, 1, 0], vec![], "windows [0] do not fit into an image [9]"),
        (&[1, 1, 9], &[1, 1, 3], vec![("kernel_shape", [2].into())], "weights [1, 1, 3] in 1 groups"),
        (&[1, 1, 9], &[1, 1, 3], vec![("strides", [0].into())], "strides [0] of an image of 1 dimensions"),
        (&[1, 1, 9], &[1, 1, 3], vec![("pads", [1].into())], "pads [1] of an image of 1 dimensions"),
        (
            &[1, 1, 9],
            &[1, 1, 3],
            vec![("pads", [-1, 0].into())],
            "attribute \"pads\" is [-1, 0], which must not",
        ),
        (&[1, 1, 9], &[1, 1, 3], vec![("auto_pad", "ODD".into())], "auto_pad \"ODD\" is not known"),
        (&[1, 1, 9], &[1, 1, 3], vec![("group", 0.into())], "attribute \"group\" is not positive"),
        (&[1, 1, 9], &[1, 1, 3], vec![("dilations", [i64::MAX].into())], "windows [3] do not fit"),
        (
            &[1, 1, 9],
            &[1, 1, 3],
            vec![("pads", [i64::MAX, i64::MAX].into())],
            "windows [3] do not fit into an image [9]",
        ),
        (&[1, 1, 9], &[1, 1, 3], vec![("pads", [1 << 31, 0].into())], "windows [3] do not fit"),
        (&[1, 0, 9], &[0, 0, 3], vec![], "weights [0, 0, 3] in 1 groups"),
    ] {
        let message = conv(x, w, &attributes).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let mixed = [real(&[1, 1, 5]), Zeros(F16, &[1, 1, 3])];
    assert_eq!(read_node(11, "Conv", &mixed, 1, &[]).unwrap_err(), "its inputs hold f32 and f16");
    let bias = [real(&[1, 1, 5]), Zeros(F32, &[2, 1, 3]), Zeros(F32, &[3])];
    assert_eq!(read_node(11, "Conv", &bias, 1, &[]).unwrap_err(), "a bias [3] of 2 channels");
    let integers = [Input(I8, &[1, 1, 5]), Zeros(I8, &[1, 1, 3])];
    assert!(read_node(11, "Conv", &integers, 1, &[]).unwrap_err().contains("input 0 holds i8, only"));
}

#[test]
fn a_pool_may_end_with_a_window_that_is_not_whole() {
    let extent = |ceil: i64, pads: [i64; 2], extent: usize| {
        let attributes = [
            ("kernel_shape", [3].into()),
            ("strides", [2].into()),
            ("pads", pads.into()),
            ("ceil_mode", ceil.into()),
        ];
        shape(&pool("MaxPool", 12, &[1, 1, extent], &attributes).unwrap())[2]
    };
    assert_eq!((extent(0, [0, 0], 6), extent(1, [0, 0], 6)), (2, 3));
    assert_eq!((extent(0, [0, 0], 7), extent(1, [0, 0], 7)), (3, 3));
    assert_eq!((extent(0, [1, 1], 6), extent(1, [1, 1], 6)), (3, 4));
    // The last window would begin after the image.
    let attributes = [("kernel_shape", [1].into()), ("strides", [2].into()), ("ceil_mode", 1.into())];
    assert_eq!(shape(&pool("MaxPool", 12, &[1, 1, 2], &attributes).unwrap())[2], 1);
}

#[test]
fn pools_have_the_parameters_of_their_version() {
    let kernel = ("kernel_shape", Attribute::from([2, 2]));
    let graph = pool(
        "AveragePool",
        19,
        &[1, 3, 6, 6],
        &[
            kernel.clone(),
            ("count_include_pad", 1.into()),
            ("pads", [1, 0, 0, 1].into()),
            ("dilations", [2, 1].into()),
        ],
    );
    let graph = graph.unwrap();
    assert_eq!(shape(&graph), [1, 3, 5, 6]);
    let expected = Pool {
        kind: PoolKind::Average { counts_pads: true },
        window: vec![2, 2],
        strides: vec![1, 1],
        dilations: vec![2, 1],
        pads_begin: vec![1, 0],
        pads_end: vec![0, 1],
    };
    assert_eq!(op(&graph), &Op::Pool(expected));
    for (operator, opset, attribute) in [
        ("AveragePool", 18, ("dilations", Attribute::from([1, 1]))),
        ("AveragePool", 9, ("ceil_mode", 1.into())),
        ("MaxPool", 9, ("dilations", [1, 1].into())),
        ("MaxPool", 22, ("count_include_pad", 1.into())),
    ] {
        let message = pool(operator, opset, &[1, 3, 6, 6], &[kernel.clone(), attribute.clone()]).unwrap_err();
        assert_eq!(message, format!("attribute \"{}\" is not known", attribute.0));
    }
    assert_eq!(pool("MaxPool", 12, &[1, 3, 6, 6], &[]).unwrap_err(), "attribute \"kernel_shape\" is missing");
    let whole_window = [kernel.clone(), ("pads", [2, 0, 0, 0].into())];
    assert!(pool("MaxPool", 12, &[1, 3, 6, 6], &whole_window).unwrap_err().contains("hold whole windows"));
    let bytes = [Input(I8, &[1, 3, 6, 6])];
    assert_eq!(outputs(&read_node(12, "MaxPool", &bytes, 1, &[kernel]).unwrap())[0].0, I8);
}

#[test]
fn the_places_of_the_greatest_may_be_named_but_not_read() {
    let kernel = [("kernel_shape", Attribute::from([2]))];
    let message = read_node(12, "MaxPool", &[real(&[1, 1, 4])], 2, &kernel).unwrap_err();
    assert_eq!(message, "m.onnx: \"it.1\" is an output, but its operator does not give it here");
}
