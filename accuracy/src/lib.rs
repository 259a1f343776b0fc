//! Scores an accuracy log against the correct answers, and judges the result.
//!
//! An [`AccuracyCheck`] holds the benchmark's definition: the source of the correct answers, metric, form of a
//! response, and target. [`AccuracyCheck::run`] reads `mlperf_log_accuracy.json` and the answers and returns an
//! [`AccuracyResult`]: the value, whether it passes, and the reasons if not.
//!
//! # Where things are
//! - `log`: record by record; `element`: numbers of each type; `response`: their type and number;
//! - `answers`: the kinds of correct answers; `source`, `shipped`, `computed`: their sources; `labels`: a file for each
//!   data set;
//! - `metric`: a file for each metric; `judge`: a file for each kind of response; `check` puts them together.
//!
//! # Choices
//! - The correct answers ([`AnswerSource`]) are labels; or the outputs of another implementation for the first samples
//!   of a generated model, in a file shipped with this crate; or computed from the weights by a program that registers
//!   itself for a kind of model ([`ComputedAnswersEntry`]) and shares no code with any plugin.
//! - Labels are read only here, after the run, and this crate loads no plugin, so no plugin can see them. A test checks
//!   this for every other crate.
//! - A low accuracy or an incomplete log is a result with reasons; only a log that cannot be scored at all is an error.
//! - A damaged response (wrong size, a number that is not finite, or a class that does not exist) is wrong, is listed,
//!   and keeps the check from passing. For `top1`, as in the reference, a class that does not exist is listed but only
//!   counts as wrong.
//! - The first record of a sample counts, as in the reference scripts. A second one also keeps the check from passing
//!   here, unless the scenario's padding explains it.
//! - The form of a response follows from the outputs of the benchmark, not from its size: 8 bytes may be two logits or
//!   one class. The metric says which outputs it judges, and whether it needs a tolerance. Numbers may have any type
//!   that the reference script reads.
//! - Responses go one by one to a [`Judge`], which reads their bytes and scores them: by the share of those that are
//!   right, or, for MLPerf's benchmarks, with `proctor-scores`; [`read_responses`] lists their defects.
//! - Metrics and labels register themselves by name through `inventory`: a new one is a new file in `metric` or
//!   `labels`.
//!
//! # Example
//! ```
//! use proctor_accuracy::{AccuracyCheck, AnswerSource, ResponseForm};
//! use proctor_datasets::DataRoot;
//! use proctor_vocabulary::ElementType;
//!
//! let check = AccuracyCheck {
//!     answers: AnswerSource::Labels { dataset: "digits".into(), published: None },
//!     metric: "top1".into(),
//!     response: ResponseForm::exactly(ElementType::F32, 10),
//!     tolerance: None,
//!     reference_value: 0.975,
//!     target_ratio: 0.99,
//!     padding_record_count: 0,
//!     performance_seq_id: None,
//! };
//! let folder = tempfile::tempdir()?;
//! let log = folder.path().join("mlperf_log_accuracy.json");
//! std::fs::write(&log, "[\n]\n")?;
//! let result = check.run(&log, &DataRoot::search())?;
//! assert!(!result.passed);
//! assert_eq!(result.reasons[1], "samples without a record: 600 (0, 1, 2, 3, 4, ...)");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! A check holds the right answers in memory, one response at a time, and what the score needs of the others, such as
//! the predictions that an area under a curve ranks.

#![forbid(unsafe_code)]

mod answered;
mod answers;
mod check;
mod computed;
mod element;
mod error;
mod judge;
mod labels;
mod log;
mod metric;
mod response;
mod shipped;
mod source;

pub use answered::Answered;
pub use answers::Answers;
pub use check::{AccuracyCheck, AccuracyResult};
pub use computed::{ComputeAnswers, ComputedAnswersEntry};
pub use error::AccuracyError;
pub use judge::{
    ClassNames, ClickJudge, DefectGroup, Defects, DetectionJudge, Judge, JudgedImage, Judgement, LogDefects,
    QuestionJudge, ReadRegions, ReadVolume, RegionJudge, ResponseDefect, RightRegions, Share, TextJudge,
    TranscriptJudge, VolumeJudge, WrongSample, read_responses,
};
pub use labels::{LabelsEntry, LabelsRequest, PublishedSamples, class_names, listed_samples, read_labels};
pub use log::{LogEnd, LogRecord, parse_log, read_log, scan_log};
pub use metric::{JudgeRequest, MakeJudge, MetricEntry, metric, metric_entries};
pub use proctor_scores::{five_figures, reaches};
pub use response::{ResponseForm, Variant};
pub use source::AnswerSource;
