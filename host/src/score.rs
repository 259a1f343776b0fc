//! The accuracy of a test, from its log.

use std::path::Path;

use proctor_accuracy::{AccuracyCheck, AccuracyResult, ResponseForm};
use proctor_config::{Benchmark, Settings};
use proctor_datasets::DataRoot;
use proctor_loadgen::{PhaseMode, TestOutcome};
use proctor_vocabulary::{ElementType, Scenario};

use crate::exit::HostError;

/// Scores `mlperf_log_accuracy.json` of a folder against the labels.
///
/// # Errors
/// If the log or the labels cannot be read, or the benchmark's outputs name no class.
pub(crate) fn score(
    settings: &Settings,
    outcome: &TestOutcome,
    folder: &Path,
    root: &DataRoot,
) -> Result<AccuracyResult, HostError> {
    let benchmark = &settings.benchmark;
    let check = AccuracyCheck {
        dataset: benchmark.dataset.clone(),
        metric: benchmark.quality.metric.clone(),
        response: response_form(benchmark)?,
        reference_value: benchmark.quality.reference,
        target_ratio: benchmark.quality.target_ratio,
        padding_record_count: padding_count(settings.run.scenario, outcome),
    };
    Ok(check.run(&folder.join("mlperf_log_accuracy.json"), root)?)
}

/// How a response tells its class, by the type and the shape of the first output.
pub(crate) fn response_form(benchmark: &Benchmark) -> Result<ResponseForm, HostError> {
    let form = benchmark.outputs.first().and_then(|output| match output.element_type {
        ElementType::F32 => Some(ResponseForm::LogitsF32 { class_count: output.element_count() }),
        ElementType::I32 if output.element_count() == 1 => Some(ResponseForm::ClassI32),
        ElementType::I64 if output.element_count() == 1 => Some(ResponseForm::ClassI64),
        _ => None,
    });
    form.filter(|_| benchmark.outputs.len() == 1).ok_or_else(|| {
        HostError::Data(format!(
            "{}: outputs: accuracy is computed from one output, of logits in f32, or of a class in i32 or i64",
            benchmark.file.display()
        ))
    })
}

/// Samples that were issued twice because MultiStream pads each set, so that a query can start at any sample.
fn padding_count(scenario: Scenario, outcome: &TestOutcome) -> u64 {
    let set_count =
        outcome.phases.iter().filter(|phase| phase.record.mode == PhaseMode::Accuracy).count() as u64;
    match scenario {
        Scenario::MultiStream => set_count * outcome.effective.samples_per_query.saturating_sub(1),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::benchmarks;
    use proctor_vocabulary::TensorSpec;

    use super::*;

    #[test]
    fn the_output_says_how_to_read_a_response() {
        let mut benchmark = benchmarks()[0].clone();
        assert_eq!(response_form(&benchmark).unwrap(), ResponseForm::LogitsF32 { class_count: 10 });
        let class = TensorSpec { name: "class".into(), element_type: ElementType::I64, shape: vec![1] };
        benchmark.outputs = vec![class.clone()];
        assert_eq!(response_form(&benchmark).unwrap(), ResponseForm::ClassI64);
        benchmark.outputs.push(class);
        assert!(response_form(&benchmark).unwrap_err().to_string().contains("from one output"));
    }
}
