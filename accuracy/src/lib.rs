//! From an accuracy log and the right answers to a metric and its verdict.
//!
//! An [`AccuracyCheck`] holds what a benchmark's definition says: where the right answers come from, metric, form of a
//! response, target. [`AccuracyCheck::run`] reads `mlperf_log_accuracy.json` and the answers and gives an
//! [`AccuracyResult`]: the value, and whether it passes, with the reasons if not.
//!
//! # Choices
//! - The right answers ([`AnswerSource`]) are labels; or the outputs of another implementation for the first samples of
//!   a generated model, in a file that comes with this crate; or computed from the weights by a program that registers
//!   itself for a kind of models ([`ComputedAnswersEntry`]) and shares no code with any plugin.
//! - Labels are read here and nowhere else, after the run, and this crate loads no plugin: so no plugin can see them. A
//!   test holds every other crate to it.
//! - A low accuracy or an incomplete log is a result with reasons; only what cannot be scored at all is an error.
//! - A damaged response is wrong, listed, and keeps the check from passing: one of the wrong size, with a number that
//!   is not finite, or with a class that does not exist. For `top1` such a class is listed and only wrong, as in the
//!   reference.
//! - The first record of a sample counts, as in the reference scripts. Here a second one also keeps the check from
//!   passing, unless the scenario's padding explains it.
//! - The form of a response follows from the outputs of the benchmark, not from its size: 8 bytes are two logits or one
//!   class. The metric says which outputs it judges, and whether it needs a tolerance. Numbers may be of any type that
//!   the reference's script reads.
//! - Responses of MLPerf's benchmarks go one by one to a [`Judge`], which reads their bytes and scores them with
//!   `proctor-scores`; [`read_responses`] lists what is wrong with them.
//! - Metrics and labels register themselves through `inventory`, each by its name: a new one is a new file in
//!   `metric` or `labels`.
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
//! A check holds the first response of each sample in memory, and its answers are classes, values or tokens. Boxes,
//! clicks, logits of answers, texts, transcripts and volumes are scored by a [`Judge`].

#![forbid(unsafe_code)]

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

pub use answers::Answers;
pub use check::{AccuracyCheck, AccuracyResult};
pub use computed::{ComputeAnswers, ComputedAnswersEntry};
pub use error::AccuracyError;
pub use judge::{
    ClassNames, ClickJudge, DefectGroup, DetectionJudge, Judge, JudgedImage, Judgement, LogDefects,
    QuestionJudge, ReadRegions, ReadVolume, RegionJudge, ResponseDefect, RightRegions, TextJudge,
    TranscriptJudge, VolumeJudge, read_responses,
};
pub use labels::{LabelsEntry, LabelsRequest, PublishedSamples, listed_samples};
pub use log::{LogEnd, LogRecord, parse_log, read_log, scan_log};
pub use metric::{MakeJudge, MetricEntry, Score, ScoreResponses, Scored, Scoring, metric, metric_entries};
pub use proctor_scores::five_figures;
pub use response::{ResponseForm, Variant};
pub use source::AnswerSource;
