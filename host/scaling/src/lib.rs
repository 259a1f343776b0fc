//! Policies that adjust batch size and number of instances for maximum throughput under a latency target.
//!
//! The two [`Knobs`] of a system that serves in batches are the batch size and the number of model instances. A
//! [`ScalingPolicy`] receives the [`Goal`] and, after each window, what it has [`Seen`]; it returns a [`Move`].
//! [`ControlLoop`] groups finished batches into windows, asks the policy, and logs its decisions. Neither knows a
//! scheduler: the caller turns the knobs and reports finished batches. [`Panels`] draws how they went.
//!
//! # Where things are
//! - `policy`: the trait; `goal`, `knobs`, `seen`: its inputs; `reason`: why the knobs are where they are; `settled`:
//!   counts since it has settled;
//! - `control` asks a policy after each `window` and keeps its decisions; `policies`: a file or folder for each, with
//!   the names of the paper in `dnnscaler`, and a `model` in `joint`;
//! - `curves`: measured latencies by number of instances, and estimates from them;
//! - `simulation`: a system of known service times in virtual time; `panels` draws a course as a picture.

#![forbid(unsafe_code)]

mod control;
mod curves;
mod goal;
mod knobs;
mod normal;
mod panels;
mod policies;
mod policy;
mod reason;
mod registry;
mod seen;
mod settled;
mod simulation;
mod surface;
mod window;

pub use control::{Cause, ControlLoop, Decision};
pub use curves::{CurveLibrary, CurvesError, LineFault};
pub use goal::{Approach, Goal};
pub use knobs::Knobs;
pub use normal::normal_quantile;
pub use panels::{Line, Panels};
pub use policies::{
    clipper::Clipper,
    dnnscaler::{DnnScaler, DnnScalerSettings, Variant},
    fixed::Fixed,
    joint::Joint,
    one_sample::OneSample,
    oracle::Oracle,
};
pub use policy::{Look, Move, Predicted, ScalingPolicy};
pub use reason::Reason;
pub use registry::{POLICIES, PolicyEntry};
pub use seen::Seen;
pub use settled::Settled;
pub use simulation::{Event, Simulated, SimulatedSpan, Simulation};
pub use surface::Surface;
pub use window::{Done, WindowRule};
