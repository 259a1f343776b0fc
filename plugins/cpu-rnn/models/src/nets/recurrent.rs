//! A recurrent layer of a network, with the schedules that it runs by.

use std::{
    fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use proctor_rnn_engine::{Layer, LayerCall, Sequences, SequencesMut, Stream, Team, Workspace};
use proctor_rnn_layer::{Cell, Precision};
use proctor_text::BpeVocabulary;

use crate::dense::Dense;
use crate::model::{LayerCalls, Plans, RunError, Scheduler};
use crate::nets::layers::embedding::Embedding;
use crate::request::LoadError;
use crate::safetensors::error::WeightsError;
use crate::safetensors::weights::Weights;

/// The source of a network's layers, and the scheduler of their calls.
pub(super) struct LayerSource<'a, 'b> {
    /// Id of the model.
    pub(super) model: &'a str,
    pub(super) weights: &'a mut Weights<'b>,
    /// The file of tokens by number, if there is one.
    pub(super) vocabulary: Option<&'a Path>,
    pub(super) precision: Precision,
    pub(super) scheduler: &'a dyn Scheduler,
    /// Largest batch, in samples; at least 1.
    pub(super) batch_size_max: usize,
}

/// Description of a layer that a file must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'a> {
    /// Beginning of its tensors' names.
    pub(super) prefix: &'a str,
    /// Position in the stack of that name.
    pub(super) index: usize,
    pub(super) cell: Cell,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) bidirectional: bool,
}

/// The calls of a layer: the largest number of steps, and the numbers of sequences to plan for, ascending.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSizes<const N: usize> {
    pub(super) time: usize,
    pub(super) batches: [usize; N],
}

/// A layer, the calls that it is for, and how it runs them.
#[derive(Debug)]
pub(super) struct Recurrent {
    name: String,
    layer: Arc<Layer>,
    time: usize,
    /// Numbers of sequences that it is planned for, ascending, at least one.
    batches: Vec<usize>,
    /// The schedules, once the model is planned.
    plans: OnceLock<Plans>,
}

/// Threads and memory of one caller, on which layers run.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) team: Team,
    pub(super) workspace: Workspace,
}

/// Tensors of one call, each contiguous and sample-major.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    /// `[sequence, time, input]`.
    pub(super) input: &'a [f32],
    /// Steps of each sequence.
    pub(super) lengths: &'a [usize],
    /// Number of steps of the tensors, at least 1.
    pub(super) time: usize,
    /// `[sequence, time, output width]`; 0 beyond the lengths.
    pub(super) output: &'a mut [f32],
    /// `[direction, sequence, hidden]`, if wanted.
    pub(super) last_hidden: Option<&'a mut [f32]>,
    /// The same for the cell states of an LSTM.
    pub(super) last_cell: Option<&'a mut [f32]>,
}

impl<'a> Pass<'a> {
    /// Creates a pass that only returns the outputs.
    pub(super) fn new(input: &'a [f32], lengths: &'a [usize], time: usize, output: &'a mut [f32]) -> Self {
        Self { input, lengths, time, output, last_hidden: None, last_cell: None }
    }
}

impl LayerSource<'_, '_> {
    /// Reads the vocabulary, for a network that needs it.
    ///
    /// # Errors
    /// If there is no such file, or it holds something else.
    pub(super) fn vocabulary(&self) -> Result<BpeVocabulary, LoadError> {
        let path = self
            .vocabulary
            .ok_or_else(|| LoadError::NoFile { model: self.model.to_owned(), formats: "vocabulary" })?;
        let text = fs::read_to_string(path).map_err(|error| LoadError::Read(path.to_owned(), error))?;
        BpeVocabulary::from_lines(&text).map_err(|error| LoadError::Vocabulary(path.to_owned(), error))
    }

    /// Reads a layer from the file and plans it.
    ///
    /// # Errors
    /// Returns the fault in its tensors.
    pub(super) fn recurrent<const N: usize>(
        &mut self,
        expected: Expected<'_>,
        calls: CallSizes<N>,
    ) -> Result<Recurrent, WeightsError> {
        let Expected { prefix, index, cell, input, hidden, bidirectional } = expected;
        let units = format!("{prefix}.weight_hh_l{index}");
        let shape = [cell.gate_count() * hidden, hidden];
        if self.weights.shape(&units)? != shape {
            return Err(self.weights.shape_error(&units, &format!("{shape:?}")));
        }
        let reverse = format!("{prefix}.weight_ih_l{index}_reverse");
        if bidirectional {
            self.weights.shape(&reverse)?;
        } else if self.weights.contains(&reverse) {
            return Err(self.weights.unexpected(&reverse, "a layer of one direction"));
        }
        let layer = self.weights.recurrent(prefix, index, cell, self.precision, Some(input))?;
        let mut batches = calls.batches.to_vec();
        batches.dedup();
        let (name, plans) = (format!("{prefix} {index}"), OnceLock::new());
        Ok(Recurrent { name, layer: Arc::new(layer), time: calls.time, batches, plans })
    }

