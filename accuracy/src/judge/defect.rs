//! Defects of logs and of single responses.

use std::{collections::BTreeMap, fmt};

use proctor_scores::ScoreError;

use crate::response::ResponseForm;

/// The faults of a log, listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogDefects {
    /// Samples without a record, ascending.
    pub missing_samples: Vec<u64>,
    /// Samples of second and further records, in the order of the log. The first record of a sample counts.
    pub duplicate_samples: Vec<u64>,
    /// Indices that the data set does not have, in the order of the log.
    pub unknown_samples: Vec<u64>,
    /// Faults of responses, each with its sample, in the order of the log.
    pub responses: Vec<(u64, ResponseDefect)>,
    /// Number of whole records of a log that is cut off, if the reference accepts such logs.
    pub cut_after_record_count: Option<u64>,
}

impl LogDefects {
    /// Returns whether a response is missing, damaged or cut off.
    #[must_use]
    pub(crate) fn lack_responses(&self) -> bool {
        let Self { missing_samples, responses, cut_after_record_count, .. } = self;
        !missing_samples.is_empty() || !responses.is_empty() || cut_after_record_count.is_some()
    }

    /// Returns the number of all faults.
    #[must_use]
    pub fn count(&self) -> usize {
        let Self { missing_samples, duplicate_samples, unknown_samples, responses, cut_after_record_count } =
            self;
        missing_samples.len()
            + duplicate_samples.len()
            + unknown_samples.len()
            + responses.len()
            + usize::from(cut_after_record_count.is_some())
    }
}

/// Faults of one response.
pub type Defects = Vec<ResponseDefect>;

/// A fault of a response. Positions count its records from 0; of several records with the same fault the first is
/// named.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseDefect {
    /// The response has another size than its form asks for, and counts as wrong.
    Form {
        /// Size of the response, in bytes.
        size_bytes: usize,
        /// Expected form.
        form: ResponseForm,
    },
    /// The response does not consist of whole records, and counts as empty.
    Size {
        /// Size of the response, in bytes.
        size_bytes: usize,
        /// The size of a record.
        unit_bytes: usize,
    },
    /// The response has too few or too many records for its sample, and counts as empty.
    RecordCount {
        /// Number of records.
        given: usize,
        /// Number of records that the sample asks for.
        wanted: usize,
    },
    /// Records hold a NaN or an infinity. They are left out; a response that is one answer as a whole counts as empty.
    NotFinite {
        /// The first of them.
        position: usize,
        /// Number of such records.
        count: usize,
    },
    /// Numbers that must be whole, such as classes, have a fraction or are not finite.
    NotWhole {
        /// The first of them.
        position: usize,
        /// Number of such numbers.
        count: usize,
    },
    /// Records name another sample. They count for this one, as in the reference.
    OtherSample {
        /// The first of them.
        position: usize,
        /// Number of such records.
        count: usize,
    },
    /// Records have a class that the data set does not have, and are left out.
    Class {
        /// The first of them.
        position: usize,
        /// Number of such records.
        count: usize,
        /// Whether one of them is a class by the other meaning of classes: ids and positions of categories.
        is_of_other_names: bool,
    },
    /// Records have another label than the data set, whose label counts.
    OtherLabel {
        /// The first of them.
        position: usize,
        /// Number of such records.
        count: usize,
    },
    /// The response is not text in UTF-8, and counts as empty.
    NotText {
        /// Offset of the first byte that is not UTF-8.
        position: usize,
    },
    /// The response cannot be scored, and counts as wrong.
    Refused(ScoreError),
}

impl ResponseDefect {
    /// Returns the name of the kind of fault in results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Form { .. } | Self::Size { .. } => "size",
            Self::RecordCount { .. } => "record-count",
            Self::NotFinite { .. } => "not-finite",
            Self::NotWhole { .. } => "not-whole",
            Self::OtherSample { .. } => "other-sample",
            Self::Class { .. } | Self::Refused(ScoreError::Class { .. }) => "class",
            Self::OtherLabel { .. } => "other-label",
            Self::NotText { .. } => "not-text",
            Self::Refused(_) => "refused",
        }
    }

    /// Returns the number of classes of the task, of a response that is refused for another one.
    #[must_use]
    pub fn class_count(&self) -> Option<i64> {
        match self {
            Self::Refused(ScoreError::Class { class_max, .. }) => Some(class_max + 1),
            _ => None,
        }
    }

    /// Returns whether the response was refused for a class just outside the task's range, such as the blank of RNN-T:
    /// then its type was read correctly, since numbers of another type are far from all classes.
    #[must_use]
    pub fn is_next_to_classes(&self) -> bool {
        match self {
            Self::Refused(ScoreError::Class { class, class_max, .. }) => (-1..=class_max + 1).contains(class),
            _ => false,
        }
    }
}

/// Samples whose responses have the same kind of fault.
#[derive(Debug, Clone, PartialEq)]
pub struct DefectGroup {
    /// Kind of the fault.
    pub kind: &'static str,
    /// The samples, ascending.
    pub samples: Vec<u64>,
    /// The fault of the first of them.
    pub first: ResponseDefect,
}

impl DefectGroup {
    /// Puts faults of responses, each with its sample, together by kind.
    pub(crate) fn all(mut defects: Vec<(u64, ResponseDefect)>) -> Vec<Self> {
        defects.sort_by_key(|(sample, _)| *sample);
        let mut groups: BTreeMap<_, Self> = BTreeMap::new();
        for (sample, first) in defects {
            let kind = first.kind();
            groups
                .entry(kind)
                .or_insert_with(|| Self { kind, samples: Vec::new(), first })
                .samples
                .push(sample);
        }
        groups.into_values().collect()
    }
}

impl fmt::Display for ResponseDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { size_bytes, form } => write!(f, "{size_bytes} bytes instead of {form}"),
            Self::Size { size_bytes, unit_bytes } => {
                write!(f, "{size_bytes} bytes are no whole number of {unit_bytes}")
            }
            Self::RecordCount { given, wanted } => write!(f, "{given} records instead of {wanted}"),
            Self::NotFinite { position, count } => {
                write!(f, "{} with a number that is not finite, from record {position}", records(*count))
            }
            Self::NotWhole { position, count } => {
                write!(f, "{} with a number that is not whole, from record {position}", records(*count))
            }
            Self::OtherSample { position, count } => {
                write!(f, "{} for another sample, from record {position}", records(*count))
            }
            Self::Class { position, count, .. } => {
                write!(f, "{} of a class that there is not, from record {position}", records(*count))
            }
            Self::OtherLabel { position, count } => {
                write!(f, "{} with another label than the data set, from record {position}", records(*count))
            }
            Self::NotText { position } => write!(f, "no UTF-8 from byte {position}"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

fn records(count: usize) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

/// Records of a response with the same fault.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faulty {
    position: usize,
    count: usize,
}

impl Faulty {
    pub(crate) fn add(&mut self, position: usize) {
        if self.count == 0 {
            self.position = position;
        }
        self.count += 1;
    }

    /// Lists the fault, unless no record has it.
    pub(crate) fn list(self, defects: &mut Defects, defect: impl FnOnce(usize, usize) -> ResponseDefect) {
        if self.count > 0 {
            defects.push(defect(self.position, self.count));
        }
    }
}
