//! The programs `gpu-profile-cuda` and `gpu-profile-opencl`: measure a device's peak performance, and how close each
//! call of a model comes to it.
//!
//! ```text
//! gpu-profile-opencl ceilings --extents 256,512 --tuning gpu
//! gpu-profile-cuda model resnet50.onnx --batch-size 64 --precision f16
//! ```
//! Each prints one line of JSON; messages go to stderr. Times are by the device's clock. There is a program for each
//! driver because two plugins cannot be linked into one.

#![forbid(unsafe_code)]

mod calls;
mod ceilings;
mod planned;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use proctor_device::{driver::Driver, program::Tuning};
use serde_json::{Value, json};

pub use crate::planned::Precision;

/// Command line of a program, with its own flags.
#[derive(Parser)]
#[command(about = "Measures a device's peak performance, and how close each call of a model comes to it.")]
pub struct Cli<Own: Args> {
    /// Number of the device in the driver's list.
    #[arg(long, default_value_t = 0)]
    pub device: usize,
    /// Flags of one driver.
    #[command(flatten)]
    pub own: Own,
    /// Measurement.
    #[command(subcommand)]
    pub task: Task,
}

/// Measurement.
#[derive(Subcommand)]
pub enum Task {
    /// Measure the bandwidth of copies and of an addition kernel, and products of square matrices.
    Ceilings {
        /// Bytes per copy, and per operand of the addition.
        #[arg(long, default_value_t = 256 << 20)]
        bytes: usize,
        /// Rows of the matrices.
        #[arg(long, value_delimiter = ',', default_values_t = [512, 1024, 2048, 4096, 8192])]
        extents: Vec<usize>,
        /// Kind of device to plan kernels for [default: the device's own]
        #[arg(long, value_enum)]
        tuning: Option<Kind>,
        /// Number of measurements of each.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
    /// Measure the time of each call of a model.
    Model {
        /// ONNX file of the model.
        file: PathBuf,
        /// Samples per batch.
        #[arg(long, default_value_t = 1)]
        batch_size: usize,
        /// Precision: the file's, or one to which f32 is rounded.
        #[arg(long, value_enum, default_value_t = Precision::F32)]
        precision: Precision,
        /// Number of measurements of each.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
}

/// Kind of device.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    /// A processor.
    Processor,
    /// A graphics processor.
    Gpu,
}

impl Kind {
    fn tuning(self) -> Tuning {
        match self {
            Self::Processor => Tuning::PROCESSOR,
            Self::Gpu => Tuning::GPU,
        }
    }
}

impl Task {
    /// Measures on a device of this name, which takes groups of at most `group_items_max` items, and returns rows to
    /// print.
    ///
    /// # Errors
    /// If a model cannot be read or planned, or the device's.
    pub fn run<D: Driver>(
        &self,
        driver: &D,
        device: &str,
        tuning: Tuning,
        group_items_max: usize,
    ) -> Result<Value> {
        let tuning = tuning.within(group_items_max);
        let rows = match self {
            Self::Ceilings { bytes, extents, tuning: kind, rounds } => {
                let other = |kind: Kind| Tuning { has_library: tuning.has_library, ..kind.tuning() };
                let tuning = kind.map_or(tuning, |kind| other(kind).within(group_items_max));
                ceilings::measure(driver, tuning, *bytes, extents, *rounds)?
            }
            Self::Model { file, batch_size, precision, rounds } => {
                calls::measure(driver, tuning, file, *batch_size, *precision, *rounds)?
            }
        };
        Ok(json!({ "device": device, "rows": rows }))
    }
}
