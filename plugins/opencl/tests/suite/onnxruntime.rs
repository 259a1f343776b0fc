//! Compares every operator, and small models, on the first device with ONNX Runtime: the same files, the same inputs.
//!
//! Attributes, shapes and numbers are drawn from a seed. `PROCTOR_DRAWN_CASES` is the number of seeds for each
//! operator, and `PROCTOR_DRAWN_SEED` the first of them:
//!
//! ```text
//! PROCTOR_DRAWN_CASES=100 cargo test --release -p proctor-opencl --test suite onnxruntime
//! ```
//! The file of a case that fails stays in the folder that the failure names. What is left out on purpose,
//! [`proctor_device_cases::drawn`] says.

mod runtime;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use opencl_sut::OpenCl;
use proctor_device::program::Tuning;
use proctor_device_cases::{Case, difference, drawn, models};
use runtime::Runtime;

use crate::device::device;

/// Number of seeds of each operator unless the environment says otherwise: few, since each has kernels to be compiled.
const CASES: u64 = 3;

/// Greatest difference of a whole model, whose sums go through many layers.
const OF_MODELS: f64 = 1e-4;

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Where files of cases lie while they are computed.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drawn");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The first difference of a file on the device from the runtime, in words.
fn compare(
    device: &OpenCl,
    runtime: &Runtime,
    file: &Path,
    case: &Case,
    tolerance: f64,
) -> Result<(), String> {
    let expected = runtime.outputs(file, &case.inputs).map_err(|error| format!("the runtime: {error}"))?;
    for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
        let outputs = case.outputs(device, tuning)?;
        if outputs.len() != expected.len() {
            return Err(format!("{} outputs, expected {}", outputs.len(), expected.len()));
        }
        for (number, (output, expected)) in outputs.iter().zip(&expected).enumerate() {
            difference(output, expected, tolerance)
                .map_err(|what| format!("output {number}: {what}, {tuning:?}"))?;
        }
    }
    Ok(())
}

/// Computes all seeds of some operators on both sides, and fails with all differences. Operators with many attributes
/// get `times` as many seeds.
fn check(operators: &[drawn::Operator], times: u64) {
    let Some((device, _alone)) = device() else { return };
    let Some(runtime) = Runtime::load() else { return };
    let first = number("PROCTOR_DRAWN_SEED", 0);
    let mut failures = Vec::new();
    for operator in operators {
        for seed in first..first + number("PROCTOR_DRAWN_CASES", times * CASES) {
            let drawn = operator.draw(seed);
            let file = folder().join(&drawn.name).with_extension("onnx");
            fs::write(&file, &drawn.file).unwrap();
            // A panic leaves the file, too.
            match compare(&device, runtime, &file, &drawn.case(), drawn.tolerance) {
                Ok(()) => fs::remove_file(&file).unwrap(),
                Err(what) => failures.push(format!("{}: {what}", file.display())),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases differ from ONNX Runtime:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn element_by_element() {
    check(drawn::ELEMENTWISE, 1);
}

#[test]
fn products() {
    check(drawn::PRODUCTS, 3);
}

#[test]
fn attention() {
    check(drawn::ATTENTION, 2);
}

#[test]
fn windows() {
    check(drawn::WINDOWS, 4);
}

#[test]
fn rows() {
    check(drawn::ROWS, 2);
}

#[test]
fn movement() {
    check(drawn::MOVEMENT, 1);
}

#[test]
fn constants() {
    check(drawn::CONSTANTS, 1);
}

#[test]
fn quantized() {
    check(drawn::QUANTIZED, 2);
}

#[test]
fn recurrent_layers() {
    check(drawn::RECURRENT, 1);
}

#[test]
fn several_after_each_other() {
    check(drawn::CHAINS, 3);
}

#[test]
fn small_models() {
    let Some((device, _alone)) = device() else { return };
    let Some(runtime) = Runtime::load() else { return };
    let mut failures = Vec::new();
    models::for_each_file(|file, case| {
        if let Err(what) = compare(&device, runtime, file, case, OF_MODELS) {
            failures.push(format!("{}: {what}", case.name));
        }
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
