//! Products, norms, reductions, recurrent layers and quantisation.

use proctor_onnx_file::proto::AttributeProto;
use proctor_vocabulary::ElementType::{F16, F32, I8, I16, I32, I64, U8};

use super::*;
use crate::op::{Cell, Direction, Gemm, Recurrent, Reduce, ReduceKind};

#[test]
fn matrices_are_multiplied_as_they_lie() {
    let attributes =
        [("alpha", Attribute::from(0.5)), ("beta", 2.0.into()), ("transA", 1.into()), ("transB", 1.into())];
    let graph = read_node(13, "Gemm", &[real(&[3, 2]), real(&[4, 3]), real(&[4])], 1, &attributes).unwrap();
    assert_eq!(op(&graph), &Op::Gemm(Gemm { alpha: 0.5, beta: 2.0, transpose_a: true, transpose_b: true }));
    assert_eq!(shape(&graph), [2, 4]);
    let gemm = |inputs: &[Given<'_>]| read_node(13, "Gemm", inputs, 1, &[]).unwrap_err();
    assert_eq!(gemm(&[real(&[2, 3]), real(&[2, 3])]), "matrices [2, 3] and [2, 3] do not fit each other");
    assert_eq!(gemm(&[real(&[2, 3]), real(&[3])]), "matrices [2, 3] and [3] do not fit each other");
    let added = [real(&[2, 3]), real(&[3, 4]), real(&[3, 2, 4])];
    assert_eq!(gemm(&added), "[3, 2, 4] cannot be added to a matrix [2, 4]");
}

#[test]
fn stacks_of_matrices_are_broadcast_and_vectors_have_no_dimension() {
    for (a, b, expected, count) in [
        (&[2, 3][..], &[3, 4][..], &[2, 4][..], 1),
        (&[5, 1, 2, 3], &[6, 3, 4], &[5, 6, 2, 4], 1),
        (&[3], &[3, 4], &[4], 3),
        (&[5, 2, 3], &[3], &[5, 2], 3),
        (&[3], &[3], &[], 4),
    ] {
        let graph = read_node(13, "MatMul", &[real(a), real(b)], 1, &[]).unwrap();
        assert_eq!((shape(&graph), ops(&graph).len()), (expected.to_vec(), count), "{a:?} {b:?}");
    }
    for (a, b) in [(&[2, 3][..], &[2, 3][..]), (&[5, 2, 3], &[4, 3, 2]), (&[], &[2]), (&[3], &[4, 3])] {
        let message = read_node(13, "MatMul", &[real(a), real(b)], 1, &[]).unwrap_err();
        assert_eq!(message, format!("stacks of matrices {a:?} and {b:?} do not fit each other"));
    }
}

#[test]
fn norms_have_parameters_for_their_channels() {
    let channel = Zeros(F32, &[3]);
    let inputs = [real(&[2, 3, 4]), channel, channel, channel, channel];
    let graph = read_node(9, "BatchNormalization", &inputs, 1, &[("epsilon", 0.5.into())]).unwrap();
    assert_eq!(op(&graph), &Op::BatchNormalization { epsilon: 0.5 });
    for (opset, attribute, expected) in [
        (7, ("spatial", 0), "spatial = 0 is not supported"),
        (9, ("spatial", 1), "attribute \"spatial\" is not known"),
        (14, ("training_mode", 1), "training_mode = 1 is not supported"),
    ] {
        let attributes = [(attribute.0, Attribute::from(attribute.1))];
        assert_eq!(read_node(opset, "BatchNormalization", &inputs, 1, &attributes).unwrap_err(), expected);
    }
    let short = [inputs[0], channel, channel, Zeros(F32, &[4]), channel];
    let message = read_node(9, "BatchNormalization", &short, 1, &[]).unwrap_err();
    assert_eq!(message, "input 3 has the shape [4], expected [3]");

    let layer = |scale: Given<'_>, axis: i64| {
        read_node(17, "LayerNormalization", &[inputs[0], scale], 1, &[("axis", axis.into())])
    };
    let graph = layer(Zeros(F32, &[4]), -1).unwrap();
    assert_eq!(op(&graph), &Op::LayerNormalization { axis: 2, epsilon: f64::from(1e-5_f32) });
    let graph = layer(Zeros(F32, &[4]), 1).unwrap();
    let scale = graph.nodes()[0].inputs[1].map(|id| graph.value(id).shape.clone());
    assert_eq!(scale, Some(vec![3, 4]), "the scale is as long as what is normalised");
    assert_eq!(layer(channel, 1).unwrap_err(), "input 1 has the shape [3], expected [3, 4]");
    assert_eq!(layer(Zeros(F16, &[4]), 1).unwrap_err(), "its inputs hold f32 and f16");
}

