//! Clicks of Criteo: predictions, or, as the reference logs them, pairs of prediction and label; all of them f32.

use proctor_scores::{ScoreError, ranking::Ranking};

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, Faulty, ResponseDefect},
        numbers,
    },
};

/// Scores predictions by the area under the ROC curve.
#[derive(Debug)]
pub struct ClickJudge {
    /// The row at which each sample begins, and the number of all rows.
    starts: Vec<usize>,
    /// 0 or 1 for each row.
    labels: Vec<u8>,
    ranking: Ranking,
    answered_count: u64,
}

impl ClickJudge {
    /// Makes a judge of samples with these row counts. `labels` holds the labels of all rows, sample after sample.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`] if there are not as many labels as rows.
    pub fn new(row_counts: &[usize], labels: Vec<u8>) -> Result<Self, ScoreError> {
        let mut starts = vec![0];
        starts.extend(row_counts.iter().scan(0, |row, count| {
            *row += count;
            Some(*row)
        }));
        let row_count = starts[row_counts.len()];
        if labels.len() != row_count {
            return Err(ScoreError::Lengths {
                given: "rows",
                given_count: row_count,
                right: "labels",
                right_count: labels.len(),
            });
        }
        Ok(Self { starts, labels, ranking: Ranking::default(), answered_count: 0 })
    }
}

impl Judge for ClickJudge {
    fn sample_count(&self) -> usize {
        self.starts.len() - 1
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        self.answered_count += 1;
        let numbers = numbers::<4>(response, 1, defects);
        let labels = &self.labels[self.starts[sample]..self.starts[sample + 1]];
        let unit_count = if numbers.len() == 2 * labels.len() { 2 } else { 1 };
        let (given, wanted) = (numbers.len() / unit_count, labels.len());
        if given != wanted {
            if defects.is_empty() {
                defects.push(ResponseDefect::RecordCount { given, wanted });
            }
            return Ok(());
        }
        let (mut not_finite, mut other_label) = (Faulty::default(), Faulty::default());
        for (row, (numbers, label)) in numbers.chunks(unit_count).zip(labels).enumerate() {
            let prediction = f32::from_le_bytes(numbers[0]);
            let label = f32::from(*label);
            if self.ranking.add(prediction, label).is_err() {
                not_finite.add(row);
            }
            if numbers.get(1).is_some_and(|given| f32::from_le_bytes(*given) != label) {
                other_label.add(row);
            }
        }
        not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
        other_label.list(defects, |position, count| ResponseDefect::OtherLabel { position, count });
        Ok(())
    }

    /// Returns the area in percent as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let figures = self.ranking.figures()?;
        Ok(Judgement {
            value: 100.0 * figures.area,
            line: Some(figures.line(self.answered_count)),
            details: [("accuracy", 100.0 * figures.accuracy())].into(),
            ..Judgement::default()
        })
    }
}