    /// Decides how the layers of a model run, all together.
    pub(super) fn plan<'l>(&self, layers: impl IntoIterator<Item = &'l Recurrent>) {
        let layers: Vec<_> = layers.into_iter().collect();
        let calls: Vec<_> = layers.iter().flat_map(|layer| layer.calls()).collect();
        let mut schedules = self.scheduler.plan(&calls).into_iter();
        for layer in layers {
            let batches = layer.batches.iter().copied();
            layer.plans.get_or_init(|| Plans::of(batches.zip(schedules.by_ref())));
        }
    }
}

impl Recurrent {
    /// Returns the width of a row of output.
    pub(super) fn width(&self) -> usize {
        self.layer.output_width()
    }

    fn calls(&self) -> impl Iterator<Item = LayerCalls<'_>> {
        let call = |batch: &usize| LayerCalls::new(self.name.as_str(), &self.layer, self.time, *batch);
        self.batches.iter().map(call)
    }

    /// Runs the one-time preparation of the schedules before the first call on a team.
    pub(super) fn ready(&self, team: &mut Team) {
        if self.plans().are_primed() {
            self.layer.prime(team);
        }
    }

    /// Runs whole sequences.
    ///
    /// # Errors
    /// Returns the layer's error.
    pub(super) fn run(&self, runner: &mut Runner, pass: Pass<'_>) -> Result<(), RunError> {
        let sequences = pass.lengths.len();
        if sequences == 0 {
            return Ok(());
        }
        let Pass { input, lengths, time, output, last_hidden, last_cell } = pass;
        let mut call = LayerCall {
            input: Sequences::sample_major(input, time, sequences, self.layer.spec().input),
            lengths: Some(lengths),
            initial_hidden: None,
            initial_cell: None,
            output: SequencesMut::sample_major(output, time, sequences, self.width()),
            last_hidden,
            last_cell,
        };
        Ok(self.layer.run(self.plans().at(sequences), &mut runner.team, &mut runner.workspace, &mut call)?)
    }

    /// Returns the memory to run it step by step, for at most `rows_max` rows.
    ///
    /// # Errors
    /// Returns the stream's error: the layer does not read forward.
    pub(super) fn stream(&self, rows_max: usize) -> Result<Stream, RunError> {
        Ok(Stream::new(Arc::clone(&self.layer), rows_max)?)
    }

    /// Runs one step of all rows of a stream of this layer, from `input` `[row, input]` to `[row, hidden]`.
    ///
    /// # Errors
    /// Returns the stream's error.
    pub(super) fn step<'s>(
        &self,
        team: &mut Team,
        stream: &'s mut Stream,
        input: &[f32],
    ) -> Result<&'s [f32], RunError> {
        Ok(stream.step(self.plans().at(stream.rows()), team, input)?)
    }

    /// Runs one step of some rows, in ascending order, likewise.
    ///
    /// # Errors
    /// Returns the stream's error.
    pub(super) fn step_rows<'s>(
        &self,
        team: &mut Team,
        stream: &'s mut Stream,
        rows: &[usize],
        input: &[f32],
    ) -> Result<&'s [f32], RunError> {
        Ok(stream.step_rows(self.plans().at(rows.len()), team, rows, input)?)
    }

    /// Returns a line about it: sizes and schedules.
    pub(super) fn summary(&self) -> String {
        let spec = self.layer.spec();
        let plans = self.plans().by_batch().iter();
        let plans: Vec<_> = plans.map(|(batch, schedule)| format!("batch {batch}: {schedule:?}")).collect();
        format!(
            "{}: {:?} {:?} {} to {}, {:?}, up to {} steps; {}\n",
            self.name,
            spec.cell,
            spec.directions,
            spec.input,
            spec.hidden,
            spec.precision,
            self.time,
            plans.join("; ")
        )
    }

    fn plans(&self) -> &Plans {
        self.plans.get().expect("a model is planned when it is loaded")
    }
}

impl LayerSource<'_, '_> {
    /// Reads a table of vectors from the file: `{prefix}.weight` `[vocabulary, width]`.
    pub(super) fn embedding(
        &mut self,
        prefix: &str,
        vocabulary: usize,
        width: usize,
    ) -> Result<Embedding, WeightsError> {
        Ok(Embedding::new(self.weights.take(&format!("{prefix}.weight"), &[vocabulary, width])?, width))
    }

    /// Reads a map from the file: `{prefix}.weight` `[output, input]` and `{prefix}.bias` `[output]`.
    pub(super) fn linear(
        &mut self,
        prefix: &str,
        input: usize,
        output: usize,
    ) -> Result<Dense, WeightsError> {
        let weight = self.weights.take(&format!("{prefix}.weight"), &[output, input])?;
        let bias = self.weights.take(&format!("{prefix}.bias"), &[output])?;
        Ok(Dense::new(&weight, &bias, input))
    }

    /// Takes a map without bias.
    pub(super) fn matrix(
        &mut self,
        prefix: &str,
        input: usize,
        output: usize,
    ) -> Result<Dense, WeightsError> {
        let weight = self.weights.take(&format!("{prefix}.weight"), &[output, input])?;
        Ok(Dense::new(&weight, &[], input))
    }
}

impl Runner {
    /// Returns the threads and memory for these layers.
    pub(super) fn new<'a>(team: Team, layers: impl IntoIterator<Item = &'a Recurrent>) -> Self {
        let mut runner = Self { team, workspace: Workspace::default() };
        layers.into_iter().for_each(|layer| layer.ready(&mut runner.team));
        runner
    }
}