#[test]
fn a_softmax_of_old_runs_over_all_dimensions_behind() {
    let softmax = |opset: i64, attributes: &[(&str, Attribute)]| {
        read_node(opset, "Softmax", &[real(&[2, 3, 4])], 1, attributes).unwrap()
    };
    let old = softmax(11, &[]);
    assert_eq!(ops(&old), [&Op::Reshape, &Op::Softmax { axis: 1 }, &Op::Reshape]);
    assert_eq!((shape(&old), &old.values[1].shape), (vec![2, 3, 4], &vec![2, 12]));
    assert_eq!(op(&softmax(11, &[("axis", 2.into())])), &Op::Softmax { axis: 2 });
    assert_eq!(op(&softmax(13, &[])), &Op::Softmax { axis: 2 });
    assert_eq!(op(&softmax(13, &[("axis", (-3).into())])), &Op::Softmax { axis: 0 });
}

#[test]
fn axes_are_attributes_and_later_inputs() {
    let x = real(&[2, 3, 4]);
    let reduce = |kind, axes: &[usize], keep| Op::Reduce(Reduce { kind, axes: axes.to_vec(), keep });
    for (operator, kind, since) in [
        ("ReduceMean", ReduceKind::Mean, 18),
        ("ReduceMax", ReduceKind::Max, 18),
        ("ReduceSum", ReduceKind::Sum, 13),
    ] {
        let axes = [("axes", Attribute::from([-1, 0])), ("keepdims", 0.into())];
        let old = read_node(since - 1, operator, &[x], 1, &axes).unwrap();
        let new = read_node(since, operator, &[x, Ints(&[-1, 0])], 1, &axes[1..]).unwrap();
        for graph in [old, new] {
            assert_eq!((op(&graph), shape(&graph)), (&reduce(kind, &[0, 2], false), vec![3]));
        }
        let late = read_node(since, operator, &[x], 1, &axes).unwrap_err();
        assert_eq!(late, "attribute \"axes\" is not known");
        let all = read_node(since, operator, &[x], 1, &[]).unwrap();
        assert_eq!((op(&all), shape(&all)), (&reduce(kind, &[0, 1, 2], true), vec![1, 1, 1]));
        let none = read_node(since, operator, &[x], 1, &[("noop_with_empty_axes", 1.into())]).unwrap();
        assert!(ops(&none).is_empty());
    }
    let twice = read_node(13, "ReduceSum", &[x, Ints(&[0, -3])], 1, &[]).unwrap_err();
    assert_eq!(twice, "axis 0 is listed twice");
    let empty = real(&[0, 3]);
    assert!(read_node(13, "ReduceSum", &[empty], 1, &[]).is_ok());
    let greatest = read_node(13, "ReduceMax", &[empty], 1, &[]).unwrap_err();
    assert_eq!(greatest, "there is no greatest or mean value of [0, 3] along [0, 1]");
    let image = read_node(13, "GlobalAveragePool", &[real(&[2, 3, 4, 5])], 1, &[]).unwrap();
    assert_eq!((op(&image), shape(&image)), (&reduce(ReduceKind::Mean, &[2, 3], true), vec![2, 3, 1, 1]));
}

#[test]
fn the_place_of_the_greatest_is_an_index() {
    let arg_max = |opset: i64, attributes: &[(&str, Attribute)]| {
        read_node(opset, "ArgMax", &[real(&[2, 3])], 1, attributes)
    };
    let graph = arg_max(13, &[("axis", 1.into()), ("keepdims", 0.into()), ("select_last_index", 1.into())]);
    let graph = graph.unwrap();
    assert_eq!(op(&graph), &Op::ArgMax { axis: 1, keep: false, is_last: true });
    assert_eq!(outputs(&graph), [(I64, vec![2])]);
    assert_eq!(outputs(&arg_max(11, &[]).unwrap()), [(I64, vec![1, 3])]);
    assert!(arg_max(11, &[("select_last_index", 1.into())]).is_err());
    let empty = read_node(13, "ArgMax", &[real(&[0, 3])], 1, &[]).unwrap_err();
    assert_eq!(empty, "there is no greatest value of [0, 3] along axis 0");
}

