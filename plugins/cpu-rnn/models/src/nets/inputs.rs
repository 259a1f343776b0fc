//! Reads the tensors of samples, checked.

use zerocopy::{FromBytes, IntoBytes};

use crate::batch::check_size;
use crate::model::{Batch, RunError};
use crate::nets::layers::embedding::Embedding;

/// A tensor of words, and the one with the lengths of its sequences.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordInput {
    /// Name in messages.
    pub(super) name: &'static str,
    /// Position among the inputs of a sample.
    pub(super) words: usize,
    /// Position of the lengths.
    pub(super) lengths: usize,
    /// Number of sequences of a sample.
    pub(super) sequences: usize,
    /// Number of steps of the tensor.
    pub(super) steps: usize,
    /// Number of words that there are.
    pub(super) vocabulary: usize,
}

impl WordInput {
    /// Appends the lengths of a sample's sequences to `lengths`, each word within them checked.
    pub(super) fn lengths(
        &self,
        batch: &dyn Batch,
        sample: usize,
        lengths: &mut Vec<usize>,
    ) -> Result<(), RunError> {
        let words = self.words(batch, sample)?;
        let given = batch.input_values(sample, self.lengths)?;
        check_size(sample, self.name, given.len(), self.sequences)?;
        for (words, length) in words.chunks_exact(self.steps).zip(given) {
            let length = checked_length(sample, self.name, *length, self.steps)?;
            let unknown = |word: &&i32| usize::try_from(**word).map_or(true, |word| word >= self.vocabulary);
            if let Some(word) = words[..length].iter().find(unknown) {
                let expected = format!("words from 0 to {}", self.vocabulary - 1);
                let (tensor, value) = (self.name, i64::from(*word));
                return Err(RunError::Value { sample, tensor, value, expected });
            }
            lengths.push(length);
        }
        Ok(())
    }

    /// Returns the words of a sample, `[sequence, step]`.
    pub(super) fn words<'a>(&self, batch: &'a dyn Batch, sample: usize) -> Result<&'a [i32], RunError> {
        let words = batch.input_values(sample, self.words)?;
        check_size(sample, self.name, words.len(), self.sequences * self.steps)?;
        Ok(words)
    }
}

/// Looks up the words of some inputs of each sample: fills `lengths`, one for each sequence, and `rows`,
/// `[sequence, time, width]`. Returns `time`: the longest length, but at least 1.
pub(super) fn embed(
    inputs: &[WordInput],
    embedding: &Embedding,
    batch: &dyn Batch,
    lengths: &mut Vec<usize>,
    rows: &mut [f32],
) -> Result<usize, RunError> {
    lengths.clear();
    for sample in 0..batch.sample_count() {
        inputs.iter().try_for_each(|input| input.lengths(batch, sample, lengths))?;
    }
    let time = lengths.iter().copied().max().unwrap_or(0).max(1);
    let mut sequences = lengths.iter().zip(rows.chunks_exact_mut(time * embedding.width()));
    for sample in 0..batch.sample_count() {
        for input in inputs {
            for words in input.words(batch, sample)?.chunks_exact(input.steps) {
                let (length, row) = sequences.next().expect("there is room for all sequences of a batch");
                embedding.lookup(&words[..*length], row);
            }
        }
    }
    Ok(time)
}

/// Returns a length as a count of steps.
pub(super) fn checked_length(
    sample: usize,
    tensor: &'static str,
    length: i32,
    steps: usize,
) -> Result<usize, RunError> {
    usize::try_from(length).ok().filter(|length| *length <= steps).ok_or_else(|| RunError::Value {
        sample,
        tensor,
        value: i64::from(length),
        expected: format!("lengths from 0 to {steps}"),
    })
}

/// Copies a row to an output of a sample.
pub(super) fn write_row(
    batch: &mut dyn Batch,
    sample: usize,
    output: usize,
    row: &[f32],
) -> Result<(), RunError> {
    // Rows are as long as the sequence was; what the benchmark has room for beyond is 0.
    write(batch, sample, output, row)?.fill(0.0);
    Ok(())
}

/// Writes the words to an output whose real size they decide, as integers of its type.
pub(super) fn write_words<T: From<i32> + FromBytes + IntoBytes>(
    batch: &mut dyn Batch,
    sample: usize,
    output: usize,
    words: &[i32],
) -> Result<(), RunError> {
    let (front, _) = room_for(batch.output_values::<T>(sample, output)?, sample, words.len())?;
    front.iter_mut().zip(words).for_each(|(place, word)| *place = T::from(*word));
    let size_bytes = size_of_val(front);
    batch.set_output_size(sample, output, size_bytes, words.len());
    Ok(())
}

/// Writes a text to an output whose real size it decides.
pub(super) fn write_text(
    batch: &mut dyn Batch,
    sample: usize,
    output: usize,
    (text, word_count): (&str, usize),
) -> Result<(), RunError> {
    write(batch, sample, output, text.as_bytes())?;
    batch.set_output_size(sample, output, text.len(), word_count);
    Ok(())
}

/// Copies values to the front of an output of a sample, and returns the room behind them.
fn write<'a, T: Copy + FromBytes + IntoBytes>(
    batch: &'a mut dyn Batch,
    sample: usize,
    output: usize,
    values: &[T],
) -> Result<&'a mut [T], RunError> {
    let (front, rest) = room_for(batch.output_values(sample, output)?, sample, values.len())?;
    front.copy_from_slice(values);
    Ok(rest)
}

/// Splits the room of an output of a sample behind `expected` values.
fn room_for<T>(room: &mut [T], sample: usize, expected: usize) -> Result<(&mut [T], &mut [T]), RunError> {
    let got = room.len();
    let tensor = "an output";
    room.split_at_mut_checked(expected).ok_or(RunError::SampleSize { sample, tensor, got, expected })
}
