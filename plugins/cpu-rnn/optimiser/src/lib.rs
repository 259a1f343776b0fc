//! Chooses how a recurrent layer runs on a machine: the schedule search of DeepCPU (USENIX ATC 2018).
//!
//! [`LayerShape`](proctor_rnn_layer::LayerShape) says what to compute, [`Schedule`](proctor_rnn_layer::Schedule) how. A
//! [`Planner`] goes from one to the other for all layers of a model: from the cache, or by measuring through a closure.
//! Nothing here computes a product.
//!
//! A [`SearchSpace`] follows the steps of the paper, each with its module in [`paper`]:
//! 1. [`dag`](paper::dag): the computation as a graph of matrix products, the MM-DAG (section 5.1);
//! 2. [`phases`](paper::phases) and [`pruning`](paper::pruning): its phased schedules, and the three rules that leave
//!    few (5.1);
//! 3. [`fusion`](paper::fusion): products that share an input become one (5.2.1);
//! 4. [`parallelism`](paper::parallelism): on how many cores, and how concurrent products share them (5.2.2);
//! 5. [`partition`](paper::partition): private-cache-aware partitioning, by the caches of the machine (5.2.3).
//!
//! The result is schedules of the engine, including what goes beyond the paper and without what our own rules exclude
//! ([`search`]), in the order that [`predict`] gives. The planner measures them and keeps the fastest ([`calibrate`],
//! section 4) in a file, so this happens once per machine ([`cache`]). A caller that has run the layers can
//! [doubt](LayerPlan::doubted_by) a plan: then it is measured again. [`explain`](mod@explain) prints the search and its
//! result.
//!
//! Weight-centric streamlining (5.2.4) is how the engine runs a schedule.

#![forbid(unsafe_code)]

pub mod cache;
pub mod calibrate;
pub mod explain;
pub mod paper;
mod plan;
mod planner;
pub mod predict;
pub mod search;

pub use plan::{LayerPlan, ModelPlan, PlanKey, PlanOrigin, PlannedLayer};
pub use planner::{BUDGET, MeasureLayer, Planner};
pub use search::SearchSpace;
