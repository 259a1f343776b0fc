//! Models on a device against what their operators mean.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

use opencl_sut::{OpenCl, devices};
use proctor_device::{
    evaluate,
    graph::Graph,
    passes::simplify,
    program::{Program, Tuning},
    read::Source,
    session::{Resources, Session, get, put},
    tensor::{Array, Tensor},
};
use proctor_onnx_file::Dim;
use proctor_test_needs::skip;
use proctor_vocabulary::ElementType;

/// Difference in f32 from a result in f64, relative to the largest number of the output.
const TOLERANCE: f64 = 1e-5;

/// The same for graphs that are simplified and still computed in f64: their constants are rounded to f32.
const SIMPLIFIED_TOLERANCE: f64 = 1e-6;

/// Extent of dimensions that the file leaves open, but for the batch.
const OPEN_EXTENT: usize = 7;

/// Numbers from -1 to 1, the same in each run.
fn numbers(count: usize) -> impl Iterator<Item = f64> {
    let step = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    // 24 bits, which an f32 holds.
    let number = |state: u64| (state >> 40) as f64 / f64::from(1 << 23) - 1.0;
    std::iter::successors(Some(1), step).skip(1).take(count).map(number)
}

/// Numbers for each input; integers are 0 or 1, which any table has and any mask may be.
fn inputs(graph: &Graph) -> Vec<Array> {
    let values = graph.inputs().iter().map(|id| graph.value(*id));
    values
        .map(|value| {
            let numbers = numbers(value.shape.iter().product());
            if value.element == ElementType::F32 {
                Array::real(value.element, &value.shape, numbers.collect())
            } else {
                let integers = numbers.map(|number| i64::from(number > 0.0)).collect();
                Array::integer(value.element, &value.shape, integers)
            }
        })
        .collect()
}

/// Shapes of a file's inputs with this batch.
fn shapes(source: &Source, batch_size: usize) -> Vec<Vec<usize>> {
    let extent = |(at, dim): (usize, &Dim)| match dim {
        Dim::Fixed(extent) => *extent,
        _ if at == 0 => batch_size,
        _ => OPEN_EXTENT,
    };
    let inputs = source.file().signature.inputs.iter();
    inputs.map(|input| input.dims.as_ref().unwrap().iter().enumerate().map(extent).collect()).collect()
}

/// The largest difference, relative to the largest expected number.
fn difference(got: &Array, expected: &Array) -> f64 {
    let (got, expected) = (got.reals().unwrap(), expected.reals().unwrap());
    assert_eq!(got.len(), expected.len());
    let largest = expected.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    assert!(largest > 0.0 && got.iter().all(|number| number.is_finite()));
    let pairs = got.iter().zip(expected);
    pairs.map(|(got, expected)| (got - expected).abs()).fold(0.0, f64::max) / largest
}

/// The outputs that a device computes, the second time: so that nothing of a batch is left for the next.
fn computed(driver: &OpenCl, tuning: Tuning, graph: &Graph, inputs: &[Array]) -> Vec<Array> {
    let mut program = Program::new(graph, tuning).unwrap();
    let mut resources = Resources::default();
    resources.prepare(driver, &mut program).unwrap();
    let session = Session::new(driver, &resources, &program).unwrap();
    for _ in 0..2 {
        for (number, input) in inputs.iter().enumerate() {
            put(driver, session.input(number), &input.tensor().bytes).unwrap();
        }
        session.launch(driver).unwrap();
    }
    let outputs = program.outputs().iter().enumerate();
    outputs
        .map(|(number, view)| {
            let mut bytes = vec![0; view.element.bytes_of(view.shape.iter().product())];
            get(driver, session.output(number), &mut bytes).unwrap();
            Tensor { element: view.element, shape: view.shape.clone(), bytes: bytes.into() }.array().unwrap()
        })
        .collect()
}

/// Asserts that the device computes what the operators of a file mean, with either tuning.
fn assert_computed(path: &Path, batch_sizes: &[usize]) {
    let devices = match devices() {
        Ok(devices) => devices,
        Err(error) => return skip(error),
    };
    let driver = OpenCl::open(&devices[0]).unwrap();
    let source = Source::open(path).unwrap();
    for batch_size in batch_sizes {
        let mut graph = source.graph(&shapes(&source, *batch_size)).unwrap();
        let inputs = inputs(&graph);
        let expected = evaluate::run(&graph, &inputs).unwrap();
        simplify(&mut graph).unwrap();
        let simplified = evaluate::run(&graph, &inputs).unwrap();
        for (simplified, expected) in simplified.iter().zip(&expected) {
            let difference = difference(simplified, expected);
            assert!(difference < SIMPLIFIED_TOLERANCE, "{}: {difference}", path.display());
        }
        for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
            let got = computed(&driver, tuning, &graph, &inputs);
            assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(&expected) {
                let difference = difference(got, expected);
                let what = format!("{} in batches of {batch_size}, {tuning:?}", path.display());
                assert!(difference < TOLERANCE, "{what}: {difference}");
            }
        }
    }
}

fn digits(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(name)
}

fn assert_generated_is_computed(model: &str) {
    let folder = tempfile::tempdir().unwrap();
    let made = proctor_recipes::make_model(model, folder.path(), &mut |_, _| ()).unwrap();
    assert_computed(&made.file("onnx").unwrap().path, &[2]);
}

#[test]
fn the_perceptron_of_the_digits() {
    assert_computed(&digits("digits-mlp.onnx"), &[1, 5]);
}

#[test]
fn the_convolutions_of_the_digits() {
    assert_computed(&digits("digits-cnn.onnx"), &[1, 5]);
}

#[test]
fn depthwise_convolutions() {
    assert_generated_is_computed("mobilenet-v1-tiny");
}

#[test]
fn residual_convolutions() {
    assert_generated_is_computed("resnet50-tiny");
}

#[test]
fn an_encoder() {
    assert_generated_is_computed("bert-tiny");
}

#[test]
fn a_decoder() {
    assert_generated_is_computed("llama-tiny");
}
