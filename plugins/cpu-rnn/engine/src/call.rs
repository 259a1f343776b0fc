//! One call of a layer: its inputs and outputs.

use proctor_rnn_layer::Cell;

use crate::{
    sequences::{Sequences, SequencesMut},
    spec::LayerSpec,
};

/// Inputs and outputs of one call of [`Layer::run`](crate::Layer::run).
#[derive(Debug)]
pub struct LayerCall<'a> {
    /// The input, `[time, batch, input]`.
    pub input: Sequences<'a>,
    /// Number of steps of each sequence, at most `time`; `None` if all have `time` steps. 0 is allowed.
    pub lengths: Option<&'a [usize]>,
    /// Hidden states before the first step, `[direction, batch, hidden]`; `None` for zeros.
    pub initial_hidden: Option<&'a [f32]>,
    /// The same for the cell states of an LSTM.
    pub initial_cell: Option<&'a [f32]>,
    /// Hidden state of each step, `[time, batch, direction * hidden]`. Steps beyond a sequence's length become 0.
    pub output: SequencesMut<'a>,
    /// Room for the hidden states after the last step of each sequence, `[direction, batch, hidden]`.
    pub last_hidden: Option<&'a mut [f32]>,
    /// The same for the cell states of an LSTM.
    pub last_cell: Option<&'a mut [f32]>,
}

/// Reason why a layer refuses a call. Nothing was computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// A tensor is of another size than the layer needs: the size it has, and the needed one, in words.
    #[error("{0} has {1}, the layer needs {2}")]
    Size(&'static str, String, String),
    /// A sequence is longer than the input tensor.
    #[error("sequence {sample} has length {length}, but the input has {time} time steps")]
    Length {
        /// Position in the batch, counted from 0.
        sample: usize,
        /// Length of the sequence.
        length: usize,
        /// Number of steps of the input.
        time: usize,
    },
    /// Cell states were given to a cell that has none.
    #[error("only an LSTM has cell states")]
    CellState,
}

impl LayerCall<'_> {
    /// Checks every size against the layer.
    pub(crate) fn check(&self, spec: &LayerSpec) -> Result<(), CallError> {
        let (time, batch) = (self.input.time(), self.input.batch());
        let output = spec.directions.count() * spec.hidden;
        let shape = |tensor, got: [usize; 3], expected: [usize; 3]| {
            if got == expected {
                return Ok(());
            }
            let [got, expected] = [got, expected].map(|shape| format!("shape {shape:?}"));
            Err(CallError::Size(tensor, got, expected))
        };
        shape("the input", [time, batch, self.input.width()], [time, batch, spec.input])?;
        let got = [self.output.time(), self.output.batch(), self.output.width()];
        shape("the output", got, [time, batch, output])?;
        let states = spec.directions.count() * batch * spec.hidden;
        let lengths = [
            ("the list of lengths", self.lengths.map(<[usize]>::len), batch),
            ("the initial hidden state", self.initial_hidden.map(<[f32]>::len), states),
            ("the initial cell state", self.initial_cell.map(<[f32]>::len), states),
            ("the last hidden state", self.last_hidden.as_ref().map(|last| last.len()), states),
            ("the last cell state", self.last_cell.as_ref().map(|last| last.len()), states),
        ];
        for (tensor, got, expected) in lengths {
            if let Some(got) = got.filter(|got| *got != expected) {
                let [got, expected] = [got, expected].map(|count| format!("{count} values"));
                return Err(CallError::Size(tensor, got, expected));
            }
        }
        if spec.cell != Cell::Lstm && (self.initial_cell.is_some() || self.last_cell.is_some()) {
            return Err(CallError::CellState);
        }
        let too_long =
            self.lengths.and_then(|all| all.iter().enumerate().find(|(_, length)| **length > time));
        too_long.map_or(Ok(()), |(sample, length)| Err(CallError::Length { sample, length: *length, time }))
    }
}
