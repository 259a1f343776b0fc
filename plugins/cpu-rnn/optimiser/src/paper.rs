//! The steps of the paper, from a cell's equations to partitions of its products. They know no engine.

pub mod dag;
pub mod fusion;
pub mod parallelism;
pub mod partition;
pub mod phases;
pub mod pruning;
