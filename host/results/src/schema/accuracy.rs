//! The accuracy of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::or_default;

/// The accuracy.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct AccuracyPart {
    /// Name of the metric.
    pub metric: String,
    /// Value; larger is better.
    pub value: f64,
    /// Samples answered rightly, where the value is a share of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct_count: Option<u64>,
    /// Lower and upper end of the 95 % interval of the value, where it is a share of samples.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<[f64; 2]>,
    /// Number of samples that were judged.
    pub judged_count: Option<u64>,
    /// Number of samples of the data set.
    pub sample_count: Option<u64>,
    /// Minimum value that passes.
    pub target: f64,
    /// True if it does.
    pub passed: bool,
    /// Reasons why it did not pass.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The line of the reference's script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Samples without a record, ascending.
    #[serde(default, deserialize_with = "or_default")]
    pub missing_samples: Vec<u64>,
    /// Samples with a damaged response, ascending.
    #[serde(default, deserialize_with = "or_default")]
    pub malformed_samples: Vec<u64>,
    /// Samples with a defective response, grouped by the defect.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub response_defects: Vec<ResponseDefectPart>,
    /// Number of whole records of a log that is cut off, where the reference scores such.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub cut_after_record_count: Option<u64>,
    /// Samples of second and further records, in the order of the log.
    #[serde(default, deserialize_with = "or_default")]
    pub duplicate_samples: Vec<u64>,
    /// Indices in the log that the data set does not have, in the order of the log.
    #[serde(default, deserialize_with = "or_default")]
    pub unknown_samples: Vec<u64>,
    /// Further figures of the metric by name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, f64>,
}

/// Samples whose responses have the same kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ResponseDefectPart {
    /// Kind of the fault.
    pub kind: String,
    /// The samples, ascending.
    pub samples: Vec<u64>,
    /// The fault of the first of them, in words.
    pub first: String,
}

impl AccuracyPart {
    /// Returns a pass together with the entry that rules it out.
    pub(crate) fn contradiction(&self) -> Option<[String; 2]> {
        let Self { value, target, passed, reasons, .. } = self;
        if !passed {
            return None;
        }
        let found = match reasons.first() {
            Some(reason) => format!("accuracy.reasons \"{reason}\""),
            // They are compared in five figures, so that a value may be a little less than its target.
            None if *value < target - target.abs() * 1e-4 => {
                format!("accuracy.value {value} below accuracy.target {target}")
            }
            None => return None,
        };
        Some(["accuracy.passed true".to_owned(), found])
    }
}
