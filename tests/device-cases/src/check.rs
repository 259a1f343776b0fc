//! Comparison of a device with the host.

use proctor_device::{
    driver::{DeviceError, Driver},
    evaluate,
    graph::Graph,
    passes,
    program::Tuning,
    session::{ComputedBy, Resources, Session, get, put},
    tensor::{Array, Tensor, Values},
};
use proctor_vocabulary::ElementType;

use crate::Case;

/// Greatest difference of an element on the device, relative to it, or to the largest of the output up to 1.
const TOLERANCE: f64 = 1e-5;

impl Case {
    /// Returns the outputs of a device, in the second of two runs.
    ///
    /// # Errors
    /// Returns the reason why the graph cannot be planned, or the device's.
    pub fn outputs<D: Driver>(&self, device: &D, tuning: Tuning) -> Result<Vec<Array>, String> {
        let mut graph = self.graph.clone();
        passes::apply(&mut graph, None)?;
        computed(device, &graph, &self.inputs, tuning)
    }

    /// Returns the kernel or the library that computes each call of a device.
    ///
    /// # Errors
    /// As [`outputs`](Self::outputs).
    pub fn computed_by<D: Driver>(&self, device: &D, tuning: Tuning) -> Result<Vec<ComputedBy>, String> {
        let mut graph = self.graph.clone();
        passes::apply(&mut graph, None)?;
        let mut resources = Resources::default();
        let mut program = resources.plan(device, &graph, tuning)?;
        resources.prepare(device, &mut program).map_err(|error| error.to_string())?;
        Ok(program.calls().iter().map(|call| resources.computed_by(call)).collect())
    }

    /// Compares the outputs of a device, with each tuning, with the host's.
    ///
    /// # Panics
    /// If they differ, or the device fails.
    pub fn check<D: Driver>(&self, device: &D, tunings: &[Tuning]) {
        let expected = evaluate::run(&self.graph, &self.inputs).unwrap();
        let mut graph = self.graph.clone();
        passes::apply(&mut graph, None).unwrap();
        for tuning in tunings {
            let outputs = computed(device, &graph, &self.inputs, *tuning).unwrap();
            assert_eq!(outputs.len(), expected.len());
            for (number, (output, expected)) in outputs.iter().zip(&expected).enumerate() {
                let what = format!("output {number} of {}, {tuning:?}", self.name);
                assert_near(output, expected, TOLERANCE, &what);
            }
        }
    }

    /// Compares the outputs of the graph in f16 or bf16 on a device, with each tuning, with the host's, for inputs that
    /// are numbers of this type. They may differ by `tolerance`, with the meaning that it has in
    /// [`check`](Self::check).
    ///
    /// # Panics
    /// If they differ by more, or the device fails.
    pub fn check_narrow<D: Driver>(
        &self,
        device: &D,
        tunings: &[Tuning],
        element: ElementType,
        tolerance: f64,
    ) {
        let rounded = |input: &Array| match input.values {
            Values::Real(_) => {
                let narrow = Array { element, ..input.clone() }.tensor().array().unwrap();
                Array { element: input.element, ..narrow }
            }
            Values::Integer(_) => input.clone(),
        };
        let mut graph = self.graph.clone();
        passes::apply(&mut graph, Some(element)).unwrap();
        let inputs = self.inputs.iter().map(rounded).collect();
        let narrow = Self { name: format!("{} in {}", self.name, element.name()), graph, inputs };
        let expected = evaluate::run(&narrow.graph, &narrow.inputs).unwrap();
        for tuning in tunings {
            let outputs = computed(device, &narrow.graph, &narrow.inputs, *tuning).unwrap();
            for (number, (output, expected)) in outputs.iter().zip(&expected).enumerate() {
                let what = format!("output {number} of {}, {tuning:?}", narrow.name);
                assert_near(output, expected, tolerance, &what);
            }
        }
    }
}

/// Returns the outputs of a graph on a device, in the second of two runs.
fn computed<D: Driver>(
    device: &D,
    graph: &Graph,
    inputs: &[Array],
    tuning: Tuning,
) -> Result<Vec<Array>, String> {
    let failed = |error: DeviceError| error.to_string();
    let mut resources = Resources::default();
    let mut program = resources.plan(device, graph, tuning)?;
    resources.prepare(device, &mut program).map_err(failed)?;
    let session = Session::new(device, &resources, &program).map_err(failed)?;
    // The first run is of other numbers: nothing of a batch is left over for the next.
    for is_first in [true, false] {
        for (number, input) in inputs.iter().enumerate() {
            let values = match &input.values {
                Values::Real(values) if is_first => {
                    Values::Real(values.iter().map(|value| 0.5 - value).collect())
                }
                values => values.clone(),
            };
            let input = Array { values, ..input.clone() };
            put(device, session.input(number), &input.tensor().bytes).map_err(failed)?;
        }
        session.launch(device).map_err(failed)?;
    }
    let outputs = program.outputs().iter().enumerate();
    outputs
        .map(|(number, view)| {
            let mut bytes = vec![0; view.element.bytes_of(view.shape.iter().product())];
            get(device, session.output(number), &mut bytes).map_err(failed)?;
            Tensor { element: view.element, shape: view.shape.clone(), bytes: bytes.into() }.array()
        })
        .collect()
}

fn assert_near(output: &Array, expected: &Array, tolerance: f64, what: &str) {
    difference(output, expected, tolerance).unwrap_or_else(|difference| panic!("{difference}, of {what}"));
}

/// Whether all elements are as expected: integers exactly, and numbers up to the tolerance, which is relative to the
/// element, or to the largest of the output up to 1.
///
/// # Errors
/// Returns the first element that differs, or the shapes, in words.
pub fn difference(output: &Array, expected: &Array, tolerance: f64) -> Result<(), String> {
    if (output.element, &output.shape) != (expected.element, &expected.shape) {
        let (one, other) = (output.element, expected.element);
        return Err(format!("{one} {:?}, expected {other} {:?}", output.shape, expected.shape));
    }
    let (values, expected) = match (&output.values, &expected.values) {
        (Values::Real(values), Values::Real(expected)) => (values, expected),
        (Values::Integer(values), Values::Integer(expected)) => {
            let differ = (0..values.len()).find(|at| values[*at] != expected[*at]);
            return differ.map_or(Ok(()), |at| {
                Err(format!("element {at}: {}, expected {}", values[at], expected[at]))
            });
        }
        _ => return Err("numbers and integers".to_owned()),
    };
    let largest = expected.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    for (at, (value, expected)) in values.iter().zip(expected).enumerate() {
        // False also where one of them is not a number.
        let is_near = (value - expected).abs() <= tolerance * expected.abs().max(largest.min(1.0));
        if !is_near && value != expected && !(value.is_nan() && expected.is_nan()) {
            return Err(format!("element {at}: {value}, expected {expected}"));
        }
    }
    Ok(())
}
