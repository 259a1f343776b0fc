//! The node tests of ONNX: each model there produces the outputs stored with it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proctor_rnn_engine::Team;
use proctor_rnn_layer::Schedule;
use proctor_rnn_models::{
    graph::{Element, Graph, Program, Session, Tensor, ValuesRef, View},
    onnx::{ReadOptions, input_names as input_names_of, load, tensor_from_bytes},
};

/// The test runner of ONNX allows 1e-3 relative and 1e-7 absolute; these are all of order 1.
const TOLERANCE: f32 = 1e-6;

/// The inputs that are weights in the recurrent tests.
const WEIGHTS: [&str; 4] = ["W", "R", "B", "P"];

fn tests() -> Vec<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../datasets/onnx-file/tests/onnx_node_tests");
    let entries = fs::read_dir(&folder).expect("the tests are in the repository");
    let mut tests: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    tests.sort();
    tests
}

fn tensors(folder: &Path, kind: &str) -> Vec<Tensor> {
    let file = |index: usize| folder.join(format!("{kind}_{index}.pb"));
    let files = (0..).map(file).take_while(|file| file.is_file());
    let read = |file: PathBuf| {
        tensor_from_bytes(&fs::read(&file).expect("the file can be read"))
            .unwrap_or_else(|what| panic!("{file:?} {what}"))
    };
    files.map(read).collect()
}

/// Weights, and integers that decide about shapes, are known when the model is loaded; the rest comes when it runs.
fn known_at_load(recurrent: bool, name: &str, tensor: &Tensor) -> bool {
    if recurrent { WEIGHTS.contains(&name) } else { tensor.element != Element::F32 && name != "indices" }
}

fn run(folder: &Path) -> Result<(Vec<Tensor>, Vec<Tensor>), String> {
    let name = folder.file_name().expect("a test has a name").to_string_lossy();
    let recurrent = ["lstm", "gru", "rnn"].iter().any(|cell| name.contains(cell));
    let path = folder.join("model.onnx");
    let inputs = tensors(folder, "input");
    // The names of the inputs are in the model, so it is read twice.
    let names = input_names(&path);
    let mut constants = BTreeMap::new();
    let mut given = Vec::new();
    for (name, tensor) in names.into_iter().zip(inputs) {
        if known_at_load(recurrent, &name, &tensor) {
            constants.insert(name, tensor);
        } else {
            given.push(tensor);
        }
    }
    let graph = load(&path, &ReadOptions { constants, ..ReadOptions::default() })
        .map_err(|error| error.to_string())?;
    Ok((evaluate(&graph, &given)?, tensors(folder, "output")))
}

fn evaluate(graph: &Graph, given: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let shapes: Vec<Vec<usize>> = given.iter().map(|tensor| tensor.shape.clone()).collect();
    let program =
        Program::new(graph, &shapes, &mut |_, _, _| Schedule::SINGLE).map_err(|error| error.to_string())?;
    let mut session = Session::new(Team::new(1));
    session.announce(&program);
    let views: Vec<View<'_>> = given.iter().map(Tensor::view).collect();
    // Twice: nothing may be left over from the first time.
    for _ in 0..2 {
        session.run(&program, &views).map_err(|error| error.to_string())?;
    }
    let output = |(index, (element, shape)): (usize, (Element, &[usize]))| match session
        .output(&program, &views, index)
        .values
    {
        ValuesRef::Real(values) => Tensor::real(shape, values.to_vec()),
        ValuesRef::Integer(values) => Tensor::integer(element, shape, values.to_vec()),
    };
    Ok(program.outputs().enumerate().map(output).collect())
}

fn input_names(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).expect("the model can be read");
    input_names_of(path, &bytes).expect("the model is sound")
}

fn compare(got: &Tensor, expected: &Tensor) -> Result<(), String> {
    if (got.element, &got.shape) != (expected.element, &expected.shape) {
        return Err(format!(
            "{}{:?} is not {}{:?}",
            got.element, got.shape, expected.element, expected.shape
        ));
    }
    if got.integers() != expected.integers() {
        return Err(format!("{:?} is not {:?}", got.values, expected.values));
    }
    let pairs = got.reals().unwrap_or(&[]).iter().zip(expected.reals().unwrap_or(&[]));
    let close = |(a, b): &(&f32, &f32)| {
        a == b || (*a - *b).abs() <= TOLERANCE * (1.0 + b.abs()) || (a.is_nan() && b.is_nan())
    };
    match pairs.clone().find(|pair| !close(pair)) {
        None => Ok(()),
        Some((got, expected)) => Err(format!("{got} is not {expected}")),
    }
}

#[test]
fn every_model_gives_its_outputs() {
    let mut failures = Vec::new();
    let mut recurrent_count = 0;
    for folder in tests() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        recurrent_count += usize::from(["lstm", "gru", "rnn"].iter().any(|cell| name.contains(cell)));
        let result = run(&folder).and_then(|(got, expected)| {
            if got.len() != expected.len() {
                return Err(format!("{} outputs, expected {}", got.len(), expected.len()));
            }
            got.iter().zip(&expected).try_for_each(|(got, expected)| compare(got, expected))
        });
        if let Err(what) = result {
            failures.push(format!("{name}: {what}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(recurrent_count, 18, "tests of LSTM, GRU and RNN");
}
