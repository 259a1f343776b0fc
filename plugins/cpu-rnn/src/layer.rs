//! One recurrent layer over a whole sequence.
//!
//! Sequences are time-major, `[time, batch, width]`: all samples of one time step lie together, which is what a step
//! reads. The seam for faster code is [`Direction::forward`]: it gets a whole sequence and gives a whole sequence, so
//! whatever keeps weights packed, fuses the steps or splits them over cores can take its place unseen from outside.

use crate::{
    Threads,
    cell::{Cell, State},
    linear::Linear,
};

/// Extent of the sequences of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Number of time steps.
    pub time: usize,
    /// Number of samples.
    pub batch_size: usize,
}

impl Extent {
    /// Number of rows of a sequence: time steps times samples.
    #[must_use]
    pub fn row_count(self) -> usize {
        self.time * self.batch_size
    }
}

/// Memory that a layer needs while it runs, shared by all layers of a model.
#[derive(Debug)]
pub struct Scratch {
    /// The gates of all steps, `[time, batch, gate * unit]`.
    pub gates: Vec<f32>,
    /// The state between steps.
    pub state: State,
}

/// A layer read in one direction of time.
#[derive(Debug)]
pub struct Direction {
    input: Linear,
    cell: Box<dyn Cell>,
    /// Whether the last time step comes first.
    reversed: bool,
}

impl Direction {
    /// Joins the input part (`weight_ih` and the biases) and the cell. [`Layer::new`] decides the direction.
    ///
    /// # Panics
    /// If the outputs of the input part are not whole gates of the cell.
    #[must_use]
    pub fn new(input: Linear, cell: Box<dyn Cell>) -> Self {
        assert_eq!(input.output_count() % cell.hidden_count(), 0, "whole gates");
        Self { input, cell, reversed: false }
    }

    /// Width of the gates of one sample at one step.
    #[must_use]
    pub fn gate_width(&self) -> usize {
        self.input.output_count()
    }

    /// Runs over `input`, `[time, batch, input]`, and writes the hidden state of each step into `output`.
    ///
    /// `output` is `[time, batch, width]`. The forward direction writes the first columns, as many as it has units,
    /// the reverse direction as many columns after those; each hidden state stays at the time of its input.
    fn forward(
        &self,
        input: &[f32],
        output: &mut [f32],
        extent: Extent,
        scratch: &mut Scratch,
        threads: Threads,
    ) {
        let units = self.cell.hidden_count();
        let first_column = if self.reversed { units } else { 0 };
        let width = output.len() / extent.row_count();
        let gates = &mut scratch.gates[..extent.row_count() * self.gate_width()];
        self.input.forward(input, gates, threads);

        scratch.state.reset(extent.batch_size * units);
        for step in 0..extent.time {
            let time = if self.reversed { extent.time - 1 - step } else { step };
            let first_row = time * extent.batch_size;
            let gates = &mut gates[first_row * self.gate_width()..][..extent.batch_size * self.gate_width()];
            self.cell.step(gates, &mut scratch.state, extent.batch_size, threads);
            let rows = output[first_row * width..][..extent.batch_size * width].chunks_exact_mut(width);
            for (row, hidden) in rows.zip(scratch.state.hidden.chunks_exact(units)) {
                row[first_column..][..units].copy_from_slice(hidden);
            }
        }
    }
}

/// One layer of the stack, in one direction or in both.
#[derive(Debug)]
pub struct Layer {
    forward: Direction,
    reverse: Option<Direction>,
}

impl Layer {
    /// Joins the two directions.
    ///
    /// # Panics
    /// If they differ in the width of the input or in the number of units.
    #[must_use]
    pub fn new(forward: Direction, mut reverse: Option<Direction>) -> Self {
        if let Some(reverse) = &mut reverse {
            reverse.reversed = true;
            assert_eq!(reverse.input.input_count(), forward.input.input_count(), "inputs of both directions");
            assert_eq!(reverse.cell.hidden_count(), forward.cell.hidden_count(), "units of both directions");
        }
        Self { forward, reverse }
    }

    /// Width of the input of one step.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.forward.input.input_count()
    }

    /// Number of units of each direction.
    #[must_use]
    pub fn hidden_count(&self) -> usize {
        self.forward.cell.hidden_count()
    }

    /// Width of the output of one step: the units of all directions.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.hidden_count() * if self.reverse.is_some() { 2 } else { 1 }
    }

    /// Width of the gates of one sample at one step in one direction.
    #[must_use]
    pub fn gate_width(&self) -> usize {
        self.forward.gate_width()
    }

    /// Maps `input`, `[time, batch, input]`, to `output`, `[time, batch, output]`, both contiguous.
    ///
    /// In a bidirectional layer the units of the forward direction come first in each row. Allocates nothing.
    ///
    /// # Panics
    /// If a slice or the scratch memory is too small for `extent`.
    pub fn forward(
        &self,
        input: &[f32],
        output: &mut [f32],
        extent: Extent,
        scratch: &mut Scratch,
        threads: Threads,
    ) {
        let output = &mut output[..extent.row_count() * self.output_count()];
        self.forward.forward(input, output, extent, scratch, threads);
        if let Some(reverse) = &self.reverse {
            reverse.forward(input, output, extent, scratch, threads);
        }
    }

    /// Copies the state after the last step, `[batch, output]`, out of what [`Self::forward`] wrote.
    ///
    /// The reverse direction takes its last step at time 0. (PyTorch's `h_n`, directions side by side.)
    pub fn last_hidden(&self, output: &[f32], last: &mut [f32], extent: Extent) {
        let (units, width) = (self.hidden_count(), self.output_count());
        let last_step = &output[(extent.time - 1) * extent.batch_size * width..];
        for (sample, row) in last.chunks_exact_mut(width).take(extent.batch_size).enumerate() {
            let place = sample * width;
            row[..units].copy_from_slice(&last_step[place..][..units]);
            row[units..].copy_from_slice(&output[place..][units..width]);
        }
    }
}
