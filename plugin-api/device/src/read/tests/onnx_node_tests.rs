//! Runs the node tests of ONNX: for each graph, `evaluate` computes the outputs that lie next to its file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_onnx_file::{
    TensorData,
    proto::{ModelProto, TensorProto},
};
use proptest::prelude::*;
use prost::Message;

use crate::{
    evaluate::run,
    read::Source,
    tensor::{Array, Tensor, Values, is_real},
};

/// The test runner of ONNX allows 1e-3 relative and 1e-7 absolute.
const TOLERANCE: f64 = 1e-5;

/// Parts of the names of tests that are refused, with parts of the reasons.
const REFUSED: [(&str, &str); 2] =
    [("rnn", "the operator is not supported"), ("reduce_max_empty_set", "there is no greatest")];

fn folders() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/onnx-file/tests/onnx_node_tests");
    let entries = fs::read_dir(&folder).expect("the tests are in the repository");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn protos(folder: &Path, kind: &str) -> Vec<TensorProto> {
    let file = |index: usize| folder.join(format!("{kind}_{index}.pb"));
    let files = (0..).map(file).take_while(|file| file.is_file());
    files.map(|file| TensorProto::decode(&*fs::read(file).unwrap()).unwrap()).collect()
}

fn array(proto: &TensorProto) -> Array {
    let TensorData { element, shape, bytes } = TensorData::read(proto, Path::new("")).unwrap();
    Tensor { element, shape, bytes: Arc::new(bytes.into_owned()) }.array().unwrap()
}

/// Integers that decide about shapes are known when a model is read; the rest comes when it runs.
fn is_parameter(is_layer: bool, name: &str, array: &Array) -> bool {
    !is_layer && name != "indices" && is_real(array.element) == Ok(false)
}

/// A model whose parameters are constants, and its other inputs.
fn model_of(folder: &Path) -> (ModelProto, Vec<Array>) {
    let is_layer = ["lstm", "gru"].iter().any(|cell| folder.display().to_string().contains(cell));
    let mut model = ModelProto::decode(&*fs::read(folder.join("model.onnx")).unwrap()).unwrap();
    // These operators have not changed since the last version that is read.
    for import in &mut model.opset_import {
        import.version = import.version.map(|version| version.min(23));
    }
    let graph = model.graph.as_mut().unwrap();
    let mut inputs = Vec::new();
    for (input, mut proto) in graph.input.clone().iter().zip(protos(folder, "input")) {
        let name = input.name.clone().unwrap();
        let array = array(&proto);
        if is_parameter(is_layer, &name, &array) {
            proto.name = Some(name);
            graph.initializer.push(proto);
        } else {
            inputs.push(array);
        }
    }
    (model, inputs)
}

fn outputs_of(bytes: &[u8], inputs: &[Array]) -> Result<Vec<Array>, String> {
    let source = Source::from_bytes(Path::new("m.onnx"), bytes).map_err(|error| error.to_string())?;
    let shapes: Vec<_> = inputs.iter().map(|array| array.shape.clone()).collect();
    let graph = source.graph(&shapes).map_err(|error| error.to_string())?;
    run(&graph, inputs)
}

fn compare(got: &Array, expected: &Array) -> Result<(), String> {
    if (got.element, &got.shape) != (expected.element, &expected.shape) {
        return Err(format!(
            "{:?}{:?} is not {:?}{:?}",
            got.element, got.shape, expected.element, expected.shape
        ));
    }
    let (Values::Real(values), Values::Real(wanted)) = (&got.values, &expected.values) else {
        return if got == expected { Ok(()) } else { Err(format!("{got:?} is not {expected:?}")) };
    };
    let is_close = |(a, b): &(&f64, &f64)| a == b || (*a - *b).abs() <= TOLERANCE * (1.0 + b.abs());
    match values.iter().zip(wanted).find(|pair| !is_close(pair)) {
        None => Ok(()),
        Some((got, expected)) => Err(format!("{got} is not {expected}")),
    }
}

#[test]
fn every_model_gives_its_outputs() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (model, inputs) = model_of(&folder);
        let result = outputs_of(&model.encode_to_vec(), &inputs);
        if let Some((_, why)) = REFUSED.iter().find(|(part, _)| name.contains(part)) {
            let message = result.expect_err(&name);
            assert!(message.contains(why), "{name}: {message}");
            continue;
        }
        count += 1;
        let expected: Vec<Array> = protos(&folder, "output").iter().map(array).collect();
        let result = result.and_then(|got| {
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
    assert!(count > 120, "{count} tests");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage anywhere gives an error or another graph, never a panic.
    #[test]
    fn damage_never_panics(
        test in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let folders = folders();
        let (model, inputs) = model_of(&folders[test.index(folders.len())]);
        let mut bytes = model.encode_to_vec();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        drop(outputs_of(&bytes, &inputs));
    }
}
