//! One recurrent layer.

use proctor_rnn_optimiser::{Cell, Directions, Precision, Schedule};

use crate::{Call, CallError, Team, reference};

/// What a layer computes.
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

/// Why a layer cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A weight tensor has another size than the spec says.
    #[error("{tensor} of direction {direction} has {got} values, expected {expected}")]
    Size {
        /// Which tensor.
        tensor: &'static str,
        /// Direction, counted from 0.
        direction: usize,
        /// Number of values it has.
        got: usize,
        /// Number of values it must have.
        expected: usize,
    },
    /// Another number of weights than directions.
    #[error("{got} sets of weights for {expected} directions")]
    DirectionCount {
        /// Sets given.
        got: usize,
        /// Directions of the spec.
        expected: usize,
    },
    /// No input or no units.
    #[error("a layer needs at least one input and one unit, got {input} and {hidden}")]
    Empty {
        /// Width of the input.
        input: usize,
        /// Number of units.
        hidden: usize,
    },
}

/// A layer with its weights.
#[derive(Debug)]
pub struct Layer {
    spec: LayerSpec,
    weights: Vec<reference::Weights>,
}

/// Memory that one caller of a layer needs. Grows to the largest call and then allocates nothing.
#[derive(Debug, Default)]
pub struct Workspace {}

impl Layer {
    /// Makes a layer. `weights` has one element for each direction, forward first.
    ///
    /// # Errors
    /// [`LayerError`].
    pub fn new(spec: LayerSpec, weights: &[DirectionWeights<'_>]) -> Result<Self, LayerError> {
        let LayerSpec { input, hidden, .. } = spec;
        if input == 0 || hidden == 0 {
            return Err(LayerError::Empty { input, hidden });
        }
        if weights.len() != spec.directions.count() {
            return Err(LayerError::DirectionCount { got: weights.len(), expected: spec.directions.count() });
        }
        let gates = spec.cell.gate_count() * hidden;
        for (direction, set) in weights.iter().enumerate() {
            for (tensor, got, expected, optional) in [
                ("the input weight", set.input.len(), gates * input, false),
                ("the hidden weight", set.hidden.len(), gates * hidden, false),
                ("the input bias", set.input_bias.len(), gates, true),
                ("the hidden bias", set.hidden_bias.len(), gates, true),
                ("the peephole weight", set.peepholes.len(), 3 * hidden, true),
            ] {
                if got != expected && !(optional && got == 0) {
                    return Err(LayerError::Size { tensor, direction, got, expected });
                }
            }
        }
        Ok(Self { spec, weights: weights.iter().map(reference::Weights::new).collect() })
    }

    /// What the layer computes.
    #[must_use]
    pub fn spec(&self) -> &LayerSpec {
        &self.spec
    }

    /// Width of a row of output: the units of all directions.
    #[must_use]
    pub fn output_width(&self) -> usize {
        self.spec.hidden * self.spec.directions.count()
    }

    /// Runs the layer over a batch of sequences.
    ///
    /// # Errors
    /// [`CallError`]; nothing was computed then.
    pub fn run(
        &self,
        _schedule: &Schedule,
        _team: &mut Team,
        _workspace: &mut Workspace,
        call: &mut Call<'_>,
    ) -> Result<(), CallError> {
        call.check(&self.spec)?;
        reference::run(&self.spec, &self.weights, call);
        Ok(())
    }
}
