//! How a recurrent layer runs: the outcome of the optimiser's search, and the engine's orders.

use serde::{Deserialize, Serialize};

/// Split of the time-dependent phases over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// One thread does everything.
    #[default]
    Single,
    /// `X_j = P`: each thread owns columns (units) and their weights; hidden states are exchanged at a barrier each
    /// step.
    Columns,
    /// `X_i = P`: each thread owns rows (sequences of the batch) and reads all weights; no barrier.
    Rows,
    /// Each direction of a bidirectional layer on its own thread; no barrier.
    Directions,
    /// One thread runs the time-dependent phases; the others compute the time-independent ones of later steps
    /// meanwhile, and it helps them when it has to wait; no barrier.
    Phases,
}

impl Mapping {
    /// Every mapping.
    pub const ALL: [Self; 5] = [Self::Single, Self::Columns, Self::Rows, Self::Directions, Self::Phases];
}

/// Number of steps whose input products the time-independent phase computes before their time-dependent phases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chunk {
    /// All steps: one product for the whole sequence.
    #[default]
    WholeSequence,
    /// This many steps at a time, so that the gates stay in the private cache.
    Steps(usize),
}

impl Chunk {
    /// Returns the number of steps of a chunk in a call of `time` steps.
    #[must_use]
    pub fn steps(self, time: usize) -> usize {
        match self {
            Self::WholeSequence => time,
            Self::Steps(steps) => steps.clamp(1, time.max(1)),
        }
    }
}

/// Order in which successive steps read the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// Always from the first block to the last.
    #[default]
    Forward,
    /// Odd steps backwards, so that a step begins with the last data of the step before.
    ZigZag,
}

/// A way to run one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule {
    /// Number of threads, `P`; at least 1.
    pub threads: usize,
    /// Split of the time-dependent phases.
    pub mapping: Mapping,
    /// Extent of the time-independent phase.
    pub chunk: Chunk,
    /// Order of the weights.
    pub sweep: Sweep,
    /// Whether the weights are made shared lines of the last-level cache at load.
    pub primed: bool,
}

impl Schedule {
    /// One thread, all input products first, weights in order: always possible.
    pub const SINGLE: Self = Self {
        threads: 1,
        mapping: Mapping::Single,
        chunk: Chunk::WholeSequence,
        sweep: Sweep::Forward,
        primed: false,
    };
}
