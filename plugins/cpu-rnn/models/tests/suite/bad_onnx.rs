//! Every ONNX file that cannot be used is refused with a message that names the file and what is wrong, and input that
//! makes no sense does no harm.

use std::path::Path;

use proctor_rnn_engine::Team;
use proctor_rnn_layer::Schedule;
use proctor_rnn_models::{
    RunError,
    graph::{Element, Graph, Program, Session, Tensor},
    onnx::{OnnxError, ReadOptions, from_bytes, load},
};
use proctor_test_needs::skip;
use proptest::prelude::*;

use crate::onnx_files::{Attribute, Lstm, field, file_with_input, integer, model, node, tensor};

fn read(bytes: &[u8]) -> Result<Graph, OnnxError> {
    from_bytes(Path::new("m.onnx"), bytes, &ReadOptions::default())
}

fn message(bytes: &[u8]) -> String {
    read(bytes).map(drop).expect_err("a bad file").to_string()
}

/// Runs a file of [`Lstm`] with these inputs.
fn run(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<f32>, RunError> {
    let shapes: Vec<_> = inputs.iter().map(|tensor| tensor.shape.clone()).collect();
    let program = Program::new(graph, &shapes, &mut |_, _, _| Schedule::SINGLE).expect("shapes fit");
    let mut session = Session::new(Team::new(1));
    session.announce(&program);
    let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
    session.run(&program, &views)?;
    Ok(session.output(&program, &views, 0).reals().to_vec())
}

#[test]
fn something_else_than_onnx() {
    for bytes in [&b"\x08"[..], b"short", &[0xff; 64]] {
        let message = message(bytes);
        assert!(message.starts_with("m.onnx is not an ONNX file, or cut short"), "{message}");
    }
    assert_eq!(message(b""), "m.onnx is not an ONNX file, or cut short: it has no graph");
    let pointer = message(b"version https://git-lfs.github.com/spec/v1\n");
    assert!(pointer.starts_with("m.onnx is not an ONNX file: it is a pointer of Git LFS"), "{pointer}");
    let page = message(b"<!DOCTYPE html><title>404</title>");
    assert!(page.starts_with("m.onnx is not an ONNX file: it is a web page"), "{page}");
    assert!(message(&model(99, vec![], vec![])).contains("uses version 99 of ONNX's operators"));
}

#[test]
fn all_nodes_that_are_not_supported_are_named_at_once() {
    let nodes = vec![
        node("Conv", "first", &["x"], &["a"], vec![]),
        node("Relu", "fine", &["a"], &["b"], vec![]),
        node("LSTM", "second", &["b", "w", "r"], &["c"], vec![("input_forget", Attribute::Int(1))]),
        node("RNN", "third", &["b", "w", "r"], &["y"], vec![("activations", Attribute::Texts(&["Elu"]))]),
    ];
    let expected = "m.onnx has 3 nodes that this plugin does not run: Conv \"first\": the operator is not supported; \
                    LSTM \"second\": input_forget = 1 is not supported; RNN \"third\": activations Elu are not supported";
    assert_eq!(message(&model(17, nodes, vec![])), expected);
}

#[test]
fn attributes_that_make_another_operator_are_named() {
    let refused = |operator: &str, attribute: (&'static str, Attribute)| {
        let message =
            message(&model(17, vec![node(operator, "it", &["x"], &["y"], vec![attribute])], vec![]));
        let start = format!("m.onnx has a node that this plugin does not run: {operator} \"it\": ");
        message.strip_prefix(&start).unwrap_or_else(|| panic!("{message}")).to_owned()
    };
    for (operator, attribute, expected) in [
        ("LSTM", ("direction", Attribute::Text("sideways")), "direction \"sideways\" is not known"),
        ("GRU", ("direction", Attribute::Int(1)), "attribute \"direction\" is of another type"),
        ("RNN", ("clip", Attribute::Real(-0.5)), "clip = -0.5 is not positive"),
        ("LSTM", ("clip", Attribute::Real(f32::NAN)), "clip = NaN is not positive"),
        ("LSTM", ("hidden_size", Attribute::Int(-3)), "hidden_size = -3 is negative"),
        (
            "GRU",
            ("linear_before_reset", Attribute::Int(2)),
            "attribute \"linear_before_reset\" is 2, not 0 or 1",
        ),
        (
            "RNN",
            ("activation_alpha", Attribute::Reals(&[0.1])),
            "attribute \"activation_alpha\" is not supported",
        ),
        ("RNN", ("input_forget", Attribute::Int(0)), "attribute \"input_forget\" is not known"),
        ("Relu", ("alpha", Attribute::Real(0.1)), "attribute \"alpha\" is not known"),
        ("Cast", ("to", Attribute::Int(10)), "its result holds f16; supported are f32, i32 and i64"),
        ("Split", ("num_outputs", Attribute::Int(3)), "attribute \"num_outputs\" does not fit 1 outputs"),
        ("Constant", ("value_string", Attribute::Text("?")), "attribute \"value_string\" is not known"),
    ] {
        assert_eq!(refused(operator, attribute), expected);
    }
    let foreign = [node("Relu", "it", &["x"], &["y"], vec![]), field(7, b"com.example")].concat();
    let message = message(&model(17, vec![foreign], vec![]));
    assert!(
        message.ends_with("com.example.Relu \"it\": domain \"com.example\" is not supported"),
        "{message}"
    );
}

#[test]
fn inputs_and_constants_of_other_kinds_are_named() {
    let input = |kind: &[u8]| [field(1, b"x"), field(2, kind)].concat();
    let of_tensor = |tensor: &[u8]| input(&field(1, tensor));
    let f32_with = |shape: &[u8]| [integer(1, 1), field(2, shape)].concat();
    for (input, expected) in [
        (input(b""), "\"x\" is an input that is no tensor"),
        (of_tensor(&integer(1, 1)), "\"x\" is an input of unknown rank"),
        (of_tensor(&integer(1, 9)), "\"x\" holds bool; supported are f32, i32 and i64"),
        (of_tensor(&f32_with(&field(1, &integer(1, -2)))), "\"x\" has the extent -2 in dimension 0"),
    ] {
        assert_eq!(message(&file_with_input(&input, b"")), format!("m.onnx: {expected}"));
    }
    let sound = of_tensor(&f32_with(&field(1, &integer(1, 2))));
    assert!(read(&file_with_input(&sound, b"")).is_ok());
    let named = field(8, b"c");
    for (field_of_graph, expected) in [
        (field(15, &field(1, &named)), "is sparse, which is not supported"),
        (
            field(
                5,
                &[
                    named.clone(),
                    integer(14, 1),
                    field(13, &[field(1, b"location"), field(2, b"c.bin")].concat()),
                ]
                .concat(),
            ),
            "has its values in \"c.bin\"; save the model as one file",
        ),
        // Two values; the last byte of them is missing.
        (
            field(5, &[integer(1, 2), integer(2, 1), named.clone(), field(9, &[0; 7])].concat()),
            "has 7 bytes, which are not whole values of f32",
        ),
        (
            field(5, &[integer(1, 1), integer(2, 7), named.clone(), field(9, &[0; 4])].concat()),
            "has 4 bytes, which are not whole values of i64",
        ),
        (field(5, &[integer(1, -1), integer(2, 1), named.clone()].concat()), "has the shape [-1]"),
    ] {
        assert_eq!(
            message(&file_with_input(&sound, &field_of_graph)),
            format!("m.onnx: constant \"c\" {expected}")
        );
    }
}

#[test]
fn a_file_that_is_not_there_or_too_large_is_named() {
    let error = load(Path::new("no-such.onnx"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read model no-such.onnx: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.onnx");
    // It has a hole instead of content.
    if let Err(error) = std::fs::File::create(&path).and_then(|file| file.set_len(1 << 31)) {
        return skip(format!("no file of 2 GiB can be made: {error}"));
    }
    let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("has 2147483648 bytes, more than the limit of 2147483647"), "{error}");
}

#[test]
fn weights_of_a_wrong_shape_or_type_are_refused() {
    let wrong = |change: fn(&mut Lstm)| {
        let mut lstm = Lstm::default();
        change(&mut lstm);
        message(&lstm.file())
    };
    assert_eq!(
        wrong(|lstm| lstm.w_shape = [1, 16, 4]),
        "m.onnx: constant \"W\" has 48 values, but the shape [1, 16, 4] has 64"
    );
    assert!(
        wrong(|lstm| (lstm.r_shape, lstm.hidden_size) = ([1, 8, 8], 8))
            .contains("W is f32[1, 16, 3], expected f32[1, 32, 3]")
    );
    assert!(wrong(|lstm| lstm.hidden_size = 5).contains("hidden_size is 5, but R has shape [1, 16, 4]"));
    assert!(
        wrong(|lstm| lstm.data_type = 10)
            .contains("constant \"W\" holds f16; supported are f32, i32 and i64")
    );
    assert!(wrong(|lstm| lstm.value = f32::NAN).contains("W holds NaN at element 0"));
}

#[test]
fn a_weight_that_comes_when_the_model_runs_is_refused() {
    let nodes = vec![node("LSTM", "", &["x", "x", "x"], &["y"], vec![])];
    assert!(message(&model(14, nodes, vec![])).contains("LSTM (node 0): input 1, a weight, does not follow"));
}

#[test]
fn values_that_nothing_gives_are_named() {
    let nodes = vec![node("Relu", "", &["nowhere"], &["y"], vec![])];
    assert!(
        message(&model(14, nodes, vec![]))
            .contains("\"nowhere\" is read by Relu (node 0), but nothing before")
    );
    assert!(message(&model(14, vec![], vec![])).contains("\"y\" is an output, but no node gives it"));
    let nodes = vec![node("Relu", "", &["x"], &["x"], vec![])];
    assert!(message(&model(14, nodes, vec![])).contains("\"x\" is given twice"));
}

#[test]
fn shapes_that_do_not_fit_are_refused_before_anything_runs() {
    let nodes = vec![node("Add", "sum", &["x", "c"], &["y"], vec![])];
    let graph = read(&model(14, nodes, vec![tensor("c", &[4], 1.0)])).unwrap();
    let error = Program::new(&graph, &[vec![5, 2, 3]], &mut |_, _, _| Schedule::SINGLE).unwrap_err();
    assert_eq!(error.to_string(), "node Add \"sum\": shapes [5, 2, 3] and [4] cannot be broadcast");
    let huge = vec![usize::MAX, usize::MAX, usize::MAX];
    assert!(Program::new(&graph, &[huge], &mut |_, _, _| Schedule::SINGLE).is_err());
}

#[test]
fn lengths_are_checked_and_none_is_fine() {
    let graph = read(&Lstm { has_lengths: true, ..Lstm::default() }.file()).unwrap();
    let x = Tensor::real(&[2, 2, 3], vec![0.5; 12]);
    let run =
        |lengths: [i64; 2]| run(&graph, &[x.clone(), Tensor::integer(Element::I32, &[2], lengths.to_vec())]);
    let states = run([0, 1]).unwrap();
    // [time, direction, batch, hidden]: no step of the first sequence, one of the second.
    assert_eq!(states[..4], [0.0; 4]);
    assert!(states[4..8].iter().all(|state| *state != 0.0));
    assert_eq!(states[8..], [0.0; 8]);
    for bad in [3, -1] {
        assert_eq!(
            run([1, bad]).unwrap_err().to_string(),
            format!("the sequence length of sample 1 holds {bad}, but only 0 to 2 are possible")
        );
    }
    assert!(run([2, 2]).is_ok(), "the next batch runs");
}

#[test]
fn an_index_of_a_row_that_is_not_there_is_named_with_its_node() {
    // The indices are the integers nearest to the input.
    let nodes = vec![
        node("Cast", "", &["x"], &["rows"], vec![("to", Attribute::Int(7))]),
        node("Gather", "lookup", &["table", "rows"], &["y"], vec![]),
    ];
    let graph = read(&model(14, nodes, vec![tensor("table", &[4, 2], 0.5)])).unwrap();
    let run = |x: [f32; 3]| run(&graph, &[Tensor::real(&[1, 1, 3], x.to_vec())]);
    assert_eq!(run([0.0, 3.0, -4.0]).unwrap(), [0.5; 6]);
    for (x, index) in
        [([0.0, 4.0, 9.0], "4"), ([-5.0, 0.0, 0.0], "-5"), ([0.0, 0.0, f32::INFINITY], "9223372036854775807")]
    {
        let expected = format!("node Gather \"lookup\": index {index} in a table of 4 rows");
        assert_eq!(run(x).unwrap_err().to_string(), expected);
    }
}

#[test]
fn more_outputs_than_an_operator_has_are_refused() {
    let nodes = vec![node("Relu", "twice", &["x"], &["y", "z"], vec![])];
    let graph = read(&model(14, nodes, vec![])).unwrap();
    let error = Program::new(&graph, &[vec![1, 1, 3]], &mut |_, _, _| Schedule::SINGLE).unwrap_err();
    assert_eq!(error.to_string(), "node Relu \"twice\": it has 2 outputs, the operator gives 1");
    let nodes = vec![node("Relu", "known", &["c"], &["y", "z"], vec![])];
    let message = message(&model(14, nodes, vec![tensor("c", &[4], 1.0)]));
    assert_eq!(message, "m.onnx: node Relu \"known\": it has 2 outputs, the operator gives 1");
}

#[test]
fn nan_stays_with_its_sequence_and_infinity_saturates() {
    let graph = read(&Lstm::default().file()).unwrap();
    let mut x = vec![0.5; 12];
    let clean = run(&graph, &[Tensor::real(&[2, 2, 3], x.clone())]).unwrap();
    // Step 0, sample 0.
    x[1] = f32::NAN;
    let states = run(&graph, &[Tensor::real(&[2, 2, 3], x.clone())]).unwrap();
    for (place, (state, clean)) in states.iter().zip(&clean).enumerate() {
        if place / 4 % 2 == 0 {
            assert!(state.is_nan(), "{place}");
        } else {
            assert_eq!(state, clean);
        }
    }
    x[1] = f32::INFINITY;
    let states = run(&graph, &[Tensor::real(&[2, 2, 3], x)]).unwrap();
    assert!(states.iter().all(|state| state.abs() <= 1.0), "{states:?}");
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = Lstm::default().file();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "the first {length} bytes");
    }
    assert!(read(&bytes).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage anywhere gives an error or another model, never a panic; what is left can be planned or is refused.
    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        has_lengths in any::<bool>(),
    ) {
        let mut bytes = Lstm { has_lengths, ..Lstm::default() }.file();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(graph) = read(&bytes) {
            let shapes: Vec<Vec<usize>> =
                graph.inputs().iter().map(|input| if input.dims.len() == 3 { vec![2, 2, 3] } else { vec![2] }).collect();
            drop(Program::new(&graph, &shapes, &mut |_, _, _| Schedule::SINGLE));
        }
    }
}
