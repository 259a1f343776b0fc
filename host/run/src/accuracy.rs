//! The accuracy of a test, from its log.

mod log_samples;
pub(crate) mod logged;
pub(crate) mod part;
pub(crate) mod recorded;
pub(crate) mod text;
pub(crate) mod wrong;

use std::path::Path;

use proctor_accuracy::{
    AccuracyCheck, AccuracyResult, AnswerSource, Answered, PublishedSamples, ResponseForm, metric,
};
use proctor_bed::{TestBed, model_files};
use proctor_config::{self as config, Benchmark, QslCounts, Settings};
use proctor_datasets::DataRoot;
use proctor_loadgen::{EffectiveSettings, PhaseMode, TestOutcome};
use proctor_results::file_names::ACCURACY_LOG;
use proctor_vocabulary::{Scenario, TestMode, printable};
use proctor_words::{DataError, HostError, Observer, text::table};

/// Maximum number of samples whose answers are told one by one.
const TOLD_MAX: usize = 24;

/// Checks before a run whether its answers can be scored in the precision of its model, if they are to be.
///
/// # Errors
/// If the benchmark's outputs do not fit its metric, or there are no answers to compare with.
pub(crate) fn check(
    settings: &Settings,
    bed: &TestBed<'_>,
    observer: &dyn Observer,
) -> Result<(), HostError> {
    let is_scored =
        matches!(settings.run.mode, None | Some(TestMode::AccuracyOnly) | Some(TestMode::SubmissionRun));
    if is_scored && !settings.test.test05 {
        checked_on(settings, bed, observer)?.check_answers(&bed.data_root)?;
    }
    Ok(())
}

/// Scores `mlperf_log_accuracy.json` of a folder against the right answers.
///
/// # Errors
/// If the log or the answers cannot be read, or the benchmark's outputs do not fit its metric.
pub(crate) fn score(
    settings: &Settings,
    outcome: &TestOutcome,
    folder: &Path,
    bed: &TestBed<'_>,
    observer: &dyn Observer,
) -> Result<AccuracyResult, HostError> {
    let check = AccuracyCheck {
        padding_record_count: padding_count(&outcome.effective),
        performance_seq_id: performance_seq_id(outcome),
        ..checked_on(settings, bed, observer)?
    };
    let log = folder.join(ACCURACY_LOG);
    let result = check.run(&log, &bed.data_root)?;
    let answered = check.answered(&log, TOLD_MAX)?;
    if !answered.is_empty() {
        observer.message(&told(&answered));
    }
    Ok(result)
}

/// Returns the answers in words, a line for each sample.
fn told(answered: &[Answered]) -> String {
    let row = |Answered { sample, class, class_name }: &Answered| {
        let class = class.map_or_else(|| "no class".to_owned(), |class| class.to_string());
        vec![printable(sample), class_name.unwrap_or_default().to_owned(), class]
    };
    format!("answers\n{}", table(&answered.iter().map(row).collect::<Vec<_>>()).trim_end())
}

/// Returns the check of a log of a test on this bed, without padding.
fn checked_on(
    settings: &Settings,
    bed: &TestBed<'_>,
    observer: &dyn Observer,
) -> Result<AccuracyCheck, HostError> {
    let (published, counts) = (bed.library.published(), bed.library.counts());
    let samples = published.map(|published| published.named(sample_count(counts)));
    checked(settings, counts, samples.transpose()?, &bed.data_root, bed.model().precision(), observer)
}

/// Returns the number of samples of the library.
fn sample_count(counts: QslCounts) -> usize {
    usize::try_from(counts.total_sample_count).unwrap_or(usize::MAX)
}

/// Returns the check of a log without padding, against the benchmark's answers.
fn checked(
    settings: &Settings,
    counts: QslCounts,
    samples: Option<PublishedSamples>,
    root: &DataRoot,
    precision: &str,
    observer: &dyn Observer,
) -> Result<AccuracyCheck, HostError> {
    let benchmark = &settings.benchmark;
    Ok(AccuracyCheck {
        answers: answers(settings, counts, samples, root, observer)?,
        metric: benchmark.quality.metric.clone(),
        response: response_form(benchmark)?,
        tolerance: tolerance(benchmark, precision)?,
        reference_value: benchmark.quality.reference,
        target_ratio: benchmark.quality.target_ratio,
        padding_record_count: 0,
        performance_seq_id: None,
    })
}

