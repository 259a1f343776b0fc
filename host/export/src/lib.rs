//! Exports runs in formats that other programs read.
//!
//! [`json`], [`markdown`] and [`openmetrics`] write a run as a row of figures, and take several runs; [`csv`] writes
//! each sample of a run, and [`trace`] its timeline for Chrome trace viewers such as Perfetto. A [`LiveTrace`] is a
//! timeline in the same format, written as it happens.
//!
//! # Choices
//! - Everything is written as it is produced. Only the timeline of outstanding samples is sorted first, in 32 bytes per
//!   sample.
//! - Figures match `result.json`, with units in the column names.

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
