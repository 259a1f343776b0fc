//! An ONNX file as a program, brought onto a device.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use proctor_device::{
    driver::Driver,
    passes,
    program::{Program, Tuning},
    read::Source,
    session::Resources,
};
use proctor_vocabulary::ElementType;

/// Precision that values are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// The upper half of 32-bit floating point.
    Bf16,
}

impl Precision {
    /// Returns the name, as flags take it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    fn narrowed(self) -> Option<ElementType> {
        match self {
            Self::F32 => None,
            Self::F16 => Some(ElementType::F16),
            Self::Bf16 => Some(ElementType::Bf16),
        }
    }
}

/// A program with its resources on the device.
pub(crate) struct Planned<D: Driver> {
    pub(crate) program: Program,
    pub(crate) resources: Resources<D>,
}

impl<D: Driver> Planned<D> {
    /// Plans a model for a batch; each free extent of its inputs is the number of samples.
    ///
    /// # Errors
    /// If the model cannot be planned so, or the device's.
    pub(crate) fn new(
        driver: &D,
        tuning: Tuning,
        source: &Source,
        batch_size: usize,
        precision: Precision,
    ) -> Result<Self> {
        let mut graph = source.graph(&source.input_shapes(batch_size, batch_size)?)?;
        let mut resources = Resources::default();
        let mut plan = || {
            passes::apply(&mut graph, precision.narrowed())?;
            resources.plan(driver, &graph, tuning)
        };
        let mut program = plan().map_err(|what| anyhow!(what))?;
        resources.prepare(driver, &mut program)?;
        Ok(Self { program, resources })
    }

    /// Works as [`new`](Self::new), of a file.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if the file cannot be read.
    pub(crate) fn open(
        driver: &D,
        tuning: Tuning,
        file: &Path,
        batch_size: usize,
        precision: Precision,
    ) -> Result<Self> {
        Self::new(driver, tuning, &Source::open(file)?, batch_size, precision)
    }
}