/// Returns the source of the right answers.
fn answers(
    settings: &Settings,
    counts: QslCounts,
    samples: Option<PublishedSamples>,
    root: &DataRoot,
    observer: &dyn Observer,
) -> Result<AnswerSource, HostError> {
    let benchmark = &settings.benchmark;
    let model = benchmark.model.id.clone();
    let sample_count = sample_count(counts);
    Ok(match benchmark.quality.answers {
        config::AnswerKind::Labels => {
            AnswerSource::Labels { dataset: benchmark.dataset.clone(), published: samples }
        }
        config::AnswerKind::Shipped => {
            let outputs = benchmark.outputs.iter().map(|output| output.name.clone()).collect();
            AnswerSource::Shipped { model, outputs, sample_count }
        }
        config::AnswerKind::Computed => {
            // In whichever format and precision the plugin computes, these are the weights that the definition names.
            let files = model_files::find(settings, root, "f32", observer, |format| format == "safetensors")?;
            let weights = files.into_iter().next().map(|file| file.path);
            let weights = weights.ok_or_else(|| DataError::NoWeights(benchmark.file.clone()))?;
            AnswerSource::Computed { model, weights, sample_count }
        }
    })
}

/// Returns the maximum error of a value in this precision; `None` if the metric does not compare values.
fn tolerance(benchmark: &Benchmark, precision: &str) -> Result<Option<f64>, HostError> {
    if !metric(&benchmark.quality.metric)?.needs_tolerance {
        return Ok(None);
    }
    let tolerances = &benchmark.quality.tolerance;
    tolerances.get(precision).copied().map(Some).ok_or_else(|| {
        let (precision, known) = (precision.to_owned(), tolerances.keys().cloned().collect());
        DataError::NoTolerance { file: benchmark.file.clone(), precision, known }.into()
    })
}

/// Returns the form of a response, by the metric and the types and shapes of the outputs.
pub(crate) fn response_form(benchmark: &Benchmark) -> Result<ResponseForm, HostError> {
    let metric = metric(&benchmark.quality.metric)?;
    (metric.form)(&benchmark.outputs).ok_or_else(|| {
        let file = benchmark.file.clone();
        DataError::Outputs { file, metric: metric.name, outputs: metric.outputs }.into()
    })
}

/// Returns the upper limit on the second records that the scenario explains: MultiStream pads each set of samples that
/// it loads, so that a query can start at any of them.
fn padding_count(effective: &EffectiveSettings) -> u64 {
    let set_count = effective.accuracy_sample_count.div_ceil(effective.performance_sample_count.max(1));
    match effective.request.scenario {
        Scenario::MultiStream => set_count * effective.samples_per_query.saturating_sub(1),
        _ => 0,
    }
}

/// Returns `seq_id` of the first sample of the performance phase, if accuracy phases are before it.
fn performance_seq_id(outcome: &TestOutcome) -> Option<u64> {
    let is_of_both = outcome.effective.request.mode == TestMode::SubmissionRun;
    let performance = outcome.phases.iter().find(|phase| phase.record.mode == PhaseMode::Performance);
    performance.filter(|_| is_of_both).map(|phase| phase.first_sample_id)
}

#[cfg(test)]
mod tests {
    use proctor_config::benchmarks;
    use proctor_vocabulary::{ElementType, TensorSpec};

    use super::*;

    fn benchmark(id: &str) -> Benchmark {
        benchmarks().find(|benchmark| benchmark.id == id).unwrap().clone()
    }

    #[test]
    fn metric_and_outputs_say_how_to_read_a_response() {
        let mut digits = benchmark("digits-lstm");
        assert_eq!(response_form(&digits).unwrap(), ResponseForm::exactly(ElementType::F32, 10));
        let class = TensorSpec { name: "class".into(), element_type: ElementType::I64, shape: vec![1] };
        digits.outputs = vec![class.clone()];
        assert_eq!(response_form(&digits).unwrap(), ResponseForm::exactly(ElementType::I64, 1));
        digits.outputs.push(class);
        assert!(response_form(&digits).unwrap_err().to_string().contains("from one output"));

        let mut bidaf = benchmark("bidaf");
        assert_eq!(response_form(&bidaf).unwrap(), ResponseForm::exactly(ElementType::F32, 200));
        bidaf.quality.metric = "tokens".to_owned();
        assert!(response_form(&bidaf).unwrap_err().to_string().contains("one output of i32"));
        assert_eq!(
            response_form(&benchmark("gnmt-generated")).unwrap(),
            ResponseForm::up_to(ElementType::I32, 100)
        );
    }

    #[test]
    fn every_precision_needs_a_tolerance_where_values_are_compared() {
        assert_eq!(tolerance(&benchmark("bidaf"), "f32").unwrap(), Some(1e-5));
        let error = tolerance(&benchmark("bidaf"), "fp16").unwrap_err().to_string();
        assert!(error.contains("none for precision fp16, only for bf16, f32, int8"), "{error}");
        assert_eq!(tolerance(&benchmark("digits-lstm"), "fp16").unwrap(), None);
    }

    #[test]
    fn every_benchmark_has_answers() {
        for benchmark in benchmarks().filter(|it| it.quality.answers == config::AnswerKind::Shipped) {
            response_form(benchmark).unwrap();
        }
    }
}
