//! Devices for tests, and graphs that are computed on them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sut::{OpenCl, OpenError, devices};
use proctor_device::{
    evaluate,
    graph::Graph,
    passes::simplify,
    program::{Program, Tuning},
    session::{Resources, Session, get, put},
    tensor::{Array, Tensor, Values},
};

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

/// A linear congruential generator, from Knuth.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 40
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.next() >> 8).unwrap() % from.len()]
    }

    /// Numbers between -1 and 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are exact in f32")]
    pub fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next() as f32 / (1_u64 << 23) as f32 - 1.0).collect()
    }
}

/// Holds the results of a device against those of the host.
pub fn check(device: &OpenCl, mut graph: Graph, inputs: &[Array], tuning: Tuning, what: &str) {
    let expected = evaluate::run(&graph, inputs).unwrap();
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
            assert_eq!(got.values, expected.values, "output {number} of {what}, {tuning:?}");
            continue;
        };
        for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
            // Also where the one is no number.
            let is_near = (got - expected).abs() <= TOLERANCE * expected.abs().max(1.0);
            assert!(
                is_near,
                "element {at} of output {number}: {got}, expected {expected}, of {what}, {tuning:?}"
            );
        }
    }
}
