//! Policies that turn batch size and number of instances to serve as much as a latency target allows.
//!
//! The two [`Knobs`] of a system that serves in batches are the size of a batch and the number of instances of the
//! model. A [`ScalingPolicy`] is told the [`Goal`], and after each window what was [`Seen`]; it answers with a
//! [`Move`]. [`ControlLoop`] makes windows of batches that are done, asks the policy, and keeps the log of its
//! decisions. Neither knows a scheduler: the caller turns the knobs and says which batches were done.

#![forbid(unsafe_code)]

mod control;
mod curves;
mod goal;
mod knobs;
mod normal;
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
pub use policies::{
    clipper::Clipper,
    dnnscaler::{DnnScaler, DnnScalerSettings, Form},
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
