//! Metrics: from responses and right answers to one number. Each is a file of this folder.

mod auc;
mod bleu;
mod close;
mod dice;
mod embedding;
mod f1;
mod map;
mod text_word_accuracy;
mod tokens;
pub(crate) mod top1;
mod word_accuracy;

use proctor_datasets::DataRoot;
use proctor_vocabulary::{
    ElementType, TensorSpec,
    registry::{self, Named},
};

use crate::{
    answers::Answers, error::AccuracyError, judge::Judge, labels::PublishedSamples, response::ResponseForm,
    source::AnswerSource,
};

/// Request for the judge of a log.
#[derive(Debug, Clone, Copy)]
pub struct JudgeRequest<'a> {
    /// Metric of the benchmark.
    pub metric: &'a MetricEntry,
    /// Source of the right answers.
    pub answers: &'a AnswerSource,
    /// Form of the responses.
    pub form: ResponseForm,
    /// Largest difference of a value from the right one; of metrics that compare values.
    pub tolerance: Option<f64>,
    /// Folders in which the project's own data sets lie.
    pub root: &'a DataRoot,
}

impl<'a> JudgeRequest<'a> {
    /// Returns the name and samples of the published data set whose labels are the answers.
    ///
    /// # Errors
    /// [`AccuracyError::Mismatch`] if the answers come from elsewhere.
    pub fn published(&self) -> Result<(&'a str, &'a PublishedSamples), AccuracyError> {
        match self.answers {
            AnswerSource::Labels { dataset, published: Some(samples) } => Ok((dataset.as_str(), samples)),
            _ => Err(self.mismatch()),
        }
    }

    /// Returns the right answers, and the number of samples of the library.
    ///
    /// # Errors
    /// [`AccuracyError`] if they are not there or damaged.
    pub fn read_answers(&self) -> Result<(Answers, usize), AccuracyError> {
        self.answers.read(self.form, self.root)
    }

    /// Returns the error of a metric that cannot compare these responses with these answers, or lacks the tolerance.
    #[must_use]
    pub fn mismatch(&self) -> AccuracyError {
        let MetricEntry { name, outputs, answers, .. } = self.metric;
        let tolerance = if self.metric.needs_tolerance { ", and a tolerance" } else { "" };
        AccuracyError::Mismatch(format!(
            "metric \"{name}\" does not fit the benchmark's outputs and answers: it takes {outputs}, and \
             {answers}{tolerance}"
        ))
    }
}

/// Makes the judge of a log.
pub type MakeJudge = fn(&JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError>;

/// A metric, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct MetricEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// Describes the figure in a line, for lists.
    pub about: &'static str,
    /// The outputs that it judges, in words, such as `one output of i32`.
    pub outputs: &'static str,
    /// The answers that it compares with, in words, such as `labels`.
    pub answers: &'static str,
    /// Returns the form of a response that consists of these outputs of a model; `None` if it does not judge them.
    pub form: fn(&[TensorSpec]) -> Option<ResponseForm>,
    /// Whether it compares values, for which a definition has to give a tolerance in each precision.
    pub needs_tolerance: bool,
    /// Makes the judge, for responses of `form`, or of a wrong size.
    pub judge: MakeJudge,
}

/// Returns the form of responses with one output of one of these types, which may be shorter than its shape says.
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

/// Returns all registered metrics, by name.
#[must_use]
pub fn metric_entries() -> Vec<&'static MetricEntry> {
    registry::sorted(inventory::iter::<MetricEntry>())
}

/// Returns the metric of this name.
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
