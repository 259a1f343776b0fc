//! The recurrent operators LSTM, GRU and RNN of ONNX, on a layer of the engine.

use std::sync::Arc;

use proctor_rnn_engine::{
    DirectionWeights, Layer, LayerCall, LayerSpec, Sequences, SequencesMut, Team, Workspace,
};
use proctor_rnn_layer::{Cell, Directions, GruReset, Precision, Schedule};

use crate::graph::tensor::{Element, Tensor, View};
use crate::model::RunError;

/// A recurrent node: its layer, and how its tensors are laid out.
#[derive(Debug, Clone)]
pub struct Recurrent {
    layer: Arc<Layer>,
    /// `layout = 1`: batch before time and before directions.
    batch_first: bool,
}

/// The attributes of a recurrent node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecurrentSpec {
    /// Kind of cell.
    pub cell: Cell,
    /// Directions.
    pub directions: Directions,
    /// Number of units, if given.
    pub hidden: Option<usize>,
    /// Bound of the arguments of activations.
    pub clip: Option<f32>,
    /// `layout = 1`: batch before time and before directions.
    pub batch_first: bool,
}

/// Operands and results of a recurrent node.
#[derive(Debug)]
pub struct RecurrentCall<'a> {
    /// The inputs of the node; its weights are ignored here.
    pub inputs: &'a [Option<View<'a>>],
    /// Y, Y_h and Y_c, those that are wanted.
    pub outputs: [Option<&'a mut [f32]>; 3],
    /// Room of [`Recurrent::scratch_len`] values.
    pub scratch: &'a mut [f32],
    /// Room for lengths.
    pub lengths: &'a mut Vec<usize>,
}

impl Recurrent {
    /// Number of the input that has the sequence lengths.
    pub const LENGTHS: usize = 4;
    /// Number of the input that has the hidden state before the first step.
    pub const INITIAL_HIDDEN: usize = 5;
    /// Number of the input that has the cell state before the first step.
    pub const INITIAL_CELL: usize = 6;

