//! Operators that move elements.

use proctor_vocabulary::ElementType::{F16, F32, I32, I64};

use super::*;

#[test]
fn dimensions_change_their_order() {
    let transpose =
        |attributes: &[(&str, Attribute)]| read_node(13, "Transpose", &[real(&[2, 3, 4])], 1, attributes);
    let graph = transpose(&[]).unwrap();
    assert_eq!((op(&graph), shape(&graph)), (&Op::Transpose { order: vec![2, 1, 0] }, vec![4, 3, 2]));
    assert_eq!(shape(&transpose(&[("perm", [1, 2, 0].into())]).unwrap()), [3, 4, 2]);
    assert!(ops(&transpose(&[("perm", [0, 1, 2].into())]).unwrap()).is_empty());
    for perm in [Attribute::Ints(vec![0, 1]), [0, 1, 1].into(), [0, 1, 3].into()] {
        assert!(transpose(&[("perm", perm)]).unwrap_err().contains("of the 3 dimensions of [2, 3, 4]"));
    }
    assert!(transpose(&[("perm", [0, 1, -1].into())]).unwrap_err().contains("must not be negative"));
}

#[test]
fn indices_take_the_place_of_a_dimension() {
    let gather = |indices: Given<'_>, axis: i64| {
        read_node(13, "Gather", &[real(&[5, 6, 7]), indices], 1, &[("axis", axis.into())])
    };
    let graph = gather(Input(I32, &[2, 3]), -2).unwrap();
    assert_eq!((op(&graph), shape(&graph)), (&Op::Gather { axis: 1 }, vec![5, 2, 3, 7]));
    assert_eq!(shape(&gather(Input(I64, &[]), 0).unwrap()), [6, 7]);
    assert_eq!(gather(real(&[2]), 0).unwrap_err(), "input 1 holds f32, expected i32 or i64");
    assert_eq!(gather(Input(I64, &[]), 3).unwrap_err(), "axis 3 of a tensor of rank 3");
    let rows = [Reals(&[2], &[0.0, 1.0]), Ints(&[2])];
    assert!(read_node(13, "Gather", &rows, 1, &[]).is_err(), "a constant index beyond the end");
}

#[test]
fn parts_are_joined_along_an_axis() {
    let concat = |inputs: &[Given<'_>], axis: i64| {
        read_node(13, "Concat", inputs, 1, &[("axis", Attribute::from(axis))])
    };
    let graph = concat(&[real(&[2, 3]), real(&[2, 0]), real(&[2, 4])], -1).unwrap();
    assert_eq!((op(&graph), shape(&graph)), (&Op::Concat { axis: 1 }, vec![2, 7]));
    assert!(ops(&concat(&[real(&[2, 3])], 0).unwrap()).is_empty());
    let misfit = concat(&[real(&[2, 3]), real(&[1, 4])], 1).unwrap_err();
    assert_eq!(misfit, "[1, 4] does not fit after [2, 3] along axis 1");
    let mixed = concat(&[real(&[2]), Input(F16, &[2])], 0).unwrap_err();
    assert_eq!(mixed, "its inputs hold f32 and f16");
    let missing = read_node(13, "Concat", &[real(&[2])], 1, &[]).unwrap_err();
    assert_eq!(missing, "attribute \"axis\" is missing");
    assert_eq!(known_integers(&concat(&[Ints(&[1]), Ints(&[2, 3])], 0).unwrap()), [1, 2, 3]);
}

