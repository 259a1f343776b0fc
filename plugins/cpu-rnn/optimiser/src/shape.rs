//! What a recurrent layer computes, in sizes: all that a schedule depends on.

use serde::{Deserialize, Serialize};

/// On what a GRU's reset gate acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GruReset {
    /// On the hidden product and its bias, `r * (U h + b)`: PyTorch, cuDNN, ONNX with `linear_before_reset = 1`.
    #[default]
    AfterProduct,
    /// On the state, `U (r * h) + b`: Cho et al. 2014, ONNX with `linear_before_reset = 0`.
    BeforeProduct,
}

/// The function of a vanilla RNN cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RnnActivation {
    /// Hyperbolic tangent.
    #[default]
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

/// Kind of a recurrent cell. Gates are in PyTorch's order: LSTM i, f, g, o; GRU r, z, n; RNN has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Long short-term memory.
    Lstm,
    /// Gated recurrent unit.
    Gru(GruReset),
    /// Vanilla recurrent cell.
    Rnn(RnnActivation),
}

impl Cell {
    /// Number of gates, each with as many units as the layer has.
    #[must_use]
    pub fn gate_count(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru(_) => 3,
            Self::Rnn(_) => 1,
        }
    }
}

/// In which direction of time a layer reads its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// From the first step to the last.
    #[default]
    Forward,
    /// From the last step to the first.
    Reverse,
    /// Both, with weights of their own; the forward direction's units come first in each row of output.
    Bidirectional,
}

impl Directions {
    /// 1 or 2.
    #[must_use]
    pub fn count(self) -> usize {
        if self == Self::Bidirectional { 2 } else { 1 }
    }
}

/// Number format of the weights. Sums are always f32 (int8: i32 within one product).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// The upper half of an f32.
    Bf16,
    /// 8-bit integers with a scale for each output column; inputs are quantised for each row as they come.
    Int8,
}

/// All that the schedule of a layer depends on, beside the machine.
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
