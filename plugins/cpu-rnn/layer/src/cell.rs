//! Kinds of recurrent cells.

use serde::{Deserialize, Serialize};

/// Operand of a GRU's reset gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GruReset {
    /// The hidden product and its bias, `r * (U h + b)`: PyTorch, cuDNN, ONNX with `linear_before_reset = 1`.
    #[default]
    AfterProduct,
    /// The state, `U (r * h) + b`: Cho et al. 2014, ONNX with `linear_before_reset = 0`.
    BeforeProduct,
}

/// Function of a vanilla RNN cell.
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
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Lstm,
        Self::Gru(GruReset::AfterProduct),
        Self::Gru(GruReset::BeforeProduct),
        Self::Rnn(RnnActivation::Tanh),
        Self::Rnn(RnnActivation::Relu),
    ];

    /// Returns the number of gates, each with as many units as the layer has.
    #[must_use]
    pub fn gate_count(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru(_) => 3,
            Self::Rnn(_) => 1,
        }
    }

    /// Returns whether this is a GRU whose reset gate acts on the state: its last hidden product needs a gate of the
    /// same step, so that a step takes two sweeps over the weights.
    #[must_use]
    pub fn resets_before_product(self) -> bool {
        self == Self::Gru(GruReset::BeforeProduct)
    }
}
