//! Operators that work element by element.

use proctor_vocabulary::ElementType::{Bool, F16, F32, F64, I32, I64, U64};

use super::*;
use crate::op::{Binary, Unary};

#[test]
fn functions_keep_the_shape() {
    for (operator, expected) in [
        ("Relu", Unary::Relu),
        ("Sigmoid", Unary::Sigmoid),
        ("Tanh", Unary::Tanh),
        ("Erf", Unary::Erf),
        ("Sqrt", Unary::Sqrt),
        ("Exp", Unary::Exp),
        ("Neg", Unary::Neg),
        ("Reciprocal", Unary::Reciprocal),
    ] {
        let graph = read_node(13, operator, &[Input(F16, &[2, 3])], 1, &[]).unwrap();
        assert_eq!((op(&graph), outputs(&graph)), (&Op::Unary(expected), vec![(F16, vec![2, 3])]));
    }
    let gelu = |attributes: &[(&str, Attribute)]| read_node(20, "Gelu", &[real(&[2])], 1, attributes);
    assert_eq!(op(&gelu(&[]).unwrap()), &Op::Unary(Unary::Gelu));
    assert_eq!(op(&gelu(&[("approximate", "tanh".into())]).unwrap()), &Op::Unary(Unary::GeluTanh));
    assert_eq!(gelu(&[("approximate", "no".into())]).unwrap_err(), "approximate \"no\" is not known");
    let sqrt = read_node(13, "Sqrt", &[Input(I32, &[2])], 1, &[]).unwrap_err();
    assert_eq!(sqrt, "input 0 holds i32, only floating-point numbers are supported");
    let wide = read_node(13, "Relu", &[Input(U64, &[2])], 1, &[]).unwrap_err();
    assert_eq!(wide, "m.onnx: \"x0\" is an input that holds u64, which is not supported");
    let twice = read_node(13, "Relu", &[real(&[2]), real(&[2])], 1, &[]).unwrap_err();
    assert_eq!(twice, "it has 2 inputs, the operator takes 1");
}

