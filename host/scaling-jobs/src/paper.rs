//! The 30 jobs of the DNNScaler paper as service times: the data of its tables, and surfaces fitted to them.
//!
//! Source: Nabavinejad, Ebrahimi and Reda, "Throughput Maximization of DNN Inference: Batching or
//! Multi-Tenancy?". The three tables of figures lie next to this file. [`JobSurface`] has the model, `fit`
//! explains how each parameter is determined, and docs/scaling-jobs.md has the residuals, the predictions and
//! the contradictions, rendered by [`page`] and checked by a test.
//!
//! The fit uses Table 5 and, of Table 6, the columns of DNNScaler. The rest of the paper is predicted, except
//! for three things: the steady counts of the jobs of Table 6, which say at which count its throughput was
//! measured; the frames in a request of jobs 29 and 30; and how the tail spreads.

pub(crate) mod curves;
mod fit;
pub(crate) mod jobs;
pub(crate) mod mock_tables;
pub mod page;
pub(crate) mod predictions;
pub(crate) mod surface;
pub(crate) mod tables;

pub use jobs::{PaperJob, job, jobs};
pub use mock_tables::{MockTables, mock_tables};
pub use predictions::Prediction;
pub use surface::{
    DEVICE_STEP, IDLE_W, JobSurface, Origin, Parameter, SHARING_COST, SHARPNESS, SPREAD_ALONE, SPREAD_BATCH,
};
pub use tables::{Efficiency, Profile};
