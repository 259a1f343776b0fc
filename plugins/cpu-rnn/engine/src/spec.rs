//! Sizes and options of a layer, before its weights are packed.

use proctor_rnn_kernels::{CellSpec, DirectionWeights, Isa, PackedCell};
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
    /// Number of units of one direction, at least 1.
    pub hidden: usize,
    /// Bound of the arguments of every activation, as ONNX's `clip`; positive.
    pub clip: Option<f32>,
    /// Number format of the weights.
    pub precision: Precision,
}

impl LayerSpec {
    /// Returns the layer of calls of this shape, without a clip.
    #[must_use]
    pub fn of(shape: &LayerShape) -> Self {
        let LayerShape { cell, directions, input, hidden, precision, .. } = *shape;
        Self { cell, directions, input, hidden, clip: None, precision }
    }

    /// Returns whether a direction, counted from 0, goes against time.
    pub(crate) fn is_reversed(&self, direction: usize) -> bool {
        self.directions == Directions::Reverse || direction == 1
    }

    /// Returns the shape of calls of `time` steps and `batch` sequences, at least one each: the key for which the
    /// optimiser chooses schedules.
    #[must_use]
    pub fn shape(&self, time: usize, batch: usize) -> LayerShape {
        let Self { cell, directions, input, hidden, precision, .. } = *self;
        LayerShape { cell, directions, input, hidden, batch: batch.max(1), time: time.max(1), precision }
    }

    /// Packs the weights of one direction, whose sizes fit.
    pub(crate) fn pack(&self, isa: Isa, weights: &DirectionWeights<'_>) -> PackedCell {
        let Self { cell, input, hidden, clip, precision, .. } = *self;
        PackedCell::new(isa, &CellSpec { kind: cell, input, hidden, clip, precision }, weights)
    }
}
