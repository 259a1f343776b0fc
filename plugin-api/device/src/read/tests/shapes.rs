//! Tests operators that change shapes, and operators that become constants.

use proctor_onnx_file::{
    data_type,
    proto::{AttributeProto, TensorProto},
};
use proctor_vocabulary::ElementType::{F16, F32, I32, I64};

use super::*;
use crate::op::Op;

#[test]
fn a_tensor_is_flattened_around_an_axis() {
    let flatten = |axis: i64| read_node(13, "Flatten", &[real(&[2, 3, 4])], 1, &[("axis", axis.into())]);
    for (axis, expected) in [(0, [1, 24]), (1, [2, 12]), (3, [24, 1]), (-1, [6, 4]), (-3, [1, 24])] {
        let graph = flatten(axis).unwrap();
        assert_eq!((op(&graph), shape(&graph)), (&Op::Reshape, expected.to_vec()), "{axis}");
    }
    assert_eq!(flatten(4).unwrap_err(), "axis 4 of a tensor of rank 3");
    assert!(ops(&read_node(13, "Flatten", &[real(&[2, 3])], 1, &[]).unwrap()).is_empty());
}

#[test]
fn a_new_shape_may_leave_an_extent_open() {
    let reshape = |opset: i64, to: &[i64], attributes: &[(&str, Attribute)]| {
        read_node(opset, "Reshape", &[real(&[2, 3, 4]), Ints(to)], 1, attributes)
    };
    for (to, expected) in [(&[0, -1][..], &[2, 12][..]), (&[24], &[24]), (&[-1, 1, 8, 1], &[3, 1, 8, 1])] {
        let graph = reshape(13, to, &[]).unwrap();
        assert_eq!((op(&graph), shape(&graph)), (&Op::Reshape, expected.to_vec()));
        assert_eq!(graph.nodes()[0].inputs.len(), 1, "the shape is a parameter now");
    }
    for to in [&[5, -1][..], &[-1, -1], &[2, 3, 4, 0], &[-2, -12], &[23], &[i64::MAX, i64::MAX, -1]] {
        let expected = format!("a tensor [2, 3, 4] cannot be given the shape {to:?}");
        assert_eq!(reshape(13, to, &[]).unwrap_err(), expected);
    }
    let zero = [("allowzero", Attribute::from(1))];
    assert!(reshape(14, &[0, -1], &zero).is_err());
    assert_eq!(reshape(13, &[24], &zero).unwrap_err(), "attribute \"allowzero\" is not known");
    let empty = read_node(14, "Reshape", &[real(&[0, 3]), Ints(&[3, 0])], 1, &zero).unwrap();
    assert_eq!(shape(&empty), [3, 0]);
    let late = read_node(14, "Reshape", &[real(&[2]), Input(I64, &[1])], 1, &[]).unwrap_err();
    assert!(late.contains("input 1 is a parameter"), "{late}");
    let real_shape = read_node(14, "Reshape", &[real(&[2]), Reals(&[1], &[2.0])], 1, &[]).unwrap_err();
    assert_eq!(real_shape, "input 1 is f32[1], not a list of integers");
}

