//! The recurrent operators LSTM, GRU and RNN of ONNX, on a layer of the engine.

use std::sync::Arc;

use proctor_rnn_engine::{
    Call, DirectionWeights, Layer, LayerSpec, Sequences, SequencesMut, Team, Workspace,
};
use proctor_rnn_optimiser::{Cell, Directions, GruReset, Precision, Schedule};

use super::{Element, Tensor, View};
use crate::RunError;

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
    /// Number of units, if it is said.
    pub hidden: Option<usize>,
    /// Bound of the arguments of activations.
    pub clip: Option<f32>,
    /// `layout = 1`: batch before time and before directions.
    pub batch_first: bool,
}

/// What a recurrent node reads and writes when it runs.
#[derive(Debug)]
pub struct RecurrentCall<'a> {
    /// The inputs of the node; those of its weights are not looked at.
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
    /// What does not fit, in words.
    pub fn new(
        spec: &RecurrentSpec,
        [w, r, b, p]: [Option<&Tensor>; 4],
        precision: Precision,
    ) -> Result<Self, String> {
        let (directions, gates) = (spec.directions.count(), spec.cell.gate_count());
        let (w, r) = (w.ok_or("the weight W is missing")?, r.ok_or("the weight R is missing")?);
        let hidden = r.shape.get(2).copied().unwrap_or(0);
        let input = w.shape.get(2).copied().unwrap_or(0);
        if spec.hidden.is_some_and(|said| said != hidden) {
            let said = spec.hidden.unwrap_or(0);
            return Err(format!("hidden_size is {said}, but R has shape {:?}", r.shape));
        }
        let rows = gates.checked_mul(hidden).ok_or("R is too large")?;
        let values = |name, tensor: &Tensor, shape: &[usize]| {
            if tensor.element != Element::F32 || tensor.shape != shape {
                let got = format!("{}{:?}", tensor.element, tensor.shape);
                return Err(format!("{name} is {got}, expected f32{shape:?}"));
            }
            let values = tensor.reals().unwrap_or(&[]);
            match values.iter().position(|value| !value.is_finite()) {
                None => Ok(values.to_vec()),
                Some(element) => Err(format!("{name} holds {} at element {element}", values[element])),
            }
        };
        let w = values("W", w, &[directions, rows, input])?;
        let r = values("R", r, &[directions, rows, hidden])?;
        let b = b.map(|b| values("B", b, &[directions, 2 * rows])).transpose()?;
        let p = p.map(|p| values("P", p, &[directions, 3 * hidden])).transpose()?;

        let order = gate_order(spec.cell);
        let sets: Vec<[Vec<f32>; 5]> = (0..directions)
            .map(|direction| {
                let part = |all: &[f32], size: usize| all[direction * size..][..size].to_vec();
                let optional = |all: &Option<Vec<f32>>, size| all.as_ref().map(|all| part(all, size));
                let biases = optional(&b, 2 * rows).unwrap_or_default();
                let (input_bias, hidden_bias) = biases.split_at(biases.len() / 2);
                [
                    reordered(&part(&w, rows * input), order),
                    reordered(&part(&r, rows * hidden), order),
                    reordered(input_bias, order),
                    reordered(hidden_bias, order),
                    reordered(&optional(&p, 3 * hidden).unwrap_or_default(), &[0, 2, 1]),
                ]
            })
            .collect();
        let borrowed = sets.iter().map(|[input, hidden, input_bias, hidden_bias, peepholes]| {
            DirectionWeights { input, hidden, input_bias, hidden_bias, peepholes }
        });
        let RecurrentSpec { cell, directions, clip, .. } = *spec;
        let layer = LayerSpec { cell, directions, input, hidden, clip, precision };
        let layer = Layer::new(layer, &borrowed.collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        Ok(Self { layer: Arc::new(layer), batch_first: spec.batch_first })
    }

    /// The layer.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// Number of time steps and of sequences of an input of this shape.
    ///
    /// # Errors
    /// Why the shape does not fit.
    pub fn extent(&self, x: &[usize]) -> Result<[usize; 2], String> {
        match *x {
            [batch, time, width] if self.batch_first && width == self.layer.spec().input => Ok([time, batch]),
            [time, batch, width] if !self.batch_first && width == self.layer.spec().input => {
                Ok([time, batch])
            }
            _ => Err(format!("X has shape {x:?}, expected rank 3 and rows of {}", self.layer.spec().input)),
        }
    }

    /// Shapes of Y, Y_h and Y_c.
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

    /// How many values of room a call needs beside its results.
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
        let RecurrentCall { inputs, outputs: [y, y_h, y_c], scratch, lengths } = call;
        let x = inputs[0].as_ref().expect("a recurrent node has an input");
        let [time, batch] = self.extent(x.shape).expect("the shape was checked when the node was planned");
        let (input, width, units) =
            (self.layer.spec().input, self.layer.output_width(), self.layer.spec().hidden);
        let [y_room, h_room, c_room, h_initial, c_initial] = split(
            scratch,
            [time * batch * width, batch * width, batch * width, batch * width, batch * width],
        );

        let sequences = if self.batch_first {
            Sequences::sample_major(x.reals(), time, batch, input)
        } else {
            Sequences::time_major(x.reals(), time, batch, input)
        };
        let given = |index: usize| inputs.get(index).and_then(Option::as_ref);
        let has_lengths = given(Self::LENGTHS).is_some();
        if let Some(given) = given(Self::LENGTHS) {
            read_lengths(given.integers(), time, lengths)?;
        }
        let initial_hidden =
            given(Self::INITIAL_HIDDEN).map(|state| self.initial(state.reals(), h_initial, units));
        let initial_cell =
            given(Self::INITIAL_CELL).map(|state| self.initial(state.reals(), c_initial, units));

        // The engine's row has the directions side by side, ONNX's Y has them apart; with one they are the same.
        let direct = self.batch_first || width == units;
        let mut y = y;
        let output = match &mut y {
            Some(y) if direct && self.batch_first => SequencesMut::sample_major(y, time, batch, width),
            Some(y) if direct => SequencesMut::time_major(y, time, batch, width),
            _ => SequencesMut::time_major(&mut *y_room, time, batch, width),
        };
        let (mut y_h, mut y_c) = (y_h, y_c);
        let apart = self.batch_first && width > units;
        let last_hidden = match (&mut y_h, apart) {
            (None, _) => None,
            (Some(y_h), false) => Some(&mut **y_h),
            (Some(_), true) => Some(&mut *h_room),
        };
        let last_cell = match (&mut y_c, apart) {
            (None, _) => None,
            (Some(y_c), false) => Some(&mut **y_c),
            (Some(_), true) => Some(&mut *c_room),
        };
        let lengths = has_lengths.then_some(lengths.as_slice());
        let mut call =
            Call { input: sequences, lengths, initial_hidden, initial_cell, output, last_hidden, last_cell };
        self.layer.run(schedule, team, workspace, &mut call)?;

        if let (Some(y), false) = (y, direct) {
            swap_axes(y_room, y, [time, batch, width / units.max(1), units]);
        }
        if apart {
            let size = [1, width / units.max(1), batch, units];
            if let Some(y_h) = y_h {
                swap_axes(h_room, y_h, size);
            }
            if let Some(y_c) = y_c {
                swap_axes(c_room, y_c, size);
            }
        }
        Ok(())
    }

    /// An initial state in the engine's order, `[direction, batch, hidden]`.
    fn initial<'a>(&self, state: &'a [f32], room: &'a mut [f32], units: usize) -> &'a [f32] {
        let directions = self.layer.spec().directions.count();
        if !self.batch_first || directions == 1 {
            return state;
        }
        swap_axes(state, room, [1, state.len() / (directions * units), directions, units]);
        room
    }
}

fn read_lengths(given: &[i64], time: usize, lengths: &mut Vec<usize>) -> Result<(), RunError> {
    lengths.clear();
    for (sample, value) in given.iter().copied().enumerate() {
        let length = usize::try_from(value).ok().filter(|length| *length <= time);
        lengths.push(length.ok_or_else(|| RunError::Value {
            sample,
            tensor: "the sequence length",
            value,
            expected: format!("0 to {time}"),
        })?);
    }
    Ok(())
}

/// Which gate of ONNX each gate of the engine is: LSTM i, o, f, c to i, f, g, o; GRU z, r, h to r, z, n.
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

/// `[a, b, c, units]` to `[a, c, b, units]`.
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
