//! Sizes, options and weights of a layer, before they are packed.

use proctor_rnn_kernels::{CellSpec, CellWeights, Isa, PackedCell};
use proctor_rnn_layer::{Cell, Directions, LayerShape, Precision};

/// Sizes and options of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerSpec {
    /// Kind of cell.
    pub cell: Cell,
    /// Directions.
    pub directions: Directions,
    /// Width of the input; at least 1.
    pub input: usize,
    /// Units of one direction; at least 1.
    pub hidden: usize,
    /// Bound of the arguments of every activation, as ONNX's `clip`; positive.
    pub clip: Option<f32>,
    /// Number format of the weights.
    pub precision: Precision,
}

/// Weights of one direction, row-major, gates in the order of [`Cell`].
#[derive(Debug, Clone, Copy)]
pub struct DirectionWeights<'a> {
    /// `[gate * hidden, input]`.
    pub input: &'a [f32],
    /// `[gate * hidden, hidden]`.
    pub hidden: &'a [f32],
    /// `[gate * hidden]`, added to the input product; empty for none.
    pub input_bias: &'a [f32],
    /// `[gate * hidden]`, added to the hidden product; empty for none.
    pub hidden_bias: &'a [f32],
    /// LSTM peepholes `[3 * hidden]` in the order i, f, o; empty for none.
    pub peepholes: &'a [f32],
}

impl LayerSpec {
    /// Whether a direction, counted from 0, goes against time.
    pub(crate) fn is_reversed(&self, direction: usize) -> bool {
        self.directions == Directions::Reverse || direction == 1
    }

    /// The shape of calls of `time` steps and `batch` sequences, at least one each: what the optimiser chooses
    /// schedules for.
    #[must_use]
    pub fn shape(&self, time: usize, batch: usize) -> LayerShape {
        let Self { cell, directions, input, hidden, precision, .. } = *self;
        LayerShape { cell, directions, input, hidden, batch: batch.max(1), time: time.max(1), precision }
    }

    /// Packs the weights of one direction, whose sizes fit.
    pub(crate) fn pack(&self, isa: Isa, weights: &DirectionWeights<'_>) -> PackedCell {
        let DirectionWeights { input, hidden, input_bias, hidden_bias, peepholes } = *weights;
        PackedCell::new(
            isa,
            &self.cell_spec(),
            &CellWeights { input, hidden, input_bias, hidden_bias, peepholes },
        )
    }

    fn cell_spec(&self) -> CellSpec {
        let Self { cell, input, hidden, clip, precision, .. } = *self;
        CellSpec { kind: cell, input, hidden, clip, precision }
    }
}
