//! Models on a device against what their operators mean.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "tests")]

use opencl_sut::{OpenCl, devices};
use proctor_device::{
    evaluate,
    graph::Graph,
    passes::simplify,
    program::{Program, Tuning},
    session::{Resources, Session, get, put},
    tensor::{Array, Tensor},
};
use proctor_device_cases::{Case, models};
use proctor_test_needs::skip;

/// Difference in f32 from a result in f64, relative to the largest number of the output.
const TOLERANCE: f64 = 1e-5;

/// The same for graphs that are simplified and still computed in f64: their constants are rounded to f32.
const SIMPLIFIED_TOLERANCE: f64 = 1e-6;

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

/// Asserts that the device computes what the operators of a model mean, with either tuning.
fn assert_computed(cases: Vec<Case>) {
    let devices = match devices() {
        Ok(devices) => devices,
        Err(error) => return skip(error),
    };
    let driver = OpenCl::open(&devices[0]).unwrap();
    for Case { name, mut graph, inputs } in cases {
        let expected = evaluate::run(&graph, &inputs).unwrap();
        simplify(&mut graph).unwrap();
        let simplified = evaluate::run(&graph, &inputs).unwrap();
        for (simplified, expected) in simplified.iter().zip(&expected) {
            let difference = difference(simplified, expected);
            assert!(difference < SIMPLIFIED_TOLERANCE, "{name}: {difference}");
        }
        for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
            let got = computed(&driver, tuning, &graph, &inputs);
            assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(&expected) {
                let difference = difference(got, expected);
                assert!(difference < TOLERANCE, "{name}, {tuning:?}: {difference}");
            }
        }
    }
}

#[test]
fn the_perceptron_of_the_digits() {
    assert_computed(models::digits("digits-mlp", &[1, 5]));
}

#[test]
fn the_convolutions_of_the_digits() {
    assert_computed(models::digits("digits-cnn", &[1, 5]));
}

#[test]
fn depthwise_convolutions() {
    assert_computed(models::generated("mobilenet-v1-tiny"));
}

#[test]
fn residual_convolutions() {
    assert_computed(models::generated("resnet50-tiny"));
}

#[test]
fn an_encoder() {
    assert_computed(models::generated("bert-tiny"));
}

#[test]
fn a_decoder() {
    assert_computed(models::generated("llama-tiny"));
}
