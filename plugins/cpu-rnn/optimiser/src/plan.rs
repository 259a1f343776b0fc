//! The plan of a model: a schedule for each of its layers, and how it was found.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::search::SearchSpace;
use proctor_rnn_layer::{LayerShape, Schedule};

/// A layer to be planned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedLayer {
    /// Name in the model; for the reader.
    pub name: String,
    /// Computation, in sizes.
    pub shape: LayerShape,
}

/// Everything that a plan depends on. A plan for anything else is another plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanKey {
    /// Identity of the model: a checksum of its weights, or its name where the weights do not matter.
    pub model: String,
    /// Layers, in the order in which they run.
    pub layers: Vec<PlannedLayer>,
    /// Maximum number of threads of a schedule.
    pub threads_max: usize,
    /// [`Machine::identity`](proctor_rnn_layer::Machine::identity).
    pub machine: String,
    /// The engine: name, version, instruction set, and anything else that distinguishes its kernels from another
    /// build's.
    pub engine: String,
}

/// Times of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The schedule that was run.
    pub schedule: Schedule,
    /// Time of a call, its figure: the median over blocks of the shortest in each.
    pub figure_ns: u64,
    /// The shortest of all.
    pub min_ns: u64,
    /// Median over blocks of its time relative to the fastest one's in the same block; at least 1.
    pub behind: f64,
    /// Number of blocks.
    pub blocks: usize,
}

/// A schedule that was as good as the fastest one in this share of its blocks is sure.
pub(crate) const SURE: f64 = 0.7;

/// A layer whose calls are this many times longer than they were measured runs slower than planned, if that is more
/// than what a caller that does other things between calls costs by any schedule: colder caches, threads to wake.
const SLOWER: f64 = 1.25;
const SLOWER_NS_MIN: u64 = 20_000;

/// Maximum number of calibrations of a plan: on a machine that is never quiet, the next one is no better.
const TRIES_MAX: u32 = 3;

/// Schedule of one layer, and how it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerPlan {
    /// Schedule of the layer.
    pub schedule: Schedule,
    /// Measurements of the calibration, the fastest first; empty if nothing was.
    pub measured: Vec<Measured>,
    /// Candidates that calibration did not reach, or that the engine refused.
    pub unmeasured: Vec<Schedule>,
    /// Share of the blocks in which the schedule was as good as the fastest one; 0 if too little was measured to say,
    /// or if later measurements contradict it.
    pub sure: f64,
    /// Number of calibrations that this has taken.
    pub tries: u32,
}

impl LayerPlan {
    /// Returns whether this is the last word: it is sure, or has been tried often enough.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.sure >= SURE || self.tries >= TRIES_MAX
    }

    /// Returns the rival that speaks against this plan once the shortest of many real calls is known, in nanoseconds:
    /// that call is much longer than the plan's calls were when they were measured, and longer than the rival's. `None`
    /// if the plan holds, or if another calibration is not worthwhile.
    #[must_use]
    pub fn doubted_by(&self, shortest_ns: u64) -> Option<&Measured> {
        let figure_ns = self.figure_ns()?;
        let rivals = self.measured.iter().filter(|one| one.schedule != self.schedule);
        let rival = rivals.min_by_key(|one| one.figure_ns)?;
        let is_slower = shortest_ns as f64 > SLOWER * figure_ns as f64
            && shortest_ns > figure_ns.saturating_add(SLOWER_NS_MIN)
            && shortest_ns > rival.figure_ns;
        (is_slower && self.tries < TRIES_MAX).then_some(rival)
    }

    /// Adopts the findings of another calibration, if they are at least as sure.
    pub(crate) fn improve(&mut self, other: &Self) {
        let tries = self.tries.saturating_add(1);
        if other.sure >= self.sure {
            *self = other.clone();
        }
        self.tries = tries;
    }

    /// Returns the time of a call as it was measured, in nanoseconds; `None` if it was not.
    #[must_use]
    pub fn figure_ns(&self) -> Option<u64> {
        self.measured.iter().find(|one| one.schedule == self.schedule).map(|one| one.figure_ns)
    }
}

/// Origin of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanOrigin {
    /// Read from the cache.
    Cached(PathBuf),
    /// Measured now, and written to the cache if there is one.
    Calibrated(Option<PathBuf>),
    /// Read from the cache, except for some layers that were not sure: they were measured again and written back.
    Improved {
        /// Path of the file.
        path: PathBuf,
        /// Number of layers that were measured again.
        layers: usize,
    },
    /// Computed: nothing was measured, as requested.
    Analytic,
}

/// The schedules of all layers of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    /// The key that it was made for.
    pub key: PlanKey,
    /// Plans of the layers, one for each layer of the key.
    pub layers: Vec<LayerPlan>,
    /// The search space of each layer, from which its candidates come; layers of one shape share it.
    pub searches: Vec<Arc<SearchSpace>>,
    /// Origin of the plan.
    pub origin: PlanOrigin,
    /// Time that loading it, or calibrating, has taken.
    pub taken: Duration,
    /// Time of the calibration from which it comes; nothing for an analytic plan.
    pub calibration: Duration,
    /// Warnings for the user: a cached plan that was not taken, and why; a cache that could not be written.
    pub warnings: Vec<String>,
}

impl ModelPlan {
    /// Returns the schedule of a layer, by its position in the key.
    ///
    /// # Panics
    /// If the layer does not exist.
    #[must_use]
    pub fn schedule(&self, layer: usize) -> Schedule {
        self.layers[layer].schedule
    }
}
