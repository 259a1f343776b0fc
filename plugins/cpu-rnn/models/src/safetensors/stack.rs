//! A stack of recurrent layers, optionally with a linear layer on the last state: many files hold nothing else.

use std::{path::Path, sync::Arc};

use proctor_rnn_engine::{Layer, LayerCall, Sequences, SequencesMut, Team, Workspace};
use proctor_rnn_layer::{Cell, GruReset, Precision, RnnActivation};

use crate::batch::{TensorPointers, check_batch, check_size};
use crate::dense::Dense;
use crate::model::{Batch, Instance, MEMORY_BYTES_MAX, Model, Plans, RunError, Scheduler};
use crate::safetensors::error::WeightsError;
use crate::safetensors::weights::{Weights, read_file};

/// Layers and linear layer of a file, before it is known how they will be run.
#[derive(Debug)]
pub struct Stack {
    pub(super) layers: Vec<Layer>,
    pub(super) head: Option<Dense>,
}

/// Output of a stack for each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackOutput {
    /// One row: the linear layer on the state after the last step, or that state if there is no linear layer.
    Last,
    /// The hidden states of all steps, `[time, direction * hidden]`. Not for files with a linear layer.
    All,
}

/// Settings for running a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackSettings {
    /// Number of time steps of every sample.
    pub time: usize,
    /// Largest batch; at least 1.
    pub batch_size_max: usize,
    /// Output of the stack.
    pub output: StackOutput,
}

impl Stack {
    /// Reads a file. `reset` matters for a GRU only.
    ///
    /// # Errors
    /// Returns a [`WeightsError`] that names the file and the tensor.
    pub fn load(path: &Path, reset: GruReset, precision: Precision) -> Result<Self, WeightsError> {
        Self::from_bytes(path, &read_file(path)?, reset, precision)
    }

    /// Reads the bytes of a file. `path` is for messages only.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_bytes(
        path: &Path,
        bytes: &[u8],
        reset: GruReset,
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let mut weights = Weights::new(path, bytes)?;
        let kinds =
            [("lstm", Cell::Lstm), ("gru", Cell::Gru(reset)), ("rnn", Cell::Rnn(RnnActivation::Tanh))];
        let has_layer = |weights: &Weights<'_>, prefix: &str, index| {
            weights.contains(&format!("{prefix}.weight_ih_l{index}"))
        };
        let Some((prefix, cell)) = kinds.into_iter().find(|(prefix, _)| has_layer(&weights, prefix, 0))
        else {
            let names: Vec<_> = weights.names().take(4).map(|name| format!("\"{name}\"")).collect();
            let found = if names.is_empty() { "no tensor at all".to_owned() } else { names.join(", ") };
            return Err(WeightsError::NoRecurrentLayer(path.to_owned(), found));
        };
        let mut layers: Vec<Layer> = Vec::new();
        while layers.is_empty() || has_layer(&weights, prefix, layers.len()) {
            let input = layers.last().map(Layer::output_width);
            layers.push(weights.recurrent(prefix, layers.len(), cell, precision, input)?);
        }
        let last = layers[layers.len() - 1].output_width();
        let has_head = weights.names().any(|name| name.starts_with("fc."));
        let head = has_head.then(|| weights.linear("fc", last)).transpose()?;
        let count = layers.len();
        weights.finish(|| format!("a model of {count} \"{prefix}\" layer(s) and \"fc\""))?;
        Ok(Self { layers, head })
    }

    /// Returns the width of the input of one time step.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.layers[0].spec().input
    }

    /// Returns the number of values of one row of output: of the linear layer, or of the hidden state without one.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.head.as_ref().map_or(self.last_width(), Dense::output)
    }

    /// Returns whether there is a linear layer at the end.
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// Decides how each layer runs.
    ///
    /// # Panics
    /// If all states are asked for of a file with a linear layer.
    #[must_use]
    pub fn prepare(self, settings: StackSettings, scheduler: &dyn Scheduler) -> Arc<dyn Model> {
        assert!(
            settings.output == StackOutput::Last || self.head.is_none(),
            "a linear layer is on the last state"
        );
        let name = |index: usize| format!("layer {index}");
        let layers: Vec<_> = self
            .layers
            .iter()
            .enumerate()
            .map(|(index, layer)| (name(index), layer, settings.time))
            .collect();
        let plans = Plans::new(&layers, settings.batch_size_max, scheduler);
        Arc::new(PreparedStack { stack: self, settings, plans })
    }

    fn last_width(&self) -> usize {
        self.layers[self.layers.len() - 1].output_width()
    }
}

/// A stack whose schedules are chosen.
#[derive(Debug)]
struct PreparedStack {
    stack: Stack,
    settings: StackSettings,
    plans: Vec<Plans>,
}

