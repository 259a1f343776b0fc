//! The accuracy of a log by itself, whichever program has written it.

use std::path::PathBuf;

use proctor_accuracy::{
    AccuracyCheck, AccuracyResult, DefectGroup, ResponseDefect, ResponseForm, Variant, five_figures, metric,
};
use proctor_config::{Benchmark, Origin, Settings, percent};
use proctor_datasets::DataRoot;
use proctor_results::{AccuracyPart, Program};
use proctor_vocabulary::{ElementType, printable};
use proctor_words::{
    Conclusion, HostError, Observer, UsageError,
    text::{counted, table},
};
use serde::Serialize;

use super::{
    checked, log_samples::samples_of_log, padding_count, part::accuracy_part, recorded::FoundLog,
    text::in_words,
};

/// Version of the form of a scored log.
const LOG_SCHEMA_VERSION: u32 = 1;

/// Form in which the program that wrote a log writes responses, if it differs from the definition's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// Type of the numbers.
    pub element_type: Option<ElementType>,
    /// True if the logits of all starts come before the logits of the ends.
    pub output_transposed: bool,
    /// True if classes of boxes count the categories from 1, in place of their ids.
    pub use_inv_map: bool,
}

impl Reading {
    /// Returns the variant of responses that it asks for.
    ///
    /// # Errors
    /// [`HostError::Usage`] if the benchmark's metric has no such variant.
    fn variant(self, benchmark: &Benchmark) -> Result<Option<Variant>, HostError> {
        let Benchmark { id, quality, .. } = benchmark;
        let mut wanted = None;
        for (is_given, flag, variant) in [
            (self.output_transposed, "--output-transposed", Variant::Transposed),
            (self.use_inv_map, "--use-inv-map", Variant::InverseMap),
        ] {
            if is_given && variant.metric() != quality.metric {
                let (benchmark, scored_by) = (id.clone(), quality.metric.clone());
                let metric = variant.metric();
                return Err(UsageError::LogOfOther { flag, metric, benchmark, scored_by }.into());
            }
            wanted = wanted.or(is_given.then_some(variant));
        }
        Ok(wanted)
    }
}

/// The score of a log.
#[derive(Debug, Serialize)]
pub struct LogResult {
    schema_version: u32,
    program: Program,
    log: PathBuf,
    benchmark: String,
    dataset: String,
    /// The round, if it has the benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'static str>,
    /// Origin of the target, its reference, and the required share of it.
    target_origin: Origin,
    reference: f64,
    target_ratio: f64,
    accuracy: AccuracyPart,
    /// Flags to try if responses look misread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
    /// Upper limit on the second records that the scenario explains.
    padding_record_count: u64,
    warnings: Vec<String>,
}

/// Scores a log by the benchmark of these settings. Samples of published data sets are not prepared, and
/// their files not even needed, if a list has the labels.
///
/// # Errors
/// [`HostError`] if there is nothing to score: the log or the data set is missing or damaged, or the metric does not
/// judge outputs of this type.
pub fn score_log(
    log: &FoundLog,
    mut settings: Settings,
    reading: Reading,
    observer: &dyn Observer,
) -> Result<LogResult, HostError> {
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let variant = reading.variant(&settings.benchmark)?;
    if let Some(element_type) = reading.element_type {
        set_element_type(&mut settings, element_type)?;
    }
    let (counts, samples) = samples_of_log(log, &mut settings, &root)?;
    settings
        .warnings
        .iter()
        .for_each(|warning| observer.message(&format!("warning: {}", printable(warning))));
    // The settings that a run of the log's would have.
    let effective = counts.effective_settings(&settings.test);
    let effective = effective.map_err(HostError::usage)?;
    let padding_record_count = padding_count(&effective);
    let check = checked(&settings, counts, samples, &root, precision(&settings)?, observer)?;
    let response = ResponseForm { variant, ..check.response };
    let performance_seq_id = log.performance_seq_id();
    let check = AccuracyCheck { padding_record_count, performance_seq_id, response, ..check };
    let accuracy = check.run(log.path(), &root)?;
    let rules = round(&settings);
    Ok(LogResult {
        schema_version: LOG_SCHEMA_VERSION,
        program: Program::this(),
        log: log.path().to_owned(),
        benchmark: settings.benchmark.id,
        dataset: settings.benchmark.dataset,
        rules,
        target_origin: settings.quality_origin,
        reference: check.reference_value,
        target_ratio: check.target_ratio,
        hints: accuracy.response_defects.iter().filter_map(|group| hint(group, &accuracy, reading)).collect(),
        accuracy: accuracy_part(accuracy),
        padding_record_count: check.padding_record_count,
        warnings: settings.warnings,
    })
}

