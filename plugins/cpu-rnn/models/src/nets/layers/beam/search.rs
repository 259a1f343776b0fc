//! Beam search over several sequences together.

use std::ops::Range;

use crate::nets::layers::beam::hypotheses::Beam;

/// A live hypothesis in a step of a [`Scorer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Position of its sequence in the batch.
    pub sequence: usize,
    /// Row of the step before whose state it continues; `None` in the first step.
    pub parent: Option<usize>,
    /// Last word.
    pub word: i32,
}

/// A model that scores the possible next words.
pub trait Scorer {
    /// Reason why a step failed.
    type Error;

    /// Computes one step for each row. The states of the step before stay readable until this call, by
    /// [`Row::parent`]; rows of one sequence lie together.
    ///
    /// # Errors
    /// Returns the model's error; the search ends with it.
    fn step(&mut self, rows: &[Row]) -> Result<(), Self::Error>;

    /// Returns, after a step, the score of each word before the softmax, for one of its rows.
    fn logits(&self, row: usize) -> &[f32];

    /// Returns, after a step, the weight of each place of the source, for one of its rows. Empty if there are none.
    fn attention(&self, row: usize) -> &[f32];
}

/// Searches until every beam is done. [`Beam::restart`] must have prepared the beams; `rows` is room for the live
/// hypotheses. Calls `first_word` for each sequence as soon as its first word is certain.
///
/// # Errors
/// Returns the first error of the scorer.
pub fn search<S: Scorer>(
    scorer: &mut S,
    beams: &mut [Beam],
    rows: &mut Vec<Row>,
    mut first_word: impl FnMut(usize),
) -> Result<(), S::Error> {
    loop {
        rows.clear();
        for (sequence, beam) in beams.iter().enumerate().filter(|(_, beam)| !beam.is_done()) {
            rows.extend(beam.live().map(|(parent, word)| Row { sequence, parent, word }));
        }
        if rows.is_empty() {
            return Ok(());
        }
        scorer.step(rows)?;
        let mut start = 0;
        while start < rows.len() {
            let range = same_sequence(rows, start);
            let sequence = rows[start].sequence;
            let beam = &mut beams[sequence];
            beam.advance(start, |row| scorer.logits(row), |row| scorer.attention(row));
            if beam.take_first_word().is_some() {
                first_word(sequence);
            }
            start = range.end;
        }
    }
}

/// Returns the rows of the sequence that row `start` belongs to.
fn same_sequence(rows: &[Row], start: usize) -> Range<usize> {
    let count = rows[start..].iter().take_while(|row| row.sequence == rows[start].sequence).count();
    start..start + count
}
