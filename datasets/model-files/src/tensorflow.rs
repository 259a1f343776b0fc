//! Graphs of TensorFlow, of two kinds of files.
//!
//! - `graph`: the nodes, whichever file they come from, `node` one of them, and `constant` the values of a node;
//! - `frozen`: a graph whose variables have become constants (`.pb`), by the messages of `proto`;
//! - `graph_model`: TensorFlow.js's `model.json`, and its `weights` in shards.

pub(crate) mod constant;
pub(crate) mod error;
mod frozen;
pub(crate) mod graph;
mod graph_model;
pub(crate) mod node;
mod proto;
mod weights;
