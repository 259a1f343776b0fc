//! The models of the project.

use std::{fs, path::PathBuf, sync::Arc};

use proctor_onnx_file::{Dim, ValueSpec, ValueType};
use proctor_vocabulary::ElementType;

use super::*;
use crate::{evaluate::run, tensor::Array};

/// Reads a model for batches of 1 and 5, and checks the types and shapes of its inputs and outputs.
fn check(path: &Path) {
    let source = Source::open(path).unwrap_or_else(|error| panic!("{error}"));
    let signature = &source.file().signature;
    for batch in [1, 5] {
        let kinds = |specs: &[ValueSpec]| specs.iter().map(|spec| kind(spec, batch)).collect::<Vec<_>>();
        let inputs = kinds(&signature.inputs);
        let shapes: Vec<_> = inputs.iter().map(|(_, shape)| shape.clone()).collect();
        let graph = source.graph(&shapes).unwrap_or_else(|error| panic!("{error}"));
        let of_graph = |ids: &[crate::graph::ValueId]| {
            let kind =
                |id: &crate::graph::ValueId| (graph.value(*id).element, graph.value(*id).shape.clone());
            ids.iter().map(kind).collect::<Vec<_>>()
        };
        assert_eq!(of_graph(graph.inputs()), inputs, "{}", path.display());
        assert_eq!(of_graph(graph.outputs()), kinds(&signature.outputs), "{}", path.display());
        assert!(!graph.nodes().is_empty());
        let reads_constants_only = graph.nodes().iter().find(|node| {
            let mut inputs = node.inputs.iter().flatten();
            inputs.all(|input| graph.value(*input).constant.is_some())
        });
        assert_eq!(reads_constants_only, None, "{}", path.display());
    }
}

/// Type and shape of an input or output, whose free dimension is the batch.
fn kind(spec: &ValueSpec, batch: usize) -> (ElementType, Vec<usize>) {
    let ValueType::Tensor(element) = spec.value_type else { panic!("{spec}") };
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(fixed) => *fixed,
        Dim::Free(_) => batch,
    };
    (element, spec.dims.as_deref().expect("a shape").iter().map(extent).collect())
}

fn digits() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits")
}

#[test]
fn the_models_of_digits_are_read() {
    let folder = digits();
    for name in ["digits-cnn", "digits-cnn-f16", "digits-cnn-int8", "digits-lstm", "digits-mlp"] {
        check(&folder.join(name).with_extension("onnx"));
    }
}

/// Models of recipes whose operators a device does not have.
const REFUSED: [&str; 2] = ["dlrm-", "3d-unet-"];

/// Names of the small models that have a graph.
fn recipes() -> Vec<&'static str> {
    let tiny = |name: &&str| name.contains("-tiny") && proctor_recipes::onnx(name).is_some();
    let is_read = |name: &&str| !REFUSED.iter().any(|family| name.starts_with(family));
    let names: Vec<&str> = proctor_recipes::model_names().filter(tiny).filter(is_read).collect();
    assert!(names.len() > 4, "{names:?}");
    names
}

#[test]
fn the_models_of_recipes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in recipes() {
        let model = proctor_recipes::make_model(name, folder.path(), &mut |_, _| ()).unwrap();
        check(&model.onnx.expect("a graph").path);
    }
}

#[test]
fn models_of_other_operators_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["dlrm-tiny", "dlrm-v2-tiny", "3d-unet-kits19-tiny", "3d-unet-brats-tiny"] {
        let model = proctor_recipes::make_model(name, folder.path(), &mut |_, _| ()).unwrap();
        let source = Source::open(&model.onnx.expect("a graph").path);
        let shapes = proctor_recipes::input_recipe(name).unwrap().tensors.into_iter();
        let shapes: Vec<_> = shapes.map(|tensor| [&[1], &tensor.shape[..]].concat()).collect();
        assert!(source.and_then(|source| source.graph(&shapes)).is_err(), "{name}");
    }
}

