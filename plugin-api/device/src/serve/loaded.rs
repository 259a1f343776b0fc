//! Parts of a loaded model that all its instances at one device share.

use proctor_onnx_file::Fit;
use proctor_plugin_api::Host;

use super::classes::ClassOf;
use crate::{
    driver::Driver,
    program::{Program, Tuning},
    session::Resources,
};

/// A model on a device, without the memory of a batch.
pub(super) struct Loaded<D: Driver> {
    pub host: Host,
    /// Correspondence between samples and the model's tensors.
    pub fit: Fit,
    /// Way from the only output of `fit` to a class, if the benchmark wants that.
    pub class: Option<ClassOf>,
    /// Tiles and groups of the plans.
    pub tuning: Tuning,
    /// Sessions by batch size, the largest first.
    pub plans: Vec<Plan>,
    pub resources: Resources<D>,
    pub driver: D,
}

/// A program for batches of one size.
pub(super) struct Plan {
    pub batch_size: usize,
    pub program: Program,
}
