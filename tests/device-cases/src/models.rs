//! Models, trained and generated, in batches.

use std::path::{Path, PathBuf};

use proctor_device::{graph::Graph, read::Source, tensor::Array};
use proctor_vocabulary::ElementType;

use crate::{Case, random::Random};

/// Small variants of generated models that `proctor-recipes` makes.
pub const GENERATED: [&str; 4] = ["mobilenet-v1-tiny", "resnet50-tiny", "bert-tiny", "llama-tiny"];

/// The trained models of the digits.
pub const DIGITS: [&str; 4] = ["digits-mlp", "digits-cnn", "digits-cnn-int8", "digits-lstm"];

/// The trained models of Fashion-MNIST.
pub const FASHION_MNIST: [&str; 2] = ["fashion-mnist-cnn", "fashion-mnist-cnn-int8"];

/// Extent of dimensions that a file leaves open, except the batch.
const OPEN_EXTENT: usize = 7;

/// Returns a trained model in batches of these sizes.
#[must_use]
pub fn trained(model: &str, batch_sizes: &[usize]) -> Vec<Case> {
    of_file(&trained_file(model), batch_sizes)
}

/// Returns a generated model, made in a folder that is removed again, in batches of two.
#[must_use]
pub fn generated(model: &str) -> Vec<Case> {
    in_generated(model, |file| of_file(file, &[2]))
}

/// Calls a function with each model's file, which exists until it returns, and a case of it.
pub fn for_each_file(mut call: impl FnMut(&Path, &Case)) {
    for model in DIGITS.into_iter().chain(FASHION_MNIST) {
        let file = trained_file(model);
        of_file(&file, &[1, 5]).iter().for_each(|case| call(&file, case));
    }
    for model in GENERATED {
        in_generated(model, |file| of_file(file, &[2]).iter().for_each(|case| call(file, case)));
    }
}

fn trained_file(model: &str) -> PathBuf {
    let folder = if FASHION_MNIST.contains(&model) { FASHION_MNIST[0] } else { "digits" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets").join(folder);
    folder.join(model).with_extension("onnx")
}

fn in_generated<T>(model: &str, call: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let made = proctor_recipes::make_model(model, folder.path(), &mut |_, _| ()).unwrap();
    call(&made.file("onnx").unwrap().path)
}

fn of_file(path: &Path, batch_sizes: &[usize]) -> Vec<Case> {
    let source = Source::open(path).unwrap();
    let of = |batch_size: &usize| {
        let graph = source.graph(&source.input_shapes(*batch_size, OPEN_EXTENT).unwrap()).unwrap();
        let inputs = inputs(&graph);
        Case { name: format!("{} in batches of {batch_size}", path.display()), graph, inputs }
    };
    batch_sizes.iter().map(of).collect()
}

/// Returns numbers for each input; integers are 0 or 1, which are valid for any table and any mask.
fn inputs(graph: &Graph) -> Vec<Array> {
    let values = graph.inputs().iter().map(|id| graph.value(*id));
    values
        .map(|value| {
            let numbers = Random(1).numbers(value.shape.iter().product()).into_iter().map(f64::from);
            if value.element == ElementType::F32 {
                Array::real(value.element, &value.shape, numbers.collect())
            } else {
                let integers = numbers.map(|number| i64::from(number > 0.0)).collect();
                Array::integer(value.element, &value.shape, integers)
            }
        })
        .collect()
}
