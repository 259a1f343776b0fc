//! Area under the ROC curve of clicks, and their accuracy.

use crate::{
    error::{ScoreError, same_length},
    python::fixed,
};

/// Rows with a prediction and a label. Each takes four bytes, so the 89 million of Criteo take 360 MB.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// Predictions of the rows with label 1.
    positives: Vec<f32>,
    /// Predictions of the rows with label 0.
    negatives: Vec<f32>,
    right_count: u64,
}

impl Ranking {
    /// Returns the rows of two lists.
    ///
    /// # Errors
    /// As [`Ranking::add`], and [`ScoreError::Lengths`].
    pub fn of(predictions: &[f32], labels: &[f32]) -> Result<Self, ScoreError> {
        same_length(("predictions", predictions.len()), ("labels", labels.len()))?;
        let mut ranking = Self::default();
        predictions
            .iter()
            .zip(labels)
            .try_for_each(|(prediction, label)| ranking.add(*prediction, *label))?;
        Ok(ranking)
    }

    /// Adds a row. A prediction, rounded half to even, is right if it is the label.
    ///
    /// # Errors
    /// [`ScoreError::NotFinite`] for a prediction, [`ScoreError::Label`] for a label other than 0 and 1; the row is not
    /// added.
    pub fn add(&mut self, prediction: f32, label: f32) -> Result<(), ScoreError> {
        let position = self.positives.len() + self.negatives.len();
        if !prediction.is_finite() {
            return Err(ScoreError::NotFinite { what: "prediction", position, value: prediction.into() });
        }
        let side = match label {
            0.0 => &mut self.negatives,
            1.0 => &mut self.positives,
            _ => return Err(ScoreError::Label { position, label: label.into() }),
        };
        // Makes one zero of both.
        side.push(prediction + 0.0);
        self.right_count += u64::from(prediction.round_ties_even() == label);
        Ok(())
    }

    /// Sorts the rows, and computes the figures.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without rows, [`ScoreError::OneClass`] if they all have the same label.
    pub fn figures(mut self) -> Result<RankingFigures, ScoreError> {
        let (positive_count, negative_count) = (self.positives.len() as u64, self.negatives.len() as u64);
        let row_count = positive_count + negative_count;
        match (positive_count, negative_count) {
            (0, 0) => return Err(ScoreError::Empty { what: "rows" }),
            (0, count) => return Err(ScoreError::OneClass { label: 0, count }),
            (count, 0) => return Err(ScoreError::OneClass { label: 1, count }),
            _ => {}
        }
        self.positives.sort_unstable_by(f32::total_cmp);
        self.negatives.sort_unstable_by(f32::total_cmp);
        // Each pair of a positive and a negative row counts 2 if the positive has the higher prediction, 1 in a tie.
        let (mut below, mut up_to) = (0, 0);
        let mut sum = 0_u128;
        for positive in &self.positives {
            below += self.negatives[below..].iter().take_while(|negative| *negative < positive).count();
            up_to = up_to.max(below);
            up_to += self.negatives[up_to..].iter().take_while(|negative| *negative <= positive).count();
            sum += (below + up_to) as u128;
        }
        let pair_count = u128::from(positive_count) * u128::from(negative_count);
        Ok(RankingFigures {
            area: sum as f64 / (2 * pair_count) as f64,
            right_count: self.right_count,
            row_count,
        })
    }
}

/// The figures of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingFigures {
    /// Area under the ROC curve (AUC), in `[0, 1]`: how often a clicked row has a higher prediction than another, ties
    /// as halves.
    pub area: f64,
    /// Number of rows whose rounded prediction is their label.
    pub right_count: u64,
    /// Number of rows.
    pub row_count: u64,
}

impl RankingFigures {
    /// Returns the share of the rows whose rounded prediction is their label.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.right_count as f64 / self.row_count as f64
    }

    /// Returns the line of the reference's script; `query_count` is the number of samples with a response.
    #[must_use]
    pub fn line(&self, query_count: u64) -> String {
        let (area, accuracy) = (fixed(100.0 * self.area, 3), fixed(100.0 * self.accuracy(), 3));
        let Self { right_count, row_count, .. } = self;
        format!(
            "AUC={area}%, accuracy={accuracy}%, good={right_count}, total={row_count}, queries={query_count}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rows: &[(f32, f32)]) -> RankingFigures {
        let (predictions, labels): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        Ranking::of(&predictions, &labels).unwrap().figures().unwrap()
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        // Of the four pairs, 0.35 and 0.4 are the wrong way round.
        let rows = [(0.1, 0.0), (0.4, 0.0), (0.35, 1.0), (0.8, 1.0)];
        assert_eq!(figures(&rows).area, 0.75);
        assert_eq!(figures(&[(0.9, 1.0), (0.1, 0.0)]).area, 1.0);
        assert_eq!(figures(&[(0.1, 1.0), (0.9, 0.0)]).area, 0.0);
        assert_eq!(figures(&rows).line(2), "AUC=75.000%, accuracy=75.000%, good=3, total=4, queries=2");
    }

    #[test]
    fn ties_are_halves_and_zeros_are_equal() {
        assert_eq!(figures(&[(0.5, 0.0), (0.5, 1.0)]).area, 0.5);
        assert_eq!(figures(&[(0.0, 0.0), (-0.0, 1.0), (0.0, 1.0)]).area, 0.5);
        // Three pairs: above, equal, below.
        assert_eq!(figures(&[(0.1, 0.0), (0.5, 0.0), (0.9, 0.0), (0.5, 1.0)]).area, 0.5);
    }

    #[test]
    fn a_half_is_rounded_to_even() {
        assert_eq!(figures(&[(0.5, 0.0), (0.5, 1.0)]).right_count, 1);
        assert_eq!(figures(&[(1.5, 1.0), (-0.5, 0.0)]).right_count, 1);
    }

    #[test]
    fn rows_that_cannot_be_judged_are_refused() {
        let error = |predictions: &[f32], labels: &[f32]| {
            Ranking::of(predictions, labels).and_then(Ranking::figures).unwrap_err().to_string()
        };
        assert!(error(&[0.5, f32::NAN], &[0.0, 1.0]).starts_with("prediction 1 holds NaN"));
        assert!(error(&[f32::INFINITY], &[1.0]).starts_with("prediction 0 holds inf"));
        assert_eq!(error(&[0.5], &[0.5]), "label 0 is 0.5, but must be 0 or 1");
        assert_eq!(error(&[0.5], &[f32::NAN]), "label 0 is NaN, but must be 0 or 1");
        assert_eq!(
            error(&[0.5; 2], &[1.0; 2]),
            "all 2 labels are 1, but a ranking is judged by both 0 and 1"
        );
        assert_eq!(error(&[], &[]), "there are no rows, so there is nothing to score");
        assert!(error(&[0.5], &[]).starts_with("1 predictions stand against 0 labels"));
    }
}
