//! Chooses how a recurrent layer runs on a machine: the schedule search of DeepCPU (USENIX ATC 2018).
//!
//! [`LayerShape`] says what is to be computed, [`Schedule`] how. Nothing here computes a product.

#![forbid(unsafe_code)]

pub mod cache;
pub mod calibrate;
pub mod candidates;
pub mod dag;
pub mod explain;
pub mod fusion;
mod machine;
pub mod parallelism;
pub mod partition;
pub mod phases;
mod plan;
mod planner;
pub mod predict;
pub mod pruning;
mod schedule;
mod shape;

pub use machine::Machine;
pub use plan::{LayerPlan, ModelPlan, PlanKey, PlanOrigin, PlannedLayer};
pub use planner::{BUDGET, MeasureLayer, Planner};
pub use schedule::{Chunk, Mapping, Schedule, Sweep};
pub use shape::{Cell, Directions, GruReset, LayerShape, Precision, RnnActivation};
