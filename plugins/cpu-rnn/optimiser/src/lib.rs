//! Chooses how a recurrent layer runs on a machine: the schedule search of DeepCPU (USENIX ATC 2018).
//!
//! [`LayerShape`](proctor_rnn_layer::LayerShape) says what is to be computed, [`Schedule`](proctor_rnn_layer::Schedule) how. A [`Planner`] goes from one to the other for all layers of
//! a model: from the cache, or by measuring through a closure. Nothing here computes a product.
//!
//! On the way, each step of the paper has its module:
//! 1. [`dag`]: the computation as a graph of matrix products, the MM-DAG (section 5.1);
//! 2. [`phases`] and [`pruning`]: its phased schedules, and the three rules that leave few of them (5.1);
//! 3. [`fusion`]: products that share an input become one (5.2.1);
//! 4. [`parallelism`]: on how many cores, and how concurrent products share them (5.2.2);
//! 5. [`partition`]: private-cache-aware partitioning, by the caches of the machine (5.2.3);
//! 6. [`candidates`]: what is left, as schedules of the engine, in the order that [`predict`] gives;
//! 7. [`calibrate`]: the candidates are measured and the fastest one is kept (section 4);
//! 8. [`cache`]: as a file, so that this happens once for a machine; [`explain`](mod@explain): in words.
//!
//! Weight-centric streamlining (5.2.4) is how the engine runs a schedule.

#![forbid(unsafe_code)]

pub mod cache;
pub mod calibrate;
pub mod candidates;
pub mod dag;
pub mod explain;
pub mod fusion;
pub mod parallelism;
pub mod partition;
pub mod phases;
mod plan;
mod planner;
pub mod predict;
pub mod pruning;

pub use plan::{LayerPlan, ModelPlan, PlanKey, PlanOrigin, PlannedLayer};
pub use planner::{BUDGET, MeasureLayer, Planner};
