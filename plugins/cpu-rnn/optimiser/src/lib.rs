//! Chooses how a recurrent layer runs on a machine: the schedule search of DeepCPU (USENIX ATC 2018).
//!
//! [`LayerShape`] says what is to be computed, [`Schedule`] how. Nothing here computes a product.

#![forbid(unsafe_code)]

mod schedule;
mod shape;

pub use schedule::{Chunk, Mapping, Schedule, Sweep};
pub use shape::{Cell, Directions, GruReset, LayerShape, Precision, RnnActivation};