#[test]
fn a_layer_has_the_parameters_of_its_cell() {
    let weights = [real(&[5, 2, 3]), Zeros(F32, &[2, 16, 3]), Zeros(F32, &[2, 16, 4])];
    let inputs = [
        &weights[..],
        &[Zeros(F32, &[2, 32]), Input(I32, &[2]), real(&[2, 2, 4]), Absent, Zeros(F32, &[2, 12])],
    ]
    .concat();
    let attributes =
        [("direction", Attribute::from("bidirectional")), ("clip", 2.0.into()), ("hidden_size", 4.into())];
    let graph = read_node(14, "LSTM", &inputs, 3, &attributes).unwrap();
    let expected =
        Recurrent { cell: Cell::Lstm, hidden: 4, direction: Direction::Bidirectional, clip: Some(2.0) };
    assert_eq!(op(&graph), &Op::Recurrent(expected));
    assert_eq!(outputs(&graph), [(F32, vec![5, 2, 2, 4]), (F32, vec![2, 2, 4]), (F32, vec![2, 2, 4])]);
    let given: Vec<bool> = graph.nodes()[0].inputs.iter().map(Option::is_some).collect();
    assert_eq!(given, [true, true, true, true, true, true, false, true]);

    let gru = [real(&[5, 2, 3]), Zeros(F32, &[1, 12, 3]), Zeros(F32, &[1, 12, 4])];
    let attributes = [("linear_before_reset", 1.into()), ("direction", "reverse".into())];
    let graph = read_node(14, "GRU", &gru, 2, &attributes).unwrap();
    let cell = Cell::Gru { resets_after: true };
    let expected = Recurrent { cell, hidden: 4, direction: Direction::Reverse, clip: None };
    assert_eq!(op(&graph), &Op::Recurrent(expected));
    assert_eq!(graph.nodes()[0].outputs.len(), 2);
}

#[test]
fn a_batch_in_front_is_turned_around_the_layer() {
    let weights = [real(&[2, 5, 3]), Zeros(F32, &[1, 16, 3]), Zeros(F32, &[1, 16, 4])];
    let inputs = [&weights[..], &[Absent, Absent, real(&[2, 1, 4])]].concat();
    let graph = read_node(14, "LSTM", &inputs, 3, &[("layout", 1.into())]).unwrap();
    assert_eq!(outputs(&graph), [(F32, vec![2, 5, 1, 4]), (F32, vec![2, 1, 4]), (F32, vec![2, 1, 4])]);
    let is_layer = |op: &&&Op| matches!(op, Op::Recurrent(_));
    let all = ops(&graph);
    assert_eq!((all.len(), all.iter().position(|op| is_layer(&op))), (6, Some(2)));
    assert_eq!(all[3], &Op::Transpose { order: vec![2, 0, 1, 3] });
    let old = read_node(7, "LSTM", &inputs, 1, &[("layout", 1.into())]).unwrap_err();
    assert_eq!(old, "attribute \"layout\" is not known");
}

#[test]
fn layers_that_are_not_known_or_do_not_fit_are_refused() {
    let inputs = [real(&[5, 2, 3]), Zeros(F32, &[1, 16, 3]), Zeros(F32, &[1, 16, 4])];
    for (attribute, expected) in [
        (("direction", Attribute::from("sideways")), "direction \"sideways\" is not known"),
        (("direction", 1.into()), "attribute \"direction\" is of another type"),
        (("clip", (-0.5).into()), "clip = -0.5 is not positive"),
        (("input_forget", 1.into()), "input_forget = 1 is not supported"),
        (("hidden_size", 5.into()), "hidden_size is 5, but R has the shape [1, 16, 4]"),
        (("linear_before_reset", 0.into()), "attribute \"linear_before_reset\" is not known"),
        (("direction", "bidirectional".into()), "W has the shape [1, 16, 3], expected [2, 16, 3]"),
    ] {
        assert_eq!(read_node(14, "LSTM", &inputs, 1, &[attribute]).unwrap_err(), expected);
    }
    let functions = |functions: &[&str]| {
        let strings = functions.iter().map(|name| name.as_bytes().to_vec()).collect();
        read_edited(14, "LSTM", &inputs, 1, &[], |node| {
            let name = Some("activations".to_owned());
            node.attribute.push(AttributeProto {
                name,
                strings,
                r#type: Some(8),
                ..AttributeProto::default()
            });
        })
    };
    assert!(functions(&["Sigmoid", "Tanh", "Tanh"]).is_ok());
    assert_eq!(
        functions(&["Sigmoid", "Elu", "Tanh"]).unwrap_err(),
        "activations Sigmoid, Elu, Tanh are not supported"
    );
    for (place, given, expected) in [
        (0, real(&[5, 3]), "X has the shape [5, 3], expected three dimensions"),
        (2, real(&[16, 4]), "R has the shape [16, 4], expected three dimensions"),
        (3, real(&[1, 16]), "B has the shape [1, 16], expected [1, 32]"),
        (4, Input(I64, &[2]), "the sequence lengths hold i64, expected i32"),
        (5, real(&[1, 3, 4]), "the initial state has the shape [1, 3, 4], expected [1, 2, 4]"),
        (7, Zeros(F16, &[1, 12]), "its inputs hold f32 and f16"),
    ] {
        let mut inputs = [&inputs[..], &[Absent; 5]].concat();
        inputs[place] = given;
        assert_eq!(read_node(14, "LSTM", &inputs, 1, &[]).unwrap_err(), expected);
    }
}

