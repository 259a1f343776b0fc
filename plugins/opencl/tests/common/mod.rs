//! Devices for tests, and graphs that are computed on them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sut::{OpenCl, OpenError, devices};
use proctor_device::{
    evaluate,
    passes::simplify,
    program::{Program, Tuning},
    session::{Resources, Session, get, put},
    tensor::{Array, Tensor, Values},
};
use proctor_device_cases::Case;

/// Greatest difference of an element on the device, relative above 1.
pub const TOLERANCE: f64 = 1e-5;

/// One test at a time: PoCL may crash where several contexts of a process compile at once.
static ALONE: Mutex<()> = Mutex::new(());

/// The device for a test alone, or nothing where there is none, after saying so.
pub fn device() -> Option<(OpenCl, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match devices() {
        Ok(devices) => Some((OpenCl::open(&devices[0]).expect("the first device can be opened"), alone)),
        Err(OpenError::Failed(error)) => panic!("{error}"),
        Err(error) => {
            proctor_test_needs::skip(error);
            None
        }
    }
}

/// Holds the results of a device against those of the host.
pub fn check(device: &OpenCl, case: &Case, tuning: Tuning) {
    let Case { name, mut graph, inputs } = case.clone();
    let expected = evaluate::run(&graph, &inputs).unwrap();
    simplify(&mut graph).unwrap();
    let mut program = Program::new(&graph, tuning).unwrap();
    let mut resources = Resources::default();
    resources.prepare(device, &mut program).unwrap();
    let session = Session::new(device, &resources, &program).unwrap();
    // Other numbers before: nothing of a batch is left over for the next.
    for is_first in [true, false] {
        for (number, input) in inputs.iter().enumerate() {
            let other = match &input.values {
                Values::Real(values) if is_first => {
                    Values::Real(values.iter().map(|value| 0.5 - value).collect())
                }
                values => values.clone(),
            };
            let input = Array { values: other, ..input.clone() };
            put(device, session.input(number), &input.tensor().bytes).unwrap();
        }
        session.launch(device).unwrap();
    }
    for (number, expected) in expected.iter().enumerate() {
        let view = &program.outputs()[number];
        assert_eq!(view.shape, expected.shape);
        let mut bytes = vec![0; view.element.bytes_of(view.shape.iter().product())];
        get(device, session.output(number), &mut bytes).unwrap();
        let got = Tensor { element: view.element, shape: view.shape.clone(), bytes: bytes.into() };
        let got = got.array().unwrap();
        let (Values::Real(got), Values::Real(expected)) = (&got.values, &expected.values) else {
            assert_eq!(got.values, expected.values, "output {number} of {name}, {tuning:?}");
            continue;
        };
        for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
            // Also where the one is no number.
            let is_near = (got - expected).abs() <= TOLERANCE * expected.abs().max(1.0);
            assert!(
                is_near,
                "element {at} of output {number}: {got}, expected {expected}, of {name}, {tuning:?}"
            );
        }
    }
}