    /// Makes the layer of constant inputs W, R, B and P, in ONNX's order of gates.
    ///
    /// # Errors
    /// Returns the misfit, in words.
    pub fn new(
        spec: &RecurrentSpec,
        [w, r, b, p]: [Option<&Tensor>; 4],
        precision: Precision,
    ) -> Result<Self, String> {
        let (directions, gates) = (spec.directions.count(), spec.cell.gate_count());
        let (w, r) = (w.ok_or("the weight W is missing")?, r.ok_or("the weight R is missing")?);
        let hidden = r.shape.get(2).copied().unwrap_or(0);
        let input = w.shape.get(2).copied().unwrap_or(0);
        if let Some(said) = spec.hidden.filter(|said| *said != hidden) {
            return Err(format!("hidden_size is {said}, but R has shape {:?}", r.shape));
        }
        let rows = gates.checked_mul(hidden).ok_or("R is too large")?;
        let w = values("W", w, &[directions, rows, input])?;
        let r = values("R", r, &[directions, rows, hidden])?;
        let b = b.map(|b| values("B", b, &[directions, 2 * rows])).transpose()?;
        let p = p.map(|p| values("P", p, &[directions, 3 * hidden])).transpose()?;

        let tensors = [Some(w), Some(r), b, p];
        let sets: Vec<_> =
            (0..directions).map(|at| direction(&tensors, at, directions, gate_order(spec.cell))).collect();
        let borrowed = sets.iter().map(|[input, hidden, input_bias, hidden_bias, peepholes]| {
            DirectionWeights { input, hidden, input_bias, hidden_bias, peepholes }
        });
        let RecurrentSpec { cell, directions, clip, .. } = *spec;
        let layer = LayerSpec { cell, directions, input, hidden, clip, precision };
        let layer = Layer::new(layer, &borrowed.collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        Ok(Self { layer: Arc::new(layer), batch_first: spec.batch_first })
    }

    /// Returns the layer.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Returns the number of time steps and of sequences of an input of this shape.
    ///
    /// # Errors
    /// Returns the reason why the shape does not fit.
    pub fn extent(&self, x: &[usize]) -> Result<[usize; 2], String> {
        match *x {
            [batch, time, width] if self.batch_first && width == self.layer.spec().input => Ok([time, batch]),
            [time, batch, width] if !self.batch_first && width == self.layer.spec().input => {
                Ok([time, batch])
            }
            _ => Err(format!("X has shape {x:?}, expected rank 3 and rows of {}", self.layer.spec().input)),
        }
    }

    /// Returns the shapes of Y, Y_h and Y_c.
    ///
    /// # Errors
    /// As [`Self::extent`].
    pub fn output_shapes(&self, x: &[usize]) -> Result<[Vec<usize>; 3], String> {
        let [time, batch] = self.extent(x)?;
        let (directions, hidden) = (self.layer.spec().directions.count(), self.layer.spec().hidden);
        let (y, state) = if self.batch_first {
            (vec![batch, time, directions, hidden], vec![batch, directions, hidden])
        } else {
            (vec![time, directions, batch, hidden], vec![directions, batch, hidden])
        };
        Ok([y, state.clone(), state])
    }

    /// Returns the number of values of scratch memory that a call needs, not counting its results.
    #[must_use]
    pub fn scratch_len(&self, [time, batch]: [usize; 2]) -> usize {
        batch * self.layer.output_width() * (time + 4)
    }

    /// Runs the layer over tensors that were seen to fit when the node was planned.
    ///
    /// # Errors
    /// [`RunError::Layer`] and [`RunError::Value`].
    pub fn run(
        &self,
        schedule: &Schedule,
        team: &mut Team,
        workspace: &mut Workspace,
        call: RecurrentCall<'_>,
    ) -> Result<(), RunError> {
        let RecurrentCall { inputs, outputs: [mut y, mut y_h, mut y_c], scratch, lengths } = call;
        let x = inputs[0].as_ref().expect("a recurrent node has an input");
        let [time, batch] = self.extent(x.shape).expect("the shape was checked when the node was planned");
        let (width, units) = (self.layer.output_width(), self.layer.spec().hidden);
        let (directions, states) = (width / units, batch * width);
        let [y_room, h_room, c_room, h_initial, c_initial] =
            split(scratch, [time * states, states, states, states, states]);
        let given = |index: usize| inputs.get(index).and_then(Option::as_ref);
        let lengths = match given(Self::LENGTHS) {
            Some(given) => Some(read_lengths(given.integers(), time, lengths)?),
            None => None,
        };
        let initial = |index: usize, room| given(index).map(|state| self.initial(state.reals(), room));

        // The engine's row has the directions side by side, ONNX's Y has them apart; with one they are the same.
        let is_direct = self.batch_first || directions == 1;
        let output = match &mut y {
            Some(y) if is_direct && self.batch_first => SequencesMut::sample_major(y, time, batch, width),
            Some(y) if is_direct => SequencesMut::time_major(y, time, batch, width),
            _ => SequencesMut::time_major(&mut *y_room, time, batch, width),
        };
        let are_apart = self.batch_first && directions > 1;
        let mut call = LayerCall {
            input: self.sequences(x.reals(), [time, batch]),
            lengths,
            initial_hidden: initial(Self::INITIAL_HIDDEN, h_initial),
            initial_cell: initial(Self::INITIAL_CELL, c_initial),
            output,
            last_hidden: target(y_h.as_deref_mut(), h_room, are_apart),
            last_cell: target(y_c.as_deref_mut(), c_room, are_apart),
        };
        self.layer.run(schedule, team, workspace, &mut call)?;

        if let (Some(y), false) = (y, is_direct) {
            swap_axes(y_room, y, [time, batch, directions, units]);
        }
        for (room, state) in [(h_room, y_h), (c_room, y_c)] {
            if let Some(state) = state.filter(|_| are_apart) {
                swap_axes(room, state, [1, directions, batch, units]);
            }
        }
        Ok(())
    }

    /// Returns the rows of X.
    fn sequences<'a>(&self, x: &'a [f32], [time, batch]: [usize; 2]) -> Sequences<'a> {
        let width = self.layer.spec().input;
        if self.batch_first {
            Sequences::sample_major(x, time, batch, width)
        } else {
            Sequences::time_major(x, time, batch, width)
        }
    }

    /// Returns an initial state in the engine's order, `[direction, batch, hidden]`.
    fn initial<'a>(&self, state: &'a [f32], room: &'a mut [f32]) -> &'a [f32] {
        let (directions, units) = (self.layer.spec().directions.count(), self.layer.spec().hidden);
        if !self.batch_first || directions == 1 {
            return state;
        }
        swap_axes(state, room, [1, state.len() / (directions * units), directions, units]);
        room
    }
}

