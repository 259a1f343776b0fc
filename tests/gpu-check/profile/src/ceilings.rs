//! Ceilings of a device: bytes by copies and by a kernel that does little else, operations by products.

use std::path::Path;

use anyhow::Result;
use proctor_device::{
    driver::Driver,
    profile::{call_times, copy_times},
    program::Tuning,
    read::Source,
};
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_vocabulary::ElementType::F32;
use serde_json::{Value, json};

use crate::planned::{Planned, Precision};

/// Number of launches of a kernel in a row.
const COPIES: usize = 4;

/// Number of bytes of a number.
const F32_BYTES: usize = 4;

/// Measures copies, an addition, and products of these extents in f32 and f16.
///
/// # Errors
/// Returns the device's error.
pub(crate) fn measure<D: Driver>(
    driver: &D,
    tuning: Tuning,
    bytes: usize,
    extents: &[usize],
    rounds: usize,
) -> Result<Vec<Value>> {
    let [to_ns, from_ns] = copy_times(driver, bytes.max(1), rounds)?;
    let row = |what: &str, bytes: usize, ns: u64| json!({ "what": what, "bytes": bytes, "ns": ns });
    let mut rows = vec![row("copy to the device", bytes, to_ns), row("copy from the device", bytes, from_ns)];
    let numbers = (bytes / F32_BYTES).max(1);
    let sum = time_ns(driver, tuning, &addition(numbers)?, Precision::F32, rounds)?;
    rows.push(row("addition of two inputs", 3 * F32_BYTES * numbers, sum));
    for extent in extents {
        let source = product(*extent)?;
        for precision in [Precision::F32, Precision::F16] {
            let ns = time_ns(driver, tuning, &source, precision, rounds)?;
            // As a program counts them: each multiplication and each addition.
            let operations = 2 * (*extent as u64).pow(3);
            rows.push(json!({
                "what": "product", "precision": precision.name(), "extent": extent, "operations": operations, "ns": ns,
            }));
        }
    }
    Ok(rows)
}

/// Returns the time of all calls of a model.
fn time_ns<D: Driver>(
    driver: &D,
    tuning: Tuning,
    source: &Source,
    precision: Precision,
    rounds: usize,
) -> Result<u64> {
    let Planned { program, resources } = Planned::new(driver, tuning, source, 1, precision)?;
    Ok(call_times(driver, &resources, &program, COPIES, rounds)?.iter().sum())
}

fn addition(numbers: usize) -> Result<Source> {
    let shape = [numbers];
    let mut builder = GraphBuilder::new("addition");
    builder.input("a", F32, &Dim::fixed(&shape));
    builder.input("b", F32, &Dim::fixed(&shape));
    let sum = builder.node("Add", "sum", &["a", "b"], &[]);
    builder.output(&sum, F32, &Dim::fixed(&shape));
    Ok(Source::from_bytes(Path::new("addition.onnx"), &builder.into_bytes())?)
}

/// Returns a product by constant weights, as in a layer.
fn product(extent: usize) -> Result<Source> {
    let shape = [extent, extent];
    let mut builder = GraphBuilder::new("product");
    builder.input("x", F32, &Dim::fixed(&shape));
    let numbers: Vec<f32> = (0..extent * extent).map(|place| (place * 7 % 31) as f32 / 31.0 - 0.5).collect();
    let weights = builder.constant("weights", &shape, &numbers);
    let product = builder.node("MatMul", "product", &["x", &weights], &[]);
    builder.output(&product, F32, &Dim::fixed(&shape));
    Ok(Source::from_bytes(Path::new("product.onnx"), &builder.into_bytes())?)
}
