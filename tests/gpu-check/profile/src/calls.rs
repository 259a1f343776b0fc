//! The time of each call of a model.

use std::path::Path;

use anyhow::Result;
use proctor_device::{driver::Driver, profile::call_times, program::Tuning};
use serde_json::{Value, json};

use crate::planned::{Planned, Precision};

/// Number of launches of a call in a row.
const COPIES: usize = 8;

/// Measures each call of a model.
///
/// # Errors
/// If the model cannot be planned, or the device's.
pub(crate) fn measure<D: Driver>(
    driver: &D,
    tuning: Tuning,
    file: &Path,
    batch_size: usize,
    precision: Precision,
    rounds: usize,
) -> Result<Vec<Value>> {
    let Planned { program, resources } = Planned::open(driver, tuning, file, batch_size, precision)?;
    let times_ns = call_times(driver, &resources, &program, COPIES, rounds)?;
    let total_ns = times_ns.iter().sum::<u64>().max(1);
    let rows = program.calls().iter().zip(&times_ns).map(|(call, time_ns)| {
        json!({
            "label": call.label,
            "kernel": resources.computed_by(call).name(),
            "operations": call.operations,
            "bytes": program.bytes_of(call),
            "ns": time_ns,
            "share": *time_ns as f64 / total_ns as f64,
        })
    });
    Ok(rows.collect())
}