#[test]
fn scales_belong_to_a_tensor_or_to_a_dimension() {
    let x = real(&[2, 3]);
    let single = Reals(&[1], &[0.5]);
    let (each, zeros) = (Zeros(F32, &[3]), Zeros(I8, &[3]));
    let graph = read_node(13, "QuantizeLinear", &[x, single], 1, &[]).unwrap();
    assert_eq!((op(&graph), outputs(&graph)), (&Op::QuantizeLinear { axis: 0 }, vec![(U8, vec![2, 3])]));
    let shapes: Vec<_> =
        graph.nodes()[0].inputs.iter().flatten().map(|id| graph.value(*id).shape.len()).collect();
    assert_eq!(shapes, [2, 0, 0], "a single scale has no dimension, and there is always a zero point");
    let graph = read_node(13, "QuantizeLinear", &[x, each, zeros], 1, &[("axis", (-1).into())]).unwrap();
    assert_eq!((op(&graph), outputs(&graph)), (&Op::QuantizeLinear { axis: 1 }, vec![(I8, vec![2, 3])]));
    let wide = read_node(21, "QuantizeLinear", &[x, single], 1, &[("output_dtype", 5.into())]).unwrap();
    assert_eq!(outputs(&wide), [(I16, vec![2, 3])]);

    let small = Input(U8, &[2, 3]);
    let back = read_node(13, "DequantizeLinear", &[small, each], 1, &[]).unwrap();
    assert_eq!(op(&back), &Op::DequantizeLinear { axis: 1 });
    assert_eq!(outputs(&back), [(F32, vec![2, 3])]);
    for (operator, inputs, attribute, expected) in [
        ("DequantizeLinear", vec![small, each, zeros], ("axis", 1), "its inputs hold u8 and i8"),
        ("DequantizeLinear", vec![x, each], ("axis", 1), "input 0 holds f32, not integers"),
        ("DequantizeLinear", vec![small, each], ("axis", 0), "scales [3] of [2, 3] along axis 0"),
        (
            "DequantizeLinear",
            vec![small, each],
            ("block_size", 2),
            "blocks of 2 elements with a scale each are not supported",
        ),
        ("QuantizeLinear", vec![x, single, zeros], ("axis", 1), "zero points [3] of scales []"),
        ("QuantizeLinear", vec![x, single], ("output_dtype", 17), "quantisation to f8e4m3 is not supported"),
    ] {
        let attributes = [(attribute.0, Attribute::from(attribute.1))];
        assert_eq!(read_node(21, operator, &inputs, 1, &attributes).unwrap_err(), expected);
    }
    let old = read_node(10, "QuantizeLinear", &[x, single], 1, &[("axis", 1.into())]).unwrap_err();
    assert_eq!(old, "attribute \"axis\" is not known");
}

#[test]
fn products_of_constants_that_take_long_are_left_to_the_device() {
    let folded = |extent: usize| {
        let weights = Zeros(F32, &[extent, extent]);
        read_node(17, "MatMul", &[weights, weights], 1, &[]).unwrap().nodes().is_empty()
    };
    assert!(folded(270));
    assert!(!folded(1100));
}
