//! The share of right answers: each response is compared with the answer to its sample, and is right or wrong.

use std::collections::BTreeMap;

use proctor_scores::ScoreError;

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share, WrongSample,
        defect::{Defects, ResponseDefect},
    },
    response::ResponseForm,
};

/// Maximum number of wrong samples that a judgement lists.
const LISTED_MAX: usize = 24;

/// Compares responses with right answers.
pub(crate) trait Comparison: Sized {
    /// Returns the number of samples whose answer is known, the first ones.
    fn answer_count(&self) -> usize;

    /// Returns whether the first response to such a sample is right, and lists its faults, except for its size.
    fn is_right(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> bool;

    /// Returns the wrong answer that a response to such a sample is, if answers are classes.
    fn wrong_class(&self, _sample: usize, _response: &[u8]) -> Option<WrongSample> {
        None
    }

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
    /// The first samples that are wrong so far, whatever the order in which they come.
    wrong: BTreeMap<usize, WrongSample>,
}

impl<C: Comparison> ShareJudge<C> {
    /// Creates a judge of a data set with this many samples. A response that does not have the form is a defect.
    pub(crate) fn new(form: ResponseForm, sample_count: usize, comparison: C) -> Self {
        Self { form, sample_count, comparison, correct_count: 0, wrong: BTreeMap::new() }
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
            let is_right = self.comparison.is_right(sample, response, defects);
            self.correct_count += u64::from(is_right);
            if !is_right {
                self.wrong.extend(self.comparison.wrong_class(sample, response).map(|wrong| (sample, wrong)));
                if self.wrong.len() > LISTED_MAX {
                    self.wrong.pop_last();
                }
            }
        }
        Ok(())
    }

    /// Returns the share as the value, 0 without answers.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let Self { comparison, correct_count, wrong, .. } = *self;
        let judged_count = comparison.answer_count() as u64;
        let value = if judged_count == 0 { 0.0 } else { correct_count as f64 / judged_count as f64 };
        let share = Share { correct_count, judged_count };
        let wrong = wrong.into_values().collect();
        let mut judgement = Judgement { value, share: Some(share), wrong, ..Judgement::default() };
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
