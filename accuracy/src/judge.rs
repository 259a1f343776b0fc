//! Judges: the responses of a benchmark, read from a log one by one and scored. Each is a file of this folder: one for
//! answers that are right or wrong, the others for the benchmarks of MLPerf.
//!
//! A judge takes the bytes of a response as the reference's programs make them, and lists what is wrong with them.
//! Where the reference's script would end, a judge leaves the value out or counts the response as empty, and the defect
//! stands in the list: a score with defects is for information, not for passing. Only one response at a time is in
//! memory, in addition to what the score itself needs.

pub(crate) mod clicks;
pub(crate) mod defect;
pub(crate) mod detections;
pub(crate) mod questions;
pub(crate) mod regions;
pub(crate) mod share;
pub(crate) mod texts;
pub(crate) mod transcripts;
pub(crate) mod volumes;

use std::{collections::BTreeMap, path::Path, slice::ChunksExact};

use proctor_scores::ScoreError;
use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    log::{LogEnd, LogRecord, scan_log},
};

pub use clicks::ClickJudge;
pub use defect::{DefectGroup, Defects, LogDefects, ResponseDefect};
pub use detections::{ClassNames, DetectionJudge, JudgedImage};
pub use questions::QuestionJudge;
pub use regions::{ReadRegions, RegionJudge, RightRegions};
pub use texts::TextJudge;
pub use transcripts::TranscriptJudge;
pub use volumes::{ReadVolume, VolumeJudge};

/// The score of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// The figure that the rules hold against a target, in their unit; larger is better.
    pub value: f64,
    /// Counts behind the value, if it is a share of samples.
    pub share: Option<Share>,
    /// The line that the reference's script prints, if there is one.
    pub line: Option<String>,
    /// Further figures by name.
    pub details: BTreeMap<&'static str, f64>,
    /// Responses that are wrong only for the reference's script and look misread, each with its sample.
    pub doubts: Vec<(u64, ResponseDefect)>,
    /// The first samples that were answered with a wrong class, ascending.
    pub wrong: Vec<WrongSample>,
}

/// A sample that was answered with a wrong class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongSample {
    /// Index of the sample.
    pub sample: u64,
    /// Its class, by its label.
    pub expected: u64,
    /// The class that the response names, whether or not it exists; `None` if it names none.
    pub given: Option<i64>,
}

/// Samples that are answered rightly, of those whose right answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Number of samples answered rightly.
    pub correct_count: u64,
    /// Number of samples whose right answer is known.
    pub judged_count: u64,
}

/// Scores the responses of a benchmark.
pub trait Judge {
    /// Returns the number of samples in the data set.
    fn sample_count(&self) -> usize;

    /// Returns whether the reference scores a log that is cut off.
    fn takes_cut_logs(&self) -> bool {
        false
    }

    /// Adds the first response to a sample, and lists its faults.
    ///
    /// # Errors
    /// If the right answer cannot be read.
    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError>;

    /// Returns the score of all responses that were taken.
    ///
    /// # Errors
    /// [`ScoreError`] if they have none.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError>;
}

/// Feeds the first response of each sample to a judge, and lists the defects of the log.
///
/// # Errors
/// As [`scan_log`], and as [`Judge::take`]; [`AccuracyError::Log`] if the log is cut off and the judge does not take
/// cut ones.
pub fn read_responses(log: &Path, judge: &mut dyn Judge) -> Result<LogDefects, AccuracyError> {
    read_responses_before(log, None, judge)
}

/// Works as [`read_responses`], for the records before a `seq_id`, or for all.
///
/// # Errors
/// As [`read_responses`].
pub(crate) fn read_responses_before(
    log: &Path,
    end_seq_id: Option<u64>,
    judge: &mut dyn Judge,
) -> Result<LogDefects, AccuracyError> {
    let mut is_answered = vec![false; judge.sample_count()];
    let mut defects = LogDefects::default();
    let mut outcome = Ok(());
    let end = scan_log(log, |LogRecord { seq_id, qsl_idx, data }| {
        let sample = usize::try_from(qsl_idx).ok().filter(|sample| *sample < is_answered.len());
        match sample {
            // Records from the end on, and what follows a right answer that cannot be read, are not looked at.
            _ if outcome.is_err() || end_seq_id.is_some_and(|end| seq_id >= end) => {}
            None => defects.unknown_samples.push(qsl_idx),
            Some(sample) if is_answered[sample] => defects.duplicate_samples.push(qsl_idx),
            Some(sample) => {
                is_answered[sample] = true;
                let mut found = Vec::new();
                outcome = judge.take(sample, &data, &mut found);
                defects.responses.extend(found.into_iter().map(|defect| (qsl_idx, defect)));
            }
        }
    })?;
    outcome?;
    let missing = (0..).zip(&is_answered).filter(|(_, is_answered)| !**is_answered);
    defects.missing_samples = missing.map(|(sample, _)| sample).collect();
    match end {
        LogEnd::CutOff { record_count, .. } if judge.takes_cut_logs() => {
            defects.cut_after_record_count = Some(record_count);
        }
        end => end.whole(log)?,
    }
    Ok(defects)
}

/// Returns the numbers of a response, each of `N` bytes; a response that is not of whole numbers is a defect and holds
/// none.
fn numbers<'a, const N: usize>(
    response: &'a [u8],
    unit_count: usize,
    defects: &mut Defects,
) -> &'a [[u8; N]] {
    if response.len().is_multiple_of(N * unit_count) {
        return response.as_chunks().0;
    }
    defects.push(ResponseDefect::Size { size_bytes: response.len(), unit_bytes: N * unit_count });
    &[]
}

/// Returns the bytes of each number of a response, as [`numbers`] has them.
fn elements<'a>(
    response: &'a [u8],
    element_type: ElementType,
    unit_count: usize,
    defects: &mut Defects,
) -> ChunksExact<'a, u8> {
    let size_bytes = element_type.unit_bytes();
    let unit_bytes = size_bytes * unit_count;
    if response.len().is_multiple_of(unit_bytes) {
        return response.chunks_exact(size_bytes);
    }
    defects.push(ResponseDefect::Size { size_bytes: response.len(), unit_bytes });
    response[..0].chunks_exact(size_bytes)
}

#[cfg(test)]
mod tests;