/// Returns the round that the target comes from; `None` if it does not have the benchmark.
fn round(settings: &Settings) -> Option<&'static str> {
    let (benchmark, rules) = (&settings.benchmark, settings.run.rules);
    (benchmark.suite.is_none() || benchmark.row(rules).is_some()).then_some(rules.name)
}

/// Returns the flag that may be missing, or wrong, if answers have this fault. A wrong type spoils all
/// answers, or all except answers with the number 0: the fault of a few has another cause.
fn hint(group: &DefectGroup, accuracy: &AccuracyResult, reading: Reading) -> Option<String> {
    let count = group.samples.len();
    let answered_count = accuracy.sample_count as usize - accuracy.missing_samples.len();
    let is_of_most = 2 * count >= answered_count;
    let (name, have) = if count == 1 { ("names", "has") } else { ("name", "have") };
    let what = match &group.first {
        ResponseDefect::Form { size_bytes, form } if form.count_max == 1 && count == answered_count => {
            format!("{have} {size_bytes} bytes: --element-type {}?", types_of_class(*size_bytes)?)
        }
        ResponseDefect::Class { is_of_other_names: false, .. } => return None,
        ResponseDefect::Class { .. } if reading.use_inv_map => {
            format!("{name} classes that there are not: without --use-inv-map?")
        }
        ResponseDefect::Class { .. } => {
            format!("{name} classes that there are not: --use-inv-map, if they count from 1?")
        }
        ResponseDefect::NotWhole { .. } if is_of_most => {
            format!("{name} no whole class: another --element-type?")
        }
        defect if is_of_most && !defect.is_next_to_classes() => {
            format!("{name} no class of {}: another --element-type?", defect.class_count()?)
        }
        _ => return None,
    };
    Some(format!("{} {what}", counted(count as u64, "answer")))
}

/// Returns the types of a class with this size: first the one that the reference's programs write.
fn types_of_class(size_bytes: usize) -> Option<&'static str> {
    match size_bytes {
        4 => Some("f32, or i32"),
        8 => Some("i64, or f64"),
        _ => None,
    }
}

/// Gives all outputs of the benchmark this type.
fn set_element_type(settings: &mut Settings, element_type: ElementType) -> Result<(), HostError> {
    let benchmark = &mut settings.benchmark;
    benchmark.outputs.iter_mut().for_each(|output| output.element_type = element_type);
    let metric = metric(&benchmark.quality.metric)?;
    match (metric.form)(&benchmark.outputs) {
        Some(_) => Ok(()),
        None => {
            let (metric, outputs) = (metric.name, metric.outputs);
            Err(UsageError::LogType { element_type, metric, outputs }.into())
        }
    }
}

/// Returns the precision that the answers were computed in; nothing depends on one that is not known.
fn precision(settings: &Settings) -> Result<&str, HostError> {
    let quality = &settings.benchmark.quality;
    match &settings.run.precision {
        Some(precision) => Ok(precision),
        None if metric(&quality.metric)?.needs_tolerance => {
            let known = quality.tolerance.keys().cloned().collect();
            Err(UsageError::LogPrecision { metric: quality.metric.clone(), known }.into())
        }
        None => Ok(""),
    }
}

impl LogResult {
    /// Returns whether the accuracy passed.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        if self.accuracy.passed { Conclusion::Good } else { Conclusion::Bad }
    }

    /// Returns the whole result as JSON.
    ///
    /// # Panics
    /// Never: all keys are text.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("all keys are text") + "\n"
    }

    /// Returns the text for users. Its first line matches the reference's script, if it prints one.
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
        let found = format!("{}; {found}", counted(accuracy.sample_count.unwrap_or_default(), "sample"));
        let mut rows = vec![row("accuracy", in_words(accuracy)), row("target", target)];
        rows.extend(self.rules.map(|rules| row("rules", rules.to_owned())));
        rows.push(row("records", found));
        if !accuracy.duplicate_samples.is_empty() && self.padding_record_count > 0 {
            rows.push(row("", format!("up to {} repeated by MultiStream", self.padding_record_count)));
        }
        let remarks = accuracy.reasons.iter().chain(&self.hints);
        rows.extend(remarks.map(|remark| row("", format!("- {remark}"))));
        rows.push(row("log", log.display().to_string()));
        let line = accuracy.line.iter().map(|line| format!("{line}\n"));
        format!("{}{benchmark}\n{}", line.collect::<String>(), table(&rows))
    }
}
