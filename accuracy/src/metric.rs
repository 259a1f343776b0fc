//! Metrics: from responses and right answers to one number. Each is a file of this folder.

mod auc;
mod bleu;
mod close;
mod dice;
mod f1;
mod map;
mod tokens;
mod top1;
mod word_accuracy;

use std::collections::BTreeMap;

use proctor_vocabulary::{
    ElementType, TensorSpec,
    registry::{self, Named},
};

use crate::{
    answers::Answers,
    error::AccuracyError,
    judge::{Judge, defect::ResponseDefect},
    labels::PublishedSamples,
    response::ResponseForm,
};

/// Responses and right answers to score.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// How to read a response.
    pub form: ResponseForm,
    /// By sample index; `None` stands for a missing one, which is wrong.
    pub responses: &'a [Option<&'a [u8]>],
    /// By sample index; of the first samples at least.
    pub answers: &'a Answers,
    /// Largest difference of a value from the right one; of metrics that compare values.
    pub tolerance: Option<f64>,
}

/// The result of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The metric; larger is better.
    pub value: f64,
    /// Number of samples answered rightly.
    pub correct_count: u64,
    /// Further figures by name.
    pub details: BTreeMap<String, f64>,
    /// The line that the reference's script prints, if there is one.
    pub line: Option<String>,
    /// Faults of responses of the right size, each with its sample.
    pub defects: Vec<(u64, ResponseDefect)>,
    /// Responses that are only wrong for the reference's script, and that look as if they were read wrongly.
    pub doubts: Vec<(u64, ResponseDefect)>,
}

impl Score {
    /// The share of right answers, in `[0, 1]`; 0 without answers.
    pub(crate) fn share(correct_count: u64, answers: &Answers) -> Self {
        let value = if answers.is_empty() { 0.0 } else { correct_count as f64 / answers.len() as f64 };
        Self {
            value,
            correct_count,
            details: BTreeMap::new(),
            line: None,
            defects: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

/// Scores the responses to which there are answers; `None` if the metric does not judge answers of this kind, or lacks
/// the tolerance.
pub type ScoreResponses = fn(&Scored<'_>) -> Option<Score>;

/// Makes the judge of a published data set from its labels, for responses of a form.
pub type MakeJudge = fn(&str, &PublishedSamples, ResponseForm) -> Result<Box<dyn Judge>, AccuracyError>;

/// The way in which a metric scores responses.
#[derive(Debug, Clone, Copy)]
pub enum Scoring {
    /// All of them at once, against answers.
    AtOnce(ScoreResponses),
    /// One by one as they are read, against the labels of a published data set.
    OneByOne(MakeJudge),
}

/// A metric, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct MetricEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// The outputs that it judges, in words, such as `one output of i32`.
    pub outputs: &'static str,
    /// The answers that it compares with, in words, such as `labels`.
    pub answers: &'static str,
    /// The form of a response that is made of these outputs of a model; `None` if it does not judge them.
    pub form: fn(&[TensorSpec]) -> Option<ResponseForm>,
    /// Whether it compares values, for which a definition has to give a tolerance in each precision.
    pub needs_tolerance: bool,
    /// The metric itself. The responses are of `form`, or of a wrong size.
    pub scoring: Scoring,
}

impl MetricEntry {
    pub(crate) fn mismatch(&self) -> AccuracyError {
        let Self { name, outputs, answers, .. } = self;
        let tolerance = if self.needs_tolerance { ", and a tolerance" } else { "" };
        AccuracyError::Mismatch(format!(
            "metric \"{name}\" does not fit the benchmark's outputs and answers: it takes {outputs}, and \
             {answers}{tolerance}"
        ))
    }
}

/// The form of responses of one output of one of these types, of which there may be less than its shape says.
pub(crate) fn up_to_one_output(
    outputs: &[TensorSpec],
    element_types: &[ElementType],
) -> Option<ResponseForm> {
    let [output] = outputs else { return None };
    let form = || ResponseForm::up_to(output.element_type, output.element_count());
    element_types.contains(&output.element_type).then(form)
}

inventory::collect!(MetricEntry);

impl Named for MetricEntry {
    const KIND: &'static str = "metric";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// All registered metrics, by name.
#[must_use]
pub fn metric_entries() -> Vec<&'static MetricEntry> {
    registry::sorted(inventory::iter::<MetricEntry>())
}

/// The metric of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion.
pub fn metric(name: &str) -> Result<&'static MetricEntry, AccuracyError> {
    Ok(registry::find(inventory::iter::<MetricEntry>(), name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_metric_is_answered_with_the_near_one() {
        let error = metric("top-1").unwrap_err().to_string();
        assert!(error.starts_with("unknown metric \"top-1\", did you mean \"top1\"?; known are "), "{error}");
    }
}