#[test]
fn the_models_of_recipes_mean_what_they_should() {
    const BATCH: usize = 2;
    let folder = tempfile::tempdir().unwrap();
    for name in recipes() {
        let model = proctor_recipes::make_model(name, folder.path(), &mut |_, _| ()).unwrap();
        let source = Source::open(&model.onnx.expect("a graph").path).unwrap();
        let inputs = proctor_recipes::input_recipe(name).unwrap();
        let samples: Vec<_> = (0..BATCH as u64).map(|index| inputs.sample(index)).collect();
        let batch = inputs.tensors.iter().enumerate().map(|(at, tensor)| {
            let bytes = samples.iter().flat_map(|sample| sample[at].iter().copied()).collect();
            let shape = [&[BATCH], &tensor.shape[..]].concat();
            Tensor { element: tensor.element_type, shape, bytes: Arc::new(bytes) }.array().unwrap()
        });
        let batch: Vec<Array> = batch.collect();
        let shapes: Vec<_> = batch.iter().map(|array| array.shape.clone()).collect();
        let outputs = run(&source.graph(&shapes).unwrap(), &batch).unwrap();
        let reference = digits().join("../recipes/reference").join(name).with_extension("json");
        let reference: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(reference).unwrap()).unwrap();
        for (spec, output) in source.file().signature.outputs.iter().zip(&outputs) {
            let of_sample = |sample| numbers(&reference["samples"][sample][&spec.name]);
            let wanted: Vec<f64> = (0..BATCH).flat_map(of_sample).collect();
            let off = distance(output.reals().unwrap(), &wanted);
            assert!(off < 1e-3, "{name}: {} is off by {off}", spec.name);
        }
    }
}

/// The numbers of a list.
fn numbers(list: &serde_json::Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The largest difference of values at the same place.
fn distance(got: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(got.len(), wanted.len());
    got.iter().zip(wanted).map(|(got, wanted)| (got - wanted).abs()).fold(0.0, f64::max)
}

/// The first validation images of digits, as many as there are reference logits of.
fn images(count: usize) -> Vec<f64> {
    let bytes = fs::read(digits().join("images.idx3-ubyte")).unwrap();
    let split: toml::Table = fs::read_to_string(digits().join("split.toml")).unwrap().parse().unwrap();
    let validation = split["validation"].as_array().unwrap().iter();
    let indices = validation.take(count).map(|index| usize::try_from(index.as_integer().unwrap()).unwrap());
    let pixels = indices.flat_map(|index| bytes[16 + 64 * index..][..64].to_vec());
    pixels.map(|pixel| f64::from(pixel) / 16.0).collect()
}

#[test]
fn the_models_of_digits_mean_what_they_should() {
    let reference = fs::read_to_string(digits().join("reference.json")).unwrap();
    let reference: serde_json::Value = serde_json::from_str(&reference).unwrap();
    for (file, model, tolerance) in [
        ("digits-mlp", "digits-mlp", 1e-4),
        ("digits-cnn", "digits-cnn", 1e-4),
        ("digits-lstm", "digits-lstm", 1e-4),
        ("digits-cnn-f16", "digits-cnn", 0.05),
        ("digits-cnn-int8", "digits-cnn", 1.0),
    ] {
        let rows = reference["models"][model]["logits"].as_array().unwrap();
        let source = Source::open(&digits().join(file).with_extension("onnx")).unwrap();
        let shape = kind(&source.file().signature.inputs[0], rows.len()).1;
        let graph = source.graph(std::slice::from_ref(&shape)).unwrap();
        let outputs = run(&graph, &[Array::real(F32, &shape, images(rows.len()))]).unwrap();
        let wanted: Vec<f64> = rows.iter().flat_map(numbers).collect();
        let logits = outputs[0].reals().unwrap();
        let off = distance(logits, &wanted);
        assert!(off < tolerance, "{file} is off by {off}");
        let greatest = |row: &[f64]| {
            row.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
        };
        let digits = |values: &[f64]| values.chunks(10).map(greatest).collect::<Vec<_>>();
        assert_eq!(digits(logits), digits(&wanted), "{file}");
    }
}

#[test]
fn products_of_a_quantised_file_are_of_integers() {
    let source = Source::open(&digits().join("digits-cnn-int8.onnx")).unwrap();
    let shape = kind(&source.file().signature.inputs[0], 2).1;
    let graph = source.graph(&[shape]).unwrap();
    let count = |is: fn(&Op) -> bool| graph.nodes().iter().filter(|node| is(&node.op)).count();
    assert_eq!(count(|op| matches!(op, Op::Conv(_) | Op::Gemm(_) | Op::MatMul)), 0);
    assert_eq!(count(|op| matches!(op, Op::ConvInteger(_))), 2);
    assert_eq!(count(|op| *op == Op::MatMulInteger), 1);
}
