//! Recurrent layers in ONNX files give the answers that NumPy computes in float64.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use proctor_rnn_engine::Team;
use proctor_rnn_layer::Schedule;
use proctor_rnn_models::{
    graph::{Dim, Program, Session, Tensor},
    onnx::{ReadOptions, load},
};

/// Largest absolute difference: what the implementations reach that users pick today, over sums of up to 2048 products.
const TOLERANCE: f64 = 5e-6;

/// Names a folder of further answers.
const FOLDER: &str = "PROCTOR_RNN_ANSWERS";

fn models(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let mut models: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "onnx")).collect();
    models.sort();
    models
}

fn words<const N: usize>(path: &Path) -> Vec<[u8; N]> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "{} has whole values", path.display());
    words.to_vec()
}

/// Largest absolute difference of the outputs of a model.
fn error_of(model: &Path) -> f64 {
    let graph = load(model, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Free(name) => panic!("dimension {name} is not fixed"),
    };
    let shape: Vec<usize> = graph.inputs()[0].dims.iter().map(extent).collect();
    let x = words::<4>(&model.with_extension("x.f32")).into_iter().map(f32::from_le_bytes).collect();
    let x = Tensor::real(&shape, x);
    let program = Program::new(&graph, &[shape], &mut |_, _, _| Schedule::SINGLE)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut session = Session::new(Team::new(1));
    session.announce(&program);
    session.run(&program, &[x.view()]).unwrap_or_else(|error| panic!("{error}"));
    let expected = words::<8>(&model.with_extension("y.f64"));
    let inputs = [x.view()];
    let got = session.output(&program, &inputs, 0).reals();
    assert_eq!(got.len(), expected.len(), "{}", model.display());
    let difference =
        |(got, expected): (&f32, [u8; 8])| (f64::from(*got) - f64::from_le_bytes(expected)).abs();
    let largest = |largest: f64, next: f64| if next.is_nan() { next } else { largest.max(next) };
    got.iter().zip(expected).map(difference).fold(0.0, largest)
}

fn check(folder: &Path) -> usize {
    let models = models(folder);
    for model in &models {
        let error = error_of(model);
        assert!(error <= TOLERANCE, "{}: {error:e}", model.display());
        println!("{}: {error:.1e}", model.display());
    }
    models.len()
}

#[test]
fn the_layers_of_the_repository_and_of_a_folder_if_one_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/float64_answers");
    assert_eq!(check(&folder), 9, "models in the repository");
    if let Some(folder) = env::var_os(FOLDER) {
        assert!(check(Path::new(&folder)) > 0, "the folder that {FOLDER} names has no model");
    }
}
