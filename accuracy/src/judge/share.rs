//! The share of right answers: each response is compared with the answer to its sample, and is right or wrong.

use proctor_scores::ScoreError;

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share,
        defect::{Defects, ResponseDefect},
    },
    response::ResponseForm,
};

/// Compares responses with right answers.
pub(crate) trait Comparison: Sized {
    /// Returns the number of samples whose answer is known, the first ones.
    fn answer_count(&self) -> usize;

    /// Returns whether the first response to such a sample is right, and lists its faults, except for its size.
    fn is_right(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> bool;

    /// Adds the other findings about the responses to the judgement, which has the share.
    fn complete(self, _share: Share, _judgement: &mut Judgement) {}
}

/// Scores responses by the share of the samples whose answer is known that are answered rightly, in `[0, 1]`.
#[derive(Debug)]
pub(crate) struct ShareJudge<C> {
    form: ResponseForm,
    sample_count: usize,
    comparison: C,
    correct_count: u64,
}

impl<C: Comparison> ShareJudge<C> {
    /// Creates a judge of a data set with this many samples. A response that does not have the form is a defect.
    pub(crate) fn new(form: ResponseForm, sample_count: usize, comparison: C) -> Self {
        Self { form, sample_count, comparison, correct_count: 0 }
    }
}

impl<C: Comparison> Judge for ShareJudge<C> {
    fn sample_count(&self) -> usize {
        self.sample_count
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        if !self.form.fits(response.len()) {
            defects.push(ResponseDefect::Form { size_bytes: response.len(), form: self.form });
        }
        if sample < self.comparison.answer_count() {
            self.correct_count += u64::from(self.comparison.is_right(sample, response, defects));
        }
        Ok(())
    }

    /// Returns the share as the value, 0 without answers.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let Self { comparison, correct_count, .. } = *self;
        let judged_count = comparison.answer_count() as u64;
        let value = if judged_count == 0 { 0.0 } else { correct_count as f64 / judged_count as f64 };
        let share = Share { correct_count, judged_count };
        let mut judgement = Judgement { value, share: Some(share), ..Judgement::default() };
        comparison.complete(share, &mut judgement);
        Ok(judgement)
    }
}

#[cfg(test)]
impl<C: Comparison> ShareJudge<C> {
    /// Takes these responses, by sample, and returns the judgement with the defects.
    pub(crate) fn judged(mut self, responses: &[Option<&[u8]>]) -> (Judgement, Vec<(usize, ResponseDefect)>) {
        let mut listed = Vec::new();
        for (sample, response) in responses.iter().enumerate() {
            let Some(response) = response else { continue };
            let mut defects = Vec::new();
            self.take(sample, response, &mut defects).expect("the answers are in memory");
            listed.extend(defects.into_iter().map(|defect| (sample, defect)));
        }
        (Box::new(self).judgement().expect("a share is always a score"), listed)
    }
}
