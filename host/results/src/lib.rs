//! Reads the files that runs leave behind: results, samples and logs, of this host and of the official LoadGen.
//!
//! [`Run::open`] opens a folder and identifies it: a complete run, an unfinished one, or a folder of official logs.
//! [`Run::samples`] reads the samples of the performance run, [`Run::trace`] the samples that the trace has more detail
//! on. [`find_runs`] looks for runs below a folder. [`Series::open`] opens a folder of a search or of scaling, which
//! has several runs.
//!
//! # Where things are
//! - `file_names`: what the files of a folder are called; `run` tells a folder's kind; `find` looks for runs;
//! - `series`: folders of searches and scaling, with the forms of their files;
//! - `schema`: the parts of `result.json`, a file each; `result_file`: the whole of it; `summary`: one row of it;
//! - `samples`, `trace`, `batches`: the measurements; `wrong_samples`: what was answered wrongly;
//! - `proof`: a benchmark on real data, in one record;
//! - `detail`, `summary_log`: the logs of any LoadGen, which `loadgen_logs` compares with each other;
//! - `versioned`: JSON files with a version.
//!
//! # Choices
//! - Each part of a result has one type, which a run or a campaign fills and every reader takes. Keys that no reader
//!   needs are read if they have the current form, so results of an earlier host with the same schema are readable. The
//!   whole result is also available as JSON.
//! - Nothing is guessed: a truncated or damaged file, or one of another version, is an error, or is reported with what
//!   could be read.
//! - Samples are read into memory, 16 bytes each, as in their file.
//!
//! # Example
//! ```
//! # fn f() -> Result<(), proctor_results::ResultsError> {
//! let run = proctor_results::Run::open("runs/mine".as_ref())?;
//! let samples = run.samples()?;
//! println!("{} of {} samples were answered", samples.query_latencies_ns(1).count(), samples.records.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//! Official LoadGen logs of version 4 and later are read, whose detail log has lines of JSON. They have no
//! samples except the trace's.

#![forbid(unsafe_code)]

mod batches;
mod detail;
mod error;
pub mod file_names;
mod find;
mod loadgen_logs;
mod proof;
mod result_file;
mod run;
mod samples;
mod schema;
mod series;
mod summary;
mod summary_log;
mod trace;
mod versioned;
mod wrong_samples;

pub use proctor_noise::{Noise, NoisyInterval, State as NoiseState};

pub use batches::{Batch, BatchStage, Batches};
pub use detail::DetailLog;
pub use error::{ResultsError, with_cause};
pub use find::find_runs;
pub use loadgen_logs::LoadGenLogs;
pub use proof::{Proof, ProvenAccuracy, ProvenBenchmark, ProvenFile, ProvenPlugin, VerificationPart};
pub use result_file::{Program, ResultFile};
pub use run::{Ending, OtherSampleCount, Run, RunKind, WholeRun};
pub use samples::Samples;
pub use schema::{
    accuracy::{AccuracyPart, ResponseDefectPart},
    arrivals::{ArrivalTracePart, ArrivalsPart},
    benchmark::{BenchmarkPart, SamplesPart, SuitePart},
    energy::{EnergyPart, ProcessorEnergyPart},
    engine::EnginePart,
    figures::{FiguresPart, IntervalPart, MetricPart},
    finding::{Finding, LimitPart, RemedyPart, Status},
    floor::FloorPart,
    latency::LatencyPart,
    machine::MachinePart,
    plugin::{DevicePart, InputPart, IsolationPart, ModelFilePart, PluginMetricPart, PluginPart, StagePart},
    scaling::{LatencyFrom, ScalingEvent, ScalingEventKind, ScalingPart, Span},
    setting::{DeviationPart, Origin, SettingPart},
    test::{AccuracyPhasesPart, BusyPart, SchedulerPart, TestPart},
    tokens::{SearchPart, SearchStep, TokenPart},
    verdict::{Reason, VerdictPart},
};
pub use series::{
    Series, SeriesKind,
    find_max::{CurvePoint, FindMaxFile, FullRun, PointKind},
    scale::{KeptCurve, PolicyResult, ScaleFile, ScaleInput, TargetBase, TargetChange, TrafficCounts},
};
pub use summary::{RunOutcome, RunSummary};
pub use summary_log::SummaryLog;
pub use trace::{IssueCall, Trace, TraceSample};
pub use versioned::SCHEMA_VERSION;
pub use wrong_samples::{PICTURE_SIDE_MAX, WrongSamplePart, WrongSamples};
