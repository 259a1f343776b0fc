//! The accuracy of a log by itself, whichever program has written it.

use std::path::PathBuf;

use proctor_accuracy::{AccuracyCheck, AccuracyResult, five_figures, metric};
use proctor_config::{Origin, Settings, percent};
use proctor_datasets::DataRoot;
use proctor_loadgen::EffectiveSettings;
use proctor_vocabulary::ElementType;
use serde::Serialize;

use super::{checked, padding_count, recorded::FoundLog, text::in_words};
use crate::{
    bed::sample_library::published::Published,
    error::HostError,
    observer::Observer,
    result::{Conclusion, Program},
    text::{counted, table},
};

/// Version of the form of a scored log.
const LOG_SCHEMA_VERSION: u32 = 1;

/// The worth of a log.
#[derive(Debug, Serialize)]
pub struct LogResult {
    schema_version: u32,
    program: Program,
    log: PathBuf,
    benchmark: String,
    dataset: String,
    rules: &'static str,
    /// Where the target comes from, its reference, and the share of it that has to be reached.
    target_origin: Origin,
    reference: f64,
    target_ratio: f64,
    accuracy: AccuracyResult,
    /// Second records that the scenario explains, at most.
    padding_record_count: u64,
    warnings: Vec<String>,
}

/// Scores a log by the benchmark of these settings. `element_type` is that of the outputs, if it is another one than
/// the definition's. Samples of published data sets are not prepared.
///
/// # Errors
/// [`HostError`] if there is nothing to score: the log or the data set is missing or damaged, or the metric does not
/// judge outputs of this type.
pub fn score_log(
    log: &FoundLog,
    mut settings: Settings,
    element_type: Option<ElementType>,
    observer: &dyn Observer,
) -> Result<LogResult, HostError> {
    let root = DataRoot::new(settings.run.data_root.as_deref());
    if let Some(element_type) = element_type {
        set_element_type(&mut settings, element_type)?;
    }
    let published = Published::open(&settings, &root)?;
    if let Some(published) = &published {
        published.fit(&mut settings)?;
    }
    settings.warnings.iter().for_each(|warning| observer.message(&format!("warning: {warning}")));
    let check = AccuracyCheck {
        padding_record_count: padding_count(&effective(&settings)?),
        ..checked(&settings, published.as_ref(), &root, precision(&settings)?, observer)?
    };
    let accuracy = check.run(log.path(), &root)?;
    Ok(LogResult {
        schema_version: LOG_SCHEMA_VERSION,
        program: Program::this(),
        log: log.path().to_owned(),
        benchmark: settings.benchmark.id,
        dataset: settings.benchmark.dataset,
        rules: settings.run.rules.name,
        target_origin: settings.quality_origin,
        reference: check.reference_value,
        target_ratio: check.target_ratio,
        accuracy,
        padding_record_count: check.padding_record_count,
        warnings: settings.warnings,
    })
}

/// Gives all outputs of the benchmark this type.
fn set_element_type(settings: &mut Settings, element_type: ElementType) -> Result<(), HostError> {
    let benchmark = &mut settings.benchmark;
    benchmark.outputs.iter_mut().for_each(|output| output.element_type = element_type);
    let metric = metric(&benchmark.quality.metric)?;
    match (metric.form)(&benchmark.outputs) {
        Some(_) => Ok(()),
        None => Err(HostError::Usage(format!(
            "--element-type {}: {} is computed from {}",
            element_type.name(),
            metric.name,
            metric.outputs
        ))),
    }
}

/// The precision that the answers were computed in; nothing depends on one that is not known.
fn precision(settings: &Settings) -> Result<&str, HostError> {
    let quality = &settings.benchmark.quality;
    match &settings.run.precision {
        Some(precision) => Ok(precision),
        None if metric(&quality.metric)?.needs_tolerance => {
            let known: Vec<_> = quality.tolerance.keys().map(String::as_str).collect();
            Err(HostError::Usage(format!(
                "{} compares values as closely as the precision allows: give --precision, one of {}",
                quality.metric,
                known.join(", ")
            )))
        }
        None => Ok(""),
    }
}

/// The settings that a run of the log's would have.
fn effective(settings: &Settings) -> Result<EffectiveSettings, HostError> {
    let qsl = settings.benchmark.qsl;
    let (effective, _) =
        EffectiveSettings::new(&settings.test, qsl.performance_sample_count, qsl.total_sample_count)
            .map_err(|error| HostError::Usage(error.to_string()))?;
    Ok(effective)
}

impl LogResult {
    /// Whether the accuracy passed.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        if self.accuracy.passed { Conclusion::Good } else { Conclusion::Bad }
    }

    /// Everything, for programs.
    ///
    /// # Panics
    /// Never: all keys are text.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("all keys are text") + "\n"
    }

    /// The text for people. Its first line is that of the reference's script, where it prints one.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { accuracy, log, benchmark, .. } = self;
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let target = format!(
            "{} % of {}, {}",
            percent(self.target_ratio),
            five_figures(self.reference),
            self.target_origin
        );
        let found = [
            ("missing", &accuracy.missing_samples),
            ("damaged", &accuracy.malformed_samples),
            ("repeated", &accuracy.duplicate_samples),
            ("unknown", &accuracy.unknown_samples),
        ];
        let found = found.map(|(what, samples)| format!("{} {what}", samples.len())).join(", ");
        let found = format!("{}; {found}", counted(accuracy.sample_count, "sample"));
        let mut rows = vec![
            row("accuracy", in_words(accuracy)),
            row("target", target),
            row("rules", self.rules.to_owned()),
            row("records", found),
        ];
        if !accuracy.duplicate_samples.is_empty() && self.padding_record_count > 0 {
            rows.push(row("", format!("up to {} repeated by MultiStream", self.padding_record_count)));
        }
        rows.extend(accuracy.reasons.iter().map(|reason| row("", format!("- {reason}"))));
        rows.push(row("log", log.display().to_string()));
        let line = accuracy.line.iter().map(|line| format!("{line}\n"));
        format!("{}{benchmark}\n{}", line.collect::<String>(), table(&rows))
    }
}
