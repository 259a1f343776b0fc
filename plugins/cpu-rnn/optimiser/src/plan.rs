//! The plan of a model: a schedule for each of its layers, with how it was found.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::search::SearchSpace;
use proctor_rnn_layer::{LayerShape, Schedule};

/// A layer to be planned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedLayer {
    /// Its name in the model; for the reader.
    pub name: String,
    /// Its computation, in sizes.
    pub shape: LayerShape,
}

/// Everything that a plan depends on. A plan for anything else is another plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanKey {
    /// Identity of the model: a checksum of its weights, or its name where the weights do not matter.
    pub model: String,
    /// Its layers, in the order in which they run.
    pub layers: Vec<PlannedLayer>,
    /// Most threads that a schedule may have.
    pub threads_max: usize,
    /// [`Machine::identity`](proctor_rnn_layer::Machine::identity).
    pub machine: String,
    /// The engine that computes: name and version of the engine, the instruction set, and whatever else tells its
    /// kernels apart from those of another build.
    pub engine: String,
}

/// Times of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The schedule that was run.
    pub schedule: Schedule,
    /// Lowest octile of the times of a call: its figure.
    pub figure_ns: u64,
    /// Shortest time of a call.
    pub min_ns: u64,
    /// Number of samples.
    pub samples: usize,
}

/// How one layer runs, and how that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerPlan {
    /// The schedule.
    pub schedule: Schedule,
    /// Measurements of the calibration, the fastest first; empty if nothing was.
    pub measured: Vec<Measured>,
    /// Candidates that calibration did not come to, or that the engine refused.
    pub unmeasured: Vec<Schedule>,
}

/// Where a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanOrigin {
    /// Read from the cache.
    Cached(PathBuf),
    /// Measured now, and written to the cache where there is one.
    Calibrated(Option<PathBuf>),
    /// Computed: nothing was measured, as was asked for.
    Analytic,
}

/// The schedules of all layers of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    /// The key that it was made for.
    pub key: PlanKey,
    /// One for each layer of the key.
    pub layers: Vec<LayerPlan>,
    /// The search space of each layer, from which its candidates come; layers of one shape share it.
    pub searches: Vec<Arc<SearchSpace>>,
    /// Where it comes from.
    pub origin: PlanOrigin,
    /// Time that loading it, or calibrating, has taken.
    pub taken: Duration,
    /// Time of the calibration from which it comes; nothing for an analytic plan.
    pub calibration: Duration,
    /// Warnings for the user: a cached plan that was not taken, and why; a cache that could not be written.
    pub warnings: Vec<String>,
}

impl ModelPlan {
    /// The schedule of a layer, counted as in the key.
    ///
    /// # Panics
    /// If there is no such layer.
    #[must_use]
    pub fn schedule(&self, layer: usize) -> Schedule {
        self.layers[layer].schedule
    }
}
