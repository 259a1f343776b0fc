//! The sizes of one call of a recurrent layer.

use serde::{Deserialize, Serialize};

use crate::{cell::Cell, precision::Precision};

/// Directions of time in which a layer reads its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Runs from the first step to the last.
    #[default]
    Forward,
    /// Runs from the last step to the first.
    Reverse,
    /// Forward and reverse, each with its own weights; the forward direction's units come first in each row of output.
    Bidirectional,
}

impl Directions {
    /// Returns the number of directions: 1 or 2.
    #[must_use]
    pub fn count(self) -> usize {
        if self == Self::Bidirectional { 2 } else { 1 }
    }
}

/// Everything that the schedule of a layer depends on, apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LayerShape {
    /// Kind of cell.
    pub cell: Cell,
    /// Directions.
    pub directions: Directions,
    /// Width of the input of one step; at least 1.
    pub input: usize,
    /// Number of units of one direction; at least 1.
    pub hidden: usize,
    /// Number of sequences of one call; at least 1.
    pub batch: usize,
    /// Number of time steps; at least 1.
    pub time: usize,
    /// Number format of the weights.
    pub precision: Precision,
}