#[test]
fn bounds_are_attributes_and_later_inputs() {
    let clip = |least, greatest| Op::Unary(Unary::Clip { least, greatest });
    let old = read_node(7, "Clip", &[real(&[2])], 1, &[("min", (-1.0).into()), ("max", 6.0.into())]);
    assert_eq!(op(&old.unwrap()), &clip(-1.0, 6.0));
    let attribute = read_node(11, "Clip", &[real(&[2])], 1, &[("min", 0.0.into())]);
    assert_eq!(attribute.unwrap_err(), "attribute \"min\" is not known");
    let inputs = |inputs: &[Given<'_>]| read_node(11, "Clip", inputs, 1, &[]);
    let x = real(&[2]);
    let (zero, six) = (Reals(&[], &[0.0]), Reals(&[1], &[6.0]));
    assert_eq!(op(&inputs(&[x, zero, six]).unwrap()), &clip(0.0, 6.0));
    assert_eq!(op(&inputs(&[x, Absent, six]).unwrap()), &clip(f64::NEG_INFINITY, 6.0));
    assert_eq!(op(&inputs(&[x]).unwrap()), &clip(f64::NEG_INFINITY, f64::INFINITY));
    let graph = inputs(&[x, zero]).unwrap();
    assert_eq!(graph.nodes()[0].inputs.len(), 1, "the bound is a parameter now");
    for (bound, expected) in [
        (real(&[]), "input 1 is a parameter, so it has to follow from constants and shapes alone"),
        (Reals(&[2], &[0.0, 1.0]), "input 1 has the shape [2], not a single number"),
        (Ints(&[3]), "its inputs hold f32 and i64"),
    ] {
        assert_eq!(inputs(&[x, bound]).unwrap_err(), expected);
    }
}

#[test]
fn pairs_are_broadcast() {
    for (operator, expected, element) in [
        ("Add", Binary::Add, F32),
        ("Sub", Binary::Sub, F32),
        ("Mul", Binary::Mul, F32),
        ("Div", Binary::Div, F32),
        ("Pow", Binary::Pow, F32),
        ("Max", Binary::Max, F32),
        ("Min", Binary::Min, F32),
        ("Equal", Binary::Equal, Bool),
        ("Less", Binary::Less, Bool),
        ("Greater", Binary::Greater, Bool),
    ] {
        let graph = read_node(13, operator, &[real(&[4, 1, 3]), real(&[2, 1])], 1, &[]).unwrap();
        assert_eq!(op(&graph), &Op::Binary(expected));
        assert_eq!(outputs(&graph), [(element, vec![4, 2, 3])], "{operator}");
    }
    let truth = [Input(Bool, &[2]), Input(Bool, &[])];
    assert_eq!(outputs(&read_node(13, "And", &truth, 1, &[]).unwrap()), [(Bool, vec![2])]);
    assert_eq!(read_node(13, "Add", &truth, 1, &[]).unwrap_err(), "its inputs hold bool, not numbers");
    let numbers = [real(&[2]), real(&[2])];
    assert_eq!(read_node(13, "And", &numbers, 1, &[]).unwrap_err(), "its inputs hold f32, not bool");
    let misfit = read_node(13, "Add", &[real(&[2]), real(&[3])], 1, &[]).unwrap_err();
    assert_eq!(misfit, "shapes [2] and [3] do not fit each other");
    let mixed = read_node(13, "Mul", &[real(&[2]), Input(F64, &[2])], 1, &[]).unwrap_err();
    assert_eq!(mixed, "its inputs hold f32 and f64");
    assert_eq!(read_node(13, "Mul", &[real(&[2])], 1, &[]).unwrap_err(), "input 1 is missing");
}

#[test]
fn an_exponent_becomes_the_type_of_its_base() {
    let graph = read_node(13, "Pow", &[real(&[2]), Input(I64, &[])], 1, &[]).unwrap();
    assert_eq!(ops(&graph), [&Op::Cast(F32), &Op::Binary(Binary::Pow)]);
    assert_eq!(outputs(&graph), [(F32, vec![2])]);
    let known = read_node(13, "Pow", &[real(&[2]), Ints(&[3])], 1, &[]).unwrap();
    assert_eq!(op(&known), &Op::Binary(Binary::Pow));
    let root = read_node(13, "Pow", &[Input(I64, &[2]), real(&[])], 1, &[]).unwrap_err();
    assert_eq!(root, "i64 to the power of f32 is not supported");
}

#[test]
fn the_greatest_of_many_is_that_of_pairs() {
    let graph = read_node(13, "Max", &[real(&[2]), real(&[3, 1]), real(&[])], 1, &[]).unwrap();
    assert_eq!(ops(&graph), [&Op::Binary(Binary::Max); 2]);
    assert_eq!(shape(&graph), [3, 2]);
    let alone = read_node(13, "Min", &[real(&[2])], 1, &[]).unwrap();
    assert_eq!((ops(&alone).len(), alone.outputs()), (0, alone.inputs()));
}

#[test]
fn a_choice_needs_a_truth_value_and_two_of_a_kind() {
    let choose = |inputs: [Given<'_>; 3]| read_node(16, "Where", &inputs, 1, &[]);
    let graph = choose([Input(Bool, &[2, 1]), Input(I64, &[3]), Input(I64, &[])]).unwrap();
    assert_eq!((op(&graph), outputs(&graph)), (&Op::Where, vec![(I64, vec![2, 3])]));
    assert_eq!(choose([real(&[2]); 3]).unwrap_err(), "input 0 holds f32, not bool");
    let mixed = choose([Input(Bool, &[2]), real(&[2]), Input(I64, &[2])]).unwrap_err();
    assert_eq!(mixed, "its inputs hold f32 and i64");
}

#[test]
fn casts_to_the_same_type_are_nothing() {
    let cast =
        |to: i64| read_node(19, "Cast", &[real(&[2])], 1, &[("to", to.into()), ("saturate", 1.into())]);
    assert_eq!(op(&cast(7).unwrap()), &Op::Cast(I64));
    assert!(ops(&cast(1).unwrap()).is_empty());
    assert_eq!(cast(8).unwrap_err(), "its result is of type 8, which is not supported");
    assert_eq!(cast(17).unwrap_err(), "elements of f8e4m3 are not supported");
    assert_eq!(
        cast(i64::MAX).unwrap_err(),
        format!("its result is of type {}, which is not supported", i64::MAX)
    );
    let old = read_node(13, "Cast", &[real(&[2])], 1, &[("to", 7.into()), ("saturate", 1.into())]);
    assert_eq!(old.unwrap_err(), "attribute \"saturate\" is not known");
}