#[test]
fn dimensions_of_one_come_and_go() {
    let x = real(&[1, 3, 1]);
    for (operator, axes, expected) in [
        ("Squeeze", &[0][..], &[3, 1][..]),
        ("Squeeze", &[-1, 0], &[3]),
        ("Unsqueeze", &[0], &[1, 1, 3, 1]),
        ("Unsqueeze", &[-1, 1], &[1, 1, 3, 1, 1]),
    ] {
        let input = read_node(13, operator, &[x, Ints(axes)], 1, &[]).unwrap();
        let attribute =
            read_node(11, operator, &[x], 1, &[("axes", Attribute::Ints(axes.to_vec()))]).unwrap();
        assert_eq!((shape(&input), shape(&attribute)), (expected.to_vec(), expected.to_vec()));
        let late = read_node(13, operator, &[x], 1, &[("axes", Attribute::Ints(axes.to_vec()))]);
        assert_eq!(late.unwrap_err(), "attribute \"axes\" is not known");
    }
    assert_eq!(shape(&read_node(13, "Squeeze", &[x], 1, &[]).unwrap()), [3]);
    for (operator, axes, expected) in [
        ("Squeeze", Ints(&[1]), "dimension 1 of [1, 3, 1] has not the extent 1"),
        ("Squeeze", Ints(&[3]), "axis 3 of a tensor of rank 3"),
        ("Squeeze", Ints(&[0, -3]), "axis 0 is listed twice"),
        ("Unsqueeze", Ints(&[4]), "axis 4 of a tensor of rank 4"),
        ("Unsqueeze", Ints(&[1, 1]), "axis 1 is listed twice"),
        ("Unsqueeze", Absent, "the axes are missing"),
    ] {
        assert_eq!(read_node(13, operator, &[x, axes], 1, &[]).unwrap_err(), expected);
    }
}

#[test]
fn a_tensor_is_expanded_by_broadcasting() {
    let expand = |to: &[i64]| read_node(13, "Expand", &[real(&[3, 1]), Ints(to)], 1, &[]);
    let graph = expand(&[2, 1, 4]).unwrap();
    assert_eq!((op(&graph), shape(&graph)), (&Op::Expand, vec![2, 3, 4]));
    assert!(ops(&expand(&[1, 1]).unwrap()).is_empty());
    assert!(expand(&[2, 2]).unwrap_err().contains("do not fit each other"));
    assert_eq!(expand(&[-1]).unwrap_err(), "a shape [-1]");
    let huge = expand(&[1 << 40, 1, 1 << 40]).unwrap_err();
    assert!(huge.contains("does not fit into memory"), "{huge}");
}

#[test]
fn nothing_is_left_of_identity_and_dropout() {
    let graph = read_node(13, "Identity", &[real(&[2])], 1, &[]).unwrap();
    assert_eq!((ops(&graph).len(), graph.outputs()), (0, graph.inputs()));
    let old = read_node(7, "Dropout", &[real(&[2])], 1, &[("ratio", 0.5.into())]).unwrap();
    assert!(ops(&old).is_empty());
    let ratio = Reals(&[], &[0.5]);
    let dropout = |mode: Given<'_>| read_node(13, "Dropout", &[real(&[2]), ratio, mode], 1, &[]);
    assert!(ops(&dropout(Zeros(ElementType::Bool, &[])).unwrap()).is_empty());
    assert_eq!(dropout(Ints(&[1])).unwrap_err(), "it drops elements, as in training");
    assert!(dropout(Input(ElementType::Bool, &[])).unwrap_err().contains("input 2 is a parameter"));
}

#[test]
fn a_shape_is_a_constant() {
    let shape_of = |attributes: &[(&str, Attribute)]| {
        known_integers(&read_node(15, "Shape", &[Input(F16, &[2, 3, 5])], 1, attributes).unwrap())
    };
    assert_eq!(shape_of(&[]), [2, 3, 5]);
    assert_eq!(shape_of(&[("start", 1.into())]), [3, 5]);
    assert_eq!(shape_of(&[("start", (-9).into()), ("end", (-1).into())]), [2, 3]);
    assert_eq!(shape_of(&[("start", 2.into()), ("end", 1.into())]), [0_i64; 0]);
    let old = read_node(13, "Shape", &[real(&[2])], 1, &[("start", 1.into())]);
    assert_eq!(old.unwrap_err(), "attribute \"start\" is not known");
}