/// Returns the values of a weight of this shape.
fn values<'a>(name: &str, tensor: &'a Tensor, shape: &[usize]) -> Result<&'a [f32], String> {
    if tensor.element != Element::F32 || tensor.shape != shape {
        let got = format!("{}{:?}", tensor.element, tensor.shape);
        return Err(format!("{name} is {got}, expected f32{shape:?}"));
    }
    let values = tensor.reals().unwrap_or(&[]);
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(element) => Err(format!("{name} holds {} at element {element}", values[element])),
    }
}

/// Returns one direction of W, R, B and P in the engine's order of gates: the weights of input and state, their biases,
/// and the peepholes.
fn direction(
    tensors: &[Option<&[f32]>; 4],
    direction: usize,
    directions: usize,
    order: &[usize],
) -> [Vec<f32>; 5] {
    let [w, r, b, p] = tensors.map(|all| {
        let all = all.unwrap_or_default();
        let size = all.len() / directions;
        &all[direction * size..][..size]
    });
    let (input_bias, hidden_bias) = b.split_at(b.len() / 2);
    let gates = [w, r, input_bias, hidden_bias].map(|blocks| reordered(blocks, order));
    let [input, hidden, input_bias, hidden_bias] = gates;
    [input, hidden, input_bias, hidden_bias, reordered(p, &[0, 2, 1])]
}

/// Returns where the engine writes a state that is wanted: to the result itself, or to a room from where it is put in
/// order.
fn target<'a>(result: Option<&'a mut [f32]>, room: &'a mut [f32], is_apart: bool) -> Option<&'a mut [f32]> {
    result.map(|result| if is_apart { room } else { result })
}

/// Copies lengths to a room, each one checked.
fn read_lengths<'a>(given: &[i64], time: usize, room: &'a mut Vec<usize>) -> Result<&'a [usize], RunError> {
    room.clear();
    for (sample, value) in given.iter().copied().enumerate() {
        let length = usize::try_from(value).ok().filter(|length| *length <= time);
        room.push(length.ok_or_else(|| RunError::Value {
            sample,
            tensor: "the sequence length",
            value,
            expected: format!("0 to {time}"),
        })?);
    }
    Ok(room)
}

/// Returns the gate of ONNX for each gate of the engine: LSTM i, o, f, c to i, f, g, o; GRU z, r, h to r, z, n.
fn gate_order(cell: Cell) -> &'static [usize] {
    match cell {
        Cell::Lstm => &[0, 2, 3, 1],
        Cell::Gru(GruReset::AfterProduct | GruReset::BeforeProduct) => &[1, 0, 2],
        Cell::Rnn(_) => &[0],
    }
}

/// Takes equal blocks in another order.
fn reordered(blocks: &[f32], order: &[usize]) -> Vec<f32> {
    let size = blocks.len() / order.len();
    order.iter().flat_map(|block| &blocks[block * size..][..size]).copied().collect()
}

/// Transposes `[a, b, c, units]` to `[a, c, b, units]`.
fn swap_axes(from: &[f32], to: &mut [f32], [a, b, c, units]: [usize; 4]) {
    for outer in 0..a {
        for row in 0..b {
            for column in 0..c {
                let source = &from[((outer * b + row) * c + column) * units..][..units];
                to[((outer * c + column) * b + row) * units..][..units].copy_from_slice(source);
            }
        }
    }
}

fn split<const N: usize>(mut rest: &mut [f32], sizes: [usize; N]) -> [&mut [f32]; N] {
    sizes.map(|size| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(size);
        rest = after;
        part
    })
}