impl Model for PreparedStack {
    fn instance(self: Arc<Self>, mut team: Team) -> Result<Box<dyn Instance>, RunError> {
        let StackSettings { time, batch_size_max, .. } = self.settings;
        let step_width = self.stack.layers.iter().map(Layer::output_width).max().unwrap_or(0);
        let row_width = 2 * self.stack.last_width() + self.stack.output_count();
        let fits = time
            .checked_mul(2 * step_width)
            .and_then(|count| count.checked_add(row_width))
            .and_then(|count| count.checked_mul(size_of::<f32>()))
            .and_then(|bytes| bytes.checked_mul(batch_size_max))
            .is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX);
        if !fits {
            return Err(RunError::TooLarge { time, batch_size_max });
        }
        for (layer, _) in self.stack.layers.iter().zip(&self.plans).filter(|(_, plans)| plans.are_primed()) {
            layer.prime(&mut team);
        }
        let zeros = |width: usize| vec![0.0; batch_size_max * width];
        Ok(Box::new(StackInstance {
            pointers: TensorPointers::new(batch_size_max),
            between: [zeros(time * step_width), zeros(time * step_width)],
            last_states: zeros(self.stack.last_width()),
            rows: zeros(self.stack.last_width()),
            outputs: zeros(self.stack.output_count()),
            workspace: Workspace::default(),
            model: self,
            team,
        }))
    }

    fn summary(&self) -> String {
        let lines = self.stack.layers.iter().zip(&self.plans).enumerate();
        let line = |(index, (layer, plans)): (usize, (&Layer, &Plans))| {
            format!("layer {index}: {:?}, {plans:?}\n", layer.spec())
        };
        lines.map(line).collect()
    }
}

#[derive(Debug)]
struct StackInstance {
    model: Arc<PreparedStack>,
    team: Team,
    pointers: TensorPointers,
    /// Output of a layer that is the input of the next, `[time, batch, width]`; layers take turns.
    between: [Vec<f32>; 2],
    /// `[direction, batch, hidden]`.
    last_states: Vec<f32>,
    /// `[batch, direction * hidden]`.
    rows: Vec<f32>,
    /// `[batch, output]`.
    outputs: Vec<f32>,
    workspace: Workspace,
}

impl Instance for StackInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let model = Arc::clone(&self.model);
        check_batch(batch, model.settings.batch_size_max)?;
        for index in 0..model.stack.layers.len() {
            self.run_layer(&model, index, batch)?;
        }
        if model.settings.output == StackOutput::Last {
            self.write_rows(&model, batch)?;
        }
        Ok(())
    }
}

impl StackInstance {
    /// Runs a layer from the batch, or the buffer that the layer before wrote, to the batch or the other buffer.
    fn run_layer(
        &mut self,
        model: &PreparedStack,
        index: usize,
        batch: &mut dyn Batch,
    ) -> Result<(), RunError> {
        let (layer, time, size) = (&model.stack.layers[index], model.settings.time, batch.sample_count());
        let (input_width, output_width) = (layer.spec().input, layer.output_width());
        let is_last = index + 1 == model.stack.layers.len();
        let [even, odd] = &mut self.between;
        let (from, to) = if index.is_multiple_of(2) { (odd, even) } else { (even, odd) };
        let from = &from[..if index == 0 { 0 } else { time * size * input_width }];
        let buffer = &mut to[..time * size * output_width];
        let (input, output) = match (index == 0, is_last && model.settings.output == StackOutput::All) {
            (true, true) => self.pointers.both(batch, (0, [time, input_width]), (0, [time, output_width]))?,
            (true, false) => (
                self.pointers.input(batch, 0, [time, input_width])?,
                SequencesMut::time_major(buffer, time, size, output_width),
            ),
            (false, true) => (
                Sequences::time_major(from, time, size, input_width),
                self.pointers.output(batch, 0, [time, output_width])?,
            ),
            (false, false) => (
                Sequences::time_major(from, time, size, input_width),
                SequencesMut::time_major(buffer, time, size, output_width),
            ),
        };
        let last_hidden = (is_last && model.settings.output == StackOutput::Last)
            .then(|| &mut self.last_states[..size * output_width]);
        let mut call = LayerCall {
            input,
            lengths: None,
            initial_hidden: None,
            initial_cell: None,
            output,
            last_hidden,
            last_cell: None,
        };
        Ok(layer.run(model.plans[index].at(size), &mut self.team, &mut self.workspace, &mut call)?)
    }

    /// Copies the last states to the outputs of the batch, directions side by side (PyTorch's `h_n`).
    fn write_rows(&mut self, model: &PreparedStack, batch: &mut dyn Batch) -> Result<(), RunError> {
        let (size, width) = (batch.sample_count(), model.stack.last_width());
        let units = model.stack.layers[model.stack.layers.len() - 1].spec().hidden;
        for (place, state) in self.last_states[..size * width].chunks_exact(units).enumerate() {
            let (direction, sample) = (place / size, place % size);
            self.rows[sample * width + direction * units..][..units].copy_from_slice(state);
        }
        let expected = model.stack.output_count();
        let outputs = &mut self.outputs[..size * expected];
        match &model.stack.head {
            Some(head) => head.run(&self.rows[..size * width], outputs),
            None => outputs.copy_from_slice(&self.rows[..size * width]),
        }
        for (sample, row) in outputs.chunks_exact(expected).enumerate() {
            let output = batch.output_values(sample, 0)?;
            check_size(sample, "the output", output.len(), expected)?;
            output.copy_from_slice(row);
        }
        Ok(())
    }
}
