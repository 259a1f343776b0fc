//! The part of a result about the accuracy.

use proctor_accuracy::{AccuracyResult, DefectGroup};
use proctor_results::{AccuracyPart, ResponseDefectPart};

/// Returns an accuracy in the form of the file.
pub(crate) fn accuracy_part(result: AccuracyResult) -> AccuracyPart {
    let defect_part = |group: DefectGroup| ResponseDefectPart {
        kind: group.kind.to_owned(),
        samples: group.samples,
        first: group.first.to_string(),
    };
    AccuracyPart {
        metric: result.metric,
        value: result.value,
        correct_count: result.correct_count,
        interval_95: result.interval_95,
        judged_count: Some(result.judged_count),
        sample_count: Some(result.sample_count),
        target: result.target,
        passed: result.passed,
        reasons: result.reasons,
        line: result.line,
        missing_samples: result.missing_samples,
        malformed_samples: result.malformed_samples,
        response_defects: result.response_defects.into_iter().map(defect_part).collect(),
        cut_after_record_count: result.cut_after_record_count,
        duplicate_samples: result.duplicate_samples,
        unknown_samples: result.unknown_samples,
        details: result.details,
    }
}
