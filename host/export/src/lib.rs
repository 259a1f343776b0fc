//! Runs in the forms that other programs read.
//!
//! [`json`], [`markdown`] and [`openmetrics`] have a run as a row of figures, and take several; [`csv`] has each sample
//! of a run, and [`trace`] its timeline for viewers of Chrome traces, such as Perfetto. A [`LiveTrace`] is a timeline
//! of the same form that is written while it comes.
//!
//! # Choices
//! - Everything is written as it is made. Only the timeline of the samples that are outstanding is sorted before, in 32
//!   bytes for each sample.
//! - Figures are those of `result.json`, with their units in the names of their columns.

#![forbid(unsafe_code)]

mod csv;
mod json;
mod markdown;
mod openmetrics;
mod trace;

pub use csv::csv;
pub use json::json;
pub use markdown::markdown;
pub use openmetrics::openmetrics;
pub use trace::{Timeline, events::Track, live::LiveTrace, trace};
