//! A stack of layers one step at a time, for a recogniser of live input.

use std::sync::Arc;

use proctor_rnn_engine::{Stream, Team};

use crate::dense::Dense;
use crate::model::{MEMORY_BYTES_MAX, Plans, RunError, Scheduler};
use crate::safetensors::stack::Stack;

/// A stack with the states of some rows; each row is its own sequence that advances step by step. Made once, with its
/// threads and all its memory; a step allocates nothing.
#[derive(Debug)]
pub struct StackStream {
    layers: Vec<(Stream, Plans)>,
    head: Option<Dense>,
    team: Team,
    /// Outputs of the linear layer, `[row, output]`.
    outputs: Vec<f32>,
}

impl Stack {
    /// Makes a stream of the stack for at most `rows_max` rows. It starts without rows: see [`StackStream::restart`].
    ///
    /// # Errors
    /// [`RunError::Stream`] if a layer reads against time, [`RunError::TooLarge`] if the memory would be unreasonably
    /// large.
    pub fn stream(
        self,
        rows_max: usize,
        mut team: Team,
        scheduler: &dyn Scheduler,
    ) -> Result<StackStream, RunError> {
        let states: usize = self.layers.iter().map(|layer| 6 * layer.output_width()).sum();
        let fits = (states + self.output_count())
            .checked_mul(size_of::<f32>())
            .and_then(|bytes| bytes.checked_mul(rows_max))
            .is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX);
        if !fits {
            return Err(RunError::TooLarge { time: 1, batch_size_max: rows_max });
        }
        let calls = self.layers.iter().enumerate().map(|(index, layer)| (format!("layer {index}"), layer, 1));
        let plans = Plans::new(&calls.collect::<Vec<_>>(), rows_max, scheduler);
        let outputs = vec![0.0; self.head.as_ref().map_or(0, |head| rows_max * head.output())];
        let mut layers = Vec::with_capacity(plans.len());
        for (layer, plans) in self.layers.into_iter().zip(plans) {
            if plans.are_primed() {
                layer.prime(&mut team);
            }
            layers.push((Stream::new(Arc::new(layer), rows_max)?, plans));
        }
        Ok(StackStream { layers, head: self.head, team, outputs })
    }
}

impl StackStream {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.layers[0].0.rows()
    }

    /// Begins again with this many rows, whose states are zero.
    ///
    /// # Errors
    /// [`RunError::Stream`] if these are too many.
    pub fn restart(&mut self, rows: usize) -> Result<(), RunError> {
        Ok(self.layers.iter_mut().try_for_each(|(stream, _)| stream.restart(rows))?)
    }

    /// Lets row `i` continue from the states of row `parents[i]`: rows may change places, be left out, and continue in
    /// more than one way.
    ///
    /// # Errors
    /// [`RunError::Stream`] if there is no such row, or there are too many.
    pub fn select(&mut self, parents: &[usize]) -> Result<(), RunError> {
        Ok(self.layers.iter_mut().try_for_each(|(stream, _)| stream.select(parents.iter().copied()))?)
    }

    /// Runs one step of every row. `input` is `[row, input]`; returns `[row, output]`: of the linear layer, or the
    /// hidden states of the last layer without one.
    ///
    /// # Errors
    /// [`RunError::Stream`] if the input has another size. No state has changed then.
    pub fn step(&mut self, input: &[f32]) -> Result<&[f32], RunError> {
        let Self { layers, head, team, outputs } = self;
        let mut hidden = None;
        for (stream, plans) in layers {
            hidden = Some(stream.step(plans.at(stream.rows()), team, hidden.unwrap_or(input))?);
        }
        let hidden = hidden.expect("a stack has a layer");
        Ok(read_out(head.as_ref(), team, hidden, outputs))
    }

    /// Runs one step of some rows, listed in ascending order; the others stay as they are. `input` and the result have
    /// a row for each of them.
    ///
    /// # Errors
    /// As [`step`](Self::step), and if there is no such row, or the list is in another order.
    pub fn step_rows(&mut self, rows: &[usize], input: &[f32]) -> Result<&[f32], RunError> {
        let Self { layers, head, team, outputs } = self;
        let mut hidden = None;
        for (stream, plans) in layers {
            let schedule = plans.at(rows.len());
            hidden = Some(stream.step_rows(schedule, team, rows, hidden.unwrap_or(input))?);
        }
        let hidden = hidden.expect("a stack has a layer");
        Ok(read_out(head.as_ref(), team, hidden, outputs))
    }
}

/// Runs the linear layer, if there is one.
fn read_out<'a>(
    head: Option<&Dense>,
    team: &mut Team,
    hidden: &'a [f32],
    outputs: &'a mut [f32],
) -> &'a [f32] {
    let Some(head) = head else { return hidden };
    let outputs = &mut outputs[..hidden.len() / head.input() * head.output()];
    head.run_on(team, hidden, outputs);
    outputs
}