#[test]
fn slices_are_attributes_and_later_inputs() {
    let x = real(&[5, 6, 7]);
    let (starts, ends, axes) = ([1, -3], [9, i64::MAX], [0, -1]);
    let expected = Op::Slice { starts: vec![1, 0, 4], steps: vec![1, 1, 1] };
    let lists: [(&str, Attribute); 3] =
        [("starts", starts.into()), ("ends", ends.into()), ("axes", axes.into())];
    let old = read_node(9, "Slice", &[x], 1, &lists).unwrap();
    assert_eq!((op(&old), shape(&old)), (&expected, vec![4, 6, 3]));
    let new = read_node(10, "Slice", &[x, Ints(&starts), Ints(&ends), Ints(&axes)], 1, &[]).unwrap();
    assert_eq!((op(&new), shape(&new)), (&expected, vec![4, 6, 3]));
    assert_eq!(read_node(10, "Slice", &[x], 1, &lists).unwrap_err(), "attribute \"starts\" is not known");
    assert_eq!(read_node(10, "Slice", &[x], 1, &[]).unwrap_err(), "the starts or ends are missing");

    let with_steps = |steps: &[i64]| {
        let inputs = [x, Ints(&[4, -1]), Ints(&[i64::MIN, 0]), Absent, Ints(steps)];
        read_node(13, "Slice", &inputs, 1, &[])
    };
    let back = with_steps(&[-2, -5]).unwrap();
    assert_eq!(op(&back), &Op::Slice { starts: vec![4, 5, 0], steps: vec![-2, 1, 1] });
    assert_eq!(shape(&back), [3, 1, 7]);
    assert_eq!(shape(&with_steps(&[1, 1]).unwrap()), [0, 0, 7]);
    assert_eq!(with_steps(&[0, 1]).unwrap_err(), "a step of 0");
    assert_eq!(with_steps(&[1]).unwrap_err(), "starts, ends, axes and steps are not of one length");
    let twice = [x, Ints(&[0, 1]), Ints(&[2, 3]), Ints(&[0, -3])];
    assert_eq!(read_node(13, "Slice", &twice, 1, &[]).unwrap_err(), "axis 0 is listed twice");
    let everything = [x, Ints(&[0]), Ints(&[100])];
    assert!(ops(&read_node(13, "Slice", &everything, 1, &[]).unwrap()).is_empty());
}

#[test]
fn parts_are_listed_or_equal() {
    let x = real(&[2, 7]);
    let axis = ("axis", Attribute::from(1));
    let only = std::slice::from_ref(&axis);
    let extents = |graph: Result<Graph, String>| {
        let graph = graph.unwrap();
        assert_eq!(op(&graph), &Op::Split { axis: 1 });
        outputs(&graph).iter().map(|(_, shape)| shape[1]).collect::<Vec<_>>()
    };
    let old = read_node(11, "Split", &[x], 2, &[axis.clone(), ("split", [3, 4].into())]);
    assert_eq!(extents(old), [3, 4]);
    assert_eq!(extents(read_node(13, "Split", &[x, Ints(&[0, 2, 5])], 3, only)), [0, 2, 5]);
    assert_eq!(extents(read_node(13, "Split", &[real(&[2, 6])], 3, only)), [2, 2, 2]);
    let uneven = [axis.clone(), ("num_outputs", 3.into())];
    assert_eq!(extents(read_node(18, "Split", &[x], 3, &uneven)), [3, 3, 1]);
    for (graph, expected) in [
        (read_node(13, "Split", &[x], 2, only), "2 equal parts of 7 elements"),
        (read_node(13, "Split", &[x, Ints(&[3, 3])], 2, only), "parts of [3, 3] elements of"),
        (read_node(13, "Split", &[x, Ints(&[7])], 2, only), "parts of [7] elements of a dimension"),
        (read_node(13, "Split", &[x, Ints(&[8, -1])], 2, only), "a part of -1 elements"),
        (read_node(18, "Split", &[x], 2, &uneven), "attribute \"num_outputs\" does not fit 2 outputs"),
        (read_node(13, "Split", &[x], 3, &uneven), "attribute \"num_outputs\" is not known"),
    ] {
        let message = graph.unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
    let mixed = read_node(13, "Split", &[Zeros(F32, &[2]), Ints(&[1, 1])], 2, &[]).unwrap();
    assert!(mixed.nodes().is_empty(), "parts of a constant are constants");
}
