//! The entries of a call that belong to each sample of a batch.

use std::ops::Range;

use proctor_plugin_api::{Batch, PluginError, vocabulary::TensorSpec};

/// Place of each sample of a batch in the first dimension of the model's tensors: one place, or its rows, sample behind
/// sample.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Maximum number of rows of a sample; `None` if each sample is one entry.
    rows_max: Option<usize>,
    /// End of each sample.
    ends: Vec<usize>,
}

impl Entries {
    /// Returns room for batches of up to `batch_size_max` samples.
    pub(crate) fn new(rows_max: Option<usize>, batch_size_max: usize) -> Self {
        Self { rows_max, ends: Vec::with_capacity(batch_size_max) }
    }

    /// Lays out a batch.
    ///
    /// # Errors
    /// Fails for a sample whose inputs have different numbers of rows, none, or more than the benchmark says.
    pub(crate) fn lay_out(
        &mut self,
        batch: &mut Batch<'_>,
        inputs: &[TensorSpec],
    ) -> Result<(), PluginError> {
        self.ends.clear();
        let mut end = 0;
        for position in 0..batch.sample_count() {
            end += match self.rows_max {
                None => 1,
                Some(rows_max) => rows(batch, position, inputs, rows_max)?,
            };
            self.ends.push(end);
        }
        Ok(())
    }

    /// Returns the number of entries of all samples.
    pub(crate) fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the entries of a sample.
    pub(crate) fn of(&self, position: usize) -> Range<usize> {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[position]
    }

    /// Returns whether samples may have fewer entries than there is room for.
    pub(crate) fn vary(&self) -> bool {
        self.rows_max.is_some()
    }
}

/// Returns the rows of a sample, which all of its inputs have.
fn rows(
    batch: &mut Batch<'_>,
    position: usize,
    inputs: &[TensorSpec],
    rows_max: usize,
) -> Result<usize, PluginError> {
    let sample = batch.sample(position);
    let of_input = |input: usize| {
        let first = sample.input_shape(input).first().copied().unwrap_or(0);
        usize::try_from(first).unwrap_or(usize::MAX)
    };
    let first = of_input(0);
    if !(1..=rows_max).contains(&first) {
        let (index, name) = (sample.index(), &inputs[0].name);
        let text = format!("\"{name}\" of sample {index} has {first} rows; from 1 to {rows_max} can be run");
        return Err(PluginError::invalid_argument(text));
    }
    let other = inputs.iter().enumerate().skip(1).map(|(input, spec)| (spec, of_input(input)));
    match other.into_iter().find(|(_, rows)| *rows != first) {
        None => Ok(first),
        Some((spec, rows)) => {
            let (index, name) = (sample.index(), &inputs[0].name);
            let text =
                format!("\"{}\" of sample {index} has {rows} rows, and \"{name}\" has {first}", spec.name);
            Err(PluginError::invalid_argument(text))
        }
    }
}