/// A node whose attribute `value` is a tensor.
fn with_value(operator: &str, inputs: &[Given<'_>], tensor: TensorProto) -> Result<Graph, String> {
    read_edited(13, operator, inputs, 1, &[], |node| {
        node.attribute.push(AttributeProto {
            name: Some("value".to_owned()),
            t: Some(tensor),
            r#type: Some(4),
            ..AttributeProto::default()
        });
    })
}

#[test]
fn constants_have_their_values_in_attributes() {
    let tensor = |values: &[i32], dims: &[i64]| TensorProto {
        dims: dims.to_vec(),
        data_type: Some(data_type(I32)),
        int32_data: values.to_vec(),
        ..TensorProto::default()
    };
    let graph = with_value("Constant", &[], tensor(&[7, -8], &[2])).unwrap();
    assert_eq!((known_integers(&graph), outputs(&graph)), (vec![7, -8], vec![(I32, vec![2])]));
    let wrong = with_value("Constant", &[], tensor(&[7], &[2])).unwrap_err();
    assert_eq!(wrong, "its value has 1 values, but the shape [2] has 2");
    let ints = |opset| read_node(opset, "Constant", &[], 1, &[("value_ints", [4, 5].into())]);
    assert_eq!(known_integers(&ints(12).unwrap()), [4, 5]);
    assert_eq!(ints(11).unwrap_err(), "attribute \"value_ints\" is not known");
    let float = read_node(13, "Constant", &[], 1, &[("value_float", 0.5.into())]).unwrap();
    assert_eq!((known(&float).element, known(&float).shape.len()), (F32, 0));
    assert_eq!(read_node(13, "Constant", &[], 1, &[]).unwrap_err(), "it has no value");

    let filled = with_value("ConstantOfShape", &[Ints(&[2, 3])], tensor(&[9], &[1])).unwrap();
    assert_eq!(known(&filled).array().unwrap().integers().unwrap(), [9; 6]);
    let zeros = read_node(13, "ConstantOfShape", &[Ints(&[])], 1, &[]).unwrap();
    assert_eq!(known(&zeros).array().unwrap().reals().unwrap(), [0.0]);
    let two = with_value("ConstantOfShape", &[Ints(&[2, 3])], tensor(&[9, 9], &[2])).unwrap_err();
    assert_eq!(two, "its value has the shape [2], not a single element");
    let huge = read_node(13, "ConstantOfShape", &[Ints(&[1 << 62, 2])], 1, &[]).unwrap_err();
    assert!(huge.contains("does not fit into memory"), "{huge}");
}

#[test]
fn a_range_is_a_constant() {
    let one = |value: i64| [value];
    let range = |from: i64, to: i64, by: i64| {
        let lists = [one(from), one(to), one(by)];
        read_node(13, "Range", &[Ints(&lists[0]), Ints(&lists[1]), Ints(&lists[2])], 1, &[])
    };
    assert_eq!(known_integers(&range(2, 9, 3).unwrap()), [2, 5, 8]);
    assert_eq!(known_integers(&range(3, 0, -1).unwrap()), [3, 2, 1]);
    assert_eq!(known_integers(&range(3, 0, 1).unwrap()), [0_i64; 0]);
    let refused = "the range has a step of 0 or too many elements";
    assert_eq!(range(0, 1, 0).unwrap_err(), refused);
    assert_eq!(range(0, i64::MAX, 1).unwrap_err(), refused);
    assert_eq!(range(i64::MIN, i64::MAX, i64::MAX).unwrap().nodes().len(), 0);
    let (start, limit, step) = ([1.0], [2.0], [0.25]);
    let reals = [Reals(&[], &start), Reals(&[], &limit), Reals(&[1], &step)];
    let graph = read_node(13, "Range", &reals, 1, &[]).unwrap();
    assert_eq!(known(&graph).array().unwrap().reals().unwrap(), [1.0, 1.25, 1.5, 1.75]);
    assert!(read_node(13, "Range", &[Reals(&[], &start); 3], 1, &[]).is_ok_and(|graph| shape(&graph) == [0]));
}
