//! Defects of logs and of single responses.

use std::fmt;

use proctor_scores::ScoreError;

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
    /// Number of whole records of a log that is cut off, where the reference takes such.
    pub cut_after_record_count: Option<u64>,
}

impl LogDefects {
    /// Number of all faults.
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

/// A fault of a response. Positions count its records from 0; of several records with the same fault the first is
/// named.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseDefect {
    /// The response does not consist of whole records, and counts as empty.
    Size {
        /// Its size.
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
        /// Their number.
        count: usize,
    },
    /// Records name another sample. They are taken for this one, as by the reference.
    OtherSample {
        /// The first of them.
        position: usize,
        /// Their number.
        count: usize,
    },
    /// Records have a class that the data set does not have, and are left out.
    Class {
        /// The first of them.
        position: usize,
        /// Their number.
        count: usize,
    },
    /// The response is no text in UTF-8, and counts as empty.
    NotText {
        /// The byte from which it is none.
        position: usize,
    },
    /// The response cannot be scored, and counts as wrong.
    Refused(ScoreError),
}

impl fmt::Display for ResponseDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { size_bytes, unit_bytes } => {
                write!(f, "{size_bytes} bytes are no whole number of {unit_bytes}")
            }
            Self::RecordCount { given, wanted } => write!(f, "{given} records instead of {wanted}"),
            Self::NotFinite { position, count } => {
                write!(f, "{count} records with numbers that are not finite, from record {position}")
            }
            Self::OtherSample { position, count } => {
                write!(f, "{count} records that name another sample, from record {position}")
            }
            Self::Class { position, count } => {
                write!(f, "{count} records of a class that there is not, from record {position}")
            }
            Self::NotText { position } => write!(f, "no UTF-8 from byte {position}"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// Records of a response with the same fault.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faulty {
    position: usize,
    count: usize,
}

impl Faulty {
    pub(super) fn add(&mut self, position: usize) {
        if self.count == 0 {
            self.position = position;
        }
        self.count += 1;
    }

    /// Lists the fault, unless no record has it.
    pub(super) fn list(
        self,
        defects: &mut Vec<ResponseDefect>,
        defect: impl FnOnce(usize, usize) -> ResponseDefect,
    ) {
        if self.count > 0 {
            defects.push(defect(self.position, self.count));
        }
    }
}
