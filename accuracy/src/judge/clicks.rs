//! Clicks of Criteo: pairs of f32, prediction and label, or predictions alone.

use proctor_scores::{ScoreError, ranking::Ranking};

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Faulty, ResponseDefect},
        numbers,
    },
};

/// Where the labels of rows are.
#[derive(Debug, Clone, PartialEq)]
pub enum ClickLabels {
    /// In the responses, behind each prediction.
    InResponses,
    /// Known: of all rows, one after the other.
    Known(Vec<u8>),
}

/// Scores predictions by the area under the ROC curve.
#[derive(Debug)]
pub struct ClickJudge {
    /// The row at which each sample begins, and the number of all rows.
    starts: Vec<usize>,
    labels: ClickLabels,
    ranking: Ranking,
    answered_count: u64,
}

impl ClickJudge {
    /// A judge of samples with these numbers of rows.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`] if known labels are not as many as the rows.
    pub fn new(row_counts: &[usize], labels: ClickLabels) -> Result<Self, ScoreError> {
        let mut starts = vec![0];
        starts.extend(row_counts.iter().scan(0, |row, count| {
            *row += count;
            Some(*row)
        }));
        let row_count = starts[row_counts.len()];
        match &labels {
            ClickLabels::Known(labels) if labels.len() != row_count => Err(ScoreError::Lengths {
                given: "rows",
                given_count: row_count,
                right: "labels",
                right_count: labels.len(),
            }),
            _ => Ok(Self { starts, labels, ranking: Ranking::default(), answered_count: 0 }),
        }
    }
}

impl Judge for ClickJudge {
    fn sample_count(&self) -> usize {
        self.starts.len() - 1
    }

    fn take(
        &mut self,
        sample: usize,
        response: &[u8],
        defects: &mut Vec<ResponseDefect>,
    ) -> Result<(), AccuracyError> {
        self.answered_count += 1;
        let unit_count = if self.labels == ClickLabels::InResponses { 2 } else { 1 };
        let numbers = numbers::<4>(response, unit_count, defects);
        let (first, wanted) = (self.starts[sample], self.starts[sample + 1] - self.starts[sample]);
        let given = numbers.len() / unit_count;
        if given != wanted {
            if defects.is_empty() {
                defects.push(ResponseDefect::RecordCount { given, wanted });
            }
            return Ok(());
        }
        let (mut not_finite, mut no_label) = (Faulty::default(), Faulty::default());
        for (row, numbers) in numbers.chunks(unit_count).enumerate() {
            let prediction = f32::from_le_bytes(numbers[0]);
            let label = match &self.labels {
                ClickLabels::InResponses => f32::from_le_bytes(numbers[1]),
                ClickLabels::Known(labels) => labels[first + row].into(),
            };
            match self.ranking.add(prediction, label) {
                Ok(()) => {}
                Err(ScoreError::Label { .. }) => no_label.add(row),
                Err(_) => not_finite.add(row),
            }
        }
        not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
        no_label.list(defects, |position, count| ResponseDefect::Class { position, count });
        Ok(())
    }

    /// The value is the area in percent.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let figures = self.ranking.figures()?;
        Ok(Judgement {
            value: 100.0 * figures.area,
            line: figures.line(self.answered_count),
            details: [("accuracy", 100.0 * figures.accuracy())].into(),
        })
    }
}
